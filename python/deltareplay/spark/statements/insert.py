"""``INSERT`` in SQL: the rows of a query, which Spark runs, into a Delta table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.dml.assignments import default_of, is_default
from deltareplay.spark.dml.write import write
from deltareplay.spark.query import queries
from deltareplay.spark.schema.alignment import WRITING
from deltareplay.spark.schema.fields import fields_of, spark_type
from deltareplay.spark.session import settings as delta_settings
from deltareplay.spark.statements.before_statements import Before
from deltareplay.spark.syntax.names import quoted
from deltareplay.spark.syntax.parser import QUERY, Reader
from deltareplay.spark.writing import log_expressions
from deltareplay.spark.writing.table_rows import assigned
from deltareplay.spark.writing.target_table import TargetTable

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
        partition: Partition columns and their values as SQL; None for those that the query has.
    """

    query: str
    columns: tuple[str, ...] | None
    by_name: bool
    overwrites: bool
    where: str | None
    evolves: bool
    partition: dict[str, str | None]

    @property
    def constants(self) -> dict[str, str]:
        """The partition columns that have a value in the statement, and not in the query."""
        return {name: value for name, value in self.partition.items() if value is not None}


def parse(text: str) -> Insert:
    """The parts of a statement.

    Raises:
        InvalidArgumentError: ``sql.syntax``.
        UnsupportedFeatureError: ``sql.replace``: the rows to replace are those that match new ones.

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
    partition = _partition(reader) if reader.takes("PARTITION") else {}
    where = None
    _refuse_pairs(reader)
    if not overwrites and not partition and reader.takes("REPLACE", "WHERE"):
        overwrites, where = True, reader.until(*QUERY[:-1])
    by_name = reader.takes("BY", "NAME")
    columns = None if by_name else _columns(reader)
    return Insert(reader.query(), columns, by_name, overwrites, where, evolves, partition)


def _refuse_pairs(reader: Reader) -> None:
    """Refuses to replace rows by comparing them with the new ones."""
    start = reader.at
    if not reader.sees("REPLACE"):
        reader.alias("REPLACE", "BY", "WITH", *(words[0] for words in QUERY))
    reader.takes("BY", "NAME")
    if reader.sees("REPLACE", "USING") or reader.sees("REPLACE", "ON"):
        raise UnsupportedFeatureError(
            f"INSERT ... REPLACE {reader.found[reader.at + 1].text.upper()} is not supported: use "
            "REPLACE WHERE with the values, or MERGE if the keys of the new rows are unique",
            code="sql.replace",
        )
    reader.at = start


def _partition(reader: Reader) -> dict[str, str | None]:
    """Partition columns, some of them with a value."""
    reader.needs("(")
    found: dict[str, str | None] = {}
    while True:
        name = reader.identifier()
        if name.lower() in map(str.lower, found):
            raise reader.wrong(f"no second {name}")
        found[name] = reader.constant() if reader.takes("=") else None
        if not reader.takes(","):
            reader.needs(")")
            return found


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


def run(spark: SparkSession, table: Table, asked: Insert, before: Before) -> None:
    """Writes the rows of the query, cast to the types of the table.

    Raises:
        InvalidArgumentError: ``write.columns``, when the query has more or fewer columns; or as by
            ``write``.
    """
    from pyspark.sql import functions as sf

    snapshot = table.snapshot()
    target = TargetTable.of(snapshot)
    constants = _constants(asked, target)
    columns = asked.columns or [one["name"] for one in target.fields]
    wanted = [one for one in columns if asked.columns or one not in constants]
    query = before.query(_with_defaults(spark, asked, wanted, target))
    rows = queries.run(spark, query)
    if not asked.by_name:
        if len(rows.columns) != len(wanted):
            raise InvalidArgumentError(
                f"the query has {len(rows.columns)} columns, and {len(wanted)} are to be written "
                f"({', '.join(wanted)}): list columns after the table's name, or use BY NAME",
                code="write.columns",
            )
        rows = rows.toDF(*wanted)
    # a column twice is an error of ``write``
    rows = rows.select("*", *(sf.expr(value).alias(key) for key, value in constants.items()))
    where, dynamic = asked.where, False
    if asked.overwrites and where is None:
        by_query = len(target.partition_columns) > len(constants)
        dynamic = by_query and delta_settings.overwrites_partitions(spark)
        where = None if dynamic else _within(constants, target)
    write(
        rows if asked.evolves else _cast(rows, target),
        snapshot,
        mode="overwrite" if asked.overwrites else "append",
        where=where,
        partition_overwrite="dynamic" if dynamic else "static",
        schema_mode="merge" if asked.evolves else None,
    )


def _constants(asked: Insert, target: TargetTable) -> dict[str, str]:
    """The values of partition columns, by the table's own names of these."""
    own = {name.lower(): name for name in target.partition_columns}
    for name in asked.partition:
        if name.lower() not in own:
            raise InvalidArgumentError(
                f"{name} is no partition column of the table, which has "
                f"{', '.join(own.values()) or 'none'}: give its values by the query",
                code="write.partitions",
            )
    return {own[name.lower()]: value for name, value in asked.constants.items()}


def _within(constants: dict[str, str], target: TargetTable) -> str | None:
    """Which rows are in the partition that a statement replaces; None for all."""
    types = {one["name"]: one["type"] for one in target.fields}
    conditions = [
        f"{quoted(name)} <=> CAST({value} AS {spark_type(types[name]).simpleString()})"
        for name, value in constants.items()
    ]
    return " AND ".join(conditions) or None


def _with_defaults(
    spark: SparkSession, asked: Insert, wanted: Sequence[str], target: TargetTable
) -> str:
    """The query, with the defaults of columns in the place of ``DEFAULT`` in its ``VALUES``."""
    reader = Reader(asked.query)
    if asked.by_name or not reader.takes("VALUES"):
        return asked.query
    fields = {one["name"].lower(): one for one in target.fields}
    rows = []
    while True:
        values = reader.in_parentheses() if reader.sees("(") else [reader.until((",",))]
        for at, (value, name) in enumerate(zip(values, wanted, strict=False)):
            one = fields.get(name.lower())
            if one is not None and is_default(value):
                default_of(spark, one)  # which may be an error
                values[at] = f"({log_expressions.default(spark, one)})"
        rows.append(f"({', '.join(values)})")
        if not reader.takes(","):
            return f"VALUES {', '.join(rows)}{asked.query[reader.found[reader.at - 1].end :]}"


def _cast(rows: DataFrame, target: TargetTable) -> DataFrame:
    """The columns that the table has in its types, and others as they are."""
    from pyspark.sql import functions as sf

    if len({name.lower() for name in rows.columns}) < len(rows.columns):
        return rows  # which ``write`` refuses
    known = {one["name"].lower(): one for one in target.fields}
    columns = []
    for found in fields_of(rows.schema):
        value = sf.col(quoted(found["name"]))
        wanted = known.get(found["name"].lower())
        if wanted is not None and wanted["type"] != "void":
            value = assigned(value, found, wanted, partial=False, evolve=WRITING)
        columns.append(value.alias(found["name"]))
    return rows.select(*columns)
