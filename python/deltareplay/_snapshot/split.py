"""``Split``: a part of a scan that any process can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay._arrow.frames import Frames
from deltareplay._snapshot.skipped_file import SkippedFile
from deltareplay._support.readers import reader, to_schema

if TYPE_CHECKING:
    from deltareplay._native import Split as NativeSplit
    from deltareplay._snapshot.table_location import TableLocation


class Split(Frames):
    """Files of a scan, or row groups of one file, from ``Scan.splits``.

    A split is self-contained when pickled: paths, partition values, descriptors of deletion
    vectors, the schema, and the storage options of its table. Reading it does not open the log.

    >>> import pickle
    >>> sent = [pickle.dumps(split) for split in rows.snapshot().scan(columns=["id"]).splits()]
    >>> pickle.loads(sent[0]).to_arrow().to_pylist()
    [{'id': 1}, {'id': 3}]
    """

    __slots__ = ("_native", "_table")

    _native: NativeSplit
    _table: TableLocation

    def __init__(self) -> None:
        raise TypeError("create splits with Scan.splits()")

    @classmethod
    def from_native(cls, table: TableLocation, native: NativeSplit) -> Split:
        """Internal: wrap an object of the core."""
        self = cls.__new__(cls)
        self._table = table
        self._native = native
        return self

    @property
    def native(self) -> NativeSplit:
        """Internal: the split of the core."""
        return self._native

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows.

        >>> rows.snapshot().scan(columns=["id"]).splits()[0].schema
        id: int64
        """
        return to_schema(self._native.schema())

    @property
    def paths(self) -> list[str]:
        """The paths of the files, as in the log.

        >>> rows.snapshot().scan().splits()[0].paths
        ['part-0.parquet']
        """
        return self._native.paths()

    @property
    def size_in_bytes(self) -> int:
        """The approximate number of bytes of data files that the split covers.

        >>> rows.snapshot().scan().splits()[0].size_in_bytes > 0
        True
        """
        return self._native.size_in_bytes

    def to_arrow(self) -> pa.Table:
        """Read all rows of the split.

        Raises:
            CorruptTableError: A data file or a deletion vector is missing or damaged.
            StorageError: The storage failed.

        >>> rows.snapshot().scan(columns=["id"]).splits()[0].to_arrow().to_pylist()
        [{'id': 1}, {'id': 3}]
        """
        return self.to_batches().read_all()

    def to_batches(self) -> pa.RecordBatchReader:
        """Stream the rows of the split.

        Raises:
            CorruptTableError: A data file or a deletion vector is missing or damaged; also raised
                while reading.
            StorageError: The storage failed.

        >>> next(iter(rows.snapshot().scan().splits()[0].to_batches())).num_rows
        2
        """
        return reader(self._native.rows(self._table.native))

    @property
    def skipped(self) -> list[SkippedFile]:
        """The files that were skipped so far, with ``on_error="skip"``.

        >>> rows.snapshot().scan().splits()[0].skipped
        []
        """
        return [SkippedFile(*facts) for facts in self._native.skipped()]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow C stream, which is read without Python."""
        return self._native.rows(self._table.native).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the schema of ``__arrow_c_stream__``."""
        return self._native.schema().__arrow_c_schema__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._table, self._native.to_json())

    def __repr__(self) -> str:
        return f"<Split of {self._table!r}: {len(self.paths)} files, {self.size_in_bytes} bytes>"


def _restored(table: TableLocation, json: str) -> Split:
    return Split.from_native(table, _native.Split(json))
