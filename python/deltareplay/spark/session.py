"""What a Spark session can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Zones in which a wall clock shows UTC.
UTC = frozenset({"utc", "etc/utc", "gmt", "etc/gmt", "z", "zulu", "uct", "+00:00", "utc+00:00"})


def check(spark: Any) -> None:
    """Refuses what is no session, and a PySpark that is too old.

    Raises:
        InvalidArgumentError: It is no session.
        UnsupportedFeatureError: PySpark is older than 3.5.
    """
    if not (hasattr(spark, "createDataFrame") and hasattr(spark, "version")):
        raise InvalidArgumentError(
            f"the first argument is a SparkSession, and not {type(spark).__name__}",
            code="argument.session",
        )
    if version(spark) < (3, 5):
        raise UnsupportedFeatureError(
            f"this is Spark {spark.version}: deltareplay.spark takes 3.5 and later",
            code="spark.version",
        )


def version(spark: SparkSession) -> tuple[int, int]:
    """Spark's version, major and minor.

    >>> class Session:
    ...     version = "4.1.1"
    >>> version(Session())
    (4, 1)
    """
    major, minor = spark.version.split(".")[:2]
    return int(major), int(minor)


def check_field_ids(spark: SparkSession) -> None:
    """Refuses to read columns by name that have to be found by id.

    Raises:
        UnsupportedFeatureError: The session's setting is off.
    """
    name = "spark.sql.parquet.fieldId.read.enabled"
    if str(spark.conf.get(name)).lower() != "true":
        raise UnsupportedFeatureError(
            f"the table finds columns by their ids (delta.columnMapping.mode = id), and Spark does "
            f"so only with spark.conf.set({name!r}, 'true')",
            code="spark.field_ids",
        )


def is_classic(spark: SparkSession) -> bool:
    """Whether the driver's JVM is at hand: not with Connect, nor where the platform hides it."""
    try:
        return getattr(spark, "_jsparkSession", None) is not None and spark._jvm is not None
    except Exception:  # Connect raises its own error for what it lacks
        return False


def time_zone(spark: SparkSession) -> str:
    """The session's time zone."""
    return str(spark.conf.get("spark.sql.session.timeZone"))


def is_utc(zone: str) -> bool:
    """Whether a wall clock of a zone always shows UTC.

    >>> is_utc("Etc/UTC"), is_utc("Europe/London")
    (True, False)
    """
    return zone.lower() in UTC
