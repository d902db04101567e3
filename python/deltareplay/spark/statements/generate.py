"""``GENERATE``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax.parser import Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class Generate(Statement):
    """A ``GENERATE ... FOR TABLE`` statement."""

    WORDS = (("GENERATE",),)

    mode: str = ""

    @classmethod
    def read(cls, parser: Parser) -> Generate:
        mode = parser.identifier()
        parser.needs("FOR", "TABLE")
        return cls(parser.name(), mode)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        entry.table().generate(self.mode.lower())
        return empty_frame(spark)
