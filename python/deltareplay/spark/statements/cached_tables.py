"""``CACHE TABLE``, ``UNCACHE TABLE`` and ``REFRESH TABLE`` of Delta tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from deltareplay.spark.catalog import lookup
from deltareplay.spark.query import queries
from deltareplay.spark.schema.frames import nothing
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import QUERY, Name, Reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The cached rows of each table, by the session and the URI of the table.
_cached: WeakKeyDictionary[Any, dict[str, DataFrame]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Cached:
    """A statement ``CACHE TABLE``, ``UNCACHE TABLE`` or ``REFRESH TABLE``.

    Attributes:
        what: Its first word, in upper case.
        table: The name.
        is_lazy: Whether rows are cached only when they are read.
        options: The clause ``OPTIONS``, or an empty string.
        level: The storage level in the options.
        query: The query whose rows are cached under a new name.
        text: The whole statement.
    """

    what: str
    table: Name
    is_lazy: bool
    options: str
    level: str | None
    query: str | None
    text: str


def read(reader: Reader) -> Cached | None:
    """Parse the statement; return None for another statement."""
    what = reader.token.text.upper()
    if not (reader.takes("CACHE") or reader.takes("UNCACHE") or reader.takes("REFRESH")):
        return None
    is_lazy = reader.takes("LAZY")
    if not reader.takes("TABLE"):
        return None
    reader.takes("IF", "EXISTS")
    table = reader.name()
    start, clause, level = reader.token.start, "", None
    if reader.takes("OPTIONS"):
        options = reader.properties()
        level = next((v for key, v in options.items() if key.lower() == "storagelevel"), None)
        clause = reader.text[start : reader.tokens[reader.at - 1].end]
    query = None
    if reader.takes("AS") or any(reader.sees(*words) for words in QUERY):
        query = reader.query()
    reader.ends()
    return Cached(what, table, is_lazy, clause, level, query, reader.text)


def run(spark: SparkSession, statement: Cached) -> DataFrame:
    """Cache the rows of the table's current version, or drop them from the cache.

    ``REFRESH`` only checks that the table can be read: each query reads the newest version.
    """
    if statement.query is not None:
        return _named(spark, statement)
    opened = lookup.delta_table(spark, statement.table)
    if opened is None:
        return spark.sql(statement.text)
    table = opened[0]
    if statement.what == "REFRESH":
        table.snapshot()
        return nothing(spark)
    rows = _cached.setdefault(spark, {}).pop(table.uri, None)
    if rows is not None:
        rows.unpersist()
    if statement.what == "CACHE":
        rows = queries.read_here(spark, f"SELECT * FROM {names.dotted(statement.table)}")
        rows.persist(*_levels(statement.level))
        if not statement.is_lazy:
            rows.count()
        _cached[spark][table.uri] = rows
    return nothing(spark)


def _levels(name: str | None) -> list[Any]:
    from pyspark import StorageLevel

    return [] if name is None else [getattr(StorageLevel, name.upper())]


def _named(spark: SparkSession, statement: Cached) -> DataFrame:
    """Cache a query as a temporary view, which stays at the tables' current versions."""
    name = names.quoted(statement.table[-1])
    queries.read_here(spark, f"CREATE TEMPORARY VIEW {name} AS {statement.query}")
    lazy = "LAZY " if statement.is_lazy else ""
    try:
        return spark.sql(f"CACHE {lazy}TABLE {name} {statement.options}")
    except BaseException:
        spark.catalog.dropTempView(statement.table[-1])
        raise
