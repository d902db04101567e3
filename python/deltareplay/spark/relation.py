"""A DataFrame over exactly some Parquet files, with constant columns beside what they hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltareplay.spark import by_file_index, by_paths
from deltareplay.spark.files import Files
from deltareplay.spark.schema import Json
from deltareplay.spark.session import is_classic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def relation(spark: SparkSession, files: Files, fields: list[Json]) -> DataFrame:
    """The columns of the files, then the constants, then Spark's own ``_metadata``.

    Args:
        spark: The session.
        files: Which files, and their constants.
        fields: Columns to read, by the names in the files, as JSON.
    """
    if is_classic(spark):
        return by_file_index.frame(spark, files, fields)
    return by_paths.frame(spark, files, fields)


def struct_type(fields: list[Json]) -> Any:
    """PySpark's ``StructType`` of some fields."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(json.dumps({"type": "struct", "fields": fields})))
