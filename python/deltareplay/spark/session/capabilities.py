"""Capabilities of a Spark session."""

from __future__ import annotations

import contextlib
import uuid
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay.exceptions import (
    DeltaReplayWarning,
    InvalidArgumentError,
    UnsupportedFeatureError,
)
from deltareplay.spark.session import internals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The newest version of Spark that the tests run.
NEWEST_TESTED = (4, 3)

#: The first version of Spark on which reads return void columns.
FIRST_WITH_VOID = (4, 1)

#: Names of time zones that equal UTC, in lower case.
UTC_NAMES = frozenset(
    {"utc", "ut", "etc/utc", "gmt", "etc/gmt", "z", "zulu", "uct", "+00:00", "utc+00:00"}
)


def check(spark: Any) -> None:
    """Check that the argument is a session of Spark 3.5 or later; warn about a newer Spark.

    Raises:
        InvalidArgumentError: ``argument.session``: the argument is not a session.
        UnsupportedFeatureError: ``spark.version``: Spark is older than 3.5.
    """
    if not (hasattr(spark, "createDataFrame") and hasattr(spark, "version")):
        raise InvalidArgumentError(
            f"the first argument must be a SparkSession, not {type(spark).__name__}",
            code="argument.session",
        )
    if version(spark) < (3, 5):
        raise UnsupportedFeatureError(
            f"this is Spark {spark.version}: deltareplay.spark requires 3.5 or later",
            code="spark.version",
        )
    if version(spark) > NEWEST_TESTED:
        newest = ".".join(map(str, NEWEST_TESTED))
        warnings.warn(
            f"this is Spark {spark.version}, and deltareplay {_native.__version__} was tested "
            f"with 3.5 to {newest}: if something fails, look for a newer release",
            DeltaReplayWarning,
            stacklevel=3,
        )


def reads_void(spark: SparkSession) -> bool:
    """Return whether reads return void columns and void fields of structs, as in delta-spark."""
    return version(spark) >= FIRST_WITH_VOID


def session_or_active(spark: SparkSession | None) -> SparkSession:
    """Return the session passed, or the active one if it is None.

    Raises:
        InvalidArgumentError: ``argument.session``: no session is active.
    """
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession() if spark is None else spark
    if session is None:
        raise InvalidArgumentError(
            "no Spark session is active: pass one as the first argument", code="argument.session"
        )
    check(session)
    return session


def require_spark_4(spark: Any, feature: str) -> None:
    """Check the session as ``check`` does, for a feature that requires Spark 4.

    Args:
        spark: The session.
        feature: The name of the feature, for the message.

    Raises:
        UnsupportedFeatureError: ``spark.too_old``: Spark is older than 4.0.
    """
    check(spark)
    if version(spark) < (4, 0):
        raise UnsupportedFeatureError(
            f"this is Spark {spark.version}: {feature} requires 4.0 or later",
            code="spark.too_old",
        )


def version(spark: SparkSession) -> tuple[int, int]:
    """Return Spark's version, major and minor.

    >>> class Session:
    ...     version = "4.1.1"
    >>> version(Session())
    (4, 1)
    """
    return parsed_version(spark.version)


def parsed_version(text: str) -> tuple[int, int]:
    """Return the major and minor numbers of a version of Spark or PySpark."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def is_classic(spark: SparkSession) -> bool:
    """Return whether the driver's JVM is accessible.

    Spark Connect has no JVM, and some platforms hide it.
    """
    try:
        return internals.has_jvm(spark)
    except Exception:  # Connect raises an error of its own for a missing attribute
        return False


def has_delta(spark: SparkSession) -> bool:
    """Return whether the session has delta-spark's jar.

    If the JVM is not accessible, the result is true if one of the two settings that delta-spark
    requires names a class of Delta.
    """
    if is_classic(spark):
        jvm = internals.jvm(spark)
        utils = jvm.org.apache.spark.util.Utils
        return bool(utils.classIsLoadable("org.apache.spark.sql.delta.sources.DeltaDataSource"))
    settings = ("spark.sql.extensions", "spark.sql.catalog.spark_catalog")
    return any(".delta." in str(spark.conf.get(name, "")) for name in settings)


def in_own_session(df: DataFrame, settings: Mapping[str, str]) -> DataFrame:
    """Return the same rows, computed with settings that apply to nothing else.

    A copy of the session has the settings: the user's session does not change, and later changes to
    it have no effect on these rows. On Spark Connect, a session that has these settings already is
    not copied; ``release`` ends a copy.

    Raises:
        UnsupportedFeatureError: ``spark.too_old``: Spark Connect before 4.1 cannot copy a session,
            and this one has other values.
    """
    spark = df.sparkSession
    if is_classic(spark):
        copy = internals.java_session(spark).cloneSession()
        for name, value in settings.items():
            copy.conf().set(name, value)
        return internals.frame_of_plan(spark, internals.logical_plan(df), copy)
    different = {name: value for name, value in settings.items() if spark.conf.get(name) != value}
    if not different:
        return df
    if not hasattr(spark, "cloneSession"):
        required = ", ".join(f"{name} = {value}" for name, value in different.items())
        raise UnsupportedFeatureError(
            f"this write needs {required}, which the session does not set, and Spark Connect "
            f"{spark.version} cannot copy a session: set it, use Spark 4.1 or later, or write with "
            "df.write.format('deltareplay')",
            code="spark.too_old",
        )
    plan = internals.connect_plan(df)
    if not internals.belongs_to_session(plan):
        rows = type(df)(plan, spark.cloneSession())
    else:  # the server keeps these rows for the session: a copy can read them from a view
        view = f"deltareplay_{uuid.uuid4().hex}"
        df.createTempView(view)
        try:
            rows = spark.cloneSession().table(view)
            _ = rows.schema  # views are copied when the copy first looks up a name
        finally:
            spark.catalog.dropTempView(view)
    for name, value in different.items():
        rows.sparkSession.conf.set(name, value)
    return rows


def release(rows: DataFrame, spark: SparkSession) -> None:
    """End the copy of a session of Spark Connect, and its connection.

    Otherwise, the server keeps each copy for an hour.

    Args:
        rows: The result of ``in_own_session``; their session is the copy, if there is one.
        spark: The original session.
    """
    if is_classic(spark) or rows.sparkSession.session_id == spark.session_id:
        return
    client: Any = rows.sparkSession.client
    with contextlib.suppress(Exception):  # the rows are written
        client.release_session()
        client.close()


def is_on(spark: SparkSession, setting: str, *, default: str | None = None) -> bool:
    """Return whether a setting of Spark is true.

    Args:
        spark: The session.
        setting: The name of the setting.
        default: The value where it is not set; by default Spark's own, if Spark has the setting.
    """
    value = spark.conf.get(setting) if default is None else spark.conf.get(setting, default)
    return str(value).lower() == "true"


def time_zone(spark: SparkSession) -> str:
    """Return the session's time zone."""
    return str(spark.conf.get("spark.sql.session.timeZone"))


def is_utc(zone: str) -> bool:
    """Return whether local time in a zone is always UTC.

    >>> is_utc("Etc/UTC"), is_utc("Europe/London")
    (True, False)
    """
    return zone.lower() in UTC_NAMES
