"""``read``: the rows of a table as a DataFrame that Spark reads by itself."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltareplay._arguments import checked
from deltareplay.spark import filters, names, session
from deltareplay.spark.rows import Wanted, frame
from deltareplay.spark.schema import Column, columns_of
from deltareplay.spark.source import TableLike, snapshot_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._filters import Filter


@checked
def read(
    spark: SparkSession,
    table: TableLike,
    *,
    version: int | None = None,
    timestamp: datetime.datetime | str | None = None,
    filter: Filter | None = None,
    columns: Sequence[str] | None = None,
    with_row_id: bool = False,
    with_file_path: bool = False,
    with_row_index: bool = False,
    root: str | None = None,
) -> DataFrame:
    """Read a version of a table: files are chosen here, now; Spark reads them when it runs.

    The plan is that of ``spark.read.parquet`` over exactly the files that are left: vectorised,
    with pushed filters, no Python. Deleted rows are left out by a broadcast join, in a branch of
    their own for the files that have any.

    Args:
        spark: A session of PySpark 3.5 or later, classic or Connect.
        table: A ``Table``, a ``Snapshot``, or where the table lies.
        version: A version; the latest where there is neither this nor ``timestamp``.
        timestamp: The latest version committed at or before this moment.
        filter: Rows to keep, as ``Snapshot.scan`` takes it. Prunes partitions, skips files by
            statistics, and is evaluated by Spark. Filters on the DataFrame are pushed to the scan
            as well, but files are skipped by this one.
        columns: Logical names to keep, in this order.
        with_row_id: Adds ``_row_id`` and ``_row_commit_version`` (bigint), for tables with row
            tracking.
        with_file_path: Adds ``_file_path`` (string): the file as the log has it.
        with_row_index: Adds ``_row_index`` (bigint): the position in the file, before deletion.
        root: Where Spark finds the table, as Hadoop writes it, where that is not the table's own
            URI (``s3://`` becomes ``s3a://`` by itself). Spark reads with its own credentials.

    Raises:
        InvalidArgumentError: A column or filter that the table does not know, a storage that Spark
            does not read.
        UnsupportedFeatureError: A type or feature that this Spark cannot hold.
        CorruptTableError: The log or a deletion vector is damaged.

    >>> read(spark, rows, filter="id > 1", columns=["name"]).show()  # doctest: +SKIP
    +-----+
    | name|
    +-----+
    |three|
    +-----+
    """
    session.check(spark)
    snapshot = snapshot_of(table, version, timestamp)
    wanted = Wanted(with_row_id, with_file_path, with_row_index)
    scan = snapshot.scan(
        columns,
        filters.pruning(spark, filter, snapshot),
        with_row_id=with_row_id,
        with_file_path=with_file_path,
        with_row_index=with_row_index,
    )
    if filter is not None:
        snapshot.scan(filter=filter)  # judged by the same rules, whether or not it chooses files
    every = _chosen(columns_of(snapshot), columns)
    session.check_types(spark, every)
    rows = frame(spark, snapshot, scan, every, wanted, root)
    if filter is not None:
        rows = rows.filter(filters.condition(filter))
    if columns is None:
        return rows
    return rows.select(*(_quoted(every, name) for name in columns), *wanted.names)


def _chosen(every: list[Column], columns: Sequence[str] | None) -> list[Column]:
    """Void columns are shown to those who name them, as delta-spark does not."""
    named = {name.lower() for name in columns or ()}
    return [one for one in every if not one.is_void or one.name.lower() in named]


def _quoted(every: list[Column], name: str) -> str:
    exact = {column.name: column for column in every}
    folded = {column.name.lower(): column for column in every}
    return names.quoted((exact.get(name) or folded[name.lower()]).name)
