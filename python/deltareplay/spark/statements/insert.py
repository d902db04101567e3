"""Parsing and execution of ``INSERT`` into Delta tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml.assignments import default_of, is_default
from deltareplay.spark.dml.replace_where import Matching
from deltareplay.spark.dml.write import write, written
from deltareplay.spark.query import queries
from deltareplay.spark.schema.fields import fields_of, spark_type
from deltareplay.spark.session import capabilities, settings
from deltareplay.spark.statements.before_statements import Before
from deltareplay.spark.syntax.names import path_of, quoted
from deltareplay.spark.syntax.parser import QUERY, Name, Reader
from deltareplay.spark.writing import log_expressions
from deltareplay.spark.writing.by_place import is_compatible, placed
from deltareplay.spark.writing.conversion import converted
from deltareplay.spark.writing.target_table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._table.table import Table


@dataclass(frozen=True)
class Insert:
    """The parts of an ``INSERT``.

    Attributes:
        query: The query of the new rows.
        columns: The columns of the table that the rows have, in order; None for all.
        by_name: Whether the query's columns are matched by name instead of position.
        overwrites: Whether the rows replace others.
        where: The condition of the rows to replace; None for all, or all of the same partitions.
        using: Columns whose values are equal in replaced rows and in new rows.
        on: A condition on replaced rows and new rows.
        alias: The name of the table in ``on``.
        query_alias: The name of the new rows in ``on``; None if the query is not in parentheses.
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
    using: tuple[str, ...] = ()
    on: str | None = None
    alias: str = "target"
    query_alias: str | None = None

    @property
    def constants(self) -> dict[str, str]:
        """The partition columns that have a constant value in the statement."""
        return {name: value for name, value in self.partition.items() if value is not None}


def parse(text: str) -> Insert:
    """Parse a statement ``INSERT``.

    Raises:
        InvalidArgumentError: ``sql.syntax``.

    >>> parse("INSERT INTO t (id, name) VALUES (1, 'one')").columns
    ('id', 'name')
    >>> parse("INSERT INTO t BY NAME REPLACE USING (id) SELECT * FROM n").using
    ('id',)
    """
    reader = Reader(text)
    reader.needs("INSERT")
    evolves = reader.takes("WITH", "SCHEMA", "EVOLUTION")
    overwrites = reader.takes("OVERWRITE")
    if not overwrites:
        reader.needs("INTO")
    reader.takes("TABLE")
    name = reader.name()
    partition = _partition(reader) if reader.takes("PARTITION") else {}
    if not overwrites and not partition:
        replacing = _replacing(reader, name, evolves)
        if replacing is not None:
            return replacing
    by_name = reader.takes("BY", "NAME")
    columns = None if by_name else _columns(reader)
    return Insert(reader.query(), columns, by_name, overwrites, None, evolves, partition)


def _replacing(reader: Reader, name: Name, evolves: bool) -> Insert | None:
    """Parse ``REPLACE`` and the rest of ``INSERT INTO name``; return None without it."""
    start = reader.at
    alias = None
    if not reader.sees("REPLACE") and not reader.sees("BY", "NAME"):
        alias = reader.alias(*_AFTER_NAME)
    by_name = reader.takes("BY", "NAME")
    if not reader.takes("REPLACE"):
        reader.at = start
        return None
    where, on = None, None
    using: tuple[str, ...] = ()
    if reader.takes("USING"):
        using = _names(reader)
    elif reader.takes("ON"):
        on = reader.condition_of_query()
        alias = alias or ("target" if path_of(name) is not None else name[-1])
    elif reader.takes("WHERE"):
        where = reader.condition_of_query()
    else:
        raise reader.wrong("WHERE, USING or ON")
    by_name = reader.takes("BY", "NAME") or by_name
    columns = None if by_name or where is None else _columns(reader)
    query, query_alias = reader.query(), None
    if where is None:
        query, query_alias = _aliased(query)
    return Insert(
        query, columns, by_name, True, where, evolves, {}, using, on, alias or "target", query_alias
    )


#: Keywords that may follow the name of the table; anything else is its alias.
_AFTER_NAME = ("REPLACE", "BY", "WITH", *(words[0] for words in QUERY))


def _names(reader: Reader) -> tuple[str, ...]:
    """Parse column names in parentheses."""
    reader.needs("(")
    names = [reader.identifier()]
    while reader.takes(","):
        names.append(reader.identifier())
    reader.needs(")")
    return tuple(names)


def _aliased(query: str) -> tuple[str, str | None]:
    """Split the alias from a query in parentheses."""
    reader = Reader(query)
    if not reader.sees("("):
        return query, None
    reader.past_parentheses()
    end = reader.tokens[reader.at - 1].end
    if reader.token.kind == "end" or reader.token.is_word(*_SET_OPERATORS):
        return query, None
    alias = reader.alias()
    reader.ends()
    return query[:end], alias


#: Keywords that may follow a query in parentheses if it is part of a longer query.
_SET_OPERATORS = ("UNION", "EXCEPT", "MINUS", "INTERSECT", "ORDER", "SORT", "LIMIT", "OFFSET")


def _partition(reader: Reader) -> dict[str, str | None]:
    """Parse the clause ``PARTITION``: columns, some of them with values."""
    reader.needs("(")
    values: dict[str, str | None] = {}
    while True:
        start, name = reader.at, reader.identifier()
        if name.lower() in map(str.lower, values):
            reader.at = start
            raise reader.invalid(f"duplicate partition column {name}")
        values[name] = reader.constant() if reader.takes("=") else None
        if not reader.takes(","):
            reader.needs(")")
            return values


def _columns(reader: Reader) -> tuple[str, ...] | None:
    """Parse a list of columns; return None if the parentheses contain a query."""
    start = reader.at
    if not reader.takes("("):
        return None
    if any(reader.sees(*words) for words in QUERY):
        reader.at = start
        return None
    reader.at = start
    return _names(reader)


def run(spark: SparkSession, table: Table, statement: Insert, before: Before) -> None:
    """Write the rows of the query, cast to the types of the table.

    Raises:
        InvalidArgumentError: ``write.columns``: the query has more or fewer columns; or as by
            ``write``.
    """
    snapshot = table.snapshot()
    target = TargetTable.of(snapshot)
    if statement.using or statement.on is not None:
        _replace(spark, snapshot, target, statement, before)
        return
    constants = _constants(statement, target)
    columns = statement.columns or [field.name for field in target.fields]
    names = [column for column in columns if statement.columns or column not in constants]
    query = before.query(_with_defaults(spark, statement, names, target))
    rows = queries.run(spark, query)
    evolves = statement.evolves or settings.merges_schemas(spark)
    rows = _paired(rows, names, statement, target, evolves=evolves)
    # a column twice is an error of ``write``
    rows = rows.select("*", *_values(rows, constants, target))
    where, dynamic = statement.where, False
    if statement.overwrites and where is None:
        by_query = len(target.partition_columns) > len(constants)
        dynamic = by_query and settings.overwrites_partitions(spark)
        where = None if dynamic else _within(constants, target)
    write(
        rows,
        snapshot,
        mode="overwrite" if statement.overwrites else "append",
        where=where,
        partition_overwrite="dynamic" if dynamic else "static",
        schema_mode="merge" if evolves else None,
    )


def _replace(
    spark: SparkSession, snapshot: Snapshot, target: TargetTable, statement: Insert, before: Before
) -> None:
    """Replace the rows of the table that match a row of the query."""
    columns = [field.name for field in target.fields]
    evolves = statement.evolves or settings.merges_schemas(spark)
    query = before.query(_with_defaults(spark, statement, columns, target))
    source = queries.run(spark, query)
    alias = statement.query_alias
    if alias is None and statement.on is not None and not capabilities.is_classic(spark):
        alias = _other_alias(statement.on, [statement.alias, *source.columns])
    if alias is not None:
        source = source.alias(alias)
    if not statement.by_name:
        if len(source.columns) != len(columns):
            raise _wrong_count(source, columns)
        _check_places(statement.using, source, columns)
        if statement.using:
            source = source.toDF(*columns)

    def shaped(rows: DataFrame) -> DataFrame:
        return _paired(rows, columns, statement, target, evolves=evolves)

    matching = Matching(statement.using, statement.on, statement.alias, source, shaped)
    written(
        shaped(source),
        snapshot,
        mode="overwrite",
        matching=matching,
        schema_mode="merge" if evolves else None,
    )


def _other_alias(condition: str, known: Sequence[str]) -> str | None:
    """Return the qualifier of the new rows in a condition; None if there is not exactly one.

    Spark Connect does not reveal the qualifiers of a query's columns.

    >>> _other_alias("t.id = s.id AND s.v.w > 7", ["t"])
    's'
    """
    every = Reader(condition).tokens
    lowered = {name.lower() for name in known}
    names = {
        token.name.lower(): token.name
        for before, token, after in zip([every[-1], *every], every, every[1:], strict=False)
        if token.kind in ("word", "quoted") and before.text != "." and after.text == "."
    }
    others = [name for key, name in names.items() if key not in lowered]
    return others[0] if len(others) == 1 else None


def _wrong_count(rows: DataFrame, columns: Sequence[str]) -> InvalidArgumentError:
    """Return the error for a query whose number of columns does not fit."""
    return InvalidArgumentError(
        f"the query has {len(rows.columns)} columns, and {len(columns)} are to be written "
        f"({', '.join(columns)}): list columns after the table's name, or use BY NAME",
        code="write.columns",
    )


def _check_places(using: Sequence[str], rows: DataFrame, columns: Sequence[str]) -> None:
    """Check that columns have the same position in query and table, as in delta-spark."""
    source, own = ([name.lower() for name in names] for names in (rows.columns, columns))
    for name in using:
        if name.lower() in source and source.index(name.lower()) != own.index(name.lower()):
            raise InvalidArgumentError(
                f"the column {name} has another position in the query than in the table: use BY "
                "NAME",
                code="write.columns",
            )


def _constants(statement: Insert, target: TargetTable) -> dict[str, str]:
    """Return the values of partition columns, by name in the table's spelling."""
    own = {name.lower(): name for name in target.partition_columns}
    for name in statement.partition:
        if name.lower() not in own:
            raise InvalidArgumentError(
                f"{name} is not a partition column of the table, which has "
                f"{', '.join(own.values()) or 'none'}: take its values from the query",
                code="write.partitions",
            )
    return {own[name.lower()]: value for name, value in statement.constants.items()}


def _values(rows: DataFrame, constants: dict[str, str], target: TargetTable) -> list[Column]:
    """Return the values of the statement's partition columns, in their types."""
    from pyspark.sql import functions as sf

    types = {field.name: field.type for field in target.fields}
    values = {name: sf.expr(value) for name, value in constants.items()}
    typed = rows.select(*(value.alias(name) for name, value in values.items()))
    return [
        converted(
            rows.sparkSession,
            values[field.name],
            field.type,
            types[field.name],
            field.name,
            code="write.columns",
        ).alias(field.name)
        for field in fields_of(typed.schema)
    ]


def _within(constants: dict[str, str], target: TargetTable) -> str | None:
    """Return the condition of the rows in the partition that a statement replaces; None for all."""
    types = {field.name: field.type for field in target.fields}
    conditions = [
        f"{quoted(name)} <=> CAST({value} AS {spark_type(types[name]).simpleString()})"
        for name, value in constants.items()
    ]
    return " AND ".join(conditions) or None


def _with_defaults(
    spark: SparkSession, statement: Insert, names: Sequence[str], target: TargetTable
) -> str:
    """Substitute the defaults of columns for ``DEFAULT`` in the ``VALUES`` of the query."""
    reader = Reader(statement.query)
    if statement.by_name or not reader.takes("VALUES"):
        return statement.query
    fields = {field.key: field for field in target.fields}
    rows = []
    while True:
        values = reader.in_parentheses() if reader.sees("(") else [reader.until((",",))]
        for at, (value, name) in enumerate(zip(values, names, strict=False)):
            field = fields.get(name.lower())
            if field is not None and is_default(value):
                default_of(spark, field)  # which may be an error
                values[at] = f"({log_expressions.default(spark, field)})"
        rows.append(f"({', '.join(values)})")
        if not reader.takes(","):
            return f"VALUES {', '.join(rows)}{statement.query[reader.tokens[reader.at - 1].end :]}"


def _paired(
    rows: DataFrame,
    target_names: Sequence[str],
    statement: Insert,
    target: TargetTable,
    *,
    evolves: bool,
) -> DataFrame:
    """Convert the rows to the table's names, and to its types unless they are widened.

    As in delta-spark, rows with the table's names and types, at any depth, are matched by name;
    others, and the fields in them, by position. With a list of columns, struct fields are always
    matched by position.
    """
    from pyspark.sql import functions as sf

    spark, source_fields = rows.sparkSession, fields_of(rows.schema)
    by_place = not statement.by_name and statement.columns is None
    more = 0 if statement.by_name else len(source_fields) - len(target_names)
    if more < 0 or (more > 0 and not (evolves and by_place)):
        raise _wrong_count(rows, target_names)
    source_names = [field.name for field in source_fields]
    names = (
        source_names if statement.by_name else [*target_names, *source_names[len(target_names) :]]
    )
    known = {field.key: field for field in target.fields}
    own = [
        known.get(name.lower())
        for name in (source_names if statement.by_name else names[: len(target_names)])
    ]
    widens = target.widens if evolves else _never
    renamed = [replace(field, name=name) for field, name in zip(source_fields, names, strict=True)]
    compatible = (
        not by_place or source_names[: len(target_names)] == list(target_names)
    ) and is_compatible([field for field in own if field is not None], renamed[: len(own)], widens)
    if compatible and statement.columns is None:
        return rows.toDF(*names)
    rows = rows.toDF(*(f"_{at}" for at in range(len(source_fields))))
    values = []
    for at, (field, name) in enumerate(zip(source_fields, names, strict=True)):
        value, column = sf.col(f"_{at}"), own[at] if at < len(own) else None
        if column is not None:
            value = placed(spark, value, field, column, widens, only_structs=compatible)
        values.append(value.alias(name))
    return rows.select(*values)


def _never(old: str, new: str) -> bool:  # noqa: ARG001
    """Return that a type is not widened."""
    return False
