"""Delta tables in subqueries of conditions and values, which Spark parses by itself."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from deltareplay.spark.query import queries
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import Parser
from deltareplay.spark.syntax.tokens import tokens

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_T = TypeVar("_T")


@dataclass
class Subqueries:
    """Temporary views that stand for Delta tables in subqueries.

    Attributes:
        defined: Queries that ``WITH`` defines before a statement, by their names.
        views: The views, by name, version and timestamp of the table.
    """

    spark: SparkSession
    defined: Mapping[str, str] = field(default_factory=dict)
    views: dict[Any, str] = field(default_factory=dict)

    def opened(self, expression: _T) -> _T:
        """Replace the Delta tables of an expression's subqueries by views.

        Values other than text are returned as they are.
        """
        if not isinstance(expression, str) or not _has_query(expression):
            return expression
        edits: list[tuple[int, int, str]] = []
        parser = Parser(expression)
        for reference in queries.tables_in(parser):
            view = self._view(reference)
            if view is None:
                continue
            edits.append((reference.start, reference.end, view))
            if reference.alias_at is not None and reference.alias is not None:
                alias = f" AS {names.quoted(reference.alias)}"
                edits.append((reference.alias_at, reference.alias_at, alias))
        return cast("_T", parser.text.edited(edits))

    def values(self, values: Mapping[str, _T]) -> dict[str, _T]:
        """Replace the Delta tables in the values of columns, as ``opened`` does."""
        return {column: self.opened(value) for column, value in values.items()}

    def _view(self, reference: queries.Reference) -> str | None:
        """Return the view of a table; None if Spark itself can open it."""
        key = (reference.name, reference.version, reference.timestamp)
        if key not in self.views:
            frame = self._rows(reference)
            if frame is None:
                return None
            self.views[key] = f"deltareplay_{uuid.uuid4().hex}"
            frame.createOrReplaceTempView(self.views[key])
        return self.views[key]

    def _rows(self, reference: queries.Reference) -> DataFrame | None:
        query = self.defined.get(reference.name[0].lower()) if len(reference.name) == 1 else None
        return (
            queries.rows_of_table(self.spark, reference)
            if query is None
            else (queries.read_here(self.spark, query))
        )

    def drop(self) -> None:
        """Drop the views."""
        for view in self.views.values():
            self.spark.catalog.dropTempView(view)


#: The queries before the statement that runs.
_before: ContextVar[Mapping[str, str]] = ContextVar("_before", default={})  # noqa: B039 never changed


@contextmanager
def after(defined: Mapping[str, str]) -> Iterator[None]:
    """Make the queries that ``WITH`` defines visible to the subqueries of a statement."""
    token = _before.set(defined)
    try:
        yield
    finally:
        _before.reset(token)


@contextmanager
def of(spark: SparkSession) -> Iterator[Subqueries]:
    """Provide the subqueries of one statement, and drop their views when it ends."""
    subqueries = Subqueries(spark, _before.get())
    try:
        yield subqueries
    finally:
        subqueries.drop()


def _has_query(expression: str) -> bool:
    lowered = expression.lower()
    if "select" not in lowered and "from" not in lowered:
        return False
    return any(token.is_word("SELECT", "FROM", "TABLE") for token in tokens(expression))
