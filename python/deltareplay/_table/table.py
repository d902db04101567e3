"""``Table``: the location of a Delta table, and access to its versions."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from deltareplay import _native
from deltareplay._changes.changes import Changes
from deltareplay._changes.follow import Follow
from deltareplay._expressions.filters import Filter
from deltareplay._snapshot.snapshot import Snapshot
from deltareplay._support.arguments import checked, checked_methods
from deltareplay._support.display import NotebookCard
from deltareplay._support.readers import reader, to_table
from deltareplay._table.alter import Altering
from deltareplay._table.clone import Cloning
from deltareplay._table.log import MaintainingLog
from deltareplay._table.merge import Merging
from deltareplay._table.optimize import Optimizing
from deltareplay._table.report import Reporting
from deltareplay._table.restore import Restoring
from deltareplay._table.rows import Writing
from deltareplay._table.vacuum import Vacuuming
from deltareplay._table.verify import Verifying
from deltareplay._transaction.transaction import Transaction
from deltareplay.exceptions import InvalidArgumentError, TableNotFoundError

if TYPE_CHECKING:
    from deltareplay.catalogs import Catalog, Locator

#: The kinds of changes.
Kind = Literal["full-delta", "min-delta", "upsert", "append-only"]


@checked_methods
class Table(
    Writing,
    Merging,
    Optimizing,
    Altering,
    MaintainingLog,
    Vacuuming,
    Restoring,
    Cloning,
    Verifying,
    Reporting,
    NotebookCard,
):
    """A Delta table: its URI and storage options. Creating the object with a URI does no I/O.

    Args:
        uri: The table root: a local path, or ``file://``, ``s3://``, ``az://``, ``abfss://``,
            ``gs://``, ``hdfs://``, ``http(s)://`` or ``memory://``. Or a name as for
            ``from_name``, e.g. ``uc://main.sales.orders``, which is looked up in the catalog.
        storage_options: Credentials and settings of the object store, with the keys of the
            ``object_store`` library, e.g. ``aws_region``; for HDFS with Hadoop's own keys. They
            never appear in ``repr``, but a pickle contains them, because a worker needs them.
        allowed_roots: Locations outside the table root that absolute paths in the log may point to;
            None allows only the table root. With a list, even an empty one, symbolic links are
            resolved and checked, too: no file of the table (log, data, vectors) is opened
            elsewhere. With None, links in the table are followed like any path of the machine.
        strict: Whether a damaged log is an error, instead of a warning if the damage can be worked
            around. ``snapshot(strict=...)`` overrides it.
        catalog: The catalog that manages the commits of this table: any object with the methods of
            ``deltareplay.catalogs.Catalog``. It is queried whenever the log is listed, and ratifies
            commits. A table with the feature ``catalogManaged`` requires it. If ``uri`` is a name,
            a catalog or its kind as for ``from_name``.

    Raises:
        InvalidArgumentError: The URI is invalid (``uri.empty``, ``uri.form``, ``uri.scheme``), or
            an option is unknown (``options.unknown``). For a name, also the errors of
            ``from_name``.

    >>> Table(table.uri) == table
    True
    """

    __slots__ = ()

    @classmethod
    def from_name(
        cls,
        name: str,
        catalog: Locator | str | None = None,
        *,
        storage_options: Mapping[str, str] | None = None,
        allowed_roots: Sequence[str | os.PathLike[str]] | None = None,
        strict: bool = False,
    ) -> Table:
        """Open a table by its name in a catalog, which knows the location.

        Args:
            name: The name, e.g. ``main.sales.orders``. Parts that contain dots are in backticks.
            catalog: A catalog of ``deltareplay.catalogs``, or its kind: ``"uc"`` is
                ``UnityCatalog()``, ``"hive"`` is ``HiveMetastore()``, ``"glue"`` is
                ``GlueCatalog()``, with addresses and tokens from the environment. None takes the
                kind from the name, e.g. ``uc://main.sales.orders``.
            storage_options: As for ``Table``; they override those of the catalog.
            allowed_roots: As for ``Table``.
            strict: As for ``Table``.

        Raises:
            TableNotFoundError: The catalog has no such table (``catalog.no_table``), or it is not a
                Delta table (``catalog.not_delta``), or it has no location
                (``catalog.no_location``).
            InvalidArgumentError: The name (``catalog.name``), the kind (``catalog.kind``) or the
                catalog's address (``catalog.address``) is invalid; or the catalog refuses the token
                (``catalog.denied``) or the request (``catalog.refused``).
            UnsupportedFeatureError: Glue needs boto3, which is not installed (``catalog.package``).
            StorageError: The catalog does not respond (``catalog.unreachable``), or its response is
                invalid (``catalog.response``).
        """
        from deltareplay.catalogs._locate import locate

        located = locate(name, catalog)
        options = located.options_with(storage_options or {})
        return cls(located.uri, options, allowed_roots, strict=strict, catalog=located.catalog)

    def snapshot(
        self,
        version: int | None = None,
        timestamp: datetime.datetime | str | None = None,
        *,
        strict: bool | None = None,
        verify: bool = False,
    ) -> Snapshot:
        """Open one version, by default the latest.

        Reads only version, protocol and metadata; files are read on demand.

        Args:
            version: A version number.
            timestamp: Selects the latest version committed at or before this time: a ``datetime``
                (naive means UTC) or an ISO 8601 string.
            strict: Overrides the table's own setting.
            verify: Whether to replay the whole version now, strictly, compare it with every field
                of its checksum that the log also has, and check each live file. Differences are
                errors. ``refresh()`` then verifies the newer version too.

        Raises:
            TableNotFoundError: There is no Delta table (``table.not_found``).
            VersionNotFoundError: There is no such version (``version.not_found``), or none at the
                timestamp (``version.timestamp``); the message has the range.
            UnsupportedFeatureError: The table needs features that this release lacks
                (``protocol.reader_features``, ``protocol.reader_version``), or its catalog
                (``catalog.required``).
            CorruptTableError: The log is damaged and a reader cannot work around it; with
                ``strict`` or ``verify``, any damage.
            InvalidArgumentError: Both ``version`` and ``timestamp`` are passed
                (``argument.version_and_timestamp``), or the latter is not a time
                (``argument.timestamp``).

        Source: Delta protocol, "Delta Log Entries".

        >>> table.snapshot(version=1).version
        1
        >>> table.snapshot(timestamp="2026-01-02T12:00:00Z").version
        1
        >>> table.snapshot(verify=True).num_files == table.snapshot().num_files
        True
        """
        native = self._native.snapshot(version, timestamp, strict, verify)
        strict = verify or (self._strict if strict is None else strict)
        return Snapshot.from_native(self, native, strict)

    def history(self, limit: int | None = None, *, version: int | None = None) -> pa.Table:
        """List the commits, newest first.

        Args:
            limit: The maximum number; None lists all commits that are still in the log.
            version: The version of the only commit to list; excludes ``limit``.

        Returns:
            One row for each commit: ``version`` (int64), ``timestamp`` (timestamp in microseconds,
            UTC), ``operation``, ``operationParameters``, ``operationMetrics``, ``userMetadata``,
            ``engineInfo``, ``isBlindAppend`` and others; null if the commit does not have them.

        Raises:
            TableNotFoundError: There is no Delta table (``table.not_found``).
            VersionNotFoundError: The log has no commit of the version (``version.not_found``).
            InvalidArgumentError: Both ``limit`` and ``version`` are passed (``argument.version``).
            CorruptTableError: A commit does not decode.

        Source: Delta protocol, "Commit Provenance Information".

        >>> table.history(limit=2).column("version").to_pylist()
        [2, 1]
        >>> table.history(version=0).column("operation").to_pylist()
        ['CREATE TABLE']
        """
        if version is not None:
            if limit is not None:
                message = "limit and version cannot be combined: pass one of them"
                raise InvalidArgumentError(message, code="argument.version")
            return to_table(self._native.history_of(version))
        return to_table(self._native.history(limit))

    def actions(self, start: int, end: int | None = None) -> pa.RecordBatchReader:
        """Stream the raw actions of the commits ``start`` to ``end``, both included, oldest first.

        Args:
            start: The first version.
            end: The last version; None streams to the latest.

        Returns:
            One row for each action: ``version`` (int64), and one struct column for each kind of
            action, exactly one of which is not null. Batches are read on demand.

        Raises:
            TableNotFoundError: There is no Delta table.
            VersionNotFoundError: A commit of the range is not in the log (``version.range``).
            InvalidArgumentError: The range ends before it starts (``argument.range``).
            CorruptTableError: A commit does not decode, or one within the range is missing
                (``log.gap``).

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
        kind: Kind = "full-delta",
        deleted: Literal["include", "exclude"] | None = None,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        key: Sequence[str] | None = None,
        most_rows: int | None = None,
        require_feed: bool = False,
        allow_out_of_range: bool = False,
    ) -> Changes:
        """Return the rows that changed from ``start`` to ``end``, both included.

        Needs no change data feed. Change data files are used if a commit has them; otherwise the
        files that were added and removed, and the differences of deletion vectors. If files were
        rewritten, rows are matched by their ids (row tracking), or else by ``key``. Without both,
        equal rows count as copied, and an update is a delete and an insert. ``Changes.explain``
        shows the method for each commit.

        Args:
            start: The first version; or a time (a ``datetime``, naive means UTC, or ISO 8601 text),
                which selects the first version committed at or after it.
            end: The last version; or a time, which selects the last version committed at or before
                it. None, and a version after the latest one, mean the latest.
            kind: ``full-delta`` is every change of every commit. The others are net changes: the
                result for each row, with the version of its last change. ``min-delta`` is the
                difference between the state before ``start`` and the state at ``end``; ``upsert``
                is the last image of every row that was inserted or updated and still exists;
                ``append-only`` is the last image of every row that was inserted.
            deleted: With ``include``, ``upsert`` has one delete for each row that existed before
                and is gone, and ``append-only`` keeps inserted rows that were deleted again. Not
                for the other kinds, which have them anyway.
            columns: Logical names of the columns to return, as at the end of the range; None
                returns all. The three columns that describe the change are always included.
            filter: A condition on changed rows, as in ``Snapshot.scan``; may name the three
                columns, too.
            key: Columns that identify a row, if the table does not track rows.
            most_rows: The maximum number of row hashes in memory while rows are compared, at about
                100 bytes each; None allows four million. More rows are compared in parts.
            require_feed: Whether versions at which the change data feed was off are an error, as in
                Spark, instead of deriving their changes from files.
            allow_out_of_range: Whether a range that starts after the latest version has no rows,
                and an end time after the latest commit means the latest version; otherwise both
                are errors.

        Raises:
            VersionNotFoundError: The range starts after the latest version (``changes.start``,
                ``version.timestamp``), its end is a time before the first or after the latest one
                (``version.timestamp``), or its commits are no longer in the log
                (``version.not_found``, ``version.range``).
            InvalidArgumentError: The range ends before it starts (``changes.range``); or a time
                (``argument.timestamp``), the kind (``changes.kind``), ``deleted``
                (``changes.deleted``), a column (``columns.unknown``, ``columns.reserved``) or the
                filter (``filter.column``, ``filter.syntax``) is invalid.
            TableNotFoundError: There is no Delta table (``table.not_found``).

        ``Changes.to_arrow`` names the errors that are raised while reading.

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
            "most_rows": most_rows,
            "require_feed": require_feed,
            "allow_out_of_range": allow_out_of_range,
        }
        native = self._native.changes(start, end, **arguments)
        return Changes.from_native(self, native, {"start": start, "end": end, **arguments})

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
        """Begin a transaction: its staged actions become one version, or none.

        Args:
            operation: Delta's name of the operation: ``WRITE``, ``DELETE``, ``MERGE`` ...
            parameters: Parameters of the operation; any JSON. Lists and mappings become strings.
            metrics: Metrics of the operation; numbers become strings.
            user_metadata: Any text.
            tags: Strings by name.
            engine_info: The committing engine; by default this package.
            snapshot: The snapshot that is read; by default the latest.
            isolation_level: ``Serializable``, ``WriteSerializable`` or ``SnapshotIsolation``; by
                default the table's own.
            durable: Whether a local commit is synced to disk before ``commit`` returns.
            timeout: Seconds to keep trying if other writers win or the storage does not answer.
            txn: Application and version of an idempotent write, as for
                ``Transaction.set_transaction``.

        Raises:
            UnsupportedFeatureError: The table has a feature that this release cannot write
                (``protocol.writer_features``); the message names every one.
            InvalidArgumentError: The isolation level is unknown (``transaction.isolation``), or an
                argument has the wrong type (``argument.type``).
            TableNotFoundError: There is no Delta table (``table.not_found``).

        Source: Delta protocol, "Delta Log Entries".

        >>> with table.transaction("DELETE", parameters={"predicate": "true"}) as transaction:
        ...     transaction.read()
        ...     transaction.remove_files(transaction.snapshot.files())
        >>> table.snapshot().num_files
        0
        """
        read = self.snapshot() if snapshot is None else snapshot
        native = self._native.transaction(read.native, operation, isolation_level, durable, timeout)
        transaction = Transaction.from_native(
            self, read, native, parameters, metrics, user_metadata, tags, engine_info
        )
        if txn is not None:
            transaction.set_transaction(*txn)
        return transaction

    def follow(
        self,
        *,
        starting_version: int | Literal["latest"] | None = None,
        starting_timestamp: datetime.datetime | str | None = None,
        offset: str | None = None,
        ignore_deletes: bool = False,
        ignore_changes: bool = False,
        skip_change_commits: bool = False,
        fail_on_data_loss: bool = True,
        read_change_feed: bool = False,
        require_feed: bool = False,
        kind: Kind | None = None,
        deleted: Literal["include", "exclude"] | None = None,
        key: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        max_files_per_batch: int | None = None,
        max_bytes_per_batch: int | None = None,
        available_now: bool = False,
        until: str | None = None,
        poll_interval: float = 1.0,
    ) -> Follow:
        """Stream the rows of the table, or its changes, in small batches as they are committed.

        Without a start, the stream begins with the rows of the latest version and continues with
        the commits after it; with a start, it begins with that commit. A stream of rows has the
        rows of added files. A commit that removes files is an error, unless an option allows it.

        Args:
            starting_version: The first version; ``"latest"`` starts after the latest one.
            starting_timestamp: Starts with the first version committed at or after this time.
            offset: Continues after this position: JSON from ``MicroBatch.offset``, or from the
                checkpoint of a Spark query on this table.
            ignore_deletes: Ignores commits that only delete.
            ignore_changes: Accepts commits that change rows; returns the files that they wrote as a
                whole, so unchanged rows are returned again.
            skip_change_commits: Skips commits that change or delete rows.
            fail_on_data_loss: Whether it is an error if the next commits are no longer in the log;
                False passes over them with a warning that names their versions.
            read_change_feed: Returns changes instead of rows, as ``Table.changes`` does.
            require_feed: As in ``Table.changes``.
            kind: Returns changes of this kind, as in ``Table.changes``; net kinds are computed for
                the commits of one batch.
            deleted: As in ``Table.changes``.
            key: As in ``Table.changes``.
            columns: Logical names of the columns to return; None returns all.
            filter: A condition on rows, as in ``Snapshot.scan``.
            max_files_per_batch: The maximum number of files in a batch; 1000 if no limit is set.
                Files whose rows belong together stay together.
            max_bytes_per_batch: The approximate maximum of bytes of files in a batch.
            available_now: Ends with the version that is now the latest.
            until: An offset at which the stream ends.
            poll_interval: Seconds between two listings of the log when there is nothing new.

        Raises:
            InvalidArgumentError: There is more than one start (``follow.start``), an offset is not
                one of this table (``follow.offset``), or a limit is 0 (``follow.limit``); for other
                options as ``changes``.
            VersionNotFoundError: The start is after the latest version (``changes.start``,
                ``version.timestamp``).
            TableNotFoundError: There is no Delta table (``table.not_found``).

        >>> stream = rows.follow(starting_version=0, read_change_feed=True, available_now=True)
        >>> [batch.data["_change_type"].to_pylist() for batch in stream]
        [['insert', 'insert', 'insert', 'delete']]
        """
        arguments = {
            "starting_version": starting_version,
            "starting_timestamp": starting_timestamp,
            "offset": offset,
            "ignore_deletes": ignore_deletes,
            "ignore_changes": ignore_changes,
            "skip_change_commits": skip_change_commits,
            "fail_on_data_loss": fail_on_data_loss,
            "read_change_feed": read_change_feed,
            "require_feed": require_feed,
            "kind": kind,
            "deleted": deleted,
            "key": key,
            "columns": columns,
            "filter": filter,
            "max_files_per_batch": max_files_per_batch,
            "max_bytes_per_batch": max_bytes_per_batch,
            "available_now": available_now,
            "until": until,
        }
        native = _native.Follow(self._native, arguments)
        return Follow.from_native(self, native, poll_interval)


@checked
def is_table(
    uri: str | os.PathLike[str],
    storage_options: Mapping[str, str] | None = None,
    *,
    catalog: Catalog | Locator | str | None = None,
) -> bool:
    """Return whether there is a Delta table at a location, or under a name of a catalog.

    Args:
        uri: As for ``Table``.
        storage_options: As for ``Table``.
        catalog: As for ``Table``.

    Raises:
        InvalidArgumentError: As ``Table``.
        StorageError: The storage or the catalog did not respond.

    >>> is_table(table.uri), is_table(table.uri + "/nothing")
    (True, False)
    """
    try:
        return Table(uri, storage_options, catalog=catalog).native.exists()
    except TableNotFoundError:  # the catalog has no such Delta table
        return False
