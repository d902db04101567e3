"""``filter_at``: a filter with a fixed current time."""

from __future__ import annotations

from datetime import datetime

from deltareplay import _native
from deltareplay._support.arguments import checked


@checked
def filter_at(filter: str, moment: datetime) -> str:
    """Replace the current time in a filter by a fixed timestamp.

    A filter may be evaluated several times, by several processes, so filters do not read the clock.
    With this function, all of them use the same time: ``now()`` and ``current_timestamp`` become a
    timestamp, ``current_date`` its day in UTC.

    Args:
        filter: SQL text.
        moment: The current time, for instance ``datetime.now(timezone.utc)``; naive means UTC.

    Returns:
        SQL text, for every ``filter`` and ``where``.

    Raises:
        InvalidArgumentError: The filter does not parse (``filter.syntax``), or the moment is not a
            ``datetime`` (``argument.type``).

    >>> from datetime import datetime
    >>> filter_at("at >= now() - INTERVAL 7 DAYS AND day < current_date", datetime(2026, 1, 31, 12))
    "(at >= TIMESTAMP '2026-01-31T12:00:00.000000Z' - INTERVAL 7 DAYS) AND day < DATE '2026-01-31'"
    """
    return _native.filter_at(filter, moment)
