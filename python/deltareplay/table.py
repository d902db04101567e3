"""``Table``: where a Delta table lies, and the way to its versions."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import pyarrow as pa

from deltareplay import _native
from deltareplay._filters import Filter
from deltareplay._readers import reader, to_table
from deltareplay.changes import Changes
from deltareplay.checkpoint import Checkpoint
from deltareplay.snapshot import Snapshot
from deltareplay.transaction import Transaction


class Table:
    """A Delta table: its place, and the options of the storage there. Making one does no I/O.

    Args:
        uri: The table root: a local path, or ``file://``, ``s3://``, ``az://``, ``abfss://``,
            ``gs://``, ``http(s)://`` or ``memory://``.
        storage_options: Credentials and settings of the object store, by the keys of the
            ``object_store`` library, e.g. ``aws_region``. They never show in ``repr``, and they do
            travel with a pickle, because a worker needs them.
        allowed_roots: Places outside of the table root that absolute paths in the log may point
            to; None allows the table root only.
        strict: Refuses a log that needs repair by a reader, where otherwise the next best path is
            taken with a warning. ``snapshot(strict=...)`` overrides it.

    Raises:
        InvalidArgumentError: The URI or an option is not understood.

    >>> Table(table.uri) == table
    True
    """

    __slots__ = ("_allowed_roots", "_native", "_options", "_strict")

    def __init__(
        self,
        uri: str | os.PathLike[str],
        storage_options: Mapping[str, str] | None = None,
        allowed_roots: Sequence[str] | None = None,
        *,
        strict: bool = False,
    ) -> None:
        self._options = dict(storage_options or {})
        self._native = _native.Table(os.fspath(uri), self._options, allowed_roots, strict)
        self._allowed_roots = None if allowed_roots is None else list(allowed_roots)
        self._strict = strict

    @property
    def uri(self) -> str:
        """The table root as a URI.

        >>> table.uri.startswith("file:///")
        True
        """
        return self._native.uri

    def snapshot(
        self,
        version: int | None = None,
        timestamp: datetime.datetime | str | None = None,
        *,
        strict: bool | None = None,
    ) -> Snapshot:
        """Open one version: the latest, unless told.

        Reads version, protocol and metadata only; files are read when they are asked for.

        Args:
            version: A version number.
            timestamp: The latest version committed at or before this moment: a ``datetime`` (naive
                means UTC) or ISO 8601 text.
            strict: Overrides the table's own setting.

        Raises:
            TableNotFoundError: There is no Delta table.
            VersionNotFoundError: No such version, or none that early; the message names the range.
            UnsupportedFeatureError: The table needs features that this release lacks.
            CorruptTableError: The log breaks the protocol beyond repair by a reader.
            InvalidArgumentError: Both ``version`` and ``timestamp`` were given.

        Source: Delta protocol, "Delta Log Entries".

        >>> table.snapshot(version=1).version
        1
        >>> table.snapshot(timestamp="2026-01-02T12:00:00Z").version
        1
        """
        native = self._native.snapshot(version, timestamp, strict)
        return Snapshot._opened(self, native, self._strict if strict is None else strict)

    def history(self, limit: int | None = None) -> pa.Table:
        """List the commits, newest first.

        Args:
            limit: How many; None lists all that are left in the log.

        Returns:
            One row a commit: ``version`` (int64), ``timestamp`` (milliseconds, UTC), ``operation``,
            ``operationParameters``, ``operationMetrics``, ``userMetadata``, ``engineInfo``,
            ``isBlindAppend`` and others; null where the commit does not tell.

        Raises:
            TableNotFoundError: There is no Delta table.
            CorruptTableError: A commit does not decode.

        Source: Delta protocol, "Commit Provenance Information".

        >>> table.history(limit=2).column("version").to_pylist()
        [2, 1]
        """
        return to_table(self._native.history(limit))

    def actions(self, start: int, end: int | None = None) -> pa.RecordBatchReader:
        """Stream the raw actions of the commits ``start`` to ``end``, both included, oldest first.

        Args:
            start: The first version.
            end: The last version; None streams to the latest.

        Returns:
            One row an action: ``version`` (int64), and one struct column for each kind of action,
            of which one is not null. Batches are read as they are pulled.

        Raises:
            VersionNotFoundError: A commit of the range is not in the log (any more).
            CorruptTableError: A commit does not decode.

        Source: Delta protocol, "Actions".

        >>> [row["version"] for row in table.actions(1).read_all().to_pylist() if row["add"]]
        [1, 1, 2]
        """
        return reader(self._native.actions(start, end))

    def changes(
        self,
        start: int | datetime.datetime | str,
        end: int | datetime.datetime | str | None = None,
        *,
        kind: Literal["full-delta", "min-delta", "upsert", "append-only"] = "full-delta",
        deleted: Literal["include", "exclude"] | None = None,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        key: Sequence[str] | None = None,
        require_feed: bool = False,
        allow_out_of_range: bool = False,
    ) -> Changes:
        """Tell what happened to rows from ``start`` to ``end``, both included.

        Needs no change data feed: where a commit has change data files, they tell; where it has
        none, the files that were added and removed tell, and the differences of deletion vectors.
        Where files were rewritten, rows are told by their ids (row tracking), else by ``key``, else
        equal rows are taken for carried over, and an update shows as a delete and an insert;
        ``Changes.explain`` says which, for each commit.

        Args:
            start: The first version; or a moment (a ``datetime``, naive means UTC, or ISO 8601
                text): then it is the first version committed at or after it.
            end: The last version, or a moment: then it is the last version committed at or before
                it. None, and a version that is not there yet, mean the latest.
            kind: ``full-delta`` is every change of every commit. The others are what the range
                comes to, one fate for each row, with the version of its last change: ``min-delta``
                is what differs between the state before ``start`` and the state at ``end``;
                ``upsert`` is the last image of every row that was inserted or updated and is still
                there; ``append-only`` is the last image of every row that was inserted.
            deleted: With ``include``, ``upsert`` has one delete for each row that was there before
                and is gone, and ``append-only`` has inserted rows that are gone again. Not for the
                other kinds, which have them anyway.
            columns: Logical names of the columns wanted, as the table has them at the end; None
                takes all. The three columns that tell what happened are always there.
            filter: Which changed rows, as in ``Snapshot.scan``; may name those three columns, too.
            key: Columns that tell which row is which, where the table does not track rows.
            require_feed: Refuse versions at which the change data feed was off, as Spark does,
                rather than derive their changes from files.
            allow_out_of_range: A range that lies behind the latest version is empty, not an error.

        Raises:
            VersionNotFoundError: The range begins behind the latest version, or its commits are not
                in the log any more; the message names those that are.
            InvalidArgumentError: The range ends before it begins; the kind, a column or the filter
                is not understood. While reading: rows have the same key; or ``upsert`` or
                ``append-only`` of a range in which nothing says which row is which.
            TableNotFoundError: There is no Delta table.

        Source: Delta protocol, "Add CDC File".

        >>> rows.changes(0, 0).to_arrow()["_change_type"].to_pylist()
        ['insert', 'insert', 'insert']
        """
        arguments: dict[str, Any] = {
            "kind": kind,
            "deleted": deleted,
            "columns": columns,
            "filter": filter,
            "key": key,
            "require_feed": require_feed,
            "allow_out_of_range": allow_out_of_range,
        }
        native = self._native.changes(start, end, **arguments)
        return Changes._made(self, native, {"start": start, "end": end, **arguments})

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

    def checkpoint(self) -> Checkpoint:
        """Write a checkpoint of the latest version, and the hint that names it.

        A classic checkpoint of one Parquet file, with row groups of 50,000 files. Statistics are
        kept by ``delta.checkpoint.writeStatsAsJson`` (true unless set) and
        ``delta.checkpoint.writeStatsAsStruct`` (false unless set). One that is there stays.

        Returns:
            What was written.

        Raises:
            UnsupportedFeatureError: The table has a feature that this release cannot write.

        Source: Delta protocol, "Checkpoints".

        >>> table.checkpoint().num_files
        2
        """
        snapshot = self.snapshot()
        written = self._native.checkpoint(snapshot._native)
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self.uri)

    def _identity(self) -> tuple[Any, ...]:
        return self.uri, self._options, self._allowed_roots, self._strict

    def __reduce__(self) -> tuple[Any, ...]:
        return _table, (self.uri, self._options, self._allowed_roots, self._strict)

    def __repr__(self) -> str:
        text = repr(_without_secrets(self.uri))
        if self._options:
            text += f", storage_options=<{', '.join(sorted(self._options))}>"
        if self._allowed_roots is not None:
            text += f", allowed_roots={[_without_secrets(root) for root in self._allowed_roots]}"
        if self._strict:
            text += ", strict=True"
        return f"Table({text})"


def is_table(uri: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None) -> bool:
    """Tell whether there is a Delta table at a place.

    Args:
        uri: As ``Table`` takes it.
        storage_options: As ``Table`` takes them.

    Raises:
        StorageError: The storage did not answer.

    >>> is_table(table.uri), is_table(table.uri + "/nothing")
    (True, False)
    """
    return Table(uri, storage_options)._native.exists()


def create_table(
    uri: str | os.PathLike[str],
    schema: pa.Schema,
    partition_columns: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    durable: bool = True,
) -> Table:
    """Create a Delta table: version 0, without rows.

    Args:
        uri: As ``Table`` takes it.
        schema: The columns; field metadata ``comment`` becomes the column's comment.
        partition_columns: Names of the columns that the table is partitioned by.
        properties: Table properties. ``delta.minReaderVersion``, ``delta.minWriterVersion`` and
            ``delta.feature.<name>`` say which protocol the table gets, and are not stored.
        name: A name for people.
        description: What the table is for.
        storage_options: As ``Table`` takes them.
        durable: Whether a local commit is synced to disk before it is said to be done.

    Returns:
        The table.

    Raises:
        InvalidArgumentError: There is a table already; or a column, a property or a partition
            column is not possible.
        UnsupportedFeatureError: A property calls for a feature that this release cannot write.
        CommitConflictError: Another writer created the table.

    Source: Delta protocol, "Change Metadata", "Protocol Evolution".

    >>> import pyarrow as pa
    >>> schema = pa.schema([("day", pa.date32()), ("id", pa.int64())])
    >>> created = create_table(table.uri + "-new", schema, ["day"])
    >>> created.snapshot().version, created.snapshot().partition_columns
    (0, ['day'])
    """
    created = Table(uri, storage_options)
    created._native.create(
        _native.schema_string(schema),
        list(partition_columns),
        dict(properties or {}),
        name,
        description,
        durable,
    )
    return created


def _committed(version: int | None) -> int:
    """Only idempotent writes can have been committed before."""
    assert version is not None
    return version


def _table(
    uri: str, options: dict[str, str], allowed_roots: list[str] | None, strict: bool
) -> Table:
    return Table(uri, options, allowed_roots, strict=strict)


def _without_secrets(uri: str) -> str:
    """A URI fit for printing: no user, no password, no query (which may hold a signature)."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return "<unreadable URI>"
    if not parts.scheme:
        return uri
    # abfss:// writes the container where others write the user.
    host = parts.netloc
    if parts.scheme not in ("abfs", "abfss", "wasb", "wasbs") or ":" in host.rpartition("@")[0]:
        host = host.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
