"""``write_checkpoint``: a checkpoint that the executors write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay import _native
from deltareplay._snapshot.replay_piece import ReplayPiece
from deltareplay._snapshot.replay_tail import ReplayTail
from deltareplay._support.arguments import checked
from deltareplay._table.log import Checkpoint, clean_after
from deltareplay.spark.catalog.table_argument import TableLike, resolved, snapshot_of, table_of
from deltareplay.spark.executors import run
from deltareplay.spark.executors.worker import Batches, cores, part_numbers
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The columns that describe a sidecar: for Arrow, and for Spark.
_NUMBERS = ("size", "modificationTime", "numFiles", "numRemoves")
_ARROW_SIDECAR = pa.schema(
    [pa.field("path", pa.string())] + [pa.field(name, pa.int64()) for name in _NUMBERS]
)
_SPARK_SIDECAR = f"path string, {', '.join(f'{name} long' for name in _NUMBERS)}"


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
        """Return a row for each sidecar."""
        tail = self.tail
        for number in part_numbers(batches):
            sidecars = self.pieces[number].write_sidecars(tail, self.codec, cores())
            rows = [dict(zip(_ARROW_SIDECAR.names, sidecar, strict=True)) for sidecar in sidecars]
            yield pa.RecordBatch.from_pylist(rows, _ARROW_SIDECAR)


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
        CorruptTableError: The log that the driver reads is damaged, or the results of the tasks
            are incomplete. If a task detects damage, the job fails with a ``PythonException``
            that names the file.

    Source: Delta protocol, "V2 Spec".

    >>> write_checkpoint(spark, "s3://lake/events").num_sidecars  # doctest: +SKIP
    400
    """
    capabilities.check(spark)
    table = resolved(spark, table)
    snapshot = snapshot_of(table)
    delta_table = table_of(table)
    plan = _native.CheckpointPlan(delta_table.native, snapshot.native, piece_size)
    work = plan.work()
    if work is None:
        return Checkpoint(snapshot.version, *(plan.existing() or ()))
    pieces, tail, codec = work
    task = WriteSidecars(
        ReplayTail.from_native(delta_table, tail),
        [ReplayPiece.from_native(piece) for piece in pieces],
        codec,
    )
    written: list[tuple[str, int, int, int, int]] = []
    if pieces:
        sidecars = run.rows(spark, task, len(pieces), _SPARK_SIDECAR)
        written = sorted(tuple(row) for row in sidecars.collect())
    checkpoint = Checkpoint(snapshot.version, *plan.finish(delta_table.native, written))
    if cleanup:
        clean_after(delta_table.native, snapshot)
    return checkpoint
