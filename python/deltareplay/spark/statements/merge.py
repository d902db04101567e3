"""``MERGE INTO``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltareplay._table.merge import When
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog import lookup
from deltareplay.spark.delta_table import results
from deltareplay.spark.dml.assignments import renamed_tables
from deltareplay.spark.dml.merge.clauses import Clause
from deltareplay.spark.dml.merge.execution import MergeArguments, execute
from deltareplay.spark.dml.merge.repeatability import MergeSource
from deltareplay.spark.query import queries
from deltareplay.spark.statements.statement import RowStatement
from deltareplay.spark.syntax import qualifiers
from deltareplay.spark.syntax.parser import Name, Parser
from deltareplay.spark.syntax.qualifiers import Aliases, with_aliases

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._table.table import Table


def _clause(parser: Parser) -> Clause:
    """Parse a clause, after ``WHEN``."""
    when: When = "matched"
    if not parser.takes("MATCHED"):
        parser.needs("NOT", "MATCHED")
        if parser.takes("BY", "SOURCE"):
            when = "not_matched_by_source"
        else:
            parser.takes("BY", "TARGET")
            when = "not_matched"
    condition = parser.until(("THEN",)) if parser.takes("AND") else None
    parser.needs("THEN")
    if when == "not_matched":
        parser.needs("INSERT")
        inserted = None if parser.takes("*") else _insert_values(parser)
        return Clause(when, "insert", condition, inserted)
    if parser.takes("DELETE"):
        return Clause(when, "delete", condition, None)
    parser.needs("UPDATE", "SET")
    sets_all = when == "matched" and parser.takes("*")
    assigned = None if sets_all else parser.assignments(("WHEN",))
    return Clause(when, "update", condition, assigned)


def _insert_values(parser: Parser) -> dict[str, str]:
    """Parse the columns and values of an ``INSERT``."""
    columns = parser.in_parentheses(parser.expression)
    parser.needs("VALUES")
    values = parser.in_parentheses(parser.expression)
    if len(columns) != len(values):
        raise parser.invalid(f"INSERT needs {len(columns)} values, not {len(values)}")
    duplicate = next((name for name in columns if columns.count(name) > 1), None)
    if duplicate is not None:
        raise InvalidArgumentError(
            f"{duplicate} is set twice by an INSERT of the merge: leave one of the values out",
            code="statement.column",
        )
    return dict(zip(columns, values, strict=True))


@dataclass(frozen=True)
class Source:
    """The source of a merge.

    Attributes:
        text: The source text, for ``FROM``.
        alias: The alias; None if there is none.
        table: The name of a table or view that has no alias; empty for other sources.
    """

    text: str
    alias: str | None
    table: Name = ()

    @classmethod
    def read(cls, parser: Parser) -> Source:
        start = parser.index
        name = parser.optional_name()
        if name:
            parser.time_travel()
            alias = parser.alias("ON")
            if parser.sees("ON"):
                return cls(parser.since(start), alias, () if alias else name)
            parser.index = start
        text = parser.until(("ON",))
        last, before = parser.tokens[parser.index - 1], parser.tokens[parser.index - 2]
        has_alias = last.is_name and (before.text == ")" or before.is_word("AS"))
        return cls(text, last.name if has_alias else None)


@dataclass
class Merge(RowStatement):
    """A ``MERGE INTO`` statement."""

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
            self.clauses += (_clause(parser),)
        if not self.clauses:
            raise parser.expected("WHEN")

    @property
    def qualifier(self) -> str:
        """The qualifier of the target; the whole name if the source has the same last name."""
        return ".".join(self.table) if self._share_name() else super().qualifier

    def _share_name(self) -> bool:
        """Return whether target and source have the same last name, and no aliases."""
        if self.alias is not None or not self.source.table:
            return False
        source, target = (tuple(map(str.lower, name)) for name in (self.source.table, self.table))
        return source[-1] == target[-1] and source != target

    def change(self, spark: SparkSession, table: Table, aliases: Aliases) -> DataFrame:
        source = queries.run_on_snapshots(
            spark, self.prefix.query("SELECT * FROM ", self.source.text)
        )
        alias, name = self.source.alias, self.source.table
        if name:
            alias = ".".join(name) if self._share_name() else name[-1]
            aliases = {
                **qualifiers.aliases(lookup.find(spark, name).qualified_parts, alias),
                **aliases,
            }
        if alias is not None:
            source = source.alias(alias)
        clauses = [
            replace(
                clause,
                condition=with_aliases(clause.condition, aliases),
                values=None if clause.values is None else renamed_tables(clause.values, aliases),
            )
            for clause in self.clauses
        ]
        arguments = MergeArguments(
            spark,
            table,
            MergeSource.of(source, None),
            with_aliases(self.on, aliases),
            self.qualifier,
            evolves=self.evolves,
        )
        return results.merged(spark, execute(arguments, clauses).metrics)
