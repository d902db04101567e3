"""Arrow tables as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay.spark.session import version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def from_arrow(spark: SparkSession, rows: pa.Table, schema: Any = None) -> DataFrame:
    """A small table as a DataFrame: as it is from Spark 4 on, row by row before.

    Args:
        spark: The session.
        rows: Plain types.
        schema: Spark's, where the Arrow types do not say it all.
    """
    if version(spark) >= (4, 0):
        return spark.createDataFrame(rows, schema)
    from pyspark.sql.pandas.types import from_arrow_schema

    listed = rows.to_pylist(maps_as_pydicts="strict")
    values = [tuple(row.values()) for row in listed]
    return spark.createDataFrame(values, schema or from_arrow_schema(rows.schema))
