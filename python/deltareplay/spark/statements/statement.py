"""The base of SQL statements: each parses itself, and runs on the entry of its table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from deltareplay.spark.catalog import lookup
from deltareplay.spark.query import queries, target_views
from deltareplay.spark.session import capabilities
from deltareplay.spark.statements.before_statements import Before
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import Name, Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._table.table import Table
    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class Statement:
    """A statement on one table.

    It is parsed up to the name of the table, which is looked up once; the clauses that follow may
    have other forms if Spark runs the statement.

    Attributes:
        before: The text before the statement.
    """

    #: The first words, of which there are several spellings.
    WORDS: ClassVar[tuple[tuple[str, ...], ...]]
    #: Whether a path may be written as a string.
    TAKES_PATH: ClassVar[bool] = False

    table: Name
    before: Before = field(default=Before(), repr=False, kw_only=True)

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        """Parse what follows the first words, up to the name; None leaves the text to Spark."""
        return cls(parser.table() if cls.TAKES_PATH else parser.name())

    def read_clauses(self, parser: Parser) -> None:
        """Parse what follows the name of the table."""

    def entry(self, spark: SparkSession) -> CatalogEntry | None:
        """Look up the table; return None if Spark runs the statement."""
        return lookup.find(spark, self.table)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Run the statement, and return delta-spark's result."""
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
class RowStatement(SharedStatement):
    """A statement that changes rows of a table, perhaps through a view of the whole table.

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
        """The qualifier of the table in expressions: its alias, or the last part of its name."""
        is_path = names.path_of(self.table) is not None
        return self.alias or ("target" if is_path else self.table[-1])

    def entry(self, spark: SparkSession) -> CatalogEntry | None:
        """Look up the table, or the one behind a view; return None if it is not a Delta table."""
        entry = lookup.find(spark, self.table)
        if entry.is_view and not capabilities.has_delta(spark):
            return target_views.behind(spark, entry)
        return entry if entry.is_delta else None

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Change the rows, and let a view show them."""
        result = self.change(spark, entry.table())
        if entry.parts != self.table:
            rows = queries.read_here(spark, f"SELECT * FROM {names.dotted(entry.parts)}")
            target_views.show_newest(spark, self.table, rows)
        return result

    def change(self, spark: SparkSession, table: Table) -> DataFrame:
        """Change the rows of the table."""
        raise NotImplementedError
