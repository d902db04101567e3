"""``DROP TABLE``: a table that got its place from the catalog goes with its files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay._table.table import Table
from deltareplay.spark.catalog import lookup, registration
from deltareplay.spark.session import capabilities
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.names import name_at
from deltareplay.spark.syntax.parser import Name, Reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass(frozen=True)
class DropTable:
    """The statement.

    Attributes:
        table: The name.
        text: The whole statement.
    """

    table: Name
    text: str


def read(reader: Reader) -> DropTable | None:
    """The statement, if it is one."""
    if not reader.takes("DROP", "TABLE"):
        return None
    reader.takes("IF", "EXISTS")
    table, _ = name_at(reader.found, reader.at)
    return DropTable(table, reader.text) if table else None


def run(spark: SparkSession, statement: DropTable) -> DataFrame:
    """Spark drops the name; then the files go, if they came with it.

    The log goes first: what is left when this is interrupted is no table.
    """
    entry = None
    if names.path_of(statement.table) is None and not capabilities.has_delta(spark):
        entry = lookup.in_catalog(spark, statement.table)
    table = None if entry is None else _own(spark, entry)
    done = spark.sql(statement.text)
    if table is not None:
        for directory in ("_delta_log", ""):
            _native.discard_directory(table._native, directory)
    return done


def _own(spark: SparkSession, entry: CatalogEntry) -> Table | None:
    """The table, if its files belong to the name: made with it, where the catalog puts tables."""
    if not (entry.is_delta and entry.owns_files and entry.location is not None):
        return None
    table = lookup.at_path(entry.location)
    location = registration.new_location(spark, names.parts_of(entry.name), None)
    parent = lookup.at_path(location).uri.rstrip("/").rpartition("/")[0]
    return table if table.uri.rstrip("/").rpartition("/")[0] == parent else None
