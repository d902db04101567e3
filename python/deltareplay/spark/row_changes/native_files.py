"""Files all of whose rows are changes, read by Spark itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay.spark.scan import projection
from deltareplay.spark.scan.files import Constant, located
from deltareplay.spark.scan.projection import ExtraColumns
from deltareplay.spark.scan.relation import relation
from deltareplay.spark.schema.fields import CHANGE_FIELDS, Column, spark_type
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._changes.change_split import WholeFile
    from deltareplay._table.table import Table


def frames(
    spark: SparkSession,
    table: Table,
    files: Sequence[WholeFile],
    columns: Sequence[Column],
    root: str | None,
) -> list[DataFrame]:
    """Return a DataFrame for each combination of kind and partition columns of the files.

    Args:
        spark: The session; not on Spark Connect.
        table: The table.
        files: The files.
        columns: The columns, in this order.
        root: The table's Hadoop path, if it is not the table's own URI.
    """
    groups: dict[tuple[bool, frozenset[str]], list[WholeFile]] = {}
    for file in files:
        # the rows of a change data file have ``_change_type``, so the file as a whole has no type
        partition_columns = frozenset(name for name, _ in file[2])
        groups.setdefault((file[3] is None, partition_columns), []).append(file)
    return [
        _rows(spark, table, group, _partitioned(columns, partition_columns), root)
        for (_, partition_columns), group in groups.items()
    ]


def _partitioned(columns: Sequence[Column], partition_columns: frozenset[str]) -> list[Column]:
    """Return columns with the partitioning of files, which may differ from that of the table."""
    return [
        replace(column, is_partition=column.physical in partition_columns) for column in columns
    ]


def _rows(
    spark: SparkSession,
    table: Table,
    files: Sequence[WholeFile],
    columns: Sequence[Column],
    root: str | None,
) -> DataFrame:
    from pyspark.sql import functions as sf

    paths, sizes, values, changes, versions, times = zip(*files, strict=True)
    listed = pa.table(
        {
            "path": pa.array(paths, pa.string()),
            "size": pa.array(sizes, pa.int64()),
            "modificationTime": pa.array(times, pa.int64()),
        }
    )
    instants = pa.array([time * 1000 for time in times], pa.timestamp("us", "UTC"))
    change, version, timestamp = (field.name for field in CHANGE_FIELDS)
    constants = [
        Constant.of(version, "long", pa.array(versions, pa.int64())),
        Constant.of(timestamp, "timestamp", instants),
    ]
    fields = [column.physical_field() for column in columns if column.is_stored]
    if changes[0] is None:
        fields.append(CHANGE_FIELDS[0])
    else:
        constants.append(Constant.of(change, "string", pa.array(changes, pa.string())))
    partition_values = [dict(pairs) for pairs in values]
    for column in columns:
        if column.is_partition:
            strings = [by_name.get(column.physical) for by_name in partition_values]
            constants.append(Constant.of(column.physical, "string", pa.array(strings, pa.string())))
    rows = relation(spark, located(spark, table, listed, root).with_constants(*constants), fields)
    selected = []
    projected = projection.columns(list(columns), ExtraColumns(), None)
    for column, expression in zip(columns, projected, strict=True):
        if column.is_partition:
            value = sf.col(names.quoted(column.physical)).cast(spark_type(column.logical_type))
            expression = value.alias(column.name, metadata=column.metadata_without_id)
        selected.append(expression)
    return rows.select(*selected, *(sf.col(field.name) for field in CHANGE_FIELDS))
