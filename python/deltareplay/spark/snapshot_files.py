"""``snapshot_files``: the live files of a snapshot as a DataFrame."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltareplay._arguments import checked
from deltareplay.spark import session
from deltareplay.spark.frames import from_arrow
from deltareplay.spark.source import TableLike, snapshot_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._filters import Filter


@checked
def snapshot_files(
    spark: SparkSession,
    table: TableLike,
    *,
    version: int | None = None,
    timestamp: datetime.datetime | str | None = None,
    columns: Sequence[str] | None = None,
    filter: Filter | None = None,
) -> DataFrame:
    """List the live files as ``Snapshot.files`` does; they reach Spark as Arrow.

    Args:
        spark: As in ``read``.
        table: As in ``read``.
        version: As in ``read``.
        timestamp: As in ``read``.
        columns: As in ``Snapshot.files``.
        filter: As in ``Snapshot.files``.

    Raises:
        InvalidArgumentError: As in ``Snapshot.files``.
        CorruptTableError: As in ``Snapshot.files``.

    >>> snapshot_files(spark, table, columns=["size"]).agg({"size": "sum"}).show()  # doctest: +SKIP
    +---------+
    |sum(size)|
    +---------+
    |      500|
    +---------+
    """
    session.check(spark)
    return from_arrow(spark, snapshot_of(table, version, timestamp).files(columns, filter))
