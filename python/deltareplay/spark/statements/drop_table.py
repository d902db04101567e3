"""``DROP TABLE``, which deletes the files of tables at the catalog's default location."""

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
    """A statement ``DROP TABLE``.

    Attributes:
        table: The name.
        text: The whole statement.
    """

    table: Name
    text: str


def read(reader: Reader) -> DropTable | None:
    """Parse the statement; return None for another statement."""
    if not reader.takes("DROP", "TABLE"):
        return None
    reader.takes("IF", "EXISTS")
    table, _ = name_at(reader.tokens, reader.at)
    return DropTable(table, reader.text) if table else None


def run(spark: SparkSession, statement: DropTable) -> DataFrame:
    """Drop the name by Spark; then delete the files, if they belong to the name.

    The log is deleted first: if this is interrupted, no table is left.
    """
    entry = None
    if names.path_of(statement.table) is None and not capabilities.has_delta(spark):
        entry = lookup.in_catalog(spark, statement.table)
    table = None if entry is None else _own(spark, entry)
    done = spark.sql(statement.text)
    if table is not None:
        for directory in ("_delta_log", ""):
            _native.discard_directory(table.native, directory)
    return done


def _own(spark: SparkSession, entry: CatalogEntry) -> Table | None:
    """Return the table if its files belong to the name.

    They do if the table was created with it, at the catalog's default location.
    """
    if not (entry.is_delta and entry.owns_files and entry.location is not None):
        return None
    table = lookup.at_path(entry.location)
    location = registration.new_location(spark, names.parts_of(entry.name), None)
    parent = lookup.at_path(location).uri.rstrip("/").rpartition("/")[0]
    return table if table.uri.rstrip("/").rpartition("/")[0] == parent else None
