"""``detail``: a description of a table in one row."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from deltareplay._snapshot.clustering import clustering_columns
from deltareplay._support.arguments import checked
from deltareplay.spark.catalog.table_argument import TableLike, snapshot_at
from deltareplay.spark.schema.frames import from_arrow
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._snapshot.snapshot import Snapshot

_TIMESTAMP: Any = pa.timestamp("us", "UTC")
_STRINGS: Any = pa.list_(pa.string())

#: The columns of ``DESCRIBE DETAIL``.
_SCHEMA = pa.schema(
    [
        ("format", pa.string()),
        ("id", pa.string()),
        ("name", pa.string()),
        ("description", pa.string()),
        ("location", pa.string()),
        ("createdAt", _TIMESTAMP),
        ("lastModified", _TIMESTAMP),
        ("partitionColumns", _STRINGS),
        ("clusteringColumns", _STRINGS),
        ("numFiles", pa.int64()),
        ("sizeInBytes", pa.int64()),
        ("properties", pa.map_(pa.string(), pa.string())),
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("tableFeatures", _STRINGS),
    ]
)


@checked
def detail(
    spark: SparkSession,
    table: TableLike,
    *,
    version: int | None = None,
    timestamp: datetime.datetime | str | None = None,
) -> DataFrame:
    """Describe a table in one row, with the columns of ``DESCRIBE DETAIL``.

    Args:
        spark: As in ``read``.
        table: As in ``read``.
        version: As in ``read``.
        timestamp: As in ``read``.

    Raises:
        TableNotFoundError: As in ``read``.
        VersionNotFoundError: As in ``read``.
        CorruptTableError: The log is damaged.

    >>> detail(spark, table).select("numFiles", "sizeInBytes").collect()  # doctest: +SKIP
    [Row(numFiles=2, sizeInBytes=500)]
    """
    capabilities.check(spark)
    row = _row(snapshot_at(spark, table, version, timestamp))
    return from_arrow(spark, pa.Table.from_pylist([row], schema=_SCHEMA))


def _row(snapshot: Snapshot) -> dict[str, Any]:
    metadata, protocol = snapshot.metadata, snapshot.protocol
    created = metadata.created_time
    return {
        "format": "delta",
        "id": metadata.id,
        "name": metadata.name,
        "description": metadata.description,
        "location": location(snapshot.table.uri),
        "createdAt": None if created is None else created * 1000,
        "lastModified": snapshot.timestamp,
        "partitionColumns": metadata.partition_columns,
        "clusteringColumns": clustering_columns(snapshot),
        "numFiles": snapshot.num_files,
        "sizeInBytes": snapshot.size_in_bytes,
        "properties": list(snapshot.properties.items()),
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "tableFeatures": protocol.features,
    }


def location(uri: str) -> str:
    """Return a URI as Hadoop prints its path: decoded, and ``file:`` with one slash."""
    return unquote(re.sub("^file:///", "file:/", uri))
