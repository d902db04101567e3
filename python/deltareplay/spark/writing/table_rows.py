"""Rows with the columns and types of a table, checked by its constraints.

Spark evaluates casts and constraints while it evaluates the rows.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
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
from deltareplay.spark.schema.string_lengths import declared_type, is_short, padded
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
        InvalidArgumentError: The table lacks a column, or has another type for it.
        UnsupportedFeatureError: A column of the rows has a collation (``spark.collation``), or
            Spark cannot evaluate an expression of the log (``spark.expression``).
    """
    rows = _without_void(df, target)
    logical, computed = _logical(rows, target.written_fields, extra_columns)
    return _with_constraints(logical, target, computed, replace_where, only)


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
            columns.append(padded(value, declared_type(field)).alias(field.name))
        elif field.generation_expression is not None:
            generated.append(field)
        else:
            columns.append(default(df.sparkSession, field).alias(field.name))
    rows = df.select(*columns, *extra_columns)
    # Spark takes a name that is not a column of the rows for a variable of the session
    usable = [field.name for field in fields if field not in generated]
    for field in generated:
        value = log_expressions.generated(df.sparkSession, field, usable)
        log_expressions.check(rows, {log_expressions.generated_by(field): value})
        rows = rows.withColumn(field.name, value)
        usable.append(field.name)
    return rows, [field.name for field in generated]


def default(spark: SparkSession, field: Field) -> Column:
    """Return the value of a column that the rows lack."""
    from pyspark.sql import functions as sf

    if field.is_identity:
        return identity_columns.value(field)
    value = sf.expr(log_expressions.default(spark, field))
    return value.cast(spark_type(field.type))


def check_types(schema: StructType, target: TargetTable) -> None:
    """Check that the table has the rows' columns, and that their types fit."""
    targets = {field.key: field for field in target.written_fields}
    sources = fields_of(schema)
    _refuse_unknown((field.key for field in sources), target.fields)
    for field in sources:
        refuse_collation(field)
        if field.key in targets:
            _check_fits(field, targets[field.key])


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
    _refuse_unknown(sources, fields)
    return sources


def _refuse_unknown(keys: Iterable[str], fields: Sequence[Field]) -> None:
    """Check that columns of the rows, whose names are in lower case, are among the fields."""
    unknown = sorted({*keys} - {field.key for field in fields})
    if unknown:
        raise InvalidArgumentError(
            f"the table has no column {', '.join(unknown)}: leave it out, or add it by {WRITING}",
            code="write.columns",
        )


def _fitted(column: Column, source: Field, target: Field) -> Column:
    target_type = nullable(target.type)
    if nullable(source.type) == target_type:
        return column
    column = arranged(column, source, target, code="write.columns", partial=True, evolve=WRITING)
    _check_fits(source, target)
    return column.cast(spark_type(target_type))


def _check_fits(source: Field, target: Field) -> None:
    target_type = nullable(target.type)
    source_type = arranged_type(nullable(source.type), target_type)
    if not fits(source_type, target_type):
        raise InvalidArgumentError(
            f"the column {target.name} is {spark_type(target_type).simpleString()} in the table, "
            f"and {spark_type(source_type).simpleString()} in the rows: cast it",
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
    code: str = "statement.column",
) -> Column:
    """Convert a value for assignment to a column: cast it from any type, or fail.

    With ``partial``, struct values may lack fields. ``evolve`` is the option or clause that lets
    the statement evolve the schema, if any. ``code`` is that of errors.
    """
    source_type, target_type = nullable(source.type), nullable(target.type)
    if is_collated(source):
        column = column.cast(spark_type(source_type))
    if source_type == target_type:
        return column
    column = arranged(column, source, target, code=code, partial=partial, evolve=evolve)
    source_type = arranged_type(source_type, target_type)
    return converted(spark, column, source_type, target_type, target.name, code=code)


#: The start and the end of the message of a broken constraint, inside of Spark's own message.
_START, _END = "deltareplay cannot write this row: ", " /deltareplay"


def _with_constraints(
    rows: DataFrame,
    target: TargetTable,
    computed: Sequence[str],
    replace_where: str | None,
    only: str | None,
) -> DataFrame:
    """Add the constraints to rows; a task fails if a row breaks a constraint.

    Args:
        rows: Rows with the table's columns.
        target: The table.
        computed: Generated columns that were computed here, and need no check.
        replace_where: As for ``table_rows``.
        only: As for ``table_rows``.
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
        fails = _failure(message).cast("boolean") | never
        # a null result breaks the constraint, too
        passes = passes if only is None else ~sf.col(only) | passes
        rows = rows.where(sf.when(passes, sf.lit(True)).otherwise(fails))
    return rows.drop(*void_columns)


def _failure(message: Column) -> Column:
    """Return an expression that fails the task; ``constraint_error`` finds the message."""
    from pyspark.sql import functions as sf

    return sf.raise_error(sf.concat(sf.lit(_START), message, sf.lit(_END)))


def constraint_error(error: BaseException) -> InvalidArgumentError | None:
    """Return the error for a broken constraint, if the error of a failed job contains one."""
    text = str(error)
    if _START not in text:
        return None
    message = text[text.index(_START) :].split(_END)[0]
    return InvalidArgumentError(message, code="write.constraint")


class _Condition(NamedTuple):
    """A condition that rows must satisfy.

    Attributes:
        failure_text: Describes a row that does not satisfy it.
        source: Describes its expression, if that is in the log; otherwise empty.
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
    """Yield the conditions of nullability, lengths, and expressions of the log and the write."""
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
        short = is_short(column, declared_type(field))
        if short is not None:
            inside = "" if field.type == "string" else "a string inside "
            yield _Condition(
                f"{inside}{field.name} is longer than {field.type_with_lengths}", short
            )
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
    """Return the condition that nulls are only where the type allows them; None if it always holds.

    The value may be null itself.
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
    """Return the condition that nulls in a part, or the part itself, are allowed."""
    inside = _without_nulls(value, type_)
    if is_nullable:
        return inside
    return value.isNotNull() if inside is None else value.isNotNull() & inside


def _is_printable(field: Field) -> bool:
    """Return whether Spark can print the values of a column as text."""
    return all(part.type != "variant" for part in nested([field]))


def converted(
    spark: SparkSession, value: Column, source: Type, target: Type, name: str, *, code: str
) -> Column:
    """Cast a value to another type; a part of it that does not fit fails the task.

    Fields of structs are matched by position. ``name`` is the column, for messages.

    Raises:
        InvalidArgumentError: The types differ in structure; ``spark.setting``: the session's store
            assignment policy does not allow the cast, or is not supported.
    """
    from pyspark.sql import functions as sf

    source, target = nullable(source), nullable(target)
    if source == target:
        return value
    if fits(source, target):
        return value.cast(spark_type(target))

    def inner(part: Column, old: Type, new: Type, step: str) -> Column:
        return converted(spark, part, old, new, f"{name}.{step}", code=code)

    if isinstance(target, str):
        return _cast_or_fail(spark, value, source, target, name)
    if isinstance(source, Struct) and isinstance(target, Struct):
        if len(source.fields) != len(target.fields):
            raise _other_structure(source, target, name, code)
        fields = [
            inner(value.getField(old.name), old.type, new.type, new.name).alias(new.name)
            for old, new in zip(source.fields, target.fields, strict=True)
        ]
        return sf.when(value.isNotNull(), sf.struct(*fields))
    if type(source) is not type(target):
        raise _other_structure(source, target, name, code)
    return converted_parts(value, source, target, inner, lambda type_: type_)


def _other_structure(source: Type, target: Type, name: str, code: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{name} is {spark_type(target).simpleString()} in the table, and the value is "
        f"{spark_type(source).simpleString()}: pass the table's fields",
        code=code,
    )


def _cast_or_fail(
    spark: SparkSession, value: Column, source: Type, target: str, name: str
) -> Column:
    from pyspark.sql import functions as sf

    type_ = spark_type(target)
    _check_policy(spark, source, target, name)
    cast = value.try_cast(type_)
    display = sf.coalesce(value.try_cast("string"), sf.lit("a value"))
    reason = f" cannot be stored in {name}, which is {type_.simpleString()}"
    fails = _failure(sf.concat(display, sf.lit(reason))).cast(type_)
    return sf.when(value.isNull() | cast.isNotNull(), cast).otherwise(fails)


def _check_policy(spark: SparkSession, source: Type, target: str, name: str) -> None:
    """Check that the session's store assignment policy allows a cast."""
    policy = settings.store_assignment(spark)
    if policy == "ANSI" or (policy == "STRICT" and _is_up_cast(source, target)):
        return
    types = f"{spark_type(source).simpleString()} to {spark_type(target).simpleString()}"
    setting = settings.STORE_ASSIGNMENT
    if policy == "STRICT":
        raise InvalidArgumentError(
            f"{setting} is STRICT, which does not store {types} in {name}: cast the value",
            code="spark.setting",
        )
    raise InvalidArgumentError(
        f"{setting} is {policy}, which would truncate values that do not fit (from {types}, in "
        f"{name}), and is not supported: cast the value, or set it to ANSI",
        code="spark.setting",
    )


#: Numeric types, each of which Spark casts up to the following ones.
_NUMBERS = ("byte", "short", "integer", "long", "float", "double")

#: The digits of decimals that hold every value of an integer type.
_INTEGER_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}


def _is_up_cast(source: Type, target: str) -> bool:
    """Return whether a cast loses nothing, by Spark's rules (``Cast.canUpCast``)."""
    if not isinstance(source, str):
        return False
    if source in _NUMBERS and target in _NUMBERS:
        return _NUMBERS.index(source) <= _NUMBERS.index(target)
    if source in _INTEGER_DIGITS:
        source = f"decimal({_INTEGER_DIGITS[source]},0)"
    is_date = source == "date" and target in ("timestamp", "timestamp_ntz")
    return is_date or (target == "string" and source != "binary") or fits(source, target)
