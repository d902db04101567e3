"""``Scan``: rows of a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from deltareplay._arrow.frames import Frames
from deltareplay._arrow.polars import LazyFrames
from deltareplay._names import escaped, some_names
from deltareplay._snapshot.split import Split
from deltareplay._support.arguments import checked_methods
from deltareplay._support.display import NotebookCard
from deltareplay._support.readers import reader, to_schema, to_table

if TYPE_CHECKING:
    from deltareplay._native import Scan as NativeScan
    from deltareplay._snapshot.skipped_file import SkippedFile
    from deltareplay._snapshot.table_location import TableLocation

#: The default size of splits: that of Spark's own (128 MiB).
TARGET_SIZE = 128 << 20


class Scanned(Protocol):
    """The part of a snapshot that a scan uses."""

    @property
    def table(self) -> TableLocation: ...

    def _report_warnings(self) -> None: ...


@checked_methods
class Scan(Frames, LazyFrames, NotebookCard):
    """Rows of a snapshot, from ``Snapshot.scan``; read on demand.

    Deleted rows are left out, columns have their logical names and types, partition values are
    ordinary columns. pyarrow, Polars, DuckDB and DataFusion take a scan directly, pandas 3 by
    ``DataFrame.from_arrow``.

    Rows come in the order of the files in the log, and within a file in the file's order.

    >>> scan = rows.snapshot().scan(columns=["name", "id"])
    >>> scan.to_arrow().to_pylist()
    [{'name': 'one', 'id': 1}, {'name': 'three', 'id': 3}]
    """

    __slots__ = ("_keywords", "_native", "_snapshot")

    _native: NativeScan
    _snapshot: Scanned
    _keywords: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("create a scan with Snapshot.scan()")

    @classmethod
    def from_native(cls, snapshot: Scanned, native: NativeScan, keywords: dict[str, Any]) -> Scan:
        """Internal: wrap an object of the core."""
        self = cls.__new__(cls)
        self._snapshot = snapshot
        self._native = native
        self._keywords = keywords
        return self

    @property
    def table(self) -> TableLocation:
        """Internal: the table."""
        return self._snapshot.table

    @property
    def native(self) -> NativeScan:
        """Internal: the scan of the core."""
        return self._native

    @property
    def keywords(self) -> dict[str, Any]:
        """Internal: the arguments of ``Snapshot.scan``."""
        return self._keywords

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows.

        >>> rows.snapshot().scan(columns=["id"]).schema
        id: int64
        """
        return to_schema(self._native.schema)

    def to_arrow(self) -> pa.Table:
        """Read all rows.

        Raises:
            DeltaReplayError: As ``to_batches``.

        >>> rows.snapshot().scan(columns=["id"]).to_arrow().column("id").to_pylist()
        [1, 3]
        """
        return self.to_batches().read_all()

    def to_batches(self) -> pa.RecordBatchReader:
        """Stream the rows, with bounded memory.

        Files and row groups are decoded in parallel; the ``look_ahead`` of ``Snapshot.scan`` limits
        the decoded rows that wait for the caller. The errors below may also be raised while the
        batches are read.

        Raises:
            InvalidArgumentError: The filter cannot be evaluated for a row (``formula.value``).
            UnsupportedFeatureError: A file is encrypted (``data.encrypted``), or has timestamps
                before 1900 from a Spark session whose time zone is unknown (``data.calendar``).
            CorruptTableError: A data file or a deletion vector is missing (``data.missing``,
                ``dv.missing``) or damaged.
            StorageError: The storage failed.

        >>> sum(batch.num_rows for batch in rows.snapshot().scan().to_batches())
        2
        """
        rows = self._native.rows()
        self._snapshot._report_warnings()
        return reader(rows)

    def files(self, columns: Sequence[str] | None = None) -> pa.Table:
        """List the files to read, as ``Snapshot.files`` lists them.

        Args:
            columns: As in ``Snapshot.files``.

        Raises:
            InvalidArgumentError: As ``Snapshot.files``, for the columns.

        >>> rows.snapshot().scan().files(columns=["path"]).num_rows
        1
        """
        table = to_table(self._native.files(columns))
        self._snapshot._report_warnings()
        return table

    def explain(self) -> pa.Table:
        """Show how many files and bytes remain after each step, without reading data files.

        Returns:
            Three rows: ``step`` (string: ``all files``, ``after partition pruning``, ``after data
            skipping``), ``files`` (int64), ``bytes`` (int64, by the sizes in the log).

        >>> rows.snapshot().scan(filter="id > 7").explain().column("files").to_pylist()
        [1, 1, 0]
        """
        steps = ["all files", "after partition pruning", "after data skipping"]
        rows = [
            {"step": step, "files": files, "bytes": size}
            for step, (files, size) in zip(steps, self._native.explain(), strict=True)
        ]
        self._snapshot._report_warnings()
        return pa.Table.from_pylist(rows)

    def count(self) -> int:
        """Count the rows, reading only what that needs.

        Raises:
            DeltaReplayError: As ``to_batches``.

        >>> rows.snapshot().scan().count()
        2
        """
        number = self._native.count()
        self._snapshot._report_warnings()
        return number

    def splits(self, target_size: int = TARGET_SIZE) -> list[Split]:
        """Divide the scan into splits that other processes read without the log.

        Args:
            target_size: Approximate bytes of data files per split: small files share a split, large
                ones are divided between row groups.

        Returns:
            Picklable splits; their rows, in order, are the rows of the scan.

        Raises:
            InvalidArgumentError: The size is less than 1 (``split.size``).

        >>> [split.to_arrow().num_rows for split in rows.snapshot().scan().splits()]
        [2]
        """
        native_splits = self._native.splits(target_size)
        self._snapshot._report_warnings()
        return [Split.from_native(self._snapshot.table, split) for split in native_splits]

    @property
    def skipped(self) -> list[SkippedFile]:
        """The files that were skipped so far, with ``on_error="skip"``.

        >>> rows.snapshot().scan().skipped
        []
        """
        from deltareplay._snapshot.skipped_file import SkippedFile

        return [SkippedFile(*facts) for facts in self._native.skipped()]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow C stream, which is read without Python."""
        rows = self._native.rows()
        self._snapshot._report_warnings()
        return rows.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the schema of ``__arrow_c_stream__``, which DuckDB requests first."""
        return self._native.schema.__arrow_c_schema__()

    def __reduce__(self) -> tuple[Any, ...]:
        return methodcaller("scan", **self._keywords), (self._snapshot,)

    def __repr__(self) -> str:
        condition = self._keywords["filter"]
        where = "" if condition is None else f", where {escaped(condition)}"
        return f"<Scan of {self._snapshot!r}: reads {some_names(self.schema.names)}{where}>"
