"""Timestamps as the core returns them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def instant(milliseconds: int) -> datetime:
    """Convert milliseconds since the epoch to a UTC time; at most the ends of the calendar.

    >>> instant(-(10**17)).year, instant(10**17).year
    (1, 9999)
    """
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        end = datetime.max if milliseconds > 0 else datetime.min
        return end.replace(tzinfo=timezone.utc)


def span(milliseconds: int) -> timedelta:
    """Convert milliseconds to a length of time; at most the longest one of Python."""
    try:
        return timedelta(milliseconds=milliseconds)
    except OverflowError:
        return timedelta.max
