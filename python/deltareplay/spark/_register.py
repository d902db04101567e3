"""``register``: the format ``deltareplay`` for SQL and for Spark Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: SparkSession) -> None:
    """Make the format ``deltareplay`` known to a session.

    Options: ``versionAsOf``, ``timestampAsOf``, ``filter`` (SQL), ``splitSize`` (bytes),
    ``allowedRoots`` (comma-separated), ``withRowId``, ``withFilePath``, ``withRowIndex``, and
    ``storage.<key>`` for each storage option. A schema that is given chooses columns. Streams,
    ``spark.readStream.format("deltareplay")``, take options of their own, which are Delta's.

    Filters are pushed where ``spark.sql.python.filterPushdown.enabled`` was set before this call
    (Spark 4.1).

    Rows come from Python workers: prefer ``read`` wherever it works.

    Args:
        spark: A session of PySpark 4.0 or later, classic or Connect.

    Raises:
        UnsupportedFeatureError: This PySpark has no Python Data Source API.

    >>> register(spark)  # doctest: +SKIP
    >>> spark.read.format("deltareplay").load(rows.uri).count()  # doctest: +SKIP
    2
    """
    session.check(spark)
    if session.version(spark) < (4, 0):
        raise UnsupportedFeatureError(
            f"this is Spark {spark.version}, and Python data sources need 4.0: use "
            "deltareplay.spark.read, which needs none",
            code="spark.data_source",
        )
    from pyspark import cloudpickle

    from deltareplay.spark import data_source  # PySpark 3.5 has nothing that it could build upon

    # by value: an executor that has no deltareplay can then say so
    cloudpickle.register_pickle_by_value(data_source)
    # Spark refuses readers that take filters where that is off, and a worker cannot ask
    filtering = str(spark.conf.get(_PUSHDOWN, "false")).lower() == "true"
    spark.dataSource.register(
        data_source.FilteringDataSource if filtering else data_source.DeltaReplayDataSource
    )
