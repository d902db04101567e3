"""``Snapshot``: the state of a Delta table at one version."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from deltareplay._arrow.frames import Frames
from deltareplay._expressions import double_quotes
from deltareplay._names import some_names
from deltareplay._protocol.schema import Struct
from deltareplay._snapshot.scan import Scan
from deltareplay._snapshot.snapshot_files import SnapshotFiles
from deltareplay._support import log
from deltareplay._support.arguments import checked_methods
from deltareplay._support.display import NotebookCard
from deltareplay._support.readers import to_schema
from deltareplay._support.warnings import warn
from deltareplay.exceptions import CorruptTableError, InvalidArgumentError

if TYPE_CHECKING:
    from deltareplay._expressions.filters import Filter
    from deltareplay._native import Snapshot as NativeSnapshot
    from deltareplay._protocol.metadata import Metadata
    from deltareplay._protocol.protocol import Protocol
    from deltareplay._snapshot.dataset import RowsDataset
    from deltareplay._snapshot.log_segment import LogSegment
    from deltareplay._snapshot.log_warning import LogWarning
    from deltareplay._snapshot.replay_plan import ReplayPlan
    from deltareplay._snapshot.snapshot_diff import SnapshotDiff
    from deltareplay._snapshot.table_location import TableLocation

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


@checked_methods
class Snapshot(SnapshotFiles, Frames, NotebookCard):
    """The state of a table at one version; ``Table.snapshot`` opens it.

    A snapshot never changes. Version, protocol and metadata are available at once; the rest is read
    on demand. A snapshot can be used wherever a ``Scan`` can, as the table of its rows.

    >>> import pyarrow as pa
    >>> pa.table(rows.snapshot()).num_rows
    2
    """

    __slots__ = ("_native", "_num_reported", "_strict", "_table")

    _table: TableLocation
    _native: NativeSnapshot
    _strict: bool
    _num_reported: int  # warnings that were passed on to Python

    def __init__(self) -> None:
        raise TypeError("open a snapshot with Table.snapshot()")

    @classmethod
    def from_native(
        cls, table: TableLocation, native: NativeSnapshot, strict: bool, reported: int = 0
    ) -> Snapshot:
        """Internal: create it from a snapshot of the core."""
        self = cls.__new__(cls)
        self._table = table
        self._native = native
        self._strict = strict
        self._num_reported = reported
        log.info("opened version %d of %r", native.version, table)
        self._report_warnings()
        return self

    @property
    def table(self) -> TableLocation:
        """Internal: the table."""
        return self._table

    @property
    def native(self) -> NativeSnapshot:
        """Internal: the snapshot of the core."""
        return self._native

    @property
    def version(self) -> int:
        """The version.

        >>> table.snapshot().version
        2
        """
        return self._native.version

    @property
    def timestamp(self) -> datetime.datetime:
        """The commit time of the version, in UTC with milliseconds.

        It is the in-commit timestamp if the table has them, otherwise the time of the commit file,
        adjusted as in Delta so that it increases from version to version.

        Raises:
            CorruptTableError: The timestamp in the log is out of range (``timestamp.range``).

        >>> table.snapshot().timestamp.isoformat()
        '2026-01-03T00:00:00+00:00'
        """
        milliseconds, version = self._native.timestamp, self.version
        try:
            return _EPOCH + datetime.timedelta(milliseconds=milliseconds)
        except OverflowError:
            message = (
                f"the commit of version {version} has the timestamp {milliseconds} ms, which "
                "is out of range; choose versions of this table by number"
            )
            raise CorruptTableError(message, code="timestamp.range", version=version) from None

    @property
    def in_commit_timestamp(self) -> int | None:
        """The in-commit timestamp in milliseconds since the epoch, or None.

        Source: Delta protocol, "In-Commit Timestamps".

        >>> table.snapshot().in_commit_timestamp
        """
        return self._native.in_commit_timestamp

    @property
    def log_segment(self) -> LogSegment:
        """The files of the log that this version is read from.

        Nothing is read for it. It changes when a checkpoint or a compacted file proves to be
        unreadable and other files are read instead.

        >>> table.snapshot().log_segment.num_commits
        3
        """
        from deltareplay._snapshot.log_segment import LogSegment

        return LogSegment(*self._native.log_segment())

    @property
    def schema(self) -> pa.Schema:
        """The logical schema of the rows, partition columns included.

        >>> table.snapshot().schema.names
        ['id', 'day']
        """
        return to_schema(self._native.schema)

    @property
    def schema_json(self) -> str:
        """The schema as in the log: the JSON of a Spark ``StructType``.

        >>> table.snapshot().schema_json[:26]
        '{"type":"struct","fields":'
        """
        return self.metadata.schema_string

    @property
    def metadata(self) -> Metadata:
        """The ``metaData`` action.

        >>> table.snapshot().metadata.name
        'events'
        """
        return self._native.metadata()

    @property
    def protocol(self) -> Protocol:
        """The ``protocol`` action.

        >>> table.snapshot().protocol.why_not_readable()
        []
        """
        return self._native.protocol()

    @property
    def properties(self) -> dict[str, str]:
        """The table properties.

        >>> table.snapshot().properties
        {'delta.appendOnly': 'false'}
        """
        return self.metadata.configuration

    @property
    def partition_columns(self) -> list[str]:
        """Logical names of the partition columns, in order.

        >>> table.snapshot().partition_columns
        ['day']
        """
        return self.metadata.partition_columns

    @property
    def transactions(self) -> dict[str, int]:
        """The newest version that each application committed, by its id.

        Source: Delta protocol, "Transaction Identifiers".

        >>> table.snapshot().transactions
        {'stream-7': 41}
        """
        result = self._native.transactions()
        self._report_warnings()
        return dict(result)

    @property
    def domain_metadata(self) -> dict[str, str]:
        """The configuration of each live metadata domain, by its name.

        Source: Delta protocol, "Domain Metadata".

        >>> table.snapshot().domain_metadata
        {}
        """
        result = self._native.domain_metadata()
        self._report_warnings()
        return dict(result)

    @property
    def num_files(self) -> int:
        """The number of live files; from the version checksum, if there is one.

        >>> table.snapshot().num_files
        2
        """
        result = self._native.num_files()
        self._report_warnings()
        return result

    @property
    def size_in_bytes(self) -> int:
        """The total bytes of the live files; from the version checksum, if there is one.

        >>> table.snapshot().size_in_bytes
        500
        """
        result = self._native.size_in_bytes()
        self._report_warnings()
        return result

    @property
    def num_rows(self) -> int | None:
        """The number of rows, from the log alone; None if a file has no row count.

        It is the sum of ``numRecords`` in the statistics of all files, without the rows that
        deletion vectors delete. If it is None, ``warnings`` names the file, and ``scan().count()``
        counts the rows.

        Source: Delta protocol, "Per-file Statistics".

        >>> rows.snapshot().num_rows
        2
        """
        result = self._native.num_rows()
        self._report_warnings()
        return result

    def min_max(self, column: str) -> tuple[Any, Any] | None:
        """Return the smallest and the largest value of a column, from the log alone.

        Args:
            column: A column, or the path to one through structs (``"a.b"``).

        Returns:
            Two Python values, ``(None, None)`` if all are null; or None if the log has no exact
            values: ``warnings`` says why. Values are exact for partition columns, and for
            integers, booleans, dates, and decimals that cannot have been rounded, if no deletion
            vector deletes rows. Statistics of strings, timestamps and floating-point numbers are
            only bounds. Python has no dates outside the years 1 to 9999: for these, the result is
            None, too.

        Raises:
            InvalidArgumentError: There is no such column (``filter.column``), or its path is
                malformed (``filter.syntax``).
            UnsupportedFeatureError: The column has a collation (``expression.collation``).

        Source: Delta protocol, "Per-file Statistics".

        >>> table.snapshot().min_max("id")
        (1, 9)
        """
        result = self._native.min_max(column)
        self._report_warnings()
        if result is None:
            return None
        batch = pa.record_batch(result)
        return batch["min"][0].as_py(), batch["max"][0].as_py()

    @property
    def warnings(self) -> list[LogWarning]:
        """The damage that was worked around so far; more may be detected by later reads.

        >>> table.snapshot().warnings
        []
        """
        from deltareplay._snapshot.log_warning import LogWarning

        return [LogWarning(*facts) for facts in self._native.warnings(0)]

    def replay_plan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        *,
        piece_size: int = 64 << 20,
        keyed: bool = False,
    ) -> ReplayPlan:
        """Divide the replay of the live files into pieces that other processes read.

        For logs that are too large for one machine: this process replays the commits after the
        checkpoint, but not the checkpoint. All pieces and ``ReplayPlan.files`` together are the
        rows of ``files()``. ``deltareplay.spark.files`` does all of this on a cluster.

        Args:
            columns: As in ``files()``.
            filter: As in ``files()``.
            piece_size: Approximate bytes of the log per piece.
            keyed: Replays nothing in this process: commits become pieces too, and rows have keys by
                which the newest is selected (``ReplayTail.schema``). For logs with too many
                commits.

        Raises:
            DeltaReplayError: As ``files()``.

        Source: Delta protocol, "Action Reconciliation", "Sidecar Files".

        >>> plan = table.snapshot().replay_plan(columns=["path"])
        >>> plan.files.num_rows + sum(piece.to_arrow(plan.tail).num_rows for piece in plan.pieces)
        2
        """
        result = self._native.replay_plan(columns, filter, piece_size=piece_size, keyed=keyed)
        self._report_warnings()
        from deltareplay._snapshot.replay_plan import ReplayPlan

        return ReplayPlan.from_native(self._table, *result)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        *,
        with_row_id: bool = False,
        with_file_path: bool = False,
        with_row_index: bool = False,
        on_error: Literal["raise", "skip"] = "raise",
        look_ahead: int | None = None,
    ) -> Scan:
        """Select rows to read: without deleted rows, with logical names and types.

        Args:
            columns: Logical names of top-level columns, in this order, ignoring case as Spark does;
                others are not decoded. None returns all.
            filter: As in ``files()``; here it also filters the rows exactly: a row is returned if
                the filter is true for it, not if it is unknown.
            with_row_id: Adds ``_row_id`` and ``_row_commit_version`` (int64), which stay with a row
                when it moves to another file; for tables with row tracking.
            with_file_path: Adds ``_file_path`` (string): the path as in the log.
            with_row_index: Adds ``_row_index`` (int64): the position in the file, deleted rows
                counted.
            on_error: ``"skip"`` skips files that are missing or damaged, and lists them in
                ``Scan.skipped``; rows before the damage may have been returned.
            look_ahead: Bytes fetched or decoded that may wait for the caller (64 MiB by default):
                more keeps more threads busy, less saves memory.

        Raises:
            InvalidArgumentError: A column does not exist (``columns.unknown``), is named twice
                (``columns.twice``) or has the name of an added one (``columns.reserved``); the
                filter does not fit the table (``filter.column``, ``filter.syntax``); the table has
                no row ids (``columns.row_tracking``); or ``on_error`` has another value
                (``argument.on_error``).

        Source: Delta protocol, "Reader Requirements" of each feature.

        >>> rows.snapshot().scan(columns=["id"], with_row_index=True).to_arrow().to_pylist()
        [{'id': 1, '_row_index': 0}, {'id': 3, '_row_index': 2}]
        >>> rows.snapshot().scan(["id"], filter="id > 2").to_arrow().to_pylist()
        [{'id': 3}]
        """
        if not isinstance(on_error, str) or on_error not in ("raise", "skip"):
            raise InvalidArgumentError(
                f'on_error is {on_error!r}: pass "raise" or "skip"', code="argument.on_error"
            )
        keywords: dict[str, Any] = {
            "columns": columns,
            "filter": filter,
            "with_row_id": with_row_id,
            "with_file_path": with_file_path,
            "with_row_index": with_row_index,
            "on_error": on_error,
            "look_ahead": look_ahead,
        }
        double_quotes.check(filter, lambda: self.schema_json)
        native = self._native.scan(
            columns,
            filter,
            with_row_id,
            with_file_path,
            with_row_index,
            on_error == "skip",
            look_ahead,
        )
        return Scan.from_native(self, native, keywords)

    def to_arrow(self) -> pa.Table:
        """Read all rows, as ``scan().to_arrow()`` does.

        Raises:
            DeltaReplayError: As ``Scan.to_batches``.

        >>> rows.snapshot().to_arrow().num_rows
        2
        """
        return self.scan().to_arrow()

    def dataset(self) -> RowsDataset:
        """Return the rows as a ``pyarrow.dataset.Dataset``, for engines with pushdown.

        Only the required columns are read. Filters (comparisons with values, ``isin``, ``is_null``,
        ``is_valid``, joined by ``&`` and ``|``) skip files and rows as in ``scan``; Arrow evaluates
        all filters again. Each scanner reads once, in bounded memory. Deleted rows are left out,
        unlike in a dataset of the files; so there are no fragments.

        Returns:
            A picklable dataset. ``scanner``, ``to_table``, ``to_batches``, ``head``, ``take``,
            ``count_rows``, ``filter``, ``sort_by`` and ``join`` work; DuckDB and
            ``polars.scan_pyarrow_dataset`` push down into it.

        >>> import pyarrow.dataset as pds
        >>> rows.snapshot().dataset().to_table(["name"], filter=pds.field("id") > 1).to_pylist()
        [{'name': 'three'}]
        """
        # here, since pyarrow.dataset takes time to import
        from deltareplay._snapshot.dataset import RowsDataset

        return RowsDataset(self)

    def diff(self, other: Snapshot) -> SnapshotDiff:
        """Compare this version with another one of the same table.

        Args:
            other: Usually the later version; its own files count as added.

        Raises:
            InvalidArgumentError: ``other`` is a snapshot of another table (``diff.table``).
            CorruptTableError: The log breaks the protocol.

        >>> table.snapshot(version=1).diff(table.snapshot(version=2)).files["change"].to_pylist()
        ['removed', 'added']
        """
        if other.table != self._table:
            message = f"{other!r} and {self!r} belong to different tables: compare versions of one"
            raise InvalidArgumentError(message, code="diff.table")
        from deltareplay._snapshot.snapshot_diff import SnapshotDiff

        return SnapshotDiff.from_native(self._native, other.native)

    def refresh(self) -> Snapshot:
        """Open the newest version, reading only the commits since this one.

        Returns:
            A new snapshot that shares memory with this one, which does not change.

        Raises:
            TableNotFoundError: The table no longer exists (``table.not_found``).
            UnsupportedFeatureError: The table now needs features that this release lacks
                (``protocol.reader_features``, ``protocol.reader_version``).
            CorruptTableError: A new commit breaks the protocol.

        >>> table.snapshot(version=1).refresh().version
        2
        """
        native = self._native.update()
        earlier = native.warnings(0)[: self._num_reported]
        reported = self._num_reported if earlier == self._native.warnings(0) else 0
        return Snapshot.from_native(self._table, native, self._strict, reported)

    def update(self) -> Snapshot:
        """Open the newest version, as ``refresh`` does; an older name of that method.

        ``Table.update`` is something else: it changes rows.

        >>> table.snapshot(version=1).update().version
        2
        """
        return self.refresh()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow C stream, which is read without Python."""
        return self.scan().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the schema of ``__arrow_c_stream__``, which DuckDB requests first."""
        return self._native.schema.__arrow_c_schema__()

    def __reduce__(self) -> tuple[Any, ...]:
        reopen = methodcaller("snapshot", version=self.version, strict=self._strict)
        return reopen, (self._table,)

    def __repr__(self) -> str:
        try:
            timestamp = self.timestamp.isoformat(sep=" ", timespec="milliseconds")
        except CorruptTableError:
            timestamp = f"{self._native.timestamp} ms"
        names = [field.name for field in Struct.parse(self.schema_json).fields]
        return (
            f"<Snapshot of {self._table!r}: version {self.version} of {timestamp}, "
            f"columns {some_names(names)}>"
        )

    def _report_warnings(self) -> None:
        """Pass new warnings on to Python's ``warnings``, once each."""
        for facts in self._native.warnings(self._num_reported):
            from deltareplay._snapshot.log_warning import LogWarning

            self._num_reported += 1
            warn(str(LogWarning(*facts)))
