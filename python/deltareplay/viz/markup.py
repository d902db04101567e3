"""HTML that is escaped by construction, and tables that can be sorted and searched."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    # names of SVG: no others have capitals
    if key in ("viewBox", "preserveAspectRatio"):
        return key
    return key.rstrip("_").replace("_", "-")


def clip(value: str, max_length: int = 120) -> str:
    """Shorten a text to at most ``max_length`` characters.

    >>> clip("abcdef", 4)
    'abc…'
    """
    return value if len(value) <= max_length else value[: max_length - 1] + "…"


#: The maximum number of characters in the rows of a table; other rows are only counted.
MAX_TABLE_LENGTH = 12_000
#: The minimum number of rows of a table with a search field.
MIN_SEARCHED_ROWS = 9


@dataclass(frozen=True)
class Cell:
    """A cell with a value to sort by.

    Attributes:
        content: The content.
        value: The sort key; None sorts by the text.
    """

    content: Content
    value: float | None = None


Row = Sequence[Content | Cell]


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Row],
    *,
    numbers: Sequence[int] = (),
    name: str | None = None,
    budget: int = MAX_TABLE_LENGTH,
    total: int | None = None,
) -> Html:
    """Return a table as HTML.

    Args:
        caption: The caption.
        heads: The column headings.
        rows: The rows; those beyond the budget are left out and counted.
        numbers: Columns that are right-aligned.
        name: The id; with an id, a table of ``MIN_SEARCHED_ROWS`` or more can be searched.
        budget: The maximum number of characters in rows.
        total: The number of all rows, if ``rows`` are not complete.
    """
    rendered_rows: list[Html] = []
    used = left_out = 0
    for row in rows:
        rendered = _row(row, numbers)
        used += len(rendered)
        if used > budget:
            left_out += 1
        else:
            rendered_rows.append(rendered)
    left_out = max(left_out, (total or 0) - len(rendered_rows))
    head = tag(
        "tr",
        *(
            tag("th", title, scope="col", class_="n" if index in numbers else None)
            for index, title in enumerate(heads)
        ),
    )
    more = tag("p", f"{left_out:,} more rows are not shown.", class_="more") if left_out else None
    search = (
        tag(
            "input",
            type="search",
            placeholder="Search",
            aria_label=f"Search: {caption}",
            data_for=name,
            class_="search",
        )
        if name and len(rendered_rows) >= MIN_SEARCHED_ROWS
        else None
    )
    body = tag(
        "table",
        tag("caption", caption),
        tag("thead", head),
        tag("tbody", join(rendered_rows)),
        id=name,
        class_="sortable" if len(rendered_rows) > 2 else None,
    )
    frame = tag("div", body, class_="scroll", tabindex=0, role="region", aria_label=caption)
    return join([search, frame, more])


def _row(row: Row, numbers: Sequence[int]) -> Html:
    cells = []
    for index, cell in enumerate(row):
        content, value = (cell.content, cell.value) if isinstance(cell, Cell) else (cell, None)
        sort = None if value is None else f"{value:.12g}"
        cells.append(tag("td", content, class_="n" if index in numbers else None, data_v=sort))
    return tag("tr", *cells)


def chart_numbers(chart: str, content: Html) -> Html:
    """Return the numbers behind a chart, as an alternative to the picture."""
    return tag("details", tag("summary", f"Numbers of this chart: {chart}"), content)
