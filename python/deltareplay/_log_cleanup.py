"""``LogCleanup``: what ``Table.cleanup_log`` deletes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class LogCleanup:
    """Files of the log that no version inside the retention period needs.

    Attributes:
        dry_run: Whether nothing was deleted.
        cutoff: What was current at this instant or later stays: a midnight in UTC.
        earliest_version: The oldest version that can be read afterwards; None where nothing goes.
        files: The files, relative to the table root, in the order in which they go.
        size_in_bytes: Their bytes.
        notes: Why it is not more of them.

    >>> table.cleanup_log().notes
    ('no checkpoint stands at or before version 2',)
    """

    dry_run: bool
    cutoff: datetime
    earliest_version: int | None
    files: tuple[str, ...]
    size_in_bytes: int
    notes: tuple[str, ...]
