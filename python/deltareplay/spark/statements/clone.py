"""``CREATE TABLE ... SHALLOW CLONE``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltareplay.spark.catalog import lookup
from deltareplay.spark.definition import clones
from deltareplay.spark.definition.definition import Mode
from deltareplay.spark.delta_table import results
from deltareplay.spark.query import queries
from deltareplay.spark.statements import create
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax.parser import ConstantExpression, Name, Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class Clone(Statement):
    """A ``CREATE TABLE ... SHALLOW CLONE`` statement; ``table`` is the clone."""

    WORDS = (("CREATE",), ("REPLACE",))

    mode: Mode = "create"
    source: Name = ()
    version: int | None = None
    timestamp: str | ConstantExpression | None = None
    properties: dict[str, str] = field(default_factory=dict)
    location: str | None = None

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        start = create.head(parser)
        if start is None or not parser.takes("SHALLOW", "CLONE"):
            return None
        mode, table = start
        return cls(table, mode)

    def read_clauses(self, parser: Parser) -> None:
        self.source = parser.name()
        self.version, self.timestamp = parser.time_travel()
        self.properties = parser.properties() if parser.takes("TBLPROPERTIES") else {}
        self.location = parser.string() if parser.takes("LOCATION") else None

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        if self.mode == "create_if_not_exists" and entry.exists and not entry.is_view:
            return results.cloned(spark, {})
        source = lookup.find(spark, self.source)
        _, metrics = clones.run(
            spark,
            queries.snapshot(spark, source, self.version, self.timestamp),
            entry,
            mode=self.mode,
            shallow=True,
            location=self.location,
            properties=self.properties,
        )
        return results.cloned(spark, metrics)
