"""``write_checkpoint``: a checkpoint that the executors write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay._snapshot.replay_piece import ReplayPiece
from deltareplay._snapshot.replay_tail import ReplayTail
from deltareplay._support.arguments import checked
from deltareplay._table.log import Checkpoint, clean_after
from deltareplay.spark.catalog.table_argument import TableLike, resolved, snapshot_of, table_of
from deltareplay.spark.executors import run
from deltareplay.spark.executors.worker import Batches, cores, results
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class WriteSidecars:
    """Writes some pieces of a plan as sidecars of a checkpoint.

    Attributes:
        tail: The commits after the checkpoint.
    """

    tail: ReplayTail
    pieces: list[ReplayPiece]
    codec: str | None

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the sidecars of each numbered piece, as a JSON array."""

        def write(number: int) -> str:
            sidecars = self.pieces[number].write_sidecars(self.tail, self.codec, cores())
            return json.dumps(sidecars)

        return results(batches, write)


@checked
def write_checkpoint(
    spark: SparkSession, table: TableLike, *, piece_size: int = 64 << 20, cleanup: bool = True
) -> Checkpoint:
    """Write a V2 checkpoint of a table that has too many files for one machine.

    The driver replays the commits after the existing checkpoint. The executors, one task for each
    piece of that checkpoint, decode it, leave out files that those commits add or remove, and write
    the rest as a sidecar. The driver writes a sidecar of those commits, then the manifest that
    names all sidecars, then ``_last_checkpoint``. Below a few million files ``Table.checkpoint`` is
    faster. An existing checkpoint stays.

    If the job fails, there is no checkpoint. Nothing refers to the sidecars that were written, and
    ``Table.cleanup_log`` deletes them.

    Args:
        spark: As in ``read``.
        table: As in ``read``; with a ``Snapshot``, its version.
        piece_size: Approximate bytes of the log per task and per sidecar.
        cleanup: As in ``Table.checkpoint``: the log is cleaned afterwards, on the driver.

    Returns:
        The checkpoint.

    Raises:
        InvalidArgumentError: The table does not have the feature ``v2Checkpoint``
            (``checkpoint.layout``): set ``delta.checkpointPolicy`` to ``v2``, or write a classic
            checkpoint with ``Table.checkpoint``.
        UnsupportedFeatureError: The table has a feature that this release cannot write
            (``protocol.writer_features``).
        TableNotFoundError: As in ``read``.
        CorruptTableError: The log is damaged; or the sidecars have another number of files than
            the table (``checkpoint.count``).
        StorageError: The storage failed; or results of tasks are missing (``spark.results``).

    Source: Delta protocol, "V2 Spec".

    >>> write_checkpoint(spark, "s3://lake/events").num_sidecars  # doctest: +SKIP
    400
    """
    capabilities.check(spark)
    table = resolved(spark, table)
    snapshot = snapshot_of(table)
    delta_table = table_of(table)
    plan = _native.CheckpointPlan(delta_table.native, snapshot.native, piece_size)
    written: list[Any] = []
    if (work := plan.work()) is not None:
        pieces, tail, codec = work
        task = WriteSidecars(
            ReplayTail.from_native(delta_table, tail),
            [ReplayPiece.from_native(piece) for piece in pieces],
            codec,
        )
        sidecars = map(json.loads, run.results(spark, task, len(pieces)))
        written = sorted(tuple(sidecar) for piece in sidecars for sidecar in piece)
    checkpoint = Checkpoint(snapshot.version, *plan.finish(delta_table.native, written))
    if cleanup:
        clean_after(delta_table.native, snapshot)
    return checkpoint
