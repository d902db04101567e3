"""``OPTIMIZE`` and ``REORG TABLE ... APPLY (PURGE)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay._snapshot.clustering import clustering_columns
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.delta_table import optimize_result
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax.parser import Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class Optimize(Statement):
    """An ``OPTIMIZE`` statement."""

    WORDS = (("OPTIMIZE",),)
    TAKES_PATH = True

    where: str | None = None
    z_order_by: tuple[str, ...] = ()
    full: bool = False

    def read_clauses(self, parser: Parser) -> None:
        self.full = parser.takes("FULL")
        self.where = parser.expression_for_log(("ZORDER", "BY")) if parser.takes("WHERE") else None
        if parser.takes("ZORDER", "BY"):
            self.z_order_by = parser.column_list(optional=True)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        table = entry.table()
        if self.full and not clustering_columns(table.snapshot()):
            raise InvalidArgumentError(
                "OPTIMIZE FULL requires clustering columns: leave out FULL, or set them by "
                "ALTER TABLE ... CLUSTER BY",
                code="sql.full",
            )
        return optimize_result.run(
            spark, table, self.where, self.z_order_by or None, full=self.full
        )


@dataclass
class Reorg(Statement):
    """A ``REORG TABLE`` statement."""

    WORDS = (("REORG", "TABLE"),)

    where: str | None = None

    def read_clauses(self, parser: Parser) -> None:
        self.where = parser.expression_for_log(("APPLY", "(")) if parser.takes("WHERE") else None
        parser.needs("APPLY", "(", "PURGE", ")")

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        return optimize_result.run(spark, entry.table(), self.where, purge=True)
