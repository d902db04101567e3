"""``ChangeSplit``: a part of the changes that any process can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay._arrow.frames import Frames
from deltareplay._support.readers import reader, to_schema

if TYPE_CHECKING:
    from deltareplay._native import ChangeSplit as NativeSplit
    from deltareplay._snapshot.table_location import TableLocation

#: Path, bytes, partition values, type of the changes (None if the file has it), version and time
#: (milliseconds since the epoch) of a file all of whose rows are changes.
WholeFile = tuple[str, int, list[tuple[str, str | None]], str | None, int, int]


class ChangeSplit(Frames):
    """A part of the changes of a range, from ``Changes.splits``.

    A split is self-contained when pickled; reading it does not open the log.

    >>> import pickle
    >>> sent = [pickle.dumps(split) for split in rows.changes(1, columns=["id"]).splits()]
    >>> pickle.loads(sent[0]).to_arrow()["id"].to_pylist()
    [2]
    """

    __slots__ = ("_native", "_table")

    _native: NativeSplit
    _table: TableLocation

    def __init__(self) -> None:
        raise TypeError("create splits with Changes.splits()")

    @classmethod
    def from_native(cls, table: TableLocation, native: NativeSplit) -> ChangeSplit:
        """Internal: wrap an object of the core."""
        self = cls.__new__(cls)
        self._table = table
        self._native = native
        return self

    @classmethod
    def from_json(cls, table: TableLocation, text: str) -> ChangeSplit:
        """Internal: create it from the text of ``to_json``."""
        return cls.from_native(table, _native.ChangeSplit(text))

    def to_json(self) -> str:
        """Internal: return the split as text, without its table."""
        return self._native.to_json()

    def without_whole_files(self) -> tuple[list[WholeFile], ChangeSplit | None]:
        """Internal: separate the files all of whose rows are changes.

        Returns:
            The facts of each of these files, and a split of the rest, if any.
        """
        files, rest = self._native.without_whole_files()
        return files, None if rest is None else self.from_native(self._table, rest)

    def cut(self, target_size: int) -> list[ChangeSplit]:
        """Internal: divide the split into smaller ones of about this many bytes of files."""
        return [self.from_native(self._table, part) for part in self._native.cut(target_size)]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows.

        >>> rows.changes(1, columns=["id"]).splits()[0].schema.names
        ['id', '_change_type', '_commit_version', '_commit_timestamp']
        """
        return to_schema(self._native.schema())

    @property
    def paths(self) -> list[str]:
        """The paths of the files, as in the log, sorted; for net changes, of all files.

        >>> rows.changes(1).splits()[0].paths
        ['part-0.parquet']
        """
        return self._native.paths()

    @property
    def size_in_bytes(self) -> int:
        """The approximate size of the files that the split covers.

        >>> rows.changes(1).splits()[0].size_in_bytes > 0
        True
        """
        return self._native.size_in_bytes

    def to_arrow(self) -> pa.Table:
        """Read all rows of the split.

        Raises:
            CorruptTableError: A file is missing or damaged.
            StorageError: The storage failed.

        >>> rows.changes(1).splits()[0].to_arrow()["_change_type"].to_pylist()
        ['delete']
        """
        return self.to_batches().read_all()

    def to_batches(self) -> pa.RecordBatchReader:
        """Stream the rows of the split.

        Raises:
            CorruptTableError: A file is missing or damaged; also raised while reading.
            StorageError: The storage failed.

        >>> next(iter(rows.changes(1).splits()[0].to_batches())).num_rows
        1
        """
        return reader(self._native.rows(self._table.native))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow C stream, which is read without Python."""
        return self._native.rows(self._table.native).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the schema of ``__arrow_c_stream__``."""
        return self._native.schema().__arrow_c_schema__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._table, self.to_json())

    def __repr__(self) -> str:
        return (
            f"<ChangeSplit of {self._table!r}: {len(self.paths)} files, {self.size_in_bytes} bytes>"
        )


def _restored(table: TableLocation, json: str) -> ChangeSplit:
    return ChangeSplit.from_json(table, json)
