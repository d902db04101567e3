"""``UPDATE``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltareplay.spark.delta_table import results
from deltareplay.spark.dml.assignments import renamed_tables
from deltareplay.spark.dml.update import update
from deltareplay.spark.statements.statement import RowStatement
from deltareplay.spark.syntax.parser import Parser
from deltareplay.spark.syntax.qualifiers import Aliases, with_aliases

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._table.table import Table


@dataclass
class Update(RowStatement):
    """An ``UPDATE`` statement."""

    WORDS = (("UPDATE",),)

    values: dict[str, str] = field(default_factory=dict)
    where: str | None = None

    def read_clauses(self, parser: Parser) -> None:
        self.alias = parser.alias("SET")
        parser.needs("SET")
        self.values = {**parser.assignments(("WHERE",))}
        self.where = parser.until() if parser.takes("WHERE") else None

    def change(self, spark: SparkSession, table: Table, aliases: Aliases) -> DataFrame:
        values = renamed_tables(self.values, aliases)
        where = with_aliases(self.where, aliases)
        commit = update(spark, table, where, values, target_alias=self.qualifier)
        return results.affected(spark, commit.metrics, "numUpdatedRows")
