"""Casts of values to the table's types, by SQL's store assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay._protocol.schema import Struct, Type
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.schema.alignment import converted_parts
from deltareplay.spark.schema.fields import nullable, spark_type
from deltareplay.spark.schema.fitting import fits
from deltareplay.spark.session import settings
from deltareplay.spark.writing import constraints

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


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
    what = f" cannot be stored in {name}, which is {type_.simpleString()}"
    fails = constraints.failure(sf.concat(display, sf.lit(what))).cast(type_)
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
