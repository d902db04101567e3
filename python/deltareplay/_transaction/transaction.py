"""``Transaction``: staged actions, committed as one version of a table."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay._support import log
from deltareplay._support.arguments import checked_methods, names
from deltareplay._transaction.written import warn_after_commit
from deltareplay.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from deltareplay._expressions.filters import Filter
    from deltareplay._native import Transaction as NativeTransaction
    from deltareplay._protocol.metadata import Metadata
    from deltareplay._protocol.protocol import Protocol
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._snapshot.table_location import TableLocation


@checked_methods
class Transaction:
    """Staged actions for the next version of a table; ``Table.transaction`` begins one.

    Stage the actions of the commit, and record what was read for it. Others see nothing before
    ``commit``, and then everything. As a context manager it commits at the end of the block, and
    commits nothing if the block raises.

    If another writer commits first, Delta's rules decide whether this commit may follow it. If so,
    the commit is retried until the timeout.

    >>> with table.transaction(operation="WRITE") as transaction:
    ...     transaction.add("part-d.parquet", size=10, partition_values={"day": "2026-01-04"})
    >>> transaction.version
    3
    """

    __slots__ = ("_description", "_done", "_native", "_table", "attempts", "snapshot", "version")

    #: The snapshot that the transaction reads.
    snapshot: Snapshot
    #: The committed version; None before, and if the batch was committed earlier.
    version: int | None
    #: The number of versions that were tried.
    attempts: int
    _native: NativeTransaction
    _table: TableLocation
    _done: bool
    _description: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("begin a transaction with Table.transaction()")

    @classmethod
    def from_native(
        cls,
        table: TableLocation,
        snapshot: Snapshot | None,
        native: NativeTransaction,
        parameters: Mapping[str, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        user_metadata: str | None = None,
        tags: Mapping[str, str] | None = None,
        engine_info: str | None = None,
    ) -> Transaction:
        """Internal: wrap an object of the core; one that creates the table has no snapshot."""
        self = cls.__new__(cls)
        self._table = table
        if snapshot is not None:
            self.snapshot = snapshot
        self.version = None
        self.attempts = 0
        self._native = native
        self._done = False
        self._description = {
            "parameters": {
                key: _parameter(value)
                for key, value in (parameters or {}).items()
                if value is not None
            },
            "metrics": {key: str(value) for key, value in (metrics or {}).items()},
            "user_metadata": user_metadata,
            "tags": dict(tags or {}),
            "engine_info": engine_info,
        }
        self._describe()
        return self

    def _describe(self) -> None:
        """Pass the description of the commit to the core, which checks it."""
        parameters = _dumps(self._description["parameters"])
        self._native.describe(**{**self._description, "parameters": parameters})

    @property
    def native(self) -> NativeTransaction:
        """Internal: the transaction of the core."""
        return self._native

    @property
    def is_empty(self) -> bool:
        """Internal: whether nothing is staged."""
        return self._native.is_empty()

    def add_written(self, adds: str) -> None:
        """Internal: stage files that the core wrote, as a JSON array of ``add`` actions."""
        self._native.add_written(adds)

    def record_written(self, files: Sequence[tuple[str, int, int]]) -> None:
        """Internal: record written files by path, size and time; the commit checks old ones."""
        self._native.record_written(files)

    def set_parameters(self, parameters: str) -> None:
        """Internal: replace the parameters of the operation by the JSON object of the core."""
        self._description["parameters"] = json.loads(parameters)
        self._describe()

    def set_tag(self, name: str, value: str) -> None:
        """Internal: set a tag of the commit."""
        self._description["tags"][name] = value
        self._describe()

    @property
    def id(self) -> str:
        """The id of the transaction, which the commit has as ``txnId``.

        >>> len(table.transaction(operation="WRITE").id)
        36
        """
        return self._native.id

    def read(self, filter: Filter | None = None) -> None:
        """Record that rows were read: another writer that adds or removes such rows is a conflict.

        Args:
            filter: The condition of the rows, as in ``Snapshot.scan``; None means all. Only
                conditions on partition columns limit which added rows are a conflict.

        Raises:
            InvalidArgumentError: The filter does not fit the schema (``filter.column``,
                ``filter.syntax``).

        >>> table.transaction(operation="DELETE").read("day = DATE '2026-01-01'")
        """
        self._native.read(filter)

    def read_files(self, paths: Iterable[str]) -> None:
        """Record that files were read: another writer that removes one of them is a conflict.

        Args:
            paths: The paths in the log.

        >>> table.transaction(operation="OPTIMIZE").read_files(["day=2026-01-02/b.parquet"])
        """
        self._native.read_files(list(paths))

    def add(
        self,
        path: str,
        *,
        size: int,
        partition_values: Mapping[str, str | None] | None = None,
        modification_time: int | None = None,
        data_change: bool = True,
        stats: str | Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        deletion_vector: Mapping[str, Any] | None = None,
        base_row_id: int | None = None,
        default_row_commit_version: int | None = None,
        clustering_provider: str | None = None,
    ) -> None:
        """Stage a data file that you have written.

        Args:
            path: The path, URI-encoded, relative to the table root or absolute.
            size: The size in bytes.
            partition_values: A string or None for each partition column.
            modification_time: Milliseconds since the epoch; by default now.
            data_change: False if rows are only rearranged. Add files that are live already, e.g.
                with other statistics, in a commit of their own with False: otherwise the version
                checksum may count them twice.
            stats: The file's statistics, as JSON text or as an object.
            tags: Strings by name.
            deletion_vector: A descriptor with the protocol's field names.
            base_row_id: The row id of the first row; by default assigned, if the table tracks rows.
            default_row_commit_version: The version of its rows; by default assigned likewise.
            clustering_provider: The implementation that clustered the file.

        Raises:
            InvalidArgumentError: A value has another type than in the protocol
                (``transaction.action``), or the statistics are not a JSON object
                (``transaction.file``).

        >>> table.transaction(operation="WRITE").add(
        ...     "day=2026-01-04/d.parquet", size=10, partition_values={"day": "2026-01-04"}
        ... )
        """
        body = {
            "path": path,
            "partitionValues": dict(partition_values or {}),
            "size": size,
            "modificationTime": _now() if modification_time is None else modification_time,
            "dataChange": data_change,
            "stats": stats if stats is None or isinstance(stats, str) else _dumps(stats),
            "tags": tags,
            "deletionVector": deletion_vector,
            "baseRowId": base_row_id,
            "defaultRowCommitVersion": default_row_commit_version,
            "clusteringProvider": clustering_provider,
        }
        self._native.add(_json_array([body]))

    def add_files(self, files: pa.Table) -> None:
        """Stage many data files at once.

        Args:
            files: Columns of ``add`` with the protocol's names, as from ``Snapshot.files``; at
                least ``path`` and ``size``.

        Raises:
            InvalidArgumentError: As ``add``; or a column is missing (``transaction.action``).

        >>> moved = table.snapshot().files().slice(0, 1)
        >>> table.transaction(operation="RESTORE").add_files(moved)
        """
        defaults = {"modificationTime": _now(), "dataChange": True}
        self._native.add(_json_array({**defaults, **row} for row in _rows(files)))

    def remove(self, paths: str | Iterable[str], *, data_change: bool = True) -> None:
        """Stage the removal of live files of the snapshot.

        Args:
            paths: One or several paths in the log.
            data_change: False if their rows are in other files now.

        Raises:
            InvalidArgumentError: A file is not live (``transaction.not_live``).

        >>> table.transaction(operation="DELETE").remove("day=2026-01-02/b.parquet")
        """
        self._native.remove_paths(names("paths", paths), data_change)

    def remove_files(self, files: pa.Table) -> None:
        """Stage the removal of many live files with all their fields.

        Args:
            files: Columns of ``remove`` with the protocol's names, or of ``add`` as from
                ``Snapshot.files``. It is not checked that they are live: the version checksum may
                miscount others.

        Raises:
            InvalidArgumentError: As ``add_files``.

        >>> table.transaction(operation="DELETE").remove_files(table.snapshot().files())
        """
        now = _now()
        self._native.remove(_json_array(_removed(row, now) for row in _rows(files)))

    def update_vectors(self, vectors: Mapping[str, Mapping[str, Any]]) -> None:
        """Stage new deletion vectors of live files.

        Args:
            vectors: For each path a descriptor with the protocol's field names. It must include the
                rows that are already deleted.

        Raises:
            InvalidArgumentError: A file is not live (``transaction.not_live``), or has no row count
                in the log (``transaction.deletion_vector``); or a descriptor lacks a field
                (``transaction.action``).

        >>> table.transaction(operation="DELETE").update_vectors({})
        """
        self._native.update_vectors(
            {path: _json_object(descriptor) for path, descriptor in vectors.items()}
        )

    def add_change_data(
        self,
        path: str,
        *,
        size: int,
        partition_values: Mapping[str, str | None] | None = None,
    ) -> None:
        """Stage a change data file.

        Args:
            path: The path, URI-encoded, below ``_change_data``.
            size: The size in bytes.
            partition_values: A string or None for each partition column.

        >>> table.transaction(operation="UPDATE").add_change_data(
        ...     "_change_data/c.parquet", size=9, partition_values={"day": None}
        ... )
        """
        body = {"path": path, "partitionValues": dict(partition_values or {}), "size": size}
        self._native.change_data(_json_array([{**body, "dataChange": False}]))

    def set_metadata(self, metadata: Metadata) -> None:
        """Stage new metadata; the protocol is upgraded if the metadata requires it.

        Args:
            metadata: The new metadata, which replaces the old metadata.

        Raises:
            InvalidArgumentError: The schema is invalid (``schema.json``); or a feature does not
                exist (``protocol.unknown_feature``), or must first be added by name
                (``protocol.manual_enablement``).
            UnsupportedFeatureError: This release cannot write a required feature
                (``protocol.writer_features``), or row tracking is enabled and files have no row ids
                (``alter.row_tracking``).

        >>> metadata = table.snapshot().metadata
        >>> table.transaction(operation="SET TBLPROPERTIES").set_metadata(metadata)
        """
        self._native.set_metadata(metadata)

    def set_protocol(self, protocol: Protocol) -> None:
        """Stage a new protocol.

        Args:
            protocol: The new protocol, which replaces the old protocol.

        Raises:
            InvalidArgumentError: The protocol contradicts itself (``protocol.malformed``).
            UnsupportedFeatureError: This release cannot read (``protocol.reader_features``) or
                write (``protocol.writer_features``) a feature of the protocol.

        >>> protocol = table.snapshot().protocol.with_feature("domainMetadata")
        >>> table.transaction(operation="UPGRADE PROTOCOL").set_protocol(protocol)
        """
        self._native.set_protocol(protocol)

    def set_transaction(self, app_id: str, version: int) -> bool:
        """Stage the progress of an application, so that the same batch is never committed twice.

        Args:
            app_id: The application.
            version: The application's number of the batch; numbers must increase.

        Returns:
            True if the table already has this batch, or a later one: then ``commit`` commits
            nothing.

        Raises:
            InvalidArgumentError: Another version is staged for the application
                (``transaction.duplicate``).

        Source: Delta protocol, "Transaction Identifiers".

        >>> table.transaction(operation="STREAMING UPDATE").set_transaction("my-stream", 4)
        False
        """
        return self._native.set_transaction(app_id, version)

    def set_domain_metadata(self, domain: str, configuration: str | None) -> None:
        """Stage the configuration of a domain.

        Args:
            domain: A name that does not begin with ``delta.``.
            configuration: Any text; None removes the domain.

        Raises:
            InvalidArgumentError: The domain belongs to Delta Lake (``transaction.domain``), or is
                staged already (``transaction.duplicate``).

        >>> table.transaction(operation="WRITE").set_domain_metadata("owner", "me")
        """
        self._native.set_domain(domain, configuration)

    def set_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Stage the operation metrics of the commit.

        Args:
            metrics: Metrics by name; numbers become strings, as in Delta.

        >>> table.transaction(operation="WRITE").set_metrics({"numFiles": 1})
        """
        self._description["metrics"].update((key, str(value)) for key, value in metrics.items())
        self._describe()

    def commit(self) -> int | None:
        """Commit the staged actions.

        Afterwards a checkpoint is written if ``delta.checkpointInterval`` requires one, and the
        version checksum: derived from that of the version before, or counted in full for versions
        with a checkpoint and tables of at most 1,000 files. If this fails, there is a
        ``DeltaReplayWarning``.

        Returns:
            The new version; None if, by ``set_transaction``, it was committed before.

        Raises:
            CommitConflictError: Another writer's commit conflicts, or others were first until the
                timeout (``conflict.deadline``); nothing was committed.
            InvalidArgumentError: The commit would break the table, e.g. remove rows of an
                append-only table (``transaction.append_only``), or name a file twice
                (``transaction.duplicate``); or it has ended (``transaction.finished``).
            CommitStateUnknownError: It is unknown whether the storage took the commit
                (``commit.unknown``).
            StorageError: The storage failed otherwise; nothing was committed.

        >>> transaction = table.transaction(operation="WRITE")
        >>> transaction.commit()
        3
        """
        self._done = True
        self.version, self.attempts, afterwards = self._native.commit()
        if self.attempts > 1:
            log.warning("retried: other writers were first %d times", self.attempts - 1)
        if self.version is not None:
            log.info("committed version %d of %r", self.version, self._table)
        if afterwards is not None:
            warn_after_commit(self.version, afterwards)
        return self.version

    def abort(self) -> None:
        """Discard the staged actions.

        Raises:
            InvalidArgumentError: The transaction has ended (``transaction.finished``).

        >>> table.transaction(operation="WRITE").abort()
        """
        self._done = True
        self._native.abort()

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._done:
            return
        if kind is None:
            self.commit()
        else:
            self.abort()


def _now() -> int:
    return time.time_ns() // 1_000_000


def _parameter(value: Any) -> Any:
    """Return a parameter, with lists and mappings as JSON text, as delta-spark requires.

    >>> _parameter(["day"]), _parameter("true"), _parameter(1)
    ('["day"]', 'true', 1)
    """
    if isinstance(value, (list, tuple, Mapping)):
        return _dumps(value, separators=(",", ":"))
    return value


def _dumps(value: Any, separators: tuple[str, str] | None = None) -> str:
    """Encode a value as JSON; the core checks that its text is valid UTF-8.

    Raises:
        InvalidArgumentError: ``argument.type``: JSON cannot represent the value.
    """
    try:
        return json.dumps(value, default=_as_dict, ensure_ascii=False, separators=separators)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(
            f"the log is JSON, which cannot represent a value: {error}: pass text",
            code="argument.type",
        ) from error


def _as_dict(value: Any) -> dict[Any, Any]:
    """Convert a mapping of another type than dict, for ``json.dumps``."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is of the type {type(value).__name__}")


def _json_object(body: Mapping[str, Any]) -> str:
    return _dumps({key: value for key, value in body.items() if value is not None})


def _json_array(bodies: Iterable[Mapping[str, Any]]) -> str:
    return f"[{','.join(map(_json_object, bodies))}]"


def _rows(files: pa.Table) -> Iterable[dict[str, Any]]:
    """Yield rows of file actions, with maps as dicts, and without nulls in vectors."""
    for row in files.to_pylist():
        for name in ("partitionValues", "tags"):
            if row.get(name) is not None:
                row[name] = dict(row[name])
        vector = row.get("deletionVector")
        if vector is not None:
            row["deletionVector"] = {
                key: value for key, value in vector.items() if value is not None
            }
        yield row


def _removed(row: dict[str, Any], now: int) -> dict[str, Any]:
    """Convert a row of ``add`` or ``remove`` to the body of a ``remove``."""
    extended = row.get("partitionValues") is not None and row.get("size") is not None
    body = {"deletionTimestamp": now, "extendedFileMetadata": extended, **row}
    if "modificationTime" in row:
        # the `dataChange` of an `add` is that of the commit that added the file
        body["dataChange"] = True
    add_only = ("modificationTime", "clusteringProvider")
    return {key: value for key, value in body.items() if key not in add_only}
