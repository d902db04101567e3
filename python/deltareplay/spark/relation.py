"""A DataFrame over exactly some Parquet files, with constant columns beside what they hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltareplay.spark import by_file_index, by_paths, names
from deltareplay.spark.located_files import Files
from deltareplay.spark.schema import Json
from deltareplay.spark.session import is_classic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def relation(
    spark: SparkSession, files: Files, fields: list[Json], *, numbered: bool = False
) -> DataFrame:
    """The columns of the files, and the constants.

    Args:
        spark: The session.
        files: Which files, and their constants.
        fields: Columns to read, by the names in the files, as JSON.
        numbered: Adds the position of the row in its file, as ``names.ROW_NUMBER``.
    """
    rows = by_file_index.frame(spark, files, fields) if is_classic(spark) else None
    if rows is None:
        return by_paths.frame(spark, files, fields, numbered)
    if not numbered:
        return rows
    return rows.select("*", of_file(rows, "row_index").alias(names.ROW_NUMBER))


def of_file(rows: DataFrame, name: str) -> Any:
    """A field of Spark's ``_metadata``, even where the table has a column of that name."""
    from pyspark.sql import functions as sf

    if hasattr(rows, "metadataColumn"):  # from 4.0 on
        return rows.metadataColumn("_metadata").getField(name)
    return sf.col(f"_metadata.{name}")


def struct_type(fields: list[Json]) -> Any:
    """PySpark's ``StructType`` of some fields."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(json.dumps({"type": "struct", "fields": fields})))
