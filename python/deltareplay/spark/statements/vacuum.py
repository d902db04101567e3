"""``VACUUM``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay._table.vacuum import retention_of
from deltareplay.spark.delta_table import results
from deltareplay.spark.maintenance.detail import location
from deltareplay.spark.maintenance.vacuum import vacuum
from deltareplay.spark.session import settings
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax.parser import Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class Vacuum(Statement):
    """A ``VACUUM`` statement."""

    WORDS = (("VACUUM",),)
    TAKES_PATH = True

    hours: float | None = None
    dry_run: bool = False
    lite: bool | None = None

    def read_clauses(self, parser: Parser) -> None:
        while parser.token.kind == "word":
            if self.hours is None and parser.takes("RETAIN"):
                self.hours = parser.number()
                parser.needs("HOURS")
            elif not self.dry_run and parser.takes("DRY", "RUN"):
                self.dry_run = True
            elif self.lite is None and parser.takes("LITE"):
                self.lite = True
            elif self.lite is None and parser.takes("FULL"):
                self.lite = False
            else:
                raise parser.expected("RETAIN, DRY RUN, LITE or FULL, each once")

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        table = entry.table()
        vacuumed = vacuum(
            spark,
            table,
            retention=None if self.hours is None else retention_of(self.hours),
            lite=bool(self.lite),
            dry_run=self.dry_run,
            force=not settings.checks_retention(spark),
        )
        root = location(table.uri)
        paths = [f"{root}/{file}" for file in vacuumed.files] if self.dry_run else [root]
        return results.vacuumed(spark, paths)
