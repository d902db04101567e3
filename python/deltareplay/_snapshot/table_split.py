"""``TableSplit``: the base of splits, of scans and of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay._arrow.frames import Frames
from deltareplay._support.readers import reader, to_schema
from deltareplay._support.units import plural

if TYPE_CHECKING:
    from typing_extensions import Self

    from deltareplay._snapshot.table_location import TableLocation


class TableSplit(Frames):
    """Rows of a table that any process can read, without its log."""

    __slots__ = ("_native", "_table")

    _native: Any
    _table: TableLocation

    def __init__(self) -> None:
        raise TypeError("create splits with the method splits() of a scan or of changes")

    @classmethod
    def from_native(cls, table: TableLocation, native: Any) -> Self:
        """Internal: wrap an object of the core."""
        self = cls.__new__(cls)
        self._table = table
        self._native = native
        return self

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows.

        >>> rows.snapshot().scan(columns=["id"]).splits()[0].schema
        id: int64
        >>> rows.changes(1, columns=["id"]).splits()[0].schema.names
        ['id', '_change_type', '_commit_version', '_commit_timestamp']
        """
        return to_schema(self._native.schema())

    @property
    def paths(self) -> list[str]:
        """The paths of the files, as in the log; those of changes are sorted.

        >>> rows.snapshot().scan().splits()[0].paths
        ['part-0.parquet']
        """
        paths: list[str] = self._native.paths()
        return paths

    @property
    def size_in_bytes(self) -> int:
        """The approximate number of bytes of data files that the split covers.

        >>> rows.snapshot().scan().splits()[0].size_in_bytes > 0
        True
        """
        size: int = self._native.size_in_bytes
        return size

    def to_arrow(self) -> pa.Table:
        """Read all rows of the split.

        Raises:
            DeltaReplayError: As ``to_batches``.

        >>> rows.snapshot().scan(columns=["id"]).splits()[0].to_arrow().to_pylist()
        [{'id': 1}, {'id': 3}]
        >>> rows.changes(1).splits()[0].to_arrow()["_change_type"].to_pylist()
        ['delete']
        """
        return self.to_batches().read_all()

    def to_batches(self) -> pa.RecordBatchReader:
        """Stream the rows of the split.

        Raises:
            DeltaReplayError: As ``Scan.to_batches`` or ``Changes.to_batches``.

        >>> next(iter(rows.snapshot().scan().splits()[0].to_batches())).num_rows
        2
        """
        return reader(self._native.rows(self._table.native))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow C stream, which is read without Python."""
        return self._native.rows(self._table.native).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the schema of ``__arrow_c_stream__``."""
        return self._native.schema().__arrow_c_schema__()

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self._table!r}: {plural(len(self.paths), 'file')}, "
            f"{self.size_in_bytes} bytes>"
        )
