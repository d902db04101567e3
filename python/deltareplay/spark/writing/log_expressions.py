"""Expressions in a table's log: constraints, generated columns and defaults.

The text in the log is untrusted. Spark gets only SQL that the core has parsed and printed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay._protocol.schema import Field
from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.schema.fields import spark_type
from deltareplay.spark.session import capabilities, internals, strings

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

GENERATED = "delta.generationExpression"
DEFAULT = "CURRENT_DEFAULT"

#: The package of Spark's own functions.
_SPARKS_PACKAGE = "org.apache.spark.sql.catalyst.expressions."


def sql(spark: SparkSession, text: str, source: str, columns: Sequence[str]) -> str:
    """Return an expression as SQL for Spark, usable as an operand in any expression.

    ``source`` describes the expression in errors; ``columns`` are those that it may refer to.

    Raises:
        UnsupportedFeatureError: ``spark.expression``: it uses anything but columns, operators, and
            functions that depend only on their arguments; or the session has replaced such a
            function by its own.
    """
    qualified = capabilities.version(spark) >= (4, 2)
    printed, functions = _native.spark_expression(text, source, list(columns), qualified)
    if not qualified:
        _check_functions(spark, functions, source)
    return strings.for_session(spark, printed)


def _check_functions(spark: SparkSession, functions: Sequence[str], source: str) -> None:
    """Check that the session has not replaced these functions by its own.

    Spark before 4.2 would call those.
    """
    from pyspark.errors import AnalysisException

    for name in functions:
        try:
            class_name = str(spark.catalog.getFunction(name).className)
        except AnalysisException:  # neither this Spark nor the session has it
            continue
        if not class_name.startswith(_SPARKS_PACKAGE):
            raise UnsupportedFeatureError(
                f"{source} calls {name}, which this session has replaced by its own function: "
                "rename that function",
                code="spark.expression",
            )


def value(spark: SparkSession, text: str, source: str, columns: Sequence[str]) -> Column:
    """Return an expression as a column; arguments and errors are those of ``sql``.

    Raises:
        UnsupportedFeatureError: ``spark.expression``, also where this Spark does not parse it.
    """
    return _parsed(sql(spark, text, source, columns), source)


def _parsed(printed: str, source: str) -> Column:
    from pyspark.sql import functions as sf

    try:
        return sf.expr(printed)
    except Exception as cause:  # as in ``_resolution_error``
        raise _unresolved(source, cause) from cause


def check(rows: DataFrame, values: Mapping[str, Column]) -> None:
    """Check that Spark can resolve expressions on rows, by the expressions' descriptions."""
    if not values or _resolution_error(rows, *values.values()) is None:
        return
    for source, column in values.items():
        cause = _resolution_error(rows, column)
        if cause is not None:
            raise _unresolved(source, cause) from cause


def _resolution_error(rows: DataFrame, *columns: Column) -> Exception | None:
    """Return Spark's error if it cannot resolve columns."""
    try:
        _ = rows.select(*columns).schema
    except Exception as error:  # Spark has many classes of errors for it, also in the JVM
        return error
    return None


def _unresolved(source: str, cause: Exception) -> UnsupportedFeatureError:
    message = internals.first_line(cause).split("JVM stacktrace")[0].strip()
    return UnsupportedFeatureError(
        f"{source} cannot be evaluated by this Spark: {message}", code="spark.expression"
    )


def generated(spark: SparkSession, field: Field, columns: Sequence[str]) -> Column:
    """Return the value of a generated column, in its type."""
    computed = value(spark, field.generation_expression, generated_by(field), columns)
    return computed.cast(spark_type(field.type))


def generated_by(field: Field) -> str:
    """Return a description of the expression of a generated column, for errors."""
    return f"the expression of the generated column {field.name} ({GENERATED})"


def default(spark: SparkSession, field: Field) -> str:
    """Return the default of a column as SQL; ``NULL`` if it has none."""
    if field.default is None:
        return "NULL"
    source = f"the default of the column {field.name} ({DEFAULT})"
    printed = sql(spark, field.default, source, [])
    check(spark.range(0), {source: _parsed(printed, source).cast(spark_type(field.type))})
    return printed
