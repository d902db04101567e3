"""``SHOW PARTITIONS`` of a Delta table, from its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog import lookup
from deltareplay.spark.scan import partition_values
from deltareplay.spark.schema.fields import columns_of, spark_type, struct_type
from deltareplay.spark.schema.frames import from_arrow
from deltareplay.spark.session import capabilities
from deltareplay.spark.syntax.names import dotted, name_at, quoted
from deltareplay.spark.syntax.parser import Name, Reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class ShowPartitions:
    """A statement ``SHOW PARTITIONS``.

    Attributes:
        table: The name.
        partition: Columns and their values, as SQL.
        text: The whole statement.
    """

    table: Name
    partition: dict[str, str]
    text: str


def read(reader: Reader) -> ShowPartitions | None:
    """Parse the statement; return None for another statement."""
    if not reader.takes("SHOW", "PARTITIONS"):
        return None
    table, reader.at = name_at(reader.tokens, reader.at)
    if not table:
        return None
    partition: dict[str, str] = {}
    if reader.takes("PARTITION", "("):
        while True:
            name = reader.identifier()
            reader.needs("=")
            partition[name] = reader.constant()
            if not reader.takes(","):
                break
        reader.needs(")")
    reader.ends()
    return ShowPartitions(table, partition, reader.text)


def run(spark: SparkSession, statement: ShowPartitions) -> DataFrame:
    """Return a row for each partition that has files, with a column for each partition column.

    Raises:
        InvalidArgumentError: ``sql.partitions``: the table is not partitioned, or not by a column
            that the statement names.
    """
    from pyspark.sql import functions as sf

    opened = lookup.delta_table(spark, statement.table)
    if opened is None or capabilities.has_delta(spark):
        return spark.sql(statement.text)
    snapshot = opened[0].snapshot()
    known = {column.name: column for column in columns_of(snapshot) if column.is_partition}
    columns = [known[name] for name in snapshot.partition_columns]
    if not columns:
        raise InvalidArgumentError(
            f"{dotted(statement.table)} is not partitioned", code="sql.partitions"
        )
    own = {column.name.lower(): column.name for column in columns}
    for name in statement.partition:
        if name.lower() not in own:
            raise InvalidArgumentError(
                f"{name} is not a partition column: the table has {', '.join(own.values())}",
                code="sql.partitions",
            )
    files = snapshot.files(["partitionValues", "partitionValues_parsed"])
    constants = partition_values.constants(files, columns, capabilities.time_zone(spark))
    values = pa.table(
        [constant.values for constant in constants], names=[column.name for column in columns]
    )
    values = values.group_by(values.column_names, use_threads=False).aggregate([])
    rows = from_arrow(spark, values, struct_type([constant.field for constant in constants]))
    rows = rows.toDF(*(column.name for column in columns))
    rows = rows.select(*(sf.col(quoted(c.name)).cast(spark_type(c.logical_type)) for c in columns))
    for name, value in statement.partition.items():
        rows = rows.where(sf.col(quoted(own[name.lower()])) == sf.expr(value))
    return rows
