"""HTML that is escaped by construction: only markup of this module is not escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from deltareplay._names import INVISIBLE

#: Tags without content.
_VOID = frozenset({"br", "col", "input", "link", "meta"})
#: Characters that a page must not contain, or that reorder what a reader sees.
_INVISIBLE = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f{INVISIBLE}]")


class Html(str):
    """Markup that is already escaped."""

    __slots__ = ()


#: The content of a tag: markup, text that is escaped, or nothing.
Content = Html | str | int | None


def text(value: object) -> Html:
    r"""Escape a text for HTML, also for attributes.

    Invisible characters, and those that reorder text, are replaced by their code points.

    >>> text('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    >>> text("gpj.exe" + chr(0x202E))
    'gpj.exe\\u202e'
    """
    if isinstance(value, Html):
        return value
    escaped = _INVISIBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", str(value))
    return Html(html.escape(escaped, quote=True))


def join(parts: Iterable[Content], between: str = "") -> Html:
    """Join markup; strings among the parts are escaped."""
    return Html(text(between).join(text(part) for part in parts if part is not None))


def tag(kind: str, /, *content: Content, **attributes: str | int | float | bool | None) -> Html:
    """Return a tag.

    ``class_`` is ``class``, ``_`` in other names is ``-``; None and False are left out.

    >>> tag("td", "a < b", class_="number", data_sort=3)
    '<td class="number" data-sort="3">a &lt; b</td>'
    """
    written = "".join(
        f" {_attribute(key)}" if value is True else f' {_attribute(key)}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if kind in _VOID:
        return Html(f"<{kind}{written}>")
    return Html(f"<{kind}{written}>{join(content)}</{kind}>")


def _attribute(key: str) -> str:
    # the only names with capitals, of SVG
    if key in ("viewBox", "preserveAspectRatio"):
        return key
    return key.rstrip("_").replace("_", "-")


def clip(value: str, most: int = 120) -> str:
    """Shorten a text to at most this many characters.

    >>> clip("abcdef", 4)
    'abc…'
    """
    return value if len(value) <= most else value[: most - 1] + "…"
