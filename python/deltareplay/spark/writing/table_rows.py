"""Rows with the columns and types of a table, checked by its constraints.

Spark evaluates casts and constraints while it evaluates the rows.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from deltareplay._protocol.schema import Array, Field, Map, Struct, Type, nested
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.schema.alignment import (
    WRITING,
    arranged,
    arranged_type,
    converted_parts,
    untyped,
)
from deltareplay.spark.schema.column_metadata import invariant_of
from deltareplay.spark.schema.fields import fields_of, nullable, spark_type
from deltareplay.spark.schema.fitting import fits
from deltareplay.spark.session import settings
from deltareplay.spark.syntax import names
from deltareplay.spark.writing import identity_columns, log_expressions
from deltareplay.spark.writing.target_table import is_collated, refuse_collation

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from deltareplay.spark.writing.target_table import TargetTable


def table_rows(
    df: DataFrame,
    target: TargetTable,
    extra_columns: Sequence[str] = (),
    replace_where: str | None = None,
    only: str | None = None,
) -> DataFrame:
    """Convert rows to the table's columns and types, and add its constraints.

    Args:
        df: The rows.
        target: The table.
        extra_columns: Additional columns of the rows to keep.
        replace_where: A condition that all rows must satisfy.
        only: The boolean column of ``extra_columns`` that selects the rows to check; None for all.

    Raises:
        InvalidArgumentError: The table lacks a column, or has another type for it; or a column
            that must not be null is missing.
    """
    rows = _without_void(df, target)
    logical, computed = _logical(rows, target.written_fields, extra_columns)
    return checked(logical, target, computed, replace_where, only)


def _without_void(df: DataFrame, target: TargetTable) -> DataFrame:
    """Drop the columns that are void in the rows and in the table."""
    void = set(map(str.lower, target.void_columns))
    if not void:
        return df
    dropped = [field for field in fields_of(df.schema) if field.key in void]
    for field in dropped:
        if field.type != "void":
            type_ = spark_type(field.type).simpleString()
            raise untyped(field.name, type_, WRITING, "write.columns")
    return df.drop(*(field.name for field in dropped))


def _logical(
    df: DataFrame, fields: list[Field], extra_columns: Sequence[str]
) -> tuple[DataFrame, list[str]]:
    """Convert rows to the table's columns and types; also return the generated columns."""
    from pyspark.sql import functions as sf

    source = _source_fields(df.drop(*extra_columns), fields)
    columns, generated = [], []
    for field in fields:
        source_field = source.get(field.key)
        if source_field is not None:
            value = _fitted(sf.col(names.quoted(source_field.name)), source_field, field)
            columns.append(_padded(value, field.limit).alias(field.name))
        elif field.generation_expression is not None:
            generated.append(field)
        else:
            columns.append(default(df.sparkSession, field).alias(field.name))
    rows = df.select(*columns, *extra_columns)
    # Spark takes names of columns that the rows do not have for variables of the session
    usable = [field.name for field in fields if field not in generated]
    for field in generated:
        value = log_expressions.generated(df.sparkSession, field, usable)
        log_expressions.check(rows, {log_expressions.generated_by(field): value})
        rows = rows.withColumn(field.name, value)
        usable.append(field.name)
    return rows, [field.name for field in generated]


def default(spark: SparkSession, field: Field) -> Column:
    """Return the value of a column that rows lack.

    Raises:
        UnsupportedFeatureError: Its default cannot be evaluated by Spark.
    """
    from pyspark.sql import functions as sf

    if field.is_identity:
        return identity_columns.value(field)
    value = sf.expr(log_expressions.default(spark, field))
    return value.cast(spark_type(field.type))


def _padded(value: Column, limit: str) -> Column:
    """Pad a value of ``char(n)`` with blanks; return other values as they are."""
    from pyspark.sql import functions as sf

    if not limit.startswith("char("):
        return value
    length = int(limit[5:-1])
    # a longer value stays, and breaks the length constraint
    return sf.when(sf.char_length(value) < length, sf.rpad(value, length, " ")).otherwise(value)


def check_types(schema: StructType, target: TargetTable) -> None:
    """Check that the types of the rows' columns fit the table's.

    Raises:
        InvalidArgumentError: ``write.columns``.
        UnsupportedFeatureError: ``spark.collation``.
    """
    own = {field.key: field for field in target.written_fields}
    for field in fields_of(schema):
        refuse_collation(field)
        if field.key in own:
            _check_fits(field, own[field.key])


def _source_fields(df: DataFrame, fields: list[Field]) -> dict[str, Field]:
    sources: dict[str, Field] = {}
    for field in fields_of(df.schema):
        if field.key in sources:
            raise InvalidArgumentError(
                f"the rows have two columns {field.name}: rename one of them",
                code="write.columns",
            )
        refuse_collation(field)
        sources[field.key] = field
    unknown = sorted(set(sources) - {field.key for field in fields})
    if unknown:
        raise InvalidArgumentError(
            f"the table has no column {', '.join(unknown)}: leave it out, or add it by {WRITING}",
            code="write.columns",
        )
    return sources


def _fitted(column: Column, source: Field, target: Field) -> Column:
    own, other = nullable(target.type), nullable(source.type)
    if own == other:
        return column
    column = arranged(column, source, target, code="write.columns", partial=True, evolve=WRITING)
    _check_fits(source, target)
    return column.cast(spark_type(own))


def _check_fits(source: Field, target: Field) -> None:
    own = nullable(target.type)
    other = arranged_type(nullable(source.type), own)
    if not fits(other, own):
        raise InvalidArgumentError(
            f"the column {target.name} is {spark_type(own).simpleString()} in the table, and "
            f"{spark_type(other).simpleString()} in the rows: cast it",
            code="write.columns",
        )


def assigned(
    spark: SparkSession,
    column: Column,
    source: Field,
    target: Field,
    *,
    partial: bool,
    evolve: str | None,
) -> Column:
    """Convert a value for assignment to a column: cast, whatever its type, or fail.

    Args:
        spark: The session.
        column: The value.
        source: The field of the value.
        target: The field of the table.
        partial: Whether struct values may lack fields.
        evolve: The option or clause that lets the statement evolve the schema, if any.

    Raises:
        InvalidArgumentError: As by ``arranged`` and ``converted``.
    """
    own, other = nullable(target.type), nullable(source.type)
    if is_collated(source):
        column = column.cast(spark_type(other))
    if own == other:
        return column
    code = "statement.column"
    column = arranged(column, source, target, code=code, partial=partial, evolve=evolve)
    return converted(spark, column, arranged_type(other, own), own, target.name, code=code)


#: The start of the message of a broken constraint, inside of Spark's own message.
MARK = "deltareplay cannot write this row: "

_END = " /deltareplay"

#: Types of text of limited length.
_LIMIT = re.compile(r"(?:var)?char\(([0-9]{1,9})\)")


def checked(
    rows: DataFrame,
    target: TargetTable,
    computed: Sequence[str],
    replace_where: str | None,
    only: str | None = None,
) -> DataFrame:
    """Add the constraints to rows; a task fails if a row breaks a constraint.

    Args:
        rows: Rows with the table's columns.
        target: The table.
        computed: Generated columns that need no check.
        replace_where: A condition of the write.
        only: A boolean column that selects the rows to check; None for all.
    """
    from pyspark.sql import functions as sf

    fields = target.written_fields
    spark = rows.sparkSession
    void_columns = {name: sf.lit(None) for name in target.void_columns}
    if void_columns:  # conditions may refer to them
        rows = rows.withColumns(void_columns)
    conditions = list(_conditions(spark, target, fields, computed, replace_where))
    log_expressions.check(
        rows,
        {
            condition.source: sf.when(condition.passes, sf.lit(True))
            for condition in conditions
            if condition.source
        },
    )
    for failure_text, passes, _ in conditions:
        display = sf.struct(
            *[sf.col(names.quoted(field.name)) for field in fields if _is_printable(field)]
        )
        message = sf.concat(sf.lit(f"{failure_text}; it is "), display.cast("string"))
        # Spark may push a filter below a join and evaluate it on rows that are never written. A
        # non-deterministic condition is not pushed; ``rand() < 0`` would be folded away.
        never = sf.monotonically_increasing_id() < 0
        fails = failure(message).cast("boolean") | never
        # a null result breaks the constraint, too
        passes = passes if only is None else ~sf.col(only) | passes
        rows = rows.where(sf.when(passes, sf.lit(True)).otherwise(fails))
    return rows.drop(*void_columns)


def failure(message: Column) -> Column:
    """Return an expression that fails the task, with a message that ``broken`` recognizes."""
    from pyspark.sql import functions as sf

    return sf.raise_error(sf.concat(sf.lit(MARK), message, sf.lit(_END)))


def broken(error: BaseException) -> InvalidArgumentError | None:
    """Return the broken constraint as an error, if a failed job's error contains one."""
    text = str(error)
    if MARK not in text:
        return None
    message = text[text.index(MARK) :].split(_END)[0]
    return InvalidArgumentError(message, code="write.constraint")


class _Condition(NamedTuple):
    """A condition that rows must satisfy.

    Attributes:
        failure_text: Describes a row that does not.
        source: Describes the expression of the log that it is; empty if it is none.
    """

    failure_text: str
    passes: Column
    source: str = ""


def _conditions(
    spark: SparkSession,
    target: TargetTable,
    fields: list[Field],
    computed: Sequence[str],
    replace_where: str | None,
) -> Iterator[_Condition]:
    """Yield each condition."""
    from pyspark.sql import functions as sf

    column_names = [field.name for field in fields] + target.void_columns
    for field in fields:
        yield from _not_null([field], "")
        column = sf.col(names.quoted(field.name))
        if "delta.invariants" in field.metadata:
            rule = invariant_of(field)
            source = f"the invariant of the column {field.name} (delta.invariants)"
            holds = log_expressions.value(spark, rule, source, column_names)
            failure_text = f"it breaks the invariant {rule} of the column {field.name}"
            yield _Condition(failure_text, holds, source)
        generated = field.generation_expression
        if generated is not None and field.name not in computed:
            failure_text = f"the generated column {field.name} is not {generated}"
            holds = column.eqNullSafe(log_expressions.generated(spark, field, column_names))
            yield _Condition(failure_text, holds, log_expressions.generated_by(field))
        limit = _LIMIT.fullmatch(str(field.limit))
        if limit is not None:
            fits = sf.char_length(column) <= int(limit[1])
            yield _Condition(f"{field.name} is longer than {limit[0]}", column.isNull() | fits)
    for key, rule in sorted(target.properties.items()):
        if key.lower().startswith("delta.constraints."):
            source = f"the CHECK constraint {key}"
            holds = log_expressions.value(spark, rule, source, column_names)
            failure_text = f"it breaks the CHECK constraint {key[18:]} ({rule})"
            yield _Condition(failure_text, holds, source)
    if replace_where is not None:
        failure_text = f"it is not among the rows to replace ({replace_where})"
        yield _Condition(failure_text, sf.expr(replace_where))


def _not_null(fields: Sequence[Field], above: str) -> Iterator[_Condition]:
    """Yield the conditions of columns, and of fields in structs, that must not be null."""
    from pyspark.sql import functions as sf

    for field in fields:
        path = above + names.quoted(field.name)
        if not field.nullable:
            description = f"{path.replace('`', '')} is null, which the table does not allow"
            yield _Condition(description, sf.col(path).isNotNull())
        if isinstance(field.type, Struct):
            yield from _not_null(field.type.fields, f"{path}.")
            continue
        holds = _without_nulls(sf.col(path), field.type)
        if holds is not None:
            description = (
                f"{path.replace('`', '')} has a null inside, which the table does not allow"
            )
            yield _Condition(description, holds)


def _without_nulls(value: Column, type_: Type) -> Column | None:
    """Return the condition that no part of a value is null against its type; None if any may be.

    Args:
        value: The value, which may be null itself.
        type_: Its type.
    """
    from pyspark.sql import functions as sf

    if isinstance(type_, Struct):
        parts = [
            _allowed(value.getField(field.name), field.type, is_nullable=field.nullable)
            for field in type_.fields
        ]
    elif isinstance(type_, Array):
        parts = [_in_each(value, type_.element, is_nullable=type_.contains_null)]
    elif isinstance(type_, Map):
        parts = [
            _in_each(sf.map_keys(value), type_.key, is_nullable=True),
            _in_each(sf.map_values(value), type_.value, is_nullable=type_.contains_null),
        ]
    else:
        return None
    conditions = [part for part in parts if part is not None]
    if not conditions:
        return None
    return value.isNull() | functools.reduce(lambda left, right: left & right, conditions)


def _in_each(values: Column, type_: Type, *, is_nullable: bool) -> Column | None:
    """Return the condition that ``_allowed`` holds for all elements of an array."""
    from pyspark.sql import functions as sf

    if is_nullable and _without_nulls(values, type_) is None:
        return None
    return sf.forall(values, lambda part: _allowed(part, type_, is_nullable=is_nullable))


def _allowed(value: Column, type_: Type, *, is_nullable: bool) -> Column | None:
    """Return the condition that a part, and all in it, is null only where it may be."""
    inside = _without_nulls(value, type_)
    if is_nullable:
        return inside
    return value.isNotNull() if inside is None else value.isNotNull() & inside


def _is_printable(field: Field) -> bool:
    """Return whether Spark can print the values of a column as text."""
    return all(part.type != "variant" for part in nested([field]))


def converted(
    spark: SparkSession, value: Column, source: Type, own: Type, name: str, *, code: str
) -> Column:
    """Cast a value to another type; a part of it that does not fit fails the task.

    Fields of structs are matched by position.

    Args:
        spark: The session.
        value: The value.
        source: Its type.
        own: The other type.
        name: The column, for messages.
        code: The code of errors.

    Raises:
        InvalidArgumentError: The types differ in structure; ``spark.setting``: the session's store
            assignment policy does not allow the cast, or is not supported.
    """
    from pyspark.sql import functions as sf

    source, own = nullable(source), nullable(own)
    if source == own:
        return value
    if fits(source, own):
        return value.cast(spark_type(own))

    def inner(part: Column, source_type: Type, other: Type, step: str) -> Column:
        return converted(spark, part, source_type, other, f"{name}.{step}", code=code)

    if isinstance(own, str):
        return _checked(spark, value, source, own, name)
    if isinstance(source, Struct) and isinstance(own, Struct):
        if len(source.fields) != len(own.fields):
            raise _differs(source, own, name, code)
        fields = [
            inner(value.getField(field.name), field.type, other.type, other.name).alias(other.name)
            for field, other in zip(source.fields, own.fields, strict=True)
        ]
        return sf.when(value.isNotNull(), sf.struct(*fields))
    if type(source) is not type(own):
        raise _differs(source, own, name, code)
    return converted_parts(value, source, own, inner, lambda type_: type_)


def _differs(source: Type, own: Type, name: str, code: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{name} is {spark_type(own).simpleString()} in the table, and the value is "
        f"{spark_type(source).simpleString()}: pass the table's fields",
        code=code,
    )


def _checked(spark: SparkSession, value: Column, source: Type, own: str, name: str) -> Column:
    from pyspark.sql import functions as sf

    type_ = spark_type(own)
    _check_policy(spark, source, own, name)
    cast = value.try_cast(type_)
    display = sf.coalesce(value.try_cast("string"), sf.lit("a value"))
    reason = f" cannot be stored in {name}, which is {type_.simpleString()}"
    fails = failure(sf.concat(display, sf.lit(reason))).cast(type_)
    return sf.when(value.isNull() | cast.isNotNull(), cast).otherwise(fails)


def _check_policy(spark: SparkSession, source: Type, own: str, name: str) -> None:
    """Check that the session's store assignment policy allows a cast."""
    policy = settings.store_assignment(spark)
    if policy == "ANSI" or (policy == "STRICT" and _is_up_cast(source, own)):
        return
    types = f"{spark_type(source).simpleString()} to {spark_type(own).simpleString()}"
    setting = settings.STORE_ASSIGNMENT
    if policy == "STRICT":
        raise InvalidArgumentError(
            f"{setting} is STRICT, which does not store {types} in {name}: cast the value",
            code="spark.setting",
        )
    raise InvalidArgumentError(
        f"{setting} is {policy}, and values that do not fit are never truncated (from {types}, in "
        f"{name}): cast the value, or set it to ANSI",
        code="spark.setting",
    )


#: Numeric types, each of which Spark casts up to the following ones.
_NUMBERS = ("byte", "short", "integer", "long", "float", "double")

#: Decimals that hold every whole number of a type.
_WHOLE = {"byte": 3, "short": 5, "integer": 10, "long": 20}


def _is_up_cast(source: Type, own: str) -> bool:
    """Return whether a cast loses nothing, by Spark's rules (``Cast.canUpCast``)."""
    if not isinstance(source, str):
        return False
    if source in _NUMBERS and own in _NUMBERS:
        return _NUMBERS.index(source) <= _NUMBERS.index(own)
    if source in _WHOLE:
        source = f"decimal({_WHOLE[source]},0)"
    dates = source == "date" and own in ("timestamp", "timestamp_ntz")
    return dates or (own == "string" and source != "binary") or fits(source, own)
