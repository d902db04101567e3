"""Names in one line."""

from __future__ import annotations

from collections.abc import Sequence

#: Characters beyond ASCII that nobody sees, or that reorder what a reader sees, for a class of a
#: regular expression; joiners, which some scripts need, are none of them.
INVISIBLE = (
    "\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff"
)


def some_names(names: Sequence[str], most: int = 8) -> str:
    """Names by commas; of many, the first ones.

    >>> some_names(["a", "b"]), some_names(["a", "b", "c", "d"], most=2), some_names([])
    ('a, b', 'a, b and 2 more', 'none')
    """
    if not names:
        return "none"
    # one more name is not longer than saying that there is one
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
