"""``COMMENT ON TABLE``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.statements.statement import SharedStatement
from deltareplay.spark.syntax.parser import Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class Comment(SharedStatement):
    """A ``COMMENT ON TABLE`` statement."""

    WORDS = (("COMMENT", "ON", "TABLE"),)

    comment: str = ""

    def read_clauses(self, parser: Parser) -> None:
        parser.needs("IS")
        # as in Spark, NULL is an empty comment
        self.comment = "" if parser.takes("NULL") else parser.string()

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        # not ``set_comment``: the history has the operation of delta-spark
        entry.table().set_properties({"comment": self.comment})
        return empty_frame(spark)
