"""Arrow tables as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay.spark.schema.arrow import spark_schema
from deltareplay.spark.session.capabilities import version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def from_arrow(spark: SparkSession, rows: pa.Table, schema: Any = None) -> DataFrame:
    """Convert a small Arrow table to a DataFrame; before Spark 4, row by row.

    Args:
        spark: The session.
        rows: A table without maps inside of other types.
        schema: Spark's schema, if the Arrow types are not enough.
    """
    if rows.num_rows == 0:  # PySpark infers types from rows, and Connect accepts no empty table
        return spark.createDataFrame([], schema or spark_schema(rows.schema))
    if version(spark) >= (4, 0):
        return spark.createDataFrame(rows, schema)
    are_maps = [pa.types.is_map(column.type) for column in rows.schema]
    values = [
        tuple(
            dict(value) if is_map and value is not None else value
            for is_map, value in zip(are_maps, row.values(), strict=True)
        )
        for row in rows.to_pylist()
    ]
    return spark.createDataFrame(values, schema or spark_schema(rows.schema))


def empty_frame(spark: SparkSession) -> DataFrame:
    """Return a DataFrame with no rows and no columns."""
    from pyspark.sql.types import StructType

    return spark.createDataFrame([], StructType([]))
