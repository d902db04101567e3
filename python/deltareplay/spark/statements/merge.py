"""``MERGE INTO``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.delta_table import results
from deltareplay.spark.dml.assignments import of_table
from deltareplay.spark.dml.merge.builder import merge
from deltareplay.spark.query import queries
from deltareplay.spark.session import settings
from deltareplay.spark.statements.statement import RowStatement
from deltareplay.spark.syntax.parser import Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._table.table import Table


@dataclass(frozen=True)
class Clause:
    """A clause of a merge.

    Attributes:
        method: The method of ``Merge`` that adds it.
        condition: The condition under which it applies.
        values: Columns and values; None if the action has none.
    """

    method: str
    condition: str | None
    values: dict[str, str] | None

    @classmethod
    def read(cls, parser: Parser) -> Clause:
        if parser.takes("MATCHED"):
            when = "when_matched"
        else:
            parser.needs("NOT", "MATCHED")
            by_source = parser.takes("BY", "SOURCE")
            if not by_source:
                parser.takes("BY", "TARGET")
            when = "when_not_matched_by_source" if by_source else "when_not_matched"
        condition = parser.until(("THEN",)) if parser.takes("AND") else None
        parser.needs("THEN")
        if when == "when_not_matched":
            parser.needs("INSERT")
            if parser.takes("*"):
                return cls(f"{when}_insert_all", condition, None)
            return cls(f"{when}_insert", condition, _inserted(parser))
        if parser.takes("DELETE"):
            return cls(f"{when}_delete", condition, None)
        parser.needs("UPDATE", "SET")
        if when == "when_matched" and parser.takes("*"):
            return cls(f"{when}_update_all", condition, None)
        return cls(f"{when}_update", condition, {**parser.assignments(("WHEN",))})


def _inserted(parser: Parser) -> dict[str, str]:
    """Parse the columns and values of an ``INSERT``."""
    columns = parser.in_parentheses()
    parser.needs("VALUES")
    values = parser.in_parentheses()
    if len(columns) != len(values):
        raise parser.invalid(f"INSERT needs {len(columns)} values, not {len(values)}")
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise InvalidArgumentError(
            f"{twice} is set twice by an INSERT of the merge: leave one of the values out",
            code="statement.column",
        )
    return dict(zip(columns, values, strict=True))


@dataclass(frozen=True)
class Source:
    """The source of a merge.

    Attributes:
        text: The source text, for ``FROM``.
        alias: The qualifier in clauses.
    """

    text: str
    alias: str | None

    @classmethod
    def read(cls, parser: Parser) -> Source:
        start = parser.at
        name = parser.optional_name()
        if name:
            parser.time_travel()
            alias = parser.alias("ON")
            if parser.sees("ON"):
                return cls(parser.since(start), alias or name[-1])
            parser.at = start
        text = parser.until(("ON",))
        last, before = parser.tokens[parser.at - 1], parser.tokens[parser.at - 2]
        has_alias = last.kind in ("word", "quoted") and (before.text == ")" or before.is_word("AS"))
        return cls(text, last.name if has_alias else None)


@dataclass
class Merge(RowStatement):
    """A statement ``MERGE INTO``."""

    WORDS = (("MERGE",),)

    source: Source = Source("", None)
    on: str = ""
    clauses: tuple[Clause, ...] = ()
    evolves: bool = False

    @classmethod
    def read(cls, parser: Parser) -> Merge:
        evolves = parser.takes("WITH", "SCHEMA", "EVOLUTION")
        parser.needs("INTO")
        return cls(parser.name(), evolves=evolves)

    def read_clauses(self, parser: Parser) -> None:
        self.alias = parser.alias("USING")
        parser.needs("USING")
        self.source = Source.read(parser)
        parser.needs("ON")
        self.on = parser.until(("WHEN",))
        while parser.takes("WHEN"):
            self.clauses += (Clause.read(parser),)
        if not self.clauses:
            raise parser.wrong("WHEN")

    def change(self, spark: SparkSession, table: Table) -> DataFrame:
        evolves = self.evolves or settings.merges_schemas(spark)
        source = queries.read_here(spark, self.before.query("SELECT * FROM ", self.source.text))
        run = merge(
            spark,
            table,
            source if self.source.alias is None else source.alias(self.source.alias),
            self.on,
            schema_mode="merge" if evolves else None,
            target_alias=self.qualifier,
        )
        for clause in self.clauses:
            values = () if clause.values is None else (of_table(clause.values, self.qualifier),)
            getattr(run, clause.method)(*values, clause.condition)
        return results.merged(spark, run.execute().metrics)
