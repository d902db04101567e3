"""``history``: the commits of a table as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay._support.arguments import checked
from deltareplay.spark.catalog.table_argument import TableLike, resolved, table_of
from deltareplay.spark.schema.frames import from_arrow
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@checked
def history(spark: SparkSession, table: TableLike, *, limit: int | None = None) -> DataFrame:
    """List the commits, newest first, with the columns of ``DESCRIBE HISTORY``.

    Args:
        spark: As in ``read``.
        table: As in ``read``.
        limit: The maximum number; None lists all commits that are still in the log.

    Raises:
        TableNotFoundError: As in ``read``.
        CorruptTableError: A commit does not decode.

    >>> history(spark, table, limit=1).select("version").collect()  # doctest: +SKIP
    [Row(version=2)]
    """
    capabilities.check(spark)
    table = resolved(spark, table)
    return from_arrow(spark, table_of(table).history(limit))
