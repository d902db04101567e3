"""``filter_at``: the current time of a filter, given once."""

from __future__ import annotations

import datetime

from deltareplay import _native
from deltareplay._support.arguments import checked
from deltareplay.exceptions import InvalidArgumentError


@checked
def filter_at(filter: str, moment: datetime.datetime) -> str:
    """Write a moment into a filter, wherever it asks for the current time.

    A filter is text that may be read several times, by several processes, so no filter asks the
    clock. With this, all of them see the same moment: ``now()`` and ``current_timestamp`` become a
    timestamp, ``current_date`` the day of it in UTC.

    Args:
        filter: SQL text.
        moment: The current time, for instance ``datetime.now(timezone.utc)``; naive means UTC.

    Returns:
        SQL text, for every ``filter`` and ``where``.

    Raises:
        InvalidArgumentError: The filter does not parse, or the moment is no ``datetime``.

    >>> from datetime import datetime
    >>> filter_at("at >= now() - INTERVAL 7 DAYS AND day < current_date", datetime(2026, 1, 31, 12))
    "(at >= TIMESTAMP '2026-01-31T12:00:00.000000Z' - INTERVAL 7 DAYS) AND day < DATE '2026-01-31'"
    """
    if not isinstance(moment, datetime.datetime):
        raise InvalidArgumentError(
            f"moment needs to be a datetime but got {type(moment).__name__}", code="argument.type"
        )
    return _native.filter_at(filter, moment)
