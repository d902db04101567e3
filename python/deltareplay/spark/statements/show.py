"""``DESCRIBE TABLE``, ``SHOW COLUMNS`` and ``SHOW TBLPROPERTIES``, from a Delta table's log."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay._protocol.schema import Struct
from deltareplay._snapshot.clustering import logical_clustering_paths
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.maintenance.detail import location
from deltareplay.spark.schema.fields import spark_type
from deltareplay.spark.schema.frames import from_arrow
from deltareplay.spark.statements.statement import LogStatement, Statement
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import Name, Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._protocol.protocol import Protocol
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay.spark.catalog.lookup import CatalogEntry

Row = tuple[str | None, ...]

_COLUMNS = ("col_name", "data_type", "comment")


@dataclass
class DescribeTable(LogStatement):
    """A ``DESCRIBE TABLE`` statement.

    Attributes:
        extended: Whether details of the table follow its columns.
        column: The path of the only column to describe.
    """

    WORDS = (("DESCRIBE",), ("DESC",))

    extended: bool = False
    column: Name = ()

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        parser.takes("TABLE")
        extended = parser.takes_any("EXTENDED", "FORMATTED")
        name = parser.optional_name()
        return cls(name, extended) if name else None

    def read_clauses(self, parser: Parser) -> None:
        self.column = parser.optional_name()

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Return the columns of the table, or the details of one.

        Raises:
            InvalidArgumentError: ``columns.unknown``: the table has no such column.
        """
        snapshot = entry.table().snapshot()
        if self.column:
            return _frame(spark, ("info_name", "info_value"), _column(snapshot, self.column))
        details = _details(snapshot, _full_name(entry)) if self.extended else []
        return _frame(spark, _COLUMNS, _columns_and_partitions(snapshot) + details)


@dataclass
class ShowColumns(LogStatement):
    """A ``SHOW COLUMNS`` statement."""

    WORDS = (("SHOW", "COLUMNS"),)

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        if not parser.takes_any("IN", "FROM"):
            return None
        name = parser.optional_name()
        if name and parser.takes_any("IN", "FROM"):
            name = (*parser.optional_name(), name[-1])
        return cls(name) if name else None

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        columns = _columns(entry.table().snapshot())
        return _frame(spark, _COLUMNS[:1], [row[:1] for row in columns])


@dataclass
class ShowProperties(LogStatement):
    """A ``SHOW TBLPROPERTIES`` statement.

    Attributes:
        key: The only property to show.
    """

    WORDS = (("SHOW", "TBLPROPERTIES"),)

    key: str | None = None

    def read_clauses(self, parser: Parser) -> None:
        if parser.takes("("):
            self.key = parser.key()
            parser.needs(")")

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        snapshot = entry.table().snapshot()
        rows: Sequence[Row] = _properties(snapshot)
        if self.key is not None:
            rows = _property(snapshot, _full_name(entry), self.key)
        return _frame(spark, ("key", "value"), rows)


@dataclass
class ShowCreate(LogStatement):
    """A ``SHOW CREATE TABLE`` statement, which is not supported, as in delta-spark."""

    WORDS = (("SHOW", "CREATE", "TABLE"),)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:  # noqa: ARG002
        raise UnsupportedFeatureError(
            "SHOW CREATE TABLE is not supported for Delta tables: DESCRIBE TABLE EXTENDED shows "
            "the columns and the properties",
            code="sql.catalog",
        )


def _full_name(entry: CatalogEntry) -> Name:
    return entry.parts if entry.name is None else names.table_parts(entry.name)


def _columns(snapshot: Snapshot) -> list[Row]:
    fields = Struct.parse(snapshot.schema_json).fields
    return [(field.name, spark_type(field.type).simpleString(), field.comment) for field in fields]


def _columns_and_partitions(snapshot: Snapshot) -> list[Row]:
    columns = _columns(snapshot)
    partitions = [row for name in snapshot.partition_columns for row in columns if row[0] == name]
    if not partitions:
        return columns
    heading: list[Row] = [("# Partition Information", "", ""), ("# col_name", *_COLUMNS[1:])]
    return [*columns, *heading, *partitions]


def _details(snapshot: Snapshot, name: Name) -> list[Row]:
    catalog, *namespace, table = ("spark_catalog", *name)[-3:]
    database = ".".join(namespace)
    details = {
        "Catalog": catalog,
        "Namespace": database,
        "Database": database,
        "Table": table,
        "Type": "EXTERNAL",
        "Comment": snapshot.metadata.description,
        "Location": location(snapshot.table.uri),
        "Provider": "delta",
        "Table Properties": f"[{','.join(f'{k}={v}' for k, v in _properties(snapshot))}]",
    }
    heading = [("", "", ""), ("# Detailed Table Information", "", "")]
    rows = [(key, value, "") for key, value in details.items() if value is not None]
    return [*heading, *rows, *_defaults(snapshot)]


def _defaults(snapshot: Snapshot) -> list[Row]:
    """Return the columns that have a default, with their types and defaults."""
    defaults = [
        (field.name, spark_type(field.type).simpleString(), field.default)
        for field in Struct.parse(snapshot.schema_json).fields
        if field.default is not None
    ]
    return [("", "", ""), ("# Column Default Values", "", ""), *defaults] if defaults else []


def _properties(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return the table properties, including those for the protocol and the clustering columns."""
    properties = snapshot.metadata.configuration | protocol_properties(snapshot.protocol)
    if "clustering" in (snapshot.protocol.writer_features or ()):
        paths = logical_clustering_paths(snapshot)
        text = json.dumps(paths, ensure_ascii=False, separators=(",", ":"))
        properties["clusteringColumns"] = text
    return sorted(properties.items())


def protocol_properties(protocol: Protocol) -> dict[str, str]:
    """Return the properties by which CREATE TABLE requests a protocol."""
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    return {
        "delta.minReaderVersion": str(protocol.min_reader_version),
        "delta.minWriterVersion": str(protocol.min_writer_version),
        **{f"delta.feature.{feature}": "supported" for feature in features},
    }


def _property(snapshot: Snapshot, name: Name, key: str) -> list[Row]:
    value = dict(_properties(snapshot)).get(key)
    if value is None:
        parts = ("spark_catalog", *name)[-3:]
        table = ".".join(
            part if re.fullmatch(r"\w+", part) else names.quoted(part) for part in parts
        )
        value = f"Table {table} does not have property: {key}"
    return [(key, value)]


def _column(snapshot: Snapshot, name: Name) -> list[Row]:
    for row in _columns(snapshot):
        if len(name) == 1 and str(row[0]).lower() == name[0].lower():
            # the column is named as in the statement
            details = zip(_COLUMNS, (name[0], *row[1:]), strict=True)
            return [(key, value or "NULL") for key, value in details]
    raise InvalidArgumentError(
        f"the table has no column {'.'.join(name)}: DESCRIBE takes a top-level column",
        code="columns.unknown",
    )


def _frame(spark: SparkSession, columns: Sequence[str], rows: Sequence[Row]) -> DataFrame:
    schema = pa.schema([(name, pa.string()) for name in columns])
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    return from_arrow(spark, pa.Table.from_pylist(records, schema=schema))
