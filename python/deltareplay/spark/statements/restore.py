"""``RESTORE``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.spark.catalog.timestamps import evaluate_timestamp
from deltareplay.spark.delta_table import results
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax.parser import ConstantExpression, Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class Restore(Statement):
    """A ``RESTORE`` statement."""

    WORDS = (("RESTORE", "TABLE"), ("RESTORE",))

    version: int | None = None
    timestamp: str | ConstantExpression | None = None

    def read_clauses(self, parser: Parser) -> None:
        parser.takes("TO")
        self.version, self.timestamp = parser.time_travel()
        if self.version is None and self.timestamp is None:
            raise parser.expected("VERSION AS OF or TIMESTAMP AS OF")

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        table = entry.table()
        timestamp = None if self.timestamp is None else evaluate_timestamp(spark, self.timestamp)
        return results.restored(spark, table, table.restore(self.version, timestamp=timestamp))
