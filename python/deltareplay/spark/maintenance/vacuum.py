"""``vacuum``: deletion of files that no version in the retention period needs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from deltareplay._support.arguments import checked
from deltareplay._table.vacuum import Vacuumed
from deltareplay.spark.catalog.table_argument import TableLike, resolved, table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@checked
def vacuum(
    spark: SparkSession,
    table: TableLike,
    *,
    retention: timedelta | None = None,
    lite: bool = False,
    dry_run: bool = True,
    force: bool = False,
    log: bool | None = None,
) -> Vacuumed:
    """Delete data files that no version inside the retention period needs.

    This is ``Table.vacuum``, which runs on the driver: tasks that list and compare the files would
    take several times as much CPU time.

    Args:
        spark: As in ``read``.
        table: As in ``read``; with a ``Snapshot``, the latest version is used.
        retention: As in ``Table.vacuum``.
        lite: As in ``Table.vacuum``.
        dry_run: As in ``Table.vacuum``.
        force: As in ``Table.vacuum``.
        log: As in ``Table.vacuum``.

    Returns:
        The files that were deleted, or would be.

    Raises:
        TableNotFoundError: As in ``read``.
        DeltaReplayError: As ``Table.vacuum``.

    >>> vacuum(spark, "s3://lake/events").size_in_bytes  # doctest: +SKIP
    52613349376
    """
    delta_table = table_of(resolved(spark, table))
    return delta_table.vacuum(retention, lite=lite, dry_run=dry_run, force=force, log=log)
