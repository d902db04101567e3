"""Settings of Spark and delta-spark that a session may have, and that are obeyed here too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def merges_schemas(spark: SparkSession) -> bool:
    """Whether each write and merge may add columns."""
    return _flag(spark, "spark.databricks.delta.schema.autoMerge.enabled", default=False)


def checks_retention(spark: SparkSession) -> bool:
    """Whether ``VACUUM`` refuses a retention that is shorter than the table's."""
    return _flag(spark, "spark.databricks.delta.retentionDurationCheck.enabled", default=True)


def overwrites_partitions(spark: SparkSession) -> bool:
    """Whether ``INSERT OVERWRITE`` replaces the partitions of the new rows only."""
    mode = spark.conf.get("spark.sql.sources.partitionOverwriteMode", "static")
    return str(mode).lower() == "dynamic"


def _flag(spark: SparkSession, name: str, *, default: bool) -> bool:
    return str(spark.conf.get(name, str(default))).lower() == "true"
