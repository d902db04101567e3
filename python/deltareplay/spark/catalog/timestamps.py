"""Timestamps in SQL text, evaluated by the session."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.session import internals
from deltareplay.spark.syntax.parser import ConstantExpression

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def evaluate_timestamp(spark: SparkSession, time: str | ConstantExpression) -> datetime.datetime:
    """Evaluate a timestamp; without a time zone, it is in that of the session.

    Args:
        spark: The session.
        time: A string, or an SQL expression without columns.

    Raises:
        InvalidArgumentError: ``argument.moment``: Spark cannot read it, or it is null.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sf

    if isinstance(time, ConstantExpression):
        try:
            value = f"CAST(({time.text}) AS TIMESTAMP_LTZ)"
            [row] = spark.sql(f"SELECT unix_micros({value})").collect()
        except PySparkException as cause:
            raise InvalidArgumentError(
                f"{time.text} is not a timestamp: {internals.first_line(cause)}",
                code="argument.moment",
            ) from cause
    else:
        # TIMESTAMP may be the type without a time zone: spark.sql.timestampType
        times = spark.range(1).select(sf.lit(time).alias("time"))
        [row] = times.selectExpr("unix_micros(TRY_CAST(time AS TIMESTAMP_LTZ))").collect()
    if row[0] is None:
        text = time.text if isinstance(time, ConstantExpression) else repr(time)
        raise InvalidArgumentError(
            f"{text} is not a timestamp: write it as 2026-01-31 or 2026-01-31 12:30:00",
            code="argument.moment",
        )
    return instant(row[0])


def instant(micros: int) -> datetime.datetime:
    """Return microseconds since 1970 as a UTC time, clamped to the range of ``datetime``."""
    try:
        return _EPOCH + datetime.timedelta(microseconds=micros)
    except OverflowError:  # Spark's range is larger than Python's; versions are within both
        end = datetime.datetime.max if micros > 0 else datetime.datetime.min
        return end.replace(tzinfo=datetime.timezone.utc)
