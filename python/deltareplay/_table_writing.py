"""The verbs of ``Table`` that write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from deltareplay import _native
from deltareplay._row_writing import RowWriting
from deltareplay.checkpoint import Checkpoint
from deltareplay.compacted_log import CompactedLog
from deltareplay.transaction import Transaction

if TYPE_CHECKING:
    from deltareplay.snapshot import Snapshot


class TableWriting(RowWriting):
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
        description = {
            "parameters": dict(parameters or {}),
            "metrics": {key: str(value) for key, value in (metrics or {}).items()},
            "user_metadata": user_metadata,
            "tags": dict(tags or {}),
            "engine_info": engine_info,
        }
        begun = Transaction._begun(read, native, description)
        if txn is not None:
            begun.set_transaction(*txn)
        return begun

    def checkpoint(
        self, *, layout: Literal["classic", "v2", "v2-json"] | None = None
    ) -> Checkpoint:
        """Write a checkpoint of the latest version, and the hint that names it.

        Row groups hold 50,000 files. Statistics are kept by ``delta.checkpoint.writeStatsAsJson``
        (true unless set) and ``delta.checkpoint.writeStatsAsStruct`` (false unless set). One that
        is there stays.

        Args:
            layout: ``classic`` is one Parquet file; ``v2`` is a manifest in Parquet, ``v2-json`` one
                in JSON, and a sidecar for every 50,000 files, written side by side. V2 takes the
                feature ``v2Checkpoint``. Unless given: ``v2`` where ``delta.checkpointPolicy`` says
                so, else ``classic``.

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

    def set_properties(self, properties: Mapping[str, str]) -> int:
        """Set table properties; the protocol is upgraded where they call for it.

        Args:
            properties: Texts by name. Names that begin with ``delta.`` are those of Delta Lake;
                ``delta.feature.<name>`` adds a table feature.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: A property that does not exist, or does not take the value.
            UnsupportedFeatureError: A feature is needed that this release cannot write.

        >>> table.set_properties({"delta.appendOnly": "true"})
        3
        """
        return _committed(self._native.set_properties(dict(properties)))

    def unset_properties(self, keys: Sequence[str], *, if_exists: bool = False) -> int:
        """Take table properties away.

        Args:
            keys: Their names.
            if_exists: Passes over those that are not set.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: A property is not set.

        >>> table.unset_properties(["delta.appendOnly"], if_exists=True)
        3
        """
        return _committed(self._native.unset_properties(list(keys), if_exists))

    def add_columns(self, columns: pa.Schema) -> int:
        """Add columns behind the others; rows that are there have null in them.

        Args:
            columns: Names and types; all must be nullable.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: A column may not be null, or has a type that tables do not have.
            CorruptTableError: There is a column of that name.

        >>> import pyarrow as pa
        >>> table.add_columns(pa.schema([("note", pa.string())]))
        3
        """
        return _committed(self._native.add_columns(_native.schema_string(columns)))

    def rename_column(self, name: str, new_name: str) -> int:
        """Give a column another name; no file is touched.

        Args:
            name: The column.
            new_name: Its new name.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such column, the table does not map columns, or a
                constraint speaks of the column.

        >>> version = table.set_properties({"delta.columnMapping.mode": "name"})
        >>> table.rename_column("id", "number")
        4
        """
        return _committed(self._native.rename_column(name, new_name))

    def drop_column(self, name: str) -> int:
        """Take a column away; no file is touched.

        Args:
            name: The column.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: As ``rename_column``; or the table is partitioned by it, or it is
                the last one.

        >>> import pyarrow as pa
        >>> version = table.set_properties({"delta.columnMapping.mode": "name"})
        >>> version = table.add_columns(pa.schema([("note", pa.string())]))
        >>> table.drop_column("note")
        5
        """
        return _committed(self._native.drop_column(name))

    def set_comment(self, comment: str | None, column: str | None = None) -> int:
        """Say something of the table, or of one of its columns.

        Args:
            comment: The text; None takes it away.
            column: The column; None means the table's description.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such column.

        >>> table.set_comment("one row an event")
        3
        """
        return _committed(self._native.set_comment(comment, column))

    def add_feature(self, name: str) -> int:
        """Add a table feature, and those that it leans on.

        Args:
            name: The feature; upper and lower case do not matter.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such feature.
            UnsupportedFeatureError: This release cannot write it.

        >>> table.add_feature("domainMetadata")
        3
        """
        return _committed(self._native.add_feature(name))


def _committed(version: int | None) -> int:
    """Only idempotent writes can have been committed before."""
    assert version is not None
    return version
