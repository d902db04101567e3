"""``DESCRIBE HISTORY`` and ``DESCRIBE DETAIL``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.spark.delta_table.delta_table import DeltaTable
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax.parser import Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class DescribeDetail(Statement):
    """A ``DESCRIBE DETAIL`` statement."""

    WORDS = (("DESCRIBE", "DETAIL"), ("DESC", "DETAIL"))
    TAKES_PATH = True

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        """Parse the name; without one, Spark describes a table whose name is the keyword."""
        return None if parser.token.text in ("", ";") else super().read(parser)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        return DeltaTable(spark, entry.table(), None, entry.name).detail()


@dataclass
class DescribeHistory(DescribeDetail):
    """A ``DESCRIBE HISTORY`` statement."""

    WORDS = (("DESCRIBE", "HISTORY"), ("DESC", "HISTORY"))

    limit: int | None = None

    def read_clauses(self, parser: Parser) -> None:
        self.limit = parser.integer() if parser.takes("LIMIT") else None

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        return DeltaTable(spark, entry.table(), None, entry.name).history(self.limit)
