"""``register``: registers the formats ``deltareplay`` and ``delta``, for SQL and Spark Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from deltareplay._support.arguments import checked
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.format import registered_source, session_option
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@checked
def register(spark: SparkSession, name: Literal["deltareplay", "delta"] = "deltareplay") -> None:
    """Register the format ``deltareplay`` or ``delta`` with a session.

    Both are the same format, with Delta's own option names. With ``delta``, pipelines that were
    written for delta-spark run without its jar, and ``CREATE TABLE ... USING delta LOCATION`` adds
    tables to Spark's catalog. Timestamps without a zone in options are then in the session's time
    zone; otherwise in UTC.

    Options: ``versionAsOf``, ``timestampAsOf``, ``readChangeFeed`` with its range, ``filter``
    (SQL), ``splitSize`` (bytes), ``allowedRoots`` (comma-separated), ``withRowId``,
    ``withFilePath``, ``withRowIndex``, and ``storage.<key>`` for each storage option. A schema
    selects columns. Streams and writes have Delta's options.

    From then on, PySpark's writers add an option for values that Spark does not pass to the format:
    the settings of the session that apply to ``write``, and ``partitionBy`` of streams.
    ``insertInto``, ``saveAsTable``, ``writeTo(name).append()``, ``spark.table``, ``read.table``,
    ``readStream.table`` and ``toTable`` work for Delta tables in the session's catalog.

    Filters are pushed if ``spark.sql.python.filterPushdown.enabled`` was set before this call
    (Spark 4.1).

    On classic Spark, all threads and sessions of the program know the format. On Spark Connect,
    each session must register the format. Call this again if the session's time zone changes.

    Rows are read in Python workers: prefer ``read`` where possible.

    Args:
        spark: A session of PySpark 4.0 or later, classic or Connect.
        name: The name of the format.

    Raises:
        InvalidArgumentError: The format is neither ``deltareplay`` nor ``delta``
            (``spark.format``).
        UnsupportedFeatureError: This PySpark has no Python Data Source API (``spark.data_source``);
            or the session has delta-spark's jar, which keeps the name ``delta`` (``spark.jar``).

    >>> register(spark)  # doctest: +SKIP
    >>> spark.read.format("deltareplay").load(rows.uri).count()  # doctest: +SKIP
    2
    """
    capabilities.check(spark)
    if name not in ("deltareplay", "delta"):
        raise InvalidArgumentError(
            f"{name!r} is not a format: register 'deltareplay' or 'delta'", code="spark.format"
        )
    if capabilities.version(spark) < (4, 0):
        raise UnsupportedFeatureError(
            f"this is Spark {spark.version}, and Python data sources require 4.0: use "
            "deltareplay.spark.read, which does not need them",
            code="spark.data_source",
        )
    if name == "delta" and capabilities.has_delta(spark):
        raise UnsupportedFeatureError(
            "the session has delta-spark's jar, and Spark prefers its format delta: start the "
            "session without the jar, or register 'deltareplay'",
            code="spark.jar",
        )
    from pyspark import cloudpickle

    from deltareplay.spark.format import data_source  # PySpark 3.5 has no base class for it

    # by value, so that an executor without deltareplay can report that
    cloudpickle.register_pickle_by_value(data_source)
    # Spark rejects readers with pushdown if it is off, and a worker cannot read the setting
    filtering = capabilities.is_on(spark, _PUSHDOWN, default="false")
    zone = capabilities.time_zone(spark) if name == "delta" else None
    source = data_source.session_data_source(name, zone, pushes_filters=filtering)
    if capabilities.is_classic(spark):
        registered_source.register(spark, source)
    else:
        spark.dataSource.register(source)
    session_option.extend_writers(spark, name)
