"""``Vacuumed``: what ``Table.vacuum`` deletes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Vacuumed:
    """Data files that no version inside the retention period needs.

    Attributes:
        dry_run: Whether nothing was deleted.
        lite: Whether they were found by the log alone.
        cutoff: Files that are younger, or were removed later, stay: UTC.
        retention: The period that ends now.
        files: The files, relative to the table root, their names as they are in the store.
        size_in_bytes: Their bytes, as far as known.

    >>> table.vacuum().files
    ()
    """

    dry_run: bool
    lite: bool
    cutoff: datetime
    retention: timedelta
    files: tuple[str, ...]
    size_in_bytes: int
