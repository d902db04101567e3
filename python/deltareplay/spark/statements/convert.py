"""``CONVERT TO DELTA``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.spark.catalog import lookup
from deltareplay.spark.catalog.lookup import CatalogEntry
from deltareplay.spark.maintenance.convert import convert_identifier
from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Convert(Statement):
    """A ``CONVERT TO DELTA`` statement."""

    WORDS = (("CONVERT", "TO", "DELTA"),)

    partition_schema: str | None = None
    statistics: bool = True

    def read_clauses(self, parser: Parser) -> None:
        self.statistics = not parser.takes("NO", "STATISTICS")
        if parser.takes("PARTITIONED", "BY"):
            self.partition_schema = ", ".join(parser.in_parentheses(parser.expression))

    def entry(self, spark: SparkSession) -> CatalogEntry:
        is_path = len(self.table) == 2 and names.is_absolute(self.table[-1])
        return CatalogEntry(self.table) if is_path else lookup.find(spark, self.table)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Convert the files; a name of a Delta table changes nothing, as in delta-spark."""
        if not entry.is_delta:
            convert_identifier(spark, entry.parts, self.partition_schema, self.statistics)
        return empty_frame(spark)
