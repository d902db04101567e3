"""Names: dotted names in backticks, and escaping of untrusted text for display."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

#: Characters from U+007F on that are invisible, or that reorder text, for a character class of a
#: regular expression; without joiners, which some scripts need.
INVISIBLE = (
    "\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff"
)

#: Control characters, line breaks and invisible characters.
_CONTROL = re.compile(f"[\x00-\x1f{INVISIBLE}]")
#: The same, except line breaks before two spaces, as in messages that quote the caller's text.
_IN_MESSAGES = re.compile(f"(?!\n  )[\x00-\x1f{INVISIBLE}]")
#: More names are only counted.
_MAX_NAMES = 8
#: The maximum length of a message; of a longer one, this much of its beginning and its end is kept.
_MAX_MESSAGE, _HEAD, _TAIL = 20_000, 14_000, 5_000


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def escaped(text: object) -> str:
    r"""Return a text on one line, without characters that a terminal would obey, reorder or hide.

    Text from a table, a catalog or a store is escaped by this function wherever it is displayed:
    ``repr``, ``str``, warnings, the logger, the command. The core escapes its errors itself.

    >>> escaped("two\nlines"), escaped("\x1b[2J"), escaped("gpj.\u202eexe")
    ('two\\nlines', '\\x1b[2J', 'gpj.\\u202eexe')
    """
    return _CONTROL.sub(_escape, str(text))


def escaped_message(text: str) -> str:
    r"""Escape a message as ``escaped`` does, but keep line breaks of the caller's own text.

    A log or a server may hold names of any length: the middle of a long message is left out.

    >>> escaped_message("no\nline\n  a = \n      ^")
    'no\\nline\n  a = \n      ^'
    >>> escaped_message("a" * 14_000 + "b" * 7000 + "c" * 5000)[13_999:-4999]
    'a [... 7000 characters ...] c'
    """
    text = _IN_MESSAGES.sub(_escape, text)
    if len(text) <= _MAX_MESSAGE:
        return text
    omitted = len(text) - _HEAD - _TAIL
    return f"{text[:_HEAD]} [... {omitted} characters ...] {text[-_TAIL:]}"


def some_names(names: Sequence[str]) -> str:
    """Join names by commas; of many, the first eight.

    >>> some_names(["a", "b"]), some_names("abcdefghij"), some_names([])
    ('a, b', 'a, b, c, d, e, f, g, h and 2 more', 'none')
    """
    if not names:
        return "none"
    names = [escaped(name) for name in names]
    # one more name is not longer than "and 1 more"
    if len(names) <= _MAX_NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_MAX_NAMES])} and {len(names) - _MAX_NAMES} more"


#: Parts of dotted names, in backticks and without them, as regular expressions.
QUOTED, _BARE = r"\s*`(?:[^`]|``)+`\s*", r"[^.`]+"


def quoted(name: str) -> str:
    """Quote a part of a name: dots do not separate, and backticks are doubled.

    >>> quoted("a.b"), quoted("a`b")
    ('`a.b`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


def unquoted(part: str) -> str:
    """Return the part of a name that SQL writes with or without backticks.

    >>> unquoted("`a``b`"), unquoted("ab")
    ('a`b', 'ab')
    """
    return part[1:-1].replace("``", "`") if part.startswith("`") else part


def dotted(parts: Iterable[str]) -> str:
    """Join the parts of a name, each in backticks.

    >>> dotted(["delta", "/tmp/a.b"])
    '`delta`.`/tmp/a.b`'
    """
    return ".".join(map(quoted, parts))


def column_path(names: Iterable[str]) -> str:
    """Join the names of a column and its fields; those that need backticks get them.

    >>> column_path(["s", "a b"]), column_path(["s", "a.b"])
    ('s.a b', 's.`a.b`')
    """
    needs_quotes = re.compile(r"[.,`]|^\s|\s$").search
    return ".".join(quoted(name) if needs_quotes(name) else name for name in names)


def parts_of(name: str, bare: str = _BARE) -> tuple[str, ...]:
    """Split a dotted name into its parts; return none if the text is not such a name.

    Backticks quote a part; ``bare`` is a regular expression of the parts without backticks.

    >>> parts_of("a.`b.c` . `d``e`"), parts_of("a..b")
    (('a', 'b.c', 'd`e'), ())
    """
    part = f"(?:{QUOTED}|{bare})"
    if not re.fullmatch(rf"{part}(?:\.{part})*", name):
        return ()
    return tuple(unquoted(step.strip()) for step in re.findall(part, name))
