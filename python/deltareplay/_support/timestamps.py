"""Timestamps as the core returns them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def instant(milliseconds: int) -> datetime:
    """Convert milliseconds since the epoch to a UTC time."""
    return _EPOCH + timedelta(milliseconds=milliseconds)
