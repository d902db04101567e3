"""``files``: the live files of a snapshot; the executors replay large ones."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from deltareplay._support.arguments import checked
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog.table_argument import TableLike, snapshot_at
from deltareplay.spark.executors import run
from deltareplay.spark.executors.worker import Batches, cores, part_numbers
from deltareplay.spark.schema.arrow import spark_schema
from deltareplay.spark.schema.frames import from_arrow
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._snapshot.replay_piece import ReplayPiece
    from deltareplay._snapshot.replay_plan import ReplayPlan
    from deltareplay._snapshot.replay_tail import ReplayTail

#: The size of the commits after a checkpoint from which the executors replay them.
DRIVER_BYTES = 256 << 20


@dataclass(frozen=True)
class ReadPieces:
    """Reads the rows of some pieces of a plan.

    Attributes:
        tail: The commits after the checkpoint.
    """

    tail: ReplayTail
    pieces: Sequence[ReplayPiece]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the rows of the numbered pieces."""
        for number in part_numbers(batches):
            yield from self.pieces[number].to_batches(self.tail, threads=cores())


@checked
def files(
    spark: SparkSession,
    table: TableLike,
    *,
    version: int | None = None,
    timestamp: datetime.datetime | str | None = None,
    columns: Sequence[str] | None = None,
    filter: Filter | None = None,
    piece_size: int = 64 << 20,
    reconcile: Literal["auto", "driver", "executors"] = "auto",
) -> DataFrame:
    """List the live files of a table, even if it has too many for one machine.

    If the checkpoint makes at most one task, the driver replays the log and passes the rows as
    Arrow. If it is larger, the driver replays only the commits after the checkpoint. The executors,
    one task for each piece of the checkpoint, decode it and leave out files that those commits add
    or remove and files that the filter excludes. Nothing is shuffled, because a checkpoint is
    already reconciled, and the driver has none of its rows in memory.

    Args:
        spark: As in ``read``.
        table: As in ``read``.
        version: As in ``read``.
        timestamp: As in ``read``.
        columns: As in ``Snapshot.files``. Name only those that you need: others are not decoded.
        filter: As in ``Snapshot.files``: files in which no row can match are left out.
        piece_size: Approximate number of bytes of the log per task.
        reconcile: Where the commits after a large checkpoint are replayed: on the driver; or on the
            executors, which costs a shuffle of all live files by their key. By default the driver
            replays up to 256 MiB of commits.

    Returns:
        One row for each file, in no order; columns as in ``Snapshot.files``. The version is fixed
        when this is called.

    Raises:
        InvalidArgumentError: As in ``Snapshot.files``; or ``reconcile`` has another value
            (``argument.reconcile``).
        TableNotFoundError: As in ``read``.
        VersionNotFoundError: As in ``read``.
        CorruptTableError: The log that the driver reads is damaged. If a task detects damage, the
            job fails with a ``PythonException`` that names the file and says what to do.

    >>> files(spark, table, columns=["size"]).agg({"size": "sum"}).show()  # doctest: +SKIP
    +---------+
    |sum(size)|
    +---------+
    |      500|
    +---------+
    """
    capabilities.check(spark)
    if reconcile not in ("auto", "driver", "executors"):
        raise InvalidArgumentError(
            f"reconcile is {reconcile!r}: pass 'auto', 'driver' or 'executors'",
            code="argument.reconcile",
        )
    snapshot = snapshot_at(spark, table, version, timestamp)
    keyed = reconcile == "executors" or (
        reconcile == "auto" and snapshot.log_segment.tail_size_in_bytes > DRIVER_BYTES
    )
    # if no columns are requested, read one: Arrow rows need a column
    names = ["path"] if columns is not None and len(columns) == 0 else columns
    plan = snapshot.replay_plan(names, filter, piece_size=piece_size, keyed=keyed)
    if keyed:
        rows = _newest_by_key(_replayed(spark, plan))
    elif reconcile == "auto" and len(plan.pieces) <= 1:
        rows = _on_driver(spark, plan)
    else:
        rows = _with_tail(spark, plan)
    return rows if names is columns else rows.select()


def _on_driver(spark: SparkSession, plan: ReplayPlan) -> DataFrame:
    """Replay all rows on the driver."""
    replayed = [piece.to_arrow(plan.tail) for piece in plan.pieces]
    return from_arrow(
        spark, pa.concat_tables([*replayed, plan.files]), spark_schema(plan.tail.schema)
    )


def _with_tail(spark: SparkSession, plan: ReplayPlan) -> DataFrame:
    """Return the rows of the checkpoint and of the tail, which have no key in common."""
    if plan.files.num_rows == 0:  # and perhaps no pieces, which makes an empty frame
        return _replayed(spark, plan)
    tail = from_arrow(spark, plan.files, spark_schema(plan.tail.schema))
    return _replayed(spark, plan).union(tail) if plan.pieces else tail


def _newest_by_key(rows: DataFrame) -> DataFrame:
    """Return the newest row of each key, without keys whose newest row is null."""
    from pyspark.sql import functions as sf

    newest = rows.groupBy("key").agg(sf.max_by("file", "version").alias("file"))
    return newest.where(sf.col("file").isNotNull()).select("file.*")


def _replayed(spark: SparkSession, plan: ReplayPlan) -> DataFrame:
    """Replay the pieces of the checkpoint, one task for each."""
    task = ReadPieces(plan.tail, plan.pieces)
    return run.rows(spark, task, len(plan.pieces), spark_schema(plan.tail.schema))
