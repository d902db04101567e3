"""``ReplayPlan``: the replay of a snapshot's live files, in pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay._snapshot.replay_piece import ReplayPiece
from deltareplay._snapshot.replay_tail import ReplayTail
from deltareplay._support.display import NotebookCard
from deltareplay._support.readers import to_table
from deltareplay._support.units import plural

if TYPE_CHECKING:
    from deltareplay import _native
    from deltareplay._snapshot.table_location import TableLocation


@dataclass(frozen=True, repr=False)
class ReplayPlan(NotebookCard):
    """The plan of a replay, from ``Snapshot.replay_plan``.

    Attributes:
        pieces: The parts that other processes read: parts of the checkpoint, and with ``keyed``
            runs of commits.
        tail: Needed to read each piece.
        files: The live files of the commits after the checkpoint; empty with ``keyed``.

    >>> plan = table.snapshot().replay_plan(columns=["path"])
    >>> len(plan.pieces), plan.files.num_rows
    (0, 2)
    """

    pieces: list[ReplayPiece]
    tail: ReplayTail
    files: pa.Table

    def __repr__(self) -> str:
        num_pieces = plural(len(self.pieces), "piece")
        num_files = plural(self.files.num_rows, "file")
        return f"<ReplayPlan of {num_pieces}, {num_files}, {self.tail!r}>"

    @classmethod
    def from_native(
        cls,
        table: TableLocation,
        pieces: list[_native.ReplayPiece],
        tail: _native.ReplayTail,
        files: _native.ArrowTable,
    ) -> ReplayPlan:
        """Internal: wrap an object of the core."""
        wrapped = [ReplayPiece.from_native(piece) for piece in pieces]
        return cls(wrapped, ReplayTail.from_native(table, tail), to_table(files))
