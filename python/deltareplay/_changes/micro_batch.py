"""``MicroBatch``: a batch of rows from a followed table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay._arrow.frames import Frames
from deltareplay._names import escaped
from deltareplay._snapshot.scan import TARGET_SIZE
from deltareplay._support.arguments import checked_methods

if TYPE_CHECKING:
    from deltareplay._changes.change_split import ChangeSplit


@checked_methods
class MicroBatch(Frames):
    """A batch of rows from ``Follow``, with the position of the stream after them.

    The rows are read on demand. Store the offset once they are processed: a stream that starts from
    it continues with the next rows.

    >>> batch = next(rows.follow(available_now=True))
    >>> batch.data["id"].to_pylist()
    [1, 3]
    """

    __slots__ = ("_offset", "_split")

    _split: ChangeSplit
    _offset: str

    def __init__(self) -> None:
        raise TypeError("create micro-batches with Table.follow()")

    @classmethod
    def from_native(cls, split: ChangeSplit, offset: str) -> MicroBatch:
        """Internal: wrap an object of the core."""
        self = cls.__new__(cls)
        self._split = split
        self._offset = offset
        return self

    @property
    def data(self) -> pa.Table:
        """Read all rows of the batch.

        Raises:
            DeltaReplayError: As ``to_batches``.

        >>> next(rows.follow(starting_version=1, kind="full-delta")).data["id"].to_pylist()
        [2]
        """
        return self._split.to_arrow()

    def to_arrow(self) -> pa.Table:
        """Read all rows of the batch, as ``data`` does.

        >>> next(rows.follow()).to_arrow().num_rows
        2
        """
        return self.data

    def to_batches(self) -> pa.RecordBatchReader:
        """Stream the rows of the batch, with bounded memory.

        Raises:
            DeltaReplayError: As ``Scan.to_batches`` or ``Changes.to_batches``.

        >>> next(rows.follow()).to_batches().read_all().num_rows
        2
        """
        return self._split.to_batches()

    @property
    def offset(self) -> str:
        """The position after the batch: JSON in the format of delta-spark's streaming source.

        >>> import json
        >>> offset = json.loads(next(rows.follow()).offset)
        >>> offset["reservoirVersion"], offset["index"], offset["isStartingVersion"]
        (2, -1, False)
        """
        return self._offset

    @property
    def split(self) -> ChangeSplit:
        """The rows as a picklable split, which other processes read without the log.

        >>> next(rows.follow()).split.to_arrow().num_rows
        2
        """
        return self._split

    def splits(self, target_size: int = TARGET_SIZE) -> list[ChangeSplit]:
        """Divide the rows into splits, as ``Changes.splits`` does.

        Args:
            target_size: Approximate bytes of files per split.

        Raises:
            InvalidArgumentError: The size is less than 1 (``split.size``).

        >>> [split.to_arrow().num_rows for split in next(rows.follow()).splits()]
        [2]
        """
        return self._split.cut(target_size)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow C stream, which is read without Python."""
        return self._split.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the schema of ``__arrow_c_stream__``."""
        return self._split.__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"<MicroBatch up to {escaped(self._offset)}>"
