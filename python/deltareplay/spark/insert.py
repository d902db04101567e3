"""``INSERT`` in SQL: the rows of a query, which Spark runs, into a Delta table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark import delta_settings, names, queries
from deltareplay.spark._write import write
from deltareplay.spark.by_name import WRITING
from deltareplay.spark.outgoing import assigned
from deltareplay.spark.reader import QUERY, Reader
from deltareplay.spark.schema import fields_of
from deltareplay.spark.target_table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._table import Table


@dataclass(frozen=True)
class Insert:
    """The parts of an ``INSERT``.

    Attributes:
        query: What gives the rows.
        columns: The columns of the table that the rows have, in their order; None for all.
        by_name: Whether the columns of the query are found by their names, and not by their places.
        overwrites: Whether the rows replace others.
        where: Which rows are replaced; None for all, or all of the same partitions.
        evolves: Whether columns that the table lacks are added.
    """

    query: str
    columns: tuple[str, ...] | None
    by_name: bool
    overwrites: bool
    where: str | None
    evolves: bool


def parse(text: str) -> Insert:
    """The parts of a statement.

    Raises:
        InvalidArgumentError: ``sql.syntax``.

    >>> parse("INSERT INTO t (id, name) VALUES (1, 'one')").columns
    ('id', 'name')
    """
    reader = Reader(text)
    reader.needs("INSERT")
    evolves = reader.takes("WITH", "SCHEMA", "EVOLUTION")
    overwrites = reader.takes("OVERWRITE")
    if not overwrites:
        reader.needs("INTO")
    reader.takes("TABLE")
    reader.name()
    if reader.sees("PARTITION"):
        raise reader.wrong("a query, which gives partition columns as any other")
    where = None
    if not overwrites and reader.takes("REPLACE", "WHERE"):
        overwrites, where = True, reader.until(*QUERY[:-1])
    by_name = reader.takes("BY", "NAME")
    columns = None if by_name else _columns(reader)
    return Insert(reader.query(), columns, by_name, overwrites, where, evolves)


def _columns(reader: Reader) -> tuple[str, ...] | None:
    """A list of columns; what else is in parentheses is a query."""
    start = reader.at
    if not reader.takes("("):
        return None
    if any(reader.sees(*words) for words in QUERY):
        reader.at = start
        return None
    columns = [reader.identifier()]
    while reader.takes(","):
        columns.append(reader.identifier())
    reader.needs(")")
    return tuple(columns)


def run(spark: SparkSession, table: Table, asked: Insert) -> None:
    """Writes the rows of the query, cast to the types of the table.

    Raises:
        InvalidArgumentError: ``write.columns``, when the query has more or fewer columns; or as by
            ``write``.
    """
    snapshot = table.snapshot()
    target = TargetTable.of(snapshot)
    rows = queries.run(spark, asked.query)
    if not asked.by_name:
        wanted = asked.columns or [one["name"] for one in target.fields]
        if len(rows.columns) != len(wanted):
            raise InvalidArgumentError(
                f"the query has {len(rows.columns)} columns, and {len(wanted)} are to be written "
                f"({', '.join(wanted)}): list columns after the table's name, or use BY NAME",
                code="write.columns",
            )
        rows = rows.toDF(*wanted)
    dynamic = asked.overwrites and asked.where is None and bool(target.partition_columns)
    dynamic = dynamic and delta_settings.overwrites_partitions(spark)
    write(
        rows if asked.evolves else _cast(rows, target),
        snapshot,
        mode="overwrite" if asked.overwrites else "append",
        where=asked.where,
        partition_overwrite="dynamic" if dynamic else "static",
        schema_mode="merge" if asked.evolves else None,
    )


def _cast(rows: DataFrame, target: TargetTable) -> DataFrame:
    """The columns that the table has in its types, and others as they are."""
    from pyspark.sql import functions as sf

    if len({name.lower() for name in rows.columns}) < len(rows.columns):
        return rows  # which ``write`` refuses
    known = {one["name"].lower(): one for one in target.fields}
    columns = []
    for found in fields_of(rows.schema):
        value = sf.col(names.quoted(found["name"]))
        wanted = known.get(found["name"].lower())
        if wanted is not None:
            value = assigned(value, found, wanted, partial=False, evolve=WRITING)
        columns.append(value.alias(found["name"]))
    return rows.select(*columns)
