"""Temporary views of whole tables, as targets of statements.

Spark does not reveal which Delta table a view reads, so the table is recorded here when ``sql``
creates the view. The record is valid as long as the view has the same plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog import lookup
from deltareplay.spark.storage import hadoop_path
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import Name, Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry

#: The path and the rows of each view, by the session and the name in lower case.
_views: WeakKeyDictionary[Any, dict[str, tuple[str, DataFrame]]] = WeakKeyDictionary()


def remember(spark: SparkSession, view: str, query: str, rows: DataFrame) -> None:
    """Record a new view if it reads all rows of the latest version of one table.

    Args:
        spark: The session.
        view: The name of the view.
        query: The view's query.
        rows: The rows of the query.
    """
    views = _views.setdefault(spark, {})
    views.pop(view.lower(), None)
    parser = Parser(query)
    try:
        name = _table_name(parser)
        parser.needs_end()
    except InvalidArgumentError:  # not SELECT * FROM a single name
        return
    entry = lookup.find(spark, name)
    # the path alone is recorded, which is not enough for a shallow clone
    if entry.is_delta and not entry.allowed_roots:
        views[view.lower()] = (hadoop_path.hadoop_root(entry.table().uri), rows)


def _table_name(parser: Parser) -> Name:
    """Parse ``SELECT * FROM`` a name, or such a query in parentheses; each may have an alias."""
    parser.needs("SELECT", "*", "FROM")
    if parser.takes("("):
        name = _table_name(parser)
        parser.needs(")")
    else:
        name = parser.name()
    parser.alias()
    return name


def table_of(spark: SparkSession, view: CatalogEntry) -> CatalogEntry:
    """Return the table that a temporary view reads, as a path.

    Raises:
        UnsupportedFeatureError: ``sql.target``: the view does not read all of one Delta table, or
            was not created by ``sql``.
    """
    name = view.parts[-1]
    path, rows = _views.get(spark, {}).get(name.lower(), (None, None))
    if path is None or rows is None or not spark.table(names.quoted(name)).sameSemantics(rows):
        raise UnsupportedFeatureError(
            f"{names.dotted(view.parts)} is a view: change the table itself, or "
            "a temporary view that deltareplay.spark.sql created as SELECT * FROM that table",
            code="sql.target",
        )
    return lookup.find(spark, ("delta", path))


def refresh(spark: SparkSession, name: Name, rows: DataFrame) -> None:
    """Recreate a view with the rows of its table, after a statement has changed them."""
    path, _ = _views[spark][name[-1].lower()]
    rows.createOrReplaceTempView(name[-1])
    _views[spark][name[-1].lower()] = (path, rows)
