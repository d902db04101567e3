"""``SHOW PARTITIONS`` of a Delta table, from its log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.scan import partition_values
from deltareplay.spark.schema.fields import columns_of, spark_type, struct_type
from deltareplay.spark.schema.frames import from_arrow
from deltareplay.spark.session import capabilities
from deltareplay.spark.statements.statement import LogStatement
from deltareplay.spark.syntax.names import dotted, quoted
from deltareplay.spark.syntax.parser import Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class ShowPartitions(LogStatement):
    """A ``SHOW PARTITIONS`` statement.

    Attributes:
        partition: The columns of the clause ``PARTITION``, and their values as SQL.
    """

    WORDS = (("SHOW", "PARTITIONS"),)

    partition: dict[str, str] = field(default_factory=dict)

    def read_clauses(self, parser: Parser) -> None:
        def value() -> tuple[str, str]:
            name = parser.identifier()
            parser.needs("=")
            return name, parser.constant()

        if parser.takes("PARTITION"):
            self.partition = dict(parser.in_parentheses(value))

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Return a row for each partition that has files, with a column for each partition column.

        Raises:
            InvalidArgumentError: ``sql.partitions``: the table is not partitioned, or not by a
                column that the statement names.
        """
        from pyspark.sql import functions as sf

        snapshot = entry.table().snapshot()
        by_name = {column.name: column for column in columns_of(snapshot) if column.is_partition}
        columns = [by_name[name] for name in snapshot.partition_columns]
        if not columns:
            raise InvalidArgumentError(
                f"{dotted(self.table)} is not partitioned", code="sql.partitions"
            )
        spellings = {column.name.lower(): column.name for column in columns}
        for name in self.partition:
            if name.lower() not in spellings:
                raise InvalidArgumentError(
                    f"{name} is not a partition column: the table has "
                    f"{', '.join(spellings.values())}",
                    code="sql.partitions",
                )
        files = snapshot.files(["partitionValues", "partitionValues_parsed"])
        constants = partition_values.constants(files, columns, capabilities.time_zone(spark))
        values = pa.table(
            [constant.values for constant in constants],
            names=[constant.name for constant in constants],
        )
        values = values.group_by(values.column_names, use_threads=False).aggregate([])
        rows = from_arrow(spark, values, struct_type([constant.field for constant in constants]))
        rows = rows.toDF(*(column.name for column in columns))
        rows = rows.select(
            *(sf.col(quoted(c.name)).cast(spark_type(c.logical_type)) for c in columns)
        )
        for name, value in self.partition.items():
            rows = rows.where(sf.col(quoted(spellings[name.lower()])) == sf.expr(value))
        return rows
