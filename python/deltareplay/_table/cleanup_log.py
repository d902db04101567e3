"""``Table.cleanup_log``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from deltareplay import _native
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support import log
from deltareplay._support.arguments import checked_methods
from deltareplay._support.units import instant


@dataclass(frozen=True)
class LogCleanup:
    """Files of the log that no version inside the retention period needs.

    Attributes:
        dry_run: Whether nothing was deleted.
        cutoff: The time, a midnight in UTC, from which on versions stay readable.
        earliest_version: The oldest version that can be read afterwards; None if nothing is
            deleted.
        files: The files, relative to the table root, in the order of deletion.
        size_in_bytes: Their total size.
        notes: Why other files were kept.

    >>> table.cleanup_log().notes
    ('there is no checkpoint at or before version 2',)
    """

    dry_run: bool
    cutoff: datetime
    earliest_version: int | None
    files: tuple[str, ...]
    size_in_bytes: int
    notes: tuple[str, ...]


@checked_methods
class CleaningLog(TableLocation):
    """The method ``Table.cleanup_log``."""

    __slots__ = ()

    def cleanup_log(self, *, dry_run: bool = True) -> LogCleanup:
        """Delete files of the log that no version inside the retention period needs.

        The newest version from before ``delta.logRetentionDuration`` (30 days by default) stays
        readable. That requires the newest checkpoint at or before it, and every commit after that
        checkpoint. The checkpoint is first read to its last row. Then older commits, checkpoints,
        checksums and compacted files are deleted, and so are staged commits and sidecars that no
        checkpoint names any more. A table with the feature ``checkpointProtection`` is truncated as
        that allows.

        Args:
            dry_run: Whether to report the files without deleting them.

        Returns:
            The files that were deleted, or would be.

        Raises:
            UnsupportedFeatureError: The table has a feature that this release cannot write.
            StorageError: A file cannot be deleted. Older files are deleted; the table opens as
                before.

        Source: Delta protocol, "Metadata Cleanup".

        >>> table.cleanup_log().files
        ()
        """
        report = json.loads(_native.cleanup_log(self._native, dry_run))
        if not report["dry_run"]:
            log.info("deleted %d files of the log of %r", len(report["files"]), self)
        return LogCleanup(
            dry_run=report["dry_run"],
            cutoff=instant(report["cutoff"]),
            earliest_version=report["earliest_version"],
            files=tuple(report["files"]),
            size_in_bytes=report["size_in_bytes"],
            notes=tuple(report["notes"]),
        )
