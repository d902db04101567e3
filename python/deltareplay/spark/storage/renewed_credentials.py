"""Credentials that Unity Catalog's own classes renew on the executors, if the session has them.

The classes, of ``io.unitycatalog:unitycatalog-hadoop``, are Hadoop file systems. A public builder
requests credentials from the catalog, and returns the settings of these file systems.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from deltareplay._support.uris import without_secrets
from deltareplay.catalogs._unity_table import UnityTable
from deltareplay.exceptions import StorageError
from deltareplay.spark.session import capabilities, internals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._snapshot.table_location import TableLocation

_BUILDER = "io.unitycatalog.hadoop.UCCredentialHadoopConfs"


def options(
    spark: SparkSession, table: TableLocation, operation: Literal["READ", "READ_WRITE"]
) -> dict[str, str] | None:
    """Return the Hadoop settings of one read or write; None without the classes.

    The result is also None on Spark Connect, and for a table of another catalog or the older API.

    Raises:
        StorageError: ``spark.unity_catalog``: the classes failed to get credentials.
    """
    catalog = table.catalog
    if not isinstance(catalog, UnityTable) or not capabilities.is_classic(spark):
        return None
    jvm = internals.jvm(spark)
    access = catalog.access()
    if access is None or not jvm.org.apache.spark.util.Utils.classIsLoadable(_BUILDER):
        return None
    location = urlsplit(table.uri)
    confs = jvm.io.unitycatalog.hadoop.UCCredentialHadoopConfs
    settings = jvm.java.util.HashMap()
    settings.put("type", "static")
    settings.put("token", access.token)
    try:
        tokens = jvm.io.unitycatalog.client.auth.TokenProvider.create(settings)
        builder = confs.builder(access.uri, location.scheme).tokenProvider(tokens)
        state = internals.java_session(spark).sessionState()
        builder = builder.hadoopConf(state.newHadoopConf())
        table_operation = getattr(confs.TableOperation, operation)
        options = dict(builder.buildForTable(*access.parts, table_operation, table.uri))
    except Exception as cause:  # Py4J's error, for any error of the classes
        raise StorageError(
            "Unity Catalog's classes failed to get credentials for "
            f"{without_secrets(table.uri)}: {internals.first_line(cause)}",
            code="spark.unity_catalog",
        ) from None  # the text of the cause may have the token
    provider = options.get("fs.s3a.aws.credentials.provider")
    if provider is not None:  # a user's own settings of the bucket would take precedence
        options[f"fs.s3a.bucket.{location.netloc}.aws.credentials.provider"] = provider
    return options
