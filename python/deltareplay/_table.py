"""``Table``: where a Delta table lies, and the way to its versions."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import pyarrow as pa

from deltareplay import _native
from deltareplay._arguments import checked, checked_methods
from deltareplay._changes import Changes
from deltareplay._filters import Filter
from deltareplay._follow import Follow
from deltareplay._readers import reader, to_table
from deltareplay._row_sources import schema_string
from deltareplay._snapshot import Snapshot
from deltareplay._table_services import TableServices
from deltareplay._table_writing import TableWriting

#: The kinds of changes.
Kind = Literal["full-delta", "min-delta", "upsert", "append-only"]


@checked_methods
class Table(TableWriting, TableServices):
    """A Delta table: its place, and the options of the storage there. Making one does no I/O.

    Args:
        uri: The table root: a local path, or ``file://``, ``s3://``, ``az://``, ``abfss://``,
            ``gs://``, ``http(s)://`` or ``memory://``.
        storage_options: Credentials and settings of the object store, by the keys of the
            ``object_store`` library, e.g. ``aws_region``. They never show in ``repr``, and they do
            travel with a pickle, because a worker needs them.
        allowed_roots: Places outside of the table root that absolute paths in the log may point
            to; None allows the table root only. Where it is given, even as an empty list, local
            links are followed and judged as well: no file of the table (log, data, vectors) is
            opened that lies elsewhere. With None a link in the table is the system's own matter.
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
        allowed_roots: Sequence[str | os.PathLike[str]] | None = None,
        *,
        strict: bool = False,
    ) -> None:
        self._options = dict(storage_options or {})
        roots = None if allowed_roots is None else [os.fspath(root) for root in allowed_roots]
        self._native = _native.Table(os.fspath(uri), self._options, roots, strict)
        self._allowed_roots = roots
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
        verify: bool = False,
    ) -> Snapshot:
        """Open one version: the latest, unless told.

        Reads version, protocol and metadata only; files are read when they are asked for.

        Args:
            version: A version number.
            timestamp: The latest version committed at or before this moment: a ``datetime`` (naive
                means UTC) or ISO 8601 text.
            strict: Overrides the table's own setting.
            verify: Replays the whole version now, strictly, and holds it against its checksum: each
                field of the checksum that the log can tell, and each live file for itself. What
                differs or is doubtful is an error. ``update()`` verifies what it finds as well.

        Raises:
            TableNotFoundError: There is no Delta table.
            VersionNotFoundError: No such version, or none that early; the message names the range.
            UnsupportedFeatureError: The table needs features that this release lacks.
            CorruptTableError: The log breaks the protocol beyond repair by a reader; strictly, or
                with ``verify``, in any way.
            InvalidArgumentError: Both ``version`` and ``timestamp`` were given.

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
        return Snapshot._opened(self, native, strict)

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
        kind: Kind = "full-delta",
        deleted: Literal["include", "exclude"] | None = None,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        key: Sequence[str] | None = None,
        most_rows: int | None = None,
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
            most_rows: So many rows may be held as numbers where rows must be compared, about 100
                bytes each; None allows four million. More rows are compared in parts.
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
            "most_rows": most_rows,
            "require_feed": require_feed,
            "allow_out_of_range": allow_out_of_range,
        }
        native = self._native.changes(start, end, **arguments)
        return Changes._made(self, native, {"start": start, "end": end, **arguments})

    def follow(
        self,
        *,
        starting_version: int | Literal["latest"] | None = None,
        starting_timestamp: datetime.datetime | str | None = None,
        offset: str | None = None,
        ignore_deletes: bool = False,
        ignore_changes: bool = False,
        skip_change_commits: bool = False,
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
        """Follow the table: its rows, or its changes, in small batches as they come.

        Without a start the stream begins with the rows of the latest version, and goes on with the
        commits behind it; with one it begins with that commit. A stream of rows has the rows of
        added files; commits that remove files stop it, unless they are tolerated.

        Args:
            starting_version: The first version; ``"latest"`` begins behind the latest one.
            starting_timestamp: Begins with the first version committed at or after this moment.
            offset: Goes on behind this place: JSON from ``MicroBatch.offset``, or from the
                checkpoint of a Spark query over this table.
            ignore_deletes: Tolerates commits that only delete.
            ignore_changes: Tolerates commits that change rows; gives the files that they wrote as a
                whole, so that unchanged rows come again.
            skip_change_commits: Passes over commits that change or delete rows.
            read_change_feed: Gives changes rather than rows, as ``Table.changes`` tells them.
            require_feed: As in ``Table.changes``.
            kind: Gives changes of this kind, as in ``Table.changes``; a net kind is what the
                commits of one batch come to.
            deleted: As in ``Table.changes``.
            key: As in ``Table.changes``.
            columns: Logical names of the columns wanted; None takes all.
            filter: Which rows, as in ``Snapshot.scan``.
            max_files_per_batch: So many files at most in a batch; 1000 where no limit is set.
                Files whose rows belong together are not taken apart.
            max_bytes_per_batch: About so many bytes of files at most in a batch.
            available_now: Ends with the version that is the latest now.
            until: An offset behind which nothing is given, and at which the stream ends.
            poll_interval: Seconds between two looks at the log when there is nothing new.

        Raises:
            InvalidArgumentError: More than one start; an offset of another table; an option that is
                not understood.
            VersionNotFoundError: The start lies behind the latest version.
            TableNotFoundError: There is no Delta table.

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
        return Follow._made(self, native, poll_interval)

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


@checked
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


@checked
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
        TypeError: ``schema`` is no Arrow schema; the message tells how to make one.
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
        schema_string(schema),
        list(partition_columns),
        dict(properties or {}),
        name,
        description,
        durable,
    )
    return created


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
