"""The verbs of ``Table`` that write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from deltareplay import _native
from deltareplay._arguments import checked_methods
from deltareplay._checkpoint import Checkpoint
from deltareplay._compacted_log import CompactedLog
from deltareplay._row_writing import RowWriting
from deltareplay._table_altering import TableAltering
from deltareplay._transaction import Transaction
from deltareplay._warnings import warn
from deltareplay.exceptions import DeltaReplayError

if TYPE_CHECKING:
    from deltareplay._snapshot import Snapshot


@checked_methods
class TableWriting(RowWriting, TableAltering):
    """What ``Table`` offers to those who write."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: _native.Table

        def snapshot(self) -> Snapshot: ...

    def transaction(
        self,
        operation: str = "WRITE",
        *,
        parameters: Mapping[str, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        user_metadata: str | None = None,
        tags: Mapping[str, str] | None = None,
        engine_info: str | None = None,
        snapshot: Snapshot | None = None,
        isolation_level: str | None = None,
        durable: bool = True,
        timeout: float = 60.0,
        txn: tuple[str, int] | None = None,
    ) -> Transaction:
        """Begin a transaction: what is staged on it becomes one version, or nothing at all.

        Args:
            operation: What the commit does, as Delta names it: ``WRITE``, ``DELETE``, ``MERGE`` ...
            parameters: Of the operation; any JSON.
            metrics: Of the operation; numbers become text.
            user_metadata: Any text.
            tags: Texts by name.
            engine_info: Who commits; this package unless given.
            snapshot: The version that is read; the latest unless given.
            isolation_level: ``Serializable``, ``WriteSerializable`` or ``SnapshotIsolation``; the
                table's own unless given.
            durable: Whether a local commit is synced to disk before it is said to be done.
            timeout: Seconds to go on against other writers, and a storage that does not answer.
            txn: Application and version of an idempotent write, as ``Transaction.set_transaction``
                takes them.

        Raises:
            UnsupportedFeatureError: The table has a feature that this release cannot write; the
                message names every one.
            TableNotFoundError: There is no Delta table.

        Source: Delta protocol, "Delta Log Entries".

        >>> with table.transaction("DELETE", parameters={"predicate": "true"}) as transaction:
        ...     transaction.read()
        ...     transaction.remove_files(transaction.snapshot.files())
        >>> table.snapshot().num_files
        0
        """
        read = self.snapshot() if snapshot is None else snapshot
        native = self._native.transaction(
            read._native, operation, isolation_level, durable, timeout
        )
        description = Transaction._description_of(
            parameters, metrics, user_metadata, tags, engine_info
        )
        begun = Transaction._begun(read, native, description)
        if txn is not None:
            begun.set_transaction(*txn)
        return begun

    def checkpoint(
        self,
        *,
        layout: Literal["classic", "v2", "v2-json"] | None = None,
        cleanup: bool = True,
    ) -> Checkpoint:
        """Write a checkpoint of the latest version, and the hint that names it.

        Row groups hold 50,000 files. Statistics are kept by ``delta.checkpoint.writeStatsAsJson``
        (true unless set) and ``delta.checkpoint.writeStatsAsStruct`` (false unless set). One that
        is there stays. Then the log is cleaned as by ``cleanup_log(dry_run=False)``; where that
        fails, the checkpoint is there all the same, and a ``DeltaReplayWarning`` says why.

        Args:
            layout: ``classic`` is one Parquet file; ``v2`` is a manifest in Parquet, ``v2-json``
                one in JSON, and a sidecar for every 50,000 files, written side by side. V2 takes
                the feature ``v2Checkpoint``. Unless given: ``v2`` where
                ``delta.checkpointPolicy`` says so, else ``classic``.
            cleanup: Delete files of the log that have expired, unless
                ``delta.enableExpiredLogCleanup`` is false. False leaves the log as it is.

        Returns:
            What was written.

        Raises:
            InvalidArgumentError: V2 is asked for, and the table does not have the feature.
            UnsupportedFeatureError: The table has a feature that this release cannot write.

        Source: Delta protocol, "Checkpoints".

        >>> table.checkpoint().num_files
        2
        """
        snapshot = self.snapshot()
        written = self._native.checkpoint(snapshot._native, layout)
        if cleanup:
            clean_behind(self._native, snapshot)
        return Checkpoint(snapshot.version, *written)

    def write_checksum(self) -> bool:
        """Write the version checksum of the latest version, counted from its live files.

        Returns:
            False where there is one, which stays.

        Raises:
            UnsupportedFeatureError: The table has a feature that this release cannot write.

        Source: Delta protocol, "Version Checksum File".

        >>> table.write_checksum()
        True
        """
        return self._native.write_checksum(self.snapshot()._native)

    def compact_log(self, start: int | None = None, end: int | None = None) -> CompactedLog:
        """Write a compacted file: a range of commits as one, which readers take in their place.

        Removals stay in it, however old they are: each may cancel a file from before the range.

        Args:
            start: The first version; the one behind the newest checkpoint unless given.
            end: The last version; the latest unless given.

        Returns:
            What was written. One of the same range that is there stays.

        Raises:
            InvalidArgumentError: The range has less than two commits.
            VersionNotFoundError: The log does not hold all of them.
            UnsupportedFeatureError: The table has a feature that this release cannot write.

        Source: Delta protocol, "Log Compaction Files".

        >>> table.compact_log(0, 2).num_actions
        6
        """
        return CompactedLog(*self._native.compact_log(start, end))


def clean_behind(table: _native.Table, snapshot: Snapshot) -> None:
    """What follows a checkpoint; it fails no checkpoint."""
    try:
        table.cleanup_expired(snapshot._native)
    except DeltaReplayError as error:
        warn(
            f"the checkpoint of version {snapshot.version} is there, but the log behind it is not "
            f"cleaned up: {error}"
        )
