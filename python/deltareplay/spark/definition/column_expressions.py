"""Checks of defaults and generated columns in a new definition, as in delta-spark; without jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay._protocol.schema import Field
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.dml.merge.repeatability import uses_current_time
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.schema.fields import fields_of, nullable, spark_type, struct_type
from deltareplay.spark.schema.fitting import fits
from deltareplay.spark.syntax.tokens import tokens
from deltareplay.spark.writing import log_expressions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_GENERATED, _DEFAULT = log_expressions.GENERATED, log_expressions.DEFAULT
_CODES = {_DEFAULT: "definition.default", _GENERATED: "definition.generated"}


def check(spark: SparkSession, columns: list[Field]) -> None:
    """Check that each default and generated value can be computed and fits its column.

    Raises:
        InvalidArgumentError: ``definition.default`` or ``definition.generated``: the expression is
            invalid or not deterministic, or its value does not fit the column.
    """
    not_generated = [column for column in columns if column.generation_expression is None]
    for column in columns:
        for key, visible in ((_DEFAULT, []), (_GENERATED, not_generated)):
            if key in column.metadata:
                _check(spark.createDataFrame([], struct_type(visible)), column, key)


def _check(rows: DataFrame, column: Field, key: str) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sf

    text, spark = column.metadata[key], rows.sparkSession
    if any(token.is_word("SELECT") for token in tokens(text)):
        raise _invalid(column, key, "contains a subquery")
    if key == _GENERATED and column.type == "variant":
        raise _invalid(column, key, "is a variant")
    other = spark.range(1).select(sf.lit(1).alias(f"{hidden_columns.PREFIX}other"))
    try:
        [computed] = fields_of(rows.select(sf.expr(text).alias("value")).schema)
        # joins reject expressions that are not deterministic, which a query may have
        _ = rows.join(other, sf.expr(f"({text}) IS NULL")).schema
    except PySparkException as error:
        raise _invalid(column, key, "must be deterministic and must not use other rows") from error
    actual, declared = nullable(computed.type), nullable(column.type)
    if key == _DEFAULT:
        # Spark casts no other type to boolean, and boolean to strings only
        is_castable = declared != "boolean" and (actual != "boolean" or declared == "string")
        is_fitting = fits(actual, declared) or (is_castable and _casts(spark, text, column))
    else:
        is_fitting = actual == declared
        if uses_current_time(text, rows.columns):
            raise _invalid(column, key, "uses the current time")
    if not is_fitting:
        value, own = (spark_type(type_).simpleString() for type_ in (actual, declared))
        raise _invalid(column, key, f"is {value}, and the column {own}")
    try:
        log_expressions.sql(spark, text, column.name, rows.columns)
    except UnsupportedFeatureError as error:
        raise _invalid(column, key, "depends on more than its arguments") from error


def _casts(spark: SparkSession, text: str, column: Field) -> bool:
    """Return whether a constant can be cast to a column's type; no job runs."""
    from pyspark.errors import PySparkException

    declared = spark_type(column.type).simpleString()
    try:
        [row] = spark.sql(
            f"SELECT ({text}) IS NULL OR try_cast(({text}) AS {declared}) IS NOT NULL"
        ).collect()
    except PySparkException:
        return False
    return bool(row[0])


def _invalid(column: Field, key: str, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the column {column.name} cannot have the value {column.metadata[key]}, which {reason}",
        code=_CODES[key],
    )
