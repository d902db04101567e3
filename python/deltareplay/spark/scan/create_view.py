"""``create_view``: a temporary view of one version of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltareplay._support.arguments import checked
from deltareplay.spark.catalog.table_argument import TableLike
from deltareplay.spark.scan.read import read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@checked
def create_view(spark: SparkSession, name: str, table: TableLike, **options: Any) -> None:
    """Create or replace a temporary view of a table; it stays at one version.

    Args:
        spark: As in ``read``.
        name: The name of the view.
        table: As in ``read``.
        options: The keywords of ``read``.

    Raises:
        InvalidArgumentError: As in ``read``.
        CorruptTableError: As in ``read``.

    >>> create_view(spark, "people", rows)  # doctest: +SKIP
    >>> spark.sql("SELECT max(id) AS id FROM people").collect()  # doctest: +SKIP
    [Row(id=3)]
    """
    read(spark, table, **options).createOrReplaceTempView(name)
