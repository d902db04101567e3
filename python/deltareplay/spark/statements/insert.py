"""``INSERT`` into Delta tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml.assignments import default_of, is_default
from deltareplay.spark.dml.replace_where import Matching
from deltareplay.spark.dml.write import write_rows
from deltareplay.spark.query import queries
from deltareplay.spark.schema.fields import fields_of, spark_type
from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.session import capabilities, settings
from deltareplay.spark.statements.statement import SharedStatement, Statement
from deltareplay.spark.syntax.names import path_of, quoted
from deltareplay.spark.syntax.parser import QUERY_BEGINNINGS, Parser
from deltareplay.spark.syntax.qualifiers import aliases, with_aliases
from deltareplay.spark.syntax.tokens import Sql, tokens
from deltareplay.spark.writing import log_expressions
from deltareplay.spark.writing.by_position import aligned_rows, check_positions, wrong_count
from deltareplay.spark.writing.table_rows import converted
from deltareplay.spark.writing.target_table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class Insert(SharedStatement):
    """An ``INSERT INTO`` or ``INSERT OVERWRITE`` statement.

    Attributes:
        query: The query of the new rows.
        columns: The columns of the table that the rows have, in order; None for all.
        by_name: Whether the query's columns are matched by name instead of position.
        overwrites: Whether the rows replace others.
        where: The condition of the rows to replace; None for all rows, or all of the written
            partitions.
        evolves: Whether columns that the table lacks are added.
        partition: Partition columns and their values as SQL; None for values from the query.
        using: The columns of ``REPLACE USING``.
        on: The condition of ``REPLACE ON``.
        alias: The alias of the table.
        query_alias: The name of the new rows in ``on``, if the query has one.
    """

    WORDS = (("INSERT",),)

    query: str = ""
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    overwrites: bool = False
    where: str | None = None
    evolves: bool = False
    partition: dict[str, str | None] = dataclasses.field(default_factory=dict)
    using: tuple[str, ...] = ()
    on: str | None = None
    alias: str | None = None
    query_alias: str | None = None

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        evolves = parser.takes("WITH", "SCHEMA", "EVOLUTION")
        overwrites = parser.takes("OVERWRITE")
        if not (overwrites or parser.takes("INTO")) or parser.sees("LOCAL", "DIRECTORY"):
            return None
        parser.takes("TABLE")
        table = parser.optional_name()
        if not table or parser.token.kind == "string":
            return None
        return cls(table, evolves=evolves, overwrites=overwrites)

    def read_clauses(self, parser: Parser) -> None:
        self.partition = _partition(parser) if parser.takes("PARTITION") else {}
        if self.overwrites or self.partition or not self._read_replace(parser):
            self.by_name = parser.takes("BY", "NAME")
            self.columns = None if self.by_name else _columns(parser)
            self.query = parser.query()

    def _read_replace(self, parser: Parser) -> bool:
        """Parse ``REPLACE`` and the rest; return whether the statement has ``REPLACE``."""
        start = parser.index
        alias = None
        if not parser.sees("REPLACE") and not parser.sees("BY", "NAME"):
            alias = parser.alias(*_AFTER_NAME)
        self.by_name = parser.takes("BY", "NAME")
        if not parser.takes("REPLACE"):
            parser.index = start
            return False
        self.overwrites = True
        if parser.takes("USING"):
            self.using = tuple(parser.in_parentheses(parser.identifier))
        elif parser.takes("ON"):
            self.on = parser.condition_before_query()
        elif parser.takes("WHERE"):
            self.where = parser.condition_before_query()
        else:
            raise parser.expected("WHERE, USING or ON")
        self.alias = alias
        self.by_name = parser.takes("BY", "NAME") or self.by_name
        self.query = parser.query()
        if self.where is None:
            self.query, self.query_alias = _split_alias(self.query)
        return True

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Write the rows of the query, cast to the types of the table."""
        snapshot = entry.table().snapshot()
        target = TargetTable.of(snapshot)
        if self.using or self.on is not None:
            self._replace(spark, entry, snapshot, target)
            return empty_frame(spark)
        constants = _constants(self, target, settings.name_key(spark))
        _check_listed(self.columns or (), target, settings.name_key(spark))
        columns = self.columns or [field.name for field in target.fields]
        names = [column for column in columns if self.columns or column not in constants]
        rows = self._rows(spark, names, target)
        if not settings.omits_columns(spark):
            listed = rows.columns if self.by_name else names
            _check_complete([*listed, *constants], target, settings.name_key(spark))
        evolves = self.evolves or settings.merges_schemas(spark)
        rows = aligned_rows(
            rows,
            names,
            target,
            evolves=evolves,
            by_name=self.by_name,
            has_column_list=self.columns is not None,
        )
        # ``write_rows`` rejects duplicate columns
        rows = rows.select("*", *_partition_values(rows, constants, target))
        where, is_dynamic = self.where, False
        if self.overwrites and where is None:
            # also if all partition values are constants: then a query without rows replaces nothing
            is_dynamic = bool(target.partition_columns) and settings.overwrites_partitions(spark)
            where = None if is_dynamic else _partition_condition(constants, target)
        write_rows(
            rows,
            snapshot,
            mode="overwrite" if self.overwrites else "append",
            where=where,
            partition_overwrite="dynamic" if is_dynamic else "static",
            schema_mode="merge" if evolves else None,
            reads=self._reads(spark, snapshot),
        )
        return empty_frame(spark)

    def _rows(self, spark: SparkSession, names: Sequence[str], target: TargetTable) -> DataFrame:
        """Return the rows of the query, whose columns have these names in the table."""
        return queries.run(spark, self.prefix.query(_with_defaults(spark, self, names, target)))

    def _reads(self, spark: SparkSession, snapshot: Snapshot) -> list[Filter | None]:
        """Return filters of the rows that the query reads from the table itself."""
        return queries.reads_of(spark, self.prefix.query(self.query), snapshot)

    def _replace(
        self, spark: SparkSession, entry: CatalogEntry, snapshot: Snapshot, target: TargetTable
    ) -> None:
        """Replace the rows of the table that match a row of the query."""
        qualifier, on = self.alias, self.on
        if qualifier is None:
            is_name = on is not None and path_of(self.table) is None
            qualifier = self.table[-1] if is_name else "target"
            on = with_aliases(on, aliases(entry.qualified_parts, qualifier))
        columns = [field.name for field in target.fields]
        evolves = self.evolves or settings.merges_schemas(spark)
        source = self._rows(spark, columns, target)
        alias = self.query_alias
        if alias is None and on is not None and not capabilities.is_classic(spark):
            alias = _source_alias(on, [qualifier, *source.columns])
        if alias is not None:
            source = source.alias(alias)
        if not self.by_name:
            if len(source.columns) != len(columns):
                raise wrong_count(source, columns)
            check_positions(self.using, source, columns)
            if self.using:
                source = source.toDF(*columns)

        def convert(rows: DataFrame) -> DataFrame:
            return aligned_rows(rows, columns, target, evolves=evolves, by_name=self.by_name)

        matching = Matching(self.using, on, qualifier, source, convert)
        write_rows(
            convert(source),
            snapshot,
            mode="overwrite",
            matching=matching,
            schema_mode="merge" if evolves else None,
            reads=self._reads(spark, snapshot),
        )


#: Keywords that may follow the name of the table; anything else is its alias.
_AFTER_NAME = ("REPLACE", "BY", "WITH", *(words[0] for words in QUERY_BEGINNINGS))

#: Keywords that may follow a query in parentheses if it is part of a longer query.
_AFTER_QUERY = (
    *("UNION", "EXCEPT", "MINUS", "INTERSECT", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT"),
    "OFFSET",
)


def _split_alias(query: str) -> tuple[str, str | None]:
    """Split a query in parentheses from its alias, if it has one.

    >>> _split_alias("(SELECT 1 AS id) AS s"), _split_alias("(TABLE u) DISTRIBUTE BY id")
    (('(SELECT 1 AS id)', 's'), ('(TABLE u) DISTRIBUTE BY id', None))
    """
    parser = Parser(query)
    if not parser.sees("("):
        return query, None
    parser.skip_parentheses()
    end = parser.tokens[parser.index - 1].end
    if parser.token.kind == "end" or parser.token.is_word(*_AFTER_QUERY):
        return query, None
    alias = parser.alias()
    parser.needs_end()
    return query[:end], alias


def _partition(parser: Parser) -> dict[str, str | None]:
    """Parse the clause ``PARTITION``: columns, some of them with values."""
    parser.needs("(")
    values: dict[str, str | None] = {}
    while True:
        start, name = parser.index, parser.identifier()
        if name.lower() in map(str.lower, values):
            parser.index = start
            raise parser.invalid(f"duplicate partition column {name}")
        values[name] = parser.constant() if parser.takes("=") else None
        if not parser.takes(","):
            parser.needs(")")
            return values


def _columns(parser: Parser) -> tuple[str, ...] | None:
    """Parse a list of columns; return None if there is none: parentheses may contain a query.

    >>> _columns(Parser("(from, to) SELECT 1, 2")), _columns(Parser("(FROM t)"))
    (('from', 'to'), None)
    """
    if not parser.sees("("):
        return None
    begins_query = parser.sees_any(("(", *words) for words in QUERY_BEGINNINGS)
    if begins_query and parser.tokens[parser.index + 2].text not in (",", ")"):
        return None
    return tuple(parser.in_parentheses(parser.identifier))


def _source_alias(condition: str, known: Sequence[str]) -> str | None:
    """Return the qualifier of the new rows in a condition; None if there is not exactly one.

    Spark Connect does not reveal the qualifiers of a query's columns. ``known`` are the other names
    that may precede a dot.

    >>> _source_alias("t.id = s.id AND s.v.w > 7", ["t"])
    's'
    """
    parsed = tokens(condition)
    known_keys = {name.lower() for name in known}
    qualifiers = {
        token.name.lower(): token.name
        for before, token, after in zip([parsed[-1], *parsed], parsed, parsed[1:], strict=False)
        if token.is_name and before.text != "." and after.text == "."
    }
    others = [name for key, name in qualifiers.items() if key not in known_keys]
    return others[0] if len(others) == 1 else None


def _check_listed(columns: Sequence[str], target: TargetTable, key: Callable[[str], str]) -> None:
    """Check that the table has the listed columns; as in delta-spark, a list adds none."""
    keys = {key(field.name) for field in target.fields}
    unknown = [name for name in columns if key(name) not in keys]
    if unknown:
        raise InvalidArgumentError(
            f"the table has no column {', '.join(unknown)}: leave it out of the list, or use BY "
            "NAME with schema evolution, which adds it",
            code="write.columns",
        )


def _check_complete(columns: Sequence[str], target: TargetTable, key: Callable[[str], str]) -> None:
    """Check that the columns that are omitted have a default, or are computed."""
    keys = {key(name) for name in columns}
    omitted = [
        field.name
        for field in target.fields
        if key(field.name) not in keys
        and not (field.default or field.generation_expression or field.is_identity)
    ]
    if omitted:
        raise InvalidArgumentError(
            f"the columns {', '.join(omitted)} have no default: add them, or set "
            "spark.sql.defaultColumn.useNullsForMissingDefaultValues to true",
            code="write.columns",
        )


def _constants(statement: Insert, target: TargetTable, key: Callable[[str], str]) -> dict[str, str]:
    """Return the constant values of partition columns, by name in the table's spelling."""
    spellings = {key(name): name for name in target.partition_columns}
    for name in statement.partition:
        if key(name) not in spellings:
            raise InvalidArgumentError(
                f"{name} is not a partition column of the table, which has "
                f"{', '.join(spellings.values()) or 'none'}: take its values from the query",
                code="write.partitions",
            )
    return {
        spellings[key(name)]: value
        for name, value in statement.partition.items()
        if value is not None
    }


def _partition_values(
    rows: DataFrame, constants: dict[str, str], target: TargetTable
) -> list[Column]:
    """Return the values of partition columns, converted to the columns' types."""
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


def _partition_condition(constants: dict[str, str], target: TargetTable) -> str | None:
    """Return the condition of the rows in the replaced partitions; None for all rows."""
    types = {field.name: field.type for field in target.fields}
    conditions = [
        f"{quoted(name)} <=> CAST({value} AS {spark_type(types[name]).simpleString()})"
        for name, value in constants.items()
    ]
    return " AND ".join(conditions) or None


def _with_defaults(
    spark: SparkSession, statement: Insert, names: Sequence[str], target: TargetTable
) -> str:
    """Substitute the defaults of columns for ``DEFAULT`` in ``VALUES``, or after ``SELECT``."""
    if statement.by_name or "default" not in statement.query.lower():
        return statement.query
    edits, query = [], Sql.of(statement.query)
    fields = {field.key: field for field in target.fields}
    for values in _value_rows(Parser(query)):
        for value, name in zip(values, names, strict=False):
            field = fields.get(name.lower())
            if field is not None and is_default(value):
                default_of(spark, field)  # raises an error if there is none
                default = f"({log_expressions.default(spark, field)})"
                edits.append((value.start, value.start + len(value), default))
    return query.edited(edits)


def _is_star(expression: Sql) -> bool:
    """Return whether an expression stands for several columns.

    >>> [_is_star(Sql(text)) for text in ("*", "t.*", "* EXCEPT (a)", "a * b", "count(*)")]
    [True, True, True, False, False]
    """
    return any(
        token.text == "*" and (after.kind == "end" or after.is_word("EXCEPT"))
        for token, after in pairwise(expression.tokens)
    )


def _value_rows(parser: Parser) -> Iterator[list[Sql]]:
    """Yield the expressions of each row of ``VALUES``, or those of ``SELECT`` without ``*``."""
    if parser.takes("SELECT"):
        values = parser.list_of(lambda: parser.until((",",), ("FROM",)))
        if not any(map(_is_star, values)):
            yield values
    elif parser.takes("VALUES"):
        while True:
            if parser.sees("("):
                yield parser.in_parentheses(parser.expression)
            else:
                yield [parser.expression()]
            if not parser.takes(","):
                return
