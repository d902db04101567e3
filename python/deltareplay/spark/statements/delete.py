"""``DELETE FROM``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.spark.delta_table import results
from deltareplay.spark.dml.delete import delete
from deltareplay.spark.statements.statement import RowStatement
from deltareplay.spark.syntax.parser import Parser
from deltareplay.spark.syntax.qualifiers import Aliases, with_aliases

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._table.table import Table


@dataclass
class Delete(RowStatement):
    """A ``DELETE FROM`` statement."""

    WORDS = (("DELETE", "FROM"),)

    where: str | None = None

    def read_clauses(self, parser: Parser) -> None:
        self.alias = parser.alias("WHERE")
        self.where = parser.until() if parser.takes("WHERE") else None

    def change(self, spark: SparkSession, table: Table, aliases: Aliases) -> DataFrame:
        where = with_aliases(self.where, aliases)
        commit = delete(spark, table, where, target_alias=self.qualifier)
        return results.affected(spark, commit.metrics, "numDeletedRows")
