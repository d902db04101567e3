"""``DESCRIBE TABLE``, ``SHOW COLUMNS`` and ``SHOW TBLPROPERTIES``, from a Delta table's log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay._protocol.schema import Struct
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog import lookup
from deltareplay.spark.maintenance.detail import location
from deltareplay.spark.schema.fields import spark_type
from deltareplay.spark.schema.frames import from_arrow
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.names import quoted
from deltareplay.spark.syntax.parser import Name, Reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._snapshot.snapshot import Snapshot

Row = tuple[str | None, ...]

_TABLE = ("col_name", "data_type", "comment")


def run(spark: SparkSession, name: Name, text: str) -> DataFrame:
    """Return delta-spark's result of the statement.

    Raises:
        InvalidArgumentError: ``sql.syntax``; ``columns.unknown``: the table has no such column.
        UnsupportedFeatureError: ``sql.catalog``: the statement is not supported, as in delta-spark.
        TableNotFoundError: There is no Delta table of that name.
    """
    table, entry = lookup.table_named(spark, name)
    own = name if entry is None else names.parts_of(entry.name)
    snapshot = table.snapshot()
    reader = Reader(text)
    if reader.takes("SHOW", "CREATE"):
        raise UnsupportedFeatureError(
            "SHOW CREATE TABLE is not supported for Delta tables: DESCRIBE TABLE EXTENDED has the "
            "columns and the properties",
            code="sql.catalog",
        )
    if reader.takes("SHOW", "COLUMNS"):
        return _frame(spark, _TABLE[:1], [row[:1] for row in _columns(snapshot)])
    if reader.takes("SHOW", "TBLPROPERTIES"):
        reader.name()
        rows: Sequence[Row] = _properties(snapshot)
        if reader.takes("("):
            rows = _property(snapshot, own, reader.key())
            reader.needs(")")
        reader.ends()
        return _frame(spark, ("key", "value"), rows)
    if not reader.takes("DESCRIBE"):
        reader.needs("DESC")
    reader.takes("TABLE")
    is_extended = reader.takes("EXTENDED") or reader.takes("FORMATTED")
    reader.name()
    if reader.token.kind in ("word", "quoted"):
        column = reader.name()
        reader.ends()
        return _frame(spark, ("info_name", "info_value"), _column(snapshot, column))
    reader.ends()
    return _frame(
        spark, _TABLE, _table(snapshot) + (_details(snapshot, own) if is_extended else [])
    )


def _columns(snapshot: Snapshot) -> list[Row]:
    fields = Struct.parse(snapshot.schema_json).fields
    return [(field.name, spark_type(field.type).simpleString(), field.comment) for field in fields]


def _table(snapshot: Snapshot) -> list[Row]:
    columns = _columns(snapshot)
    partitions = [row for name in snapshot.partition_columns for row in columns if row[0] == name]
    if not partitions:
        return columns
    heading = [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
    return [*columns, *heading, *partitions]


def _details(snapshot: Snapshot, name: Name) -> list[Row]:
    *space, last = ("spark_catalog", *name)[-3:]
    database = ".".join(space[1:])
    facts = {
        "Catalog": space[0],
        "Namespace": database,
        "Database": database,
        "Table": last,
        "Type": "EXTERNAL",
        "Comment": snapshot.metadata.description,
        "Location": location(snapshot.table.uri),
        "Provider": "delta",
        "Table Properties": f"[{','.join(f'{k}={v}' for k, v in _properties(snapshot))}]",
    }
    heading = [("", "", ""), ("# Detailed Table Information", "", "")]
    return [*heading, *((key, value, "") for key, value in facts.items() if value is not None)]


def _properties(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return the table properties, including those for the protocol."""
    protocol = snapshot.protocol
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    return sorted(
        {
            **snapshot.metadata.configuration,
            "delta.minReaderVersion": str(protocol.min_reader_version),
            "delta.minWriterVersion": str(protocol.min_writer_version),
            **{f"delta.feature.{feature}": "supported" for feature in features},
        }.items()
    )


def _property(snapshot: Snapshot, name: Name, key: str) -> list[Row]:
    value = dict(_properties(snapshot)).get(key)
    if value is None:
        parts = ("spark_catalog", *name)[-3:]
        table = ".".join(part if re.fullmatch(r"\w+", part) else quoted(part) for part in parts)
        value = f"Table {table} does not have property: {key}"
    return [(key, value)]


def _column(snapshot: Snapshot, name: Name) -> list[Row]:
    for row in _columns(snapshot):
        if len(name) == 1 and str(row[0]).lower() == name[0].lower():
            facts = zip(_TABLE, (name[0], *row[1:]), strict=True)  # the name as in the statement
            return [(key, value or "NULL") for key, value in facts]
    raise InvalidArgumentError(
        f"the table has no column {'.'.join(name)}; DESCRIBE takes top-level columns only",
        code="columns.unknown",
    )


def _frame(spark: SparkSession, columns: Sequence[str], rows: Sequence[Row]) -> DataFrame:
    schema = pa.schema([(name, pa.string()) for name in columns])
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    return from_arrow(spark, pa.Table.from_pylist(named, schema=schema))
