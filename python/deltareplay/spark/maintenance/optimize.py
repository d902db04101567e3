"""``optimize``: compaction and clustering of data files by the executors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay._support.arguments import checked
from deltareplay._transaction.written import Written
from deltareplay.spark.catalog.table_argument import TableLike, resolved, snapshot_of, table_of
from deltareplay.spark.executors import run
from deltareplay.spark.session import capabilities
from deltareplay.spark.writing.compaction import Compaction
from deltareplay.spark.writing.target_table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@checked
def optimize(
    spark: SparkSession,
    table: TableLike,
    *,
    where: str | None = None,
    z_order_by: Sequence[str] | None = None,
    target_file_size: int | None = None,
    purge: bool = False,
    full: bool = False,
    user_metadata: str | None = None,
    root: str | None = None,  # noqa: ARG001 - files are read and written in Rust, by the table's URI
) -> Written:
    """Rewrite data files on the executors, as ``Table.optimize`` does on one machine.

    The driver plans which files make a new one. The executors read and write these files in Rust,
    one task for each new file; no row passes through Python. The driver commits once.

    With ``z_order_by``, and for clustered tables, the driver reads a sample of the rows; tasks
    write the rows in pieces of their order into temporary files, in a separate directory in the
    table; other tasks read the pieces of a file and write it. The directory is deleted at the end.
    If the driver is killed, ``VACUUM`` deletes it, and the files that no commit names.

    Args:
        spark: As in ``read``.
        table: As in ``read``; with a ``Snapshot``, commits after it are checked for conflicts.
        where: As in ``Table.optimize``.
        z_order_by: As in ``Table.optimize``.
        target_file_size: As in ``Table.optimize``. A task holds the file that it writes in memory.
        purge: As in ``Table.optimize``; the driver reads the footers.
        full: As in ``Table.optimize``.
        user_metadata: Any text for the commit.
        root: As in ``read``; not used, because Spark reads no file of the table here.

    Returns:
        As ``Table.optimize``.

    Raises:
        InvalidArgumentError: As ``Table.optimize``, before the first job.
        CommitConflictError: As ``Table.optimize``; nothing was committed.
        UnsupportedFeatureError: As ``Table.optimize``; or the executors lack deltareplay
            (``spark.executors``). Nothing was written.
        TableNotFoundError: As in ``read``.

    >>> optimize(spark, "s3://lake/events", z_order_by=["user", "at"])  # doctest: +SKIP
    Written(version=42, metrics={'maxFileSize': 1073012345, ...})
    """
    capabilities.check(spark)
    table = resolved(spark, table)
    snapshot = snapshot_of(table)
    plan = _native.OptimizePlan(
        table_of(table).native,
        snapshot.native,
        where,
        list(z_order_by or ()),
        purge,
        full,
        target_file_size,
    )
    run.check(spark)
    return Compaction(spark, TargetTable.of(snapshot), plan).commit(user_metadata)
