"""Names and other text of strangers, as they may be shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Characters beyond ASCII that nobody sees, or that reorder what a reader sees, for a class of a
#: regular expression; joiners, which some scripts need, are none of them.
INVISIBLE = (
    "\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff"
)

#: What a terminal would obey, what would break a line, and what nobody sees.
_CONTROL = re.compile(f"[\x00-\x1f{INVISIBLE}]")
#: The same, but for line breaks before two blanks: so messages quote a line of the caller's text.
_IN_MESSAGES = re.compile(f"(?!\n  )[\x00-\x1f{INVISIBLE}]")


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def shown(text: object) -> str:
    r"""A text in one line, with nothing that a terminal would obey, reorder or hide.

    Whatever a table, a catalog or a store has written goes through this where it leaves as text for
    people: ``repr``, ``str``, warnings, the logger, the command. The core does so to its errors.

    >>> shown("two\nlines"), shown("\x1b[2J"), shown("gpj.\u202eexe")
    ('two\\nlines', '\\x1b[2J', 'gpj.\\u202eexe')
    """
    return _CONTROL.sub(_escape, str(text))


def shown_message(text: str) -> str:
    r"""The same for a message, which may quote a line of the caller's own text.

    >>> shown_message("no\nline\n  a = \n      ^")
    'no\\nline\n  a = \n      ^'
    """
    return _IN_MESSAGES.sub(_escape, text)


def some_names(names: Sequence[str], most: int = 8) -> str:
    """Names by commas; of many, the first ones.

    >>> some_names(["a", "b"]), some_names(["a", "b", "c", "d"], most=2), some_names([])
    ('a, b', 'a, b and 2 more', 'none')
    """
    if not names:
        return "none"
    names = [shown(name) for name in names]
    # one more name is not longer than saying that there is one
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
