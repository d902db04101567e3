"""Timestamps in SQL text, as the session reads them."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def moment(spark: SparkSession, text: str) -> datetime.datetime:
    """A time, in the session's time zone where the text names none.

    Raises:
        InvalidArgumentError: ``argument.moment``: Spark cannot read it.
    """
    from pyspark.sql import functions as sf

    micros = sf.unix_micros(sf.try_to_timestamp(sf.lit(text))).alias("micros")
    [row] = spark.range(1).select(micros).collect()
    if row["micros"] is None:
        raise InvalidArgumentError(
            f"{text!r} is not a timestamp: write it as 2026-01-31 or 2026-01-31 12:30:00",
            code="argument.moment",
        )
    return _EPOCH + datetime.timedelta(microseconds=row["micros"])
