"""Constraints on rows, checked by Spark while it evaluates the rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from deltareplay._protocol.schema import Field, Struct, nested
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.schema.column_metadata import invariant_of
from deltareplay.spark.syntax import names
from deltareplay.spark.writing import log_expressions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay.spark.writing.target_table import TargetTable

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
    for what, passes in _conditions(spark, target, fields, computed, replace_where):
        display = sf.struct(
            *[sf.col(names.quoted(field.name)) for field in fields if _is_printable(field)]
        )
        message = sf.concat(sf.lit(f"{what}; it is "), display.cast("string"))
        # Spark may push a filter below a join and evaluate it on rows that are never written. A
        # non-deterministic condition is not pushed; ``rand() < 0`` would be folded away.
        never = sf.monotonically_increasing_id() < 0
        fails = failure(message).cast("boolean") | never
        # a null result breaks the constraint, too
        passes = passes if only is None else ~sf.col(only) | passes
        rows = rows.where(sf.when(passes, sf.lit(True)).otherwise(fails))
    return rows


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


def _conditions(
    spark: SparkSession,
    target: TargetTable,
    fields: list[Field],
    computed: Sequence[str],
    replace_where: str | None,
) -> Iterator[tuple[str, Column]]:
    """Yield each condition with its description."""
    from pyspark.sql import functions as sf

    known = [field.name for field in fields]
    for field in fields:
        yield from _not_null([field], "")
        column = sf.col(names.quoted(field.name))
        if "delta.invariants" in field.metadata:
            rule = invariant_of(field)
            source = f"the invariant of the column {field.name} (delta.invariants)"
            holds = log_expressions.value(spark, rule, source, known)
            yield f"it breaks the invariant {rule} of the column {field.name}", holds
        generated = field.generation_expression
        if generated is not None and field.name not in computed:
            what = f"the generated column {field.name} is not {generated}"
            yield what, column.eqNullSafe(log_expressions.generated(spark, field, known))
        limit = _LIMIT.fullmatch(str(field.limit))
        if limit is not None:
            fits = sf.char_length(column) <= int(limit[1])
            yield f"{field.name} is longer than {limit[0]}", column.isNull() | fits
    for key, rule in sorted(target.properties.items()):
        if key.lower().startswith("delta.constraints."):
            holds = log_expressions.value(spark, rule, f"the CHECK constraint {key}", known)
            yield f"it breaks the CHECK constraint {key[18:]} ({rule})", holds
    if replace_where is not None:
        yield f"it is not among the rows to replace ({replace_where})", sf.expr(replace_where)


def _not_null(fields: Sequence[Field], above: str) -> Iterator[tuple[str, Column]]:
    """Yield the conditions of columns, and of fields in structs, that must not be null."""
    from pyspark.sql import functions as sf

    for field in fields:
        path = above + names.quoted(field.name)
        if not field.nullable:
            what = f"{path.replace('`', '')} is null, which the table does not allow"
            yield what, sf.col(path).isNotNull()
        if isinstance(field.type, Struct):
            yield from _not_null(field.type.fields, f"{path}.")


def _is_printable(field: Field) -> bool:
    """Return whether Spark can print the values of a column as text."""
    return all(part.type != "variant" for part in nested([field]))
