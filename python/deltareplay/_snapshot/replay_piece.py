"""``ReplayPiece``: a part of a snapshot's log that any process can replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay._support.arguments import checked_methods
from deltareplay._support.readers import reader
from deltareplay._support.units import plural

if TYPE_CHECKING:
    from deltareplay._native import ReplayPiece as NativeReplayPiece
    from deltareplay._snapshot.replay_tail import ReplayTail


@checked_methods
class ReplayPiece:
    """A part of a log to replay: checkpoint files, a byte range of one, or commits.

    A piece pickles into a few hundred bytes: positions in the log, no rows. Any process can read it
    with the tail of its plan, and without the rest of the log.

    >>> import pickle
    >>> plan = table.snapshot().replay_plan(columns=["path"], keyed=True)
    >>> (piece,) = pickle.loads(pickle.dumps(plan.pieces))
    >>> files = {row["key"]: row["file"] for row in piece.to_arrow(plan.tail).to_pylist()}
    >>> sorted(file["path"] for file in files.values() if file)
    ['day=2026-01-02/b.parquet', 'day=2026-01-03/c.parquet']
    """

    __slots__ = ("_native",)

    _native: NativeReplayPiece

    def __init__(self) -> None:
        raise TypeError("create pieces with Snapshot.replay_plan()")

    @classmethod
    def from_native(cls, native: NativeReplayPiece) -> ReplayPiece:
        """Internal: wrap an object of the core."""
        self = cls.__new__(cls)
        self._native = native
        return self

    @property
    def paths(self) -> list[str]:
        """The files of the log to read, relative to the table root.

        >>> table.snapshot().replay_plan(keyed=True).pieces[0].paths[0]
        '_delta_log/00000000000000000000.json'
        """
        return self._native.paths()

    @property
    def size_in_bytes(self) -> int:
        """The approximate number of bytes of the files to read.

        >>> table.snapshot().replay_plan(keyed=True).pieces[0].size_in_bytes > 0
        True
        """
        return self._native.size_in_bytes

    def to_arrow(self, tail: ReplayTail, *, threads: int | None = None) -> pa.Table:
        """Read all rows of the piece; with ``keyed``, a row for each key.

        Args:
            tail: The tail of the same plan.
            threads: As in ``to_batches()``.

        Raises:
            DeltaReplayError: As ``to_batches``.

        >>> plan = table.snapshot().replay_plan(keyed=True)
        >>> plan.pieces[0].to_arrow(plan.tail).num_rows
        3
        """
        return self.to_batches(tail, threads=threads).read_all()

    def to_batches(self, tail: ReplayTail, *, threads: int | None = None) -> pa.RecordBatchReader:
        """Stream the rows of the piece, in no particular order.

        Args:
            tail: The tail of the same plan.
            threads: The number of threads that decode checkpoints; None for all that the process
                may use. A filter on a remote table may use more, which wait for bytes.

        Returns:
            Batches with ``ReplayTail.schema``, read on demand.

        Raises:
            InvalidArgumentError: The tail belongs to another plan (``replay.plan``).
            CorruptTableError: A file of the log does not decode, or is gone (``replay.vanished``;
                for a sidecar ``checkpoint.sidecar_missing``); also raised while reading.
            StorageError: The storage failed.

        >>> plan = table.snapshot().replay_plan(keyed=True)
        >>> plan.pieces[0].to_batches(plan.tail, threads=1).schema.names
        ['key', 'version', 'file']
        """
        return reader(self._native.rows(tail.table.native, tail.native, threads))

    def write_sidecars(
        self, tail: ReplayTail, codec: str | None, threads: int
    ) -> list[tuple[str, int, int, int, int]]:
        """Internal: write the ``add`` and ``remove`` actions of the piece as sidecars.

        Returns:
            For each sidecar: the path, the size in bytes, the modification time in milliseconds
            since the epoch, and the numbers of files and of ``remove`` actions.
        """
        return self._native.write_sidecars(tail.table.native, tail.native, codec, threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._native.to_json(),)

    def __repr__(self) -> str:
        num_files = plural(len(self.paths), "file")
        return f"<ReplayPiece of {num_files}, {self.size_in_bytes} bytes>"


def _restored(json: str) -> ReplayPiece:
    return ReplayPiece.from_native(_native.ReplayPiece(json))
