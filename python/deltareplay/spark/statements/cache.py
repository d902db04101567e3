"""``CACHE TABLE``, ``UNCACHE TABLE`` and ``REFRESH TABLE`` of Delta tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog.lookup import CatalogEntry
from deltareplay.spark.query import queries
from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.statements.statement import SharedStatement, Statement
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import QUERY_BEGINNINGS, Parser
from deltareplay.spark.syntax.tokens import Sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The cached rows of each table, by the session and the URI of the table.
_cached: WeakKeyDictionary[Any, dict[str, DataFrame]] = WeakKeyDictionary()


@dataclass
class Refresh(SharedStatement):
    """A ``REFRESH TABLE`` statement, which changes nothing: queries read the newest version."""

    WORDS = (("REFRESH", "TABLE"),)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        entry.table().snapshot()
        return empty_frame(spark)


@dataclass
class Uncache(SharedStatement):
    """An ``UNCACHE TABLE`` statement."""

    WORDS: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("UNCACHE", "TABLE", "IF", "EXISTS"),
        ("UNCACHE", "TABLE"),
    )

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        rows = _cached.setdefault(spark, {}).pop(entry.table().uri, None)
        if rows is not None:
            rows.unpersist()
        return empty_frame(spark)


@dataclass
class Cache(Uncache):
    """A ``CACHE TABLE`` statement.

    Attributes:
        is_lazy: Whether rows are cached only when they are read.
        options: The text of the clause ``OPTIONS``; empty if there is none.
        level: The storage level in the options.
        query: The query whose rows are cached, as a temporary view of this name.
    """

    WORDS = (("CACHE",),)

    is_lazy: bool = False
    options: str = ""
    level: str | None = None
    query: str | None = None

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        is_lazy = parser.takes("LAZY")
        if not parser.takes("TABLE"):
            return None
        statement, start = cls(parser.name(), is_lazy), parser.index
        if parser.takes("OPTIONS"):
            options = parser.properties()
            levels = [v for key, v in options.items() if key.lower() == "storagelevel"]
            statement.level = next(iter(levels), None)
            statement.options = parser.since(start)
        if parser.takes("AS") or parser.sees_any(QUERY_BEGINNINGS):
            if len(statement.table) > 1:
                parser.index = start - 1
                raise parser.invalid("a temporary view has no schema and no catalog")
            statement.query = parser.query()
        return statement

    def entry(self, spark: SparkSession) -> CatalogEntry | None:
        return CatalogEntry(self.table) if self.query is not None else super().entry(spark)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        if self.query is not None:
            return self._cache_query(spark, self.query)
        levels = _levels(self.level)
        super().run(spark, entry)
        rows = queries.run_on_snapshots(spark, f"SELECT * FROM {names.dotted(self.table)}")
        rows.persist(*levels)
        if not self.is_lazy:
            try:
                rows.count()
            except BaseException:
                rows.unpersist()
                raise
        _cached[spark][entry.table().uri] = rows
        return empty_frame(spark)

    def _cache_query(self, spark: SparkSession, query: str) -> DataFrame:
        """Cache a query as a temporary view, which stays at the tables' current versions."""
        name = names.quoted(self.table[-1])
        queries.run_on_snapshots(spark, Sql.joined(f"CREATE TEMPORARY VIEW {name} AS ", query))
        try:
            return spark.sql(f"CACHE {'LAZY ' * self.is_lazy}TABLE {name} {self.options}")
        except BaseException:
            spark.catalog.dropTempView(self.table[-1])
            raise


def _levels(name: str | None) -> list[Any]:
    from pyspark import StorageLevel

    if name is None:
        return []
    # PySpark has no names for serialized levels: all of its levels are serialized
    level = getattr(StorageLevel, name.upper().replace("_SER", ""), None)
    if not isinstance(level, StorageLevel):
        raise InvalidArgumentError(
            f"{name!r} is not a storage level: use one such as MEMORY_AND_DISK", code="sql.syntax"
        )
    return [level]
