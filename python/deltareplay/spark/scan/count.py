"""``count``: the number of rows in a table."""

from __future__ import annotations

import datetime
import warnings
from typing import TYPE_CHECKING

from deltareplay._support.arguments import checked
from deltareplay.exceptions import DeltaReplayWarning
from deltareplay.spark.catalog.table_argument import TableLike, resolved, snapshot_of
from deltareplay.spark.scan.read import read
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._expressions.filters import Filter


@checked
def count(
    spark: SparkSession,
    table: TableLike,
    *,
    version: int | None = None,
    timestamp: datetime.datetime | str | None = None,
    filter: Filter | None = None,
    root: str | None = None,
) -> int:
    """Count the rows: from the log alone if every file has a row count, otherwise by Spark.

    Args:
        spark: As in ``read``.
        table: As in ``read``.
        version: As in ``read``.
        timestamp: As in ``read``.
        filter: As in ``read``; with a filter, Spark counts.
        root: As in ``read``.

    Raises:
        InvalidArgumentError: As in ``read``.
        CorruptTableError: As in ``read``.

    >>> count(spark, rows)  # doctest: +SKIP
    2
    """
    capabilities.check(spark)
    table = resolved(spark, table)
    snapshot = snapshot_of(table, version, timestamp)
    if filter is None:
        with warnings.catch_warnings():
            # no warning about a missing row count: the rows are counted all the same
            warnings.simplefilter("ignore", DeltaReplayWarning)
            known = snapshot.num_rows
        if known is not None:
            return known
    return int(read(spark, snapshot, filter=filter, root=root).count())
