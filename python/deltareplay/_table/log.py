"""``Table.checkpoint``, ``compact_log`` and the other methods that maintain the log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from deltareplay import _native
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support import log
from deltareplay._support.arguments import checked_methods
from deltareplay._support.units import instant
from deltareplay._support.warnings import warn
from deltareplay.exceptions import DeltaReplayError

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of one version.

    Attributes:
        version: The version.
        path: Its file, or the manifest of a V2 checkpoint, relative to the table root.
        num_actions: The number of actions.
        num_files: The number of live files.
        size_in_bytes: The total size of the checkpoint's files.
        num_sidecars: The number of sidecars of a V2 checkpoint.

    >>> table.checkpoint().path
    '_delta_log/00000000000000000002.checkpoint.parquet'
    """

    version: int
    path: str
    num_actions: int
    num_files: int
    size_in_bytes: int
    num_sidecars: int


@dataclass(frozen=True)
class CompactedLog:
    """A compacted file: a range of commits, reconciled among themselves.

    Attributes:
        start: The first version.
        end: The last version.
        path: The file, relative to the table root.
        num_actions: The number of its actions.
        num_actions_before: The number of actions in its commits, except ``commitInfo`` and ``cdc``.
        size_in_bytes: The size of the file.
        size_in_bytes_before: The total size of its commits.

    >>> table.compact_log(0, 2).path
    '_delta_log/00000000000000000000.00000000000000000002.compacted.json'
    """

    start: int
    end: int
    path: str
    num_actions: int
    num_actions_before: int
    size_in_bytes: int
    size_in_bytes_before: int


@dataclass(frozen=True)
class LogCleanup:
    """Files of the log that no version inside the retention period needs.

    Attributes:
        dry_run: Whether the files were only reported.
        cutoff: A midnight in UTC. Versions that were current at or after it stay readable.
        earliest_version: The oldest version that can be read afterwards; None if nothing can be
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


@dataclass(frozen=True)
class LogAdvice:
    """The cost of reading a log, and the gain of a checkpoint or compacted file, as measured.

    Attributes:
        version: The latest version.
        checkpoint_version: The version of the checkpoint that readers start from, if any.
        num_commits: The number of commits after that checkpoint.
        num_tail_files: The number of files read for these commits: fewer if some are compacted.
        tail_bytes: The total size of these files.
        num_files: The number of live files.
        seconds: The time to open the version and list its files now.
        with_checkpoint: ``seconds`` with a checkpoint of this version, and the ``seconds_to_make``
            and ``size_in_bytes`` of that checkpoint. None if there is one already.
        with_compaction: The same for a compacted file of the commits after the checkpoint. None if
            there are fewer than two, or if they have no actions.

    >>> sorted(table.optimize_log().with_checkpoint)
    ['seconds', 'seconds_to_make', 'size_in_bytes']
    """

    version: int
    checkpoint_version: int | None
    num_commits: int
    num_tail_files: int
    tail_bytes: int
    num_files: int
    seconds: float
    with_checkpoint: dict[str, Any] | None
    with_compaction: dict[str, Any] | None


@checked_methods
class MaintainingLog(TableLocation):
    """Methods of ``Table`` that write checkpoints and checksums, and compact and clean the log."""

    __slots__ = ()

    if TYPE_CHECKING:

        def snapshot(self) -> Snapshot: ...

    def checkpoint(
        self,
        *,
        layout: Literal["classic", "v2", "v2-json"] | None = None,
        cleanup: bool = True,
    ) -> Checkpoint:
        """Write a checkpoint of the latest version, and ``_last_checkpoint``.

        Row groups have at most 50,000 files. Statistics are written according to
        ``delta.checkpoint.writeStatsAsJson`` (by default true) and
        ``delta.checkpoint.writeStatsAsStruct`` (by default false). An existing checkpoint stays.
        Then the log is cleaned as by ``cleanup_log(dry_run=False)``. If that fails, the checkpoint
        is written all the same, and a ``DeltaReplayWarning`` says why.

        Args:
            layout: ``classic`` is one Parquet file. ``v2`` is a manifest in Parquet with a sidecar
                for every 50,000 files, written in parallel; the manifest of ``v2-json`` is in JSON.
                V2 requires the feature ``v2Checkpoint``. By default ``v2`` if
                ``delta.checkpointPolicy`` says so, otherwise ``classic``.
            cleanup: Whether to delete files of the log that have expired, unless
                ``delta.enableExpiredLogCleanup`` is false.

        Returns:
            The checkpoint.

        Raises:
            InvalidArgumentError: The layout is unknown, or V2 and the table does not have the
                feature (``checkpoint.layout``).
            UnsupportedFeatureError: The table has a feature that this release cannot write
                (``protocol.writer_features``).

        Source: Delta protocol, "Checkpoints".

        >>> table.checkpoint().num_files
        2
        """
        snapshot = self.snapshot()
        written = self._native.checkpoint(snapshot.native, layout)
        if cleanup:
            clean_after(self._native, snapshot)
        return Checkpoint(snapshot.version, *written)

    def write_checksum(self) -> bool:
        """Write the version checksum of the latest version, counted from its live files.

        Returns:
            False if the checksum already exists; it is left unchanged.

        Raises:
            UnsupportedFeatureError: The table has a feature that this release cannot write
                (``protocol.writer_features``).

        Source: Delta protocol, "Version Checksum File".

        >>> table.write_checksum()
        True
        """
        return self._native.write_checksum(self.snapshot().native)

    def compact_log(self, start: int | None = None, end: int | None = None) -> CompactedLog:
        """Write a compacted file of a range of commits, for readers to use instead.

        The file keeps removals, however old they are, because each may remove a data file from
        before the range.

        Args:
            start: The first version; by default the one after the newest checkpoint before ``end``.
            end: The last version; by default the latest.

        Returns:
            The compacted file. An existing file of the same range stays.

        Raises:
            InvalidArgumentError: The range has fewer than two commits, or no actions
                (``compaction.range``).
            VersionNotFoundError: The log does not have all commits of the range
                (``version.range``).
            UnsupportedFeatureError: The table has a feature that this release cannot write
                (``protocol.writer_features``).

        Source: Delta protocol, "Log Compaction Files".

        >>> table.compact_log(0, 2).num_actions
        6
        """
        return CompactedLog(*self._native.compact_log(start, end))

    def cleanup_log(self, *, dry_run: bool = True) -> LogCleanup:
        """Delete files of the log that no version inside the retention period needs.

        The newest version committed before the retention period (``delta.logRetentionDuration``, 30
        days by default) stays readable. That requires the newest checkpoint at or before this
        version, the commit of that checkpoint, and every later commit. To test that checkpoint, it
        is first read to its last row. Then older commits, staged commits, checkpoints, checksums
        and compacted files are deleted, and so are sidecars that no checkpoint names any more. The
        feature ``checkpointProtection`` may forbid the deletion; a note says so.

        Args:
            dry_run: Whether to report the files without deleting them.

        Returns:
            The files that were deleted, or would be.

        Raises:
            UnsupportedFeatureError: The table has a feature that this release cannot write
                (``protocol.writer_features``); or without ``dry_run``, the table's catalog does not
                allow it (``catalog.maintenance``).
            StorageError: A file cannot be deleted. Older files are deleted; the table opens as
                before.

        Source: Delta protocol, "Metadata Cleanup".

        >>> table.cleanup_log().files
        ()
        """
        report = json.loads(_native.cleanup_log(self._native, dry_run))
        if not report["dry_run"]:
            log.info("deleted %d files of the log of %r", len(report["files"]), self)
        lists = {name: tuple(report[name]) for name in ("files", "notes")}
        return LogCleanup(**{**report, **lists, "cutoff": instant(report["cutoff"])})

    def optimize_log(self) -> LogAdvice:
        """Measure the gain of a checkpoint or a compacted file; nothing is written.

        Both are built in memory; then the latest version is opened and its files are listed, with
        and without each of them.

        Raises:
            TableNotFoundError: There is no Delta table (``table.not_found``).

        >>> table.optimize_log().num_commits
        3
        """
        return LogAdvice(**json.loads(_native.optimize_log(self._native)))


def clean_after(table: _native.Table, snapshot: Snapshot) -> None:
    """Clean up the log after a checkpoint; a failure is a warning."""
    try:
        table.cleanup_expired(snapshot.native)
    except DeltaReplayError as error:
        warn(
            f"the checkpoint of version {snapshot.version} is written, but the log is "
            f"not cleaned up: {error}"
        )
