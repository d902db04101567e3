"""Checks defaults and generated columns of a table to be: Spark analyses them, and runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark import names
from deltareplay.spark.outgoing import fits
from deltareplay.spark.schema import Json, spark_type, struct_type
from deltareplay.spark.tokens import tokens

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_GENERATED = "delta.generationExpression"
_DEFAULT = "CURRENT_DEFAULT"

_CODES = {_DEFAULT: "definition.default", _GENERATED: "definition.generated"}

_NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")
_TIMES = ("date", "timestamp", "timestamp_ntz")


def check(spark: SparkSession, columns: list[Json]) -> None:
    """Refuses values that rows could not get.

    Raises:
        InvalidArgumentError: ``definition.default`` or ``definition.generated``: the expression is
            none, uses what it must not, or has another type than its column.
    """
    given = [one for one in columns if _GENERATED not in one["metadata"]]
    for one in columns:
        for key, others in ((_DEFAULT, []), (_GENERATED, given)):
            if key in one["metadata"]:
                _check(spark.createDataFrame([], struct_type(others)), one, key)


def _check(rows: DataFrame, one: Json, key: str) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sf

    text = one["metadata"][key]
    if any(token.is_word("SELECT") for token in tokens(text)):
        raise _wrong(one, key, "contains a subquery")
    try:
        [found] = rows.select(sf.expr(text).alias("value")).schema.jsonValue()["fields"]
    except PySparkException as error:
        raise _wrong(one, key, "cannot be evaluated") from error
    if not _stores(found["type"], one["type"], key):
        type_ = spark_type(found["type"]).simpleString()
        wanted = spark_type(one["type"]).simpleString()
        raise _wrong(one, key, f"is {type_}, and the column {wanted}")
    if key == _GENERATED and not _is_deterministic(rows, text):
        raise _wrong(one, key, "is not deterministic")


def _stores(found: Any, wanted: Any, key: str) -> bool:
    """Whether a column takes values of a type: those that are computed must all fit."""
    if not isinstance(found, str) or not isinstance(wanted, str):
        return fits(found, wanted)
    one, other = found.partition("(")[0], wanted.partition("(")[0]
    if other == "string" or fits(found, wanted) or (one == "date" and other in _TIMES):
        return True
    return key == _DEFAULT and any(one in some and other in some for some in (_NUMBERS, _TIMES))


def _is_deterministic(rows: DataFrame, text: str) -> bool:
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as sf

    other = rows.sparkSession.range(1).select(sf.lit(1).alias(f"{names.OWN}other"))
    try:
        _ = rows.join(other, sf.expr(f"({text}) IS NULL")).schema  # where Spark refuses it
    except AnalysisException as error:
        return str(error.getCondition()) != "INVALID_NON_DETERMINISTIC_EXPRESSIONS"
    return True


def _wrong(one: Json, key: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the column {one['name']} cannot get the value {one['metadata'][key]}, which {why}",
        code=_CODES[key],
    )
