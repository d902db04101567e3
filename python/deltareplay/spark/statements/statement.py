"""Base classes of SQL statements: a statement parses itself, and runs on its table's entry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from deltareplay.spark.catalog import lookup
from deltareplay.spark.query import queries, target_views
from deltareplay.spark.session import capabilities
from deltareplay.spark.statements.prefix import Prefix
from deltareplay.spark.syntax import names, qualifiers
from deltareplay.spark.syntax.parser import Name, Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._table.table import Table
    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class Statement:
    """A statement on one table.

    ``read`` parses it up to the name of the table. Unless Spark runs the statement,
    ``read_clauses`` parses the rest.

    Attributes:
        prefix: The clauses before the statement.
    """

    #: The spellings of the first words.
    WORDS: ClassVar[tuple[tuple[str, ...], ...]]
    #: Whether a path may be written as a string.
    TAKES_PATH: ClassVar[bool] = False

    table: Name
    prefix: Prefix = field(default=Prefix(), repr=False, kw_only=True)

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        """Parse what follows the first words, up to the name; return None if Spark runs it."""
        return cls(parser.table() if cls.TAKES_PATH else parser.name())

    def read_clauses(self, parser: Parser) -> None:
        """Parse what follows the name of the table."""

    def entry(self, spark: SparkSession) -> CatalogEntry | None:
        """Look up the table; return None if Spark runs the statement."""
        return lookup.find(spark, self.table)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Run the statement; return the same result as delta-spark."""
        raise NotImplementedError


@dataclass
class SharedStatement(Statement):
    """A statement that Spark runs on tables of other formats."""

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        """Parse the name of the table; return None if there is none."""
        name = parser.optional_name()
        return cls(name) if name else None

    def entry(self, spark: SparkSession) -> CatalogEntry | None:
        """Look up the table; return None if it is not a Delta table."""
        entry = lookup.find(spark, self.table)
        return entry if entry.is_delta else None


@dataclass
class LogStatement(SharedStatement):
    """A statement that only reads the log of a table, in sessions without delta-spark's jar."""

    def entry(self, spark: SparkSession) -> CatalogEntry | None:
        return None if capabilities.has_delta(spark) else super().entry(spark)


@dataclass
class RowStatement(SharedStatement):
    """A statement that changes rows of a table, or of the table that a temporary view reads.

    Attributes:
        alias: The alias of the table.
    """

    alias: str | None = None

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        """Parse the name of the table."""
        return cls(parser.name())

    @property
    def qualifier(self) -> str:
        """The qualifier in expressions: the alias, else the last name, which may be a path."""
        return self.alias or self.table[-1]

    def entry(self, spark: SparkSession) -> CatalogEntry | None:
        """Look up the table, or that of a view; return None if it is not a Delta table."""
        entry = lookup.find(spark, self.table)
        if entry.is_view and not capabilities.has_delta(spark):
            return target_views.table_of(spark, entry)
        return entry if entry.is_delta else None

    def aliases(self, entry: CatalogEntry) -> dict[Name, str]:
        """Return the qualifier by the table's names that qualify columns; none with an alias."""
        if self.alias is not None:
            return {}
        table = entry.qualified_parts if entry.parts == self.table else self.table
        return qualifiers.aliases(table, self.qualifier)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Change the rows, and refresh the view, if the statement names one."""
        result = self.change(spark, entry.table(), self.aliases(entry))
        if entry.parts != self.table:
            rows = queries.run_on_snapshots(spark, f"SELECT * FROM {names.dotted(entry.parts)}")
            target_views.refresh(spark, self.table, rows)
        return result

    def change(self, spark: SparkSession, table: Table, aliases: qualifiers.Aliases) -> DataFrame:
        """Change the rows; ``aliases`` replace the table's names that qualify columns."""
        raise NotImplementedError
