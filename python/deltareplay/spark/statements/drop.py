"""``DROP TABLE``, which deletes the files of tables at the catalog's default location."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay._table.table import Table
from deltareplay.spark.catalog import lookup, registration
from deltareplay.spark.session import capabilities
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class DropTable(Statement):
    """A ``DROP TABLE`` statement.

    Attributes:
        text: The whole statement, for Spark.
    """

    WORDS = (("DROP", "TABLE", "IF", "EXISTS"), ("DROP", "TABLE"))

    text: str = ""

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        name = parser.optional_name()
        parser.index = len(parser.tokens) - 1
        return cls(name, parser.text) if name else None

    def entry(self, spark: SparkSession) -> CatalogEntry | None:
        if names.path_of(self.table) is not None or capabilities.has_delta(spark):
            return None
        return super().entry(spark)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Let Spark drop the name; then delete the files, if they belong to the name.

        The log is deleted first, so that an interruption leaves no table.
        """
        table = _owned_table(spark, entry)
        result = spark.sql(self.text)
        if table is not None:
            for directory in ("_delta_log", ""):
                _native.discard_directory(table.native, directory)
        return result


def _owned_table(spark: SparkSession, entry: CatalogEntry) -> Table | None:
    """Return the table if its files belong to the name.

    They do if the table was created by name, at the catalog's default location, even if it has
    another name in the same schema now.
    """
    if not (entry.is_delta and entry.owns_files and entry.name and entry.location):
        return None
    table = lookup.at_path(entry.location)
    location = registration.new_location(spark, names.table_parts(entry.name), None)
    parent = lookup.at_path(location).uri.rstrip("/").rpartition("/")[0]
    return table if table.uri.rstrip("/").rpartition("/")[0] == parent else None
