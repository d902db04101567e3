"""Delta tables in subqueries of conditions and values, which Spark parses."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from deltareplay.spark.query import queries
from deltareplay.spark.query.table_references import TableReference, tables_in
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import Parser
from deltareplay.spark.syntax.tokens import tokens

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_T = TypeVar("_T")


@dataclass
class TableViews:
    """Temporary views that replace Delta tables in subqueries.

    Attributes:
        named_queries: Queries that ``WITH`` defines before the statement, by their names.
        views: The views, by the name, version and timestamp of the table and the arguments of a
            function of changes.
    """

    spark: SparkSession
    named_queries: Mapping[str, str]
    views: dict[Any, str] = field(default_factory=dict)

    def substitute(self, expression: _T) -> _T:
        """Replace the Delta tables of an expression's subqueries by views.

        Values other than text are returned as they are.
        """
        if not isinstance(expression, str) or not _has_query(expression):
            return expression
        parser = Parser(expression)
        references = tables_in(parser)
        references, edits = queries.with_aliases(self.spark, parser.tokens, references)
        for reference in references:
            view = self._view(reference)
            if view is None:
                continue
            edits.append((reference.start, reference.end, view))
            if (index := reference.alias_position) is not None and reference.alias is not None:
                edits.append((index, index, f" AS {names.quoted(reference.alias)}"))
        return cast("_T", parser.text.edited(sorted(edits)))

    def substitute_values(self, values: Mapping[str, _T]) -> dict[str, _T]:
        """Replace the Delta tables in the values of columns, as ``substitute`` does."""
        return {column: self.substitute(value) for column, value in values.items()}

    def _view(self, reference: TableReference) -> str | None:
        """Return the view of a table; None if Spark itself can open it."""
        key = (reference.name, reference.version, reference.timestamp, reference.changes)
        if key not in self.views:
            frame = self._rows(reference)
            if frame is None:
                return None
            self.views[key] = f"deltareplay_{uuid.uuid4().hex}"
            frame.createOrReplaceTempView(self.views[key])
        return self.views[key]

    def _rows(self, reference: TableReference) -> DataFrame | None:
        name = reference.name[0].lower() if len(reference.name) == 1 else ""
        query = self.named_queries.get(name)
        if query is None:
            return queries.rows_of_table(self.spark, reference)
        return queries.run_on_snapshots(self.spark, query)


#: The queries that ``WITH`` defines before the current statement, by their names.
_queries: ContextVar[Mapping[str, str]] = ContextVar("_queries", default={})  # noqa: B039 never changed


@contextmanager
def defining(named_queries: Mapping[str, str]) -> Iterator[None]:
    """Make the queries that ``WITH`` defines visible to the subqueries of a statement."""
    token = _queries.set(named_queries)
    try:
        yield
    finally:
        _queries.reset(token)


@contextmanager
def views(spark: SparkSession) -> Iterator[TableViews]:
    """Provide the views for the subqueries of one statement, and drop them when it ends."""
    table_views = TableViews(spark, _queries.get())
    try:
        yield table_views
    finally:
        for view in table_views.views.values():
            spark.catalog.dropTempView(view)


def _has_query(expression: str) -> bool:
    return any(token.is_word("SELECT", "FROM", "TABLE") for token in tokens(expression))
