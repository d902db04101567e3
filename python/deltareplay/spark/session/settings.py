"""Settings of Spark and delta-spark that a session may have, and that are obeyed here too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def merges_schemas(spark: SparkSession) -> bool:
    """Whether each write and merge may add columns."""
    return _flag(spark, "spark.databricks.delta.schema.autoMerge.enabled", default=False)


def user_metadata(spark: SparkSession) -> str | None:
    """The text that each commit of the session gets."""
    text: str | None = spark.conf.get("spark.databricks.delta.commitInfo.userMetadata", None)
    return text


def of_writes(spark: SparkSession) -> dict[str, Any]:
    """The settings that options of a write stand for, by the names of these options."""
    known: dict[str, Any] = {}
    if merges_schemas(spark):
        known["mergeSchema"] = True
    text = user_metadata(spark)
    if text is not None:
        known["userMetadata"] = text
    return known


def checks_retention(spark: SparkSession) -> bool:
    """Whether ``VACUUM`` refuses a retention that is shorter than the table's."""
    return _flag(spark, "spark.databricks.delta.retentionDurationCheck.enabled", default=True)


def overwrites_partitions(spark: SparkSession) -> bool:
    """Whether ``INSERT OVERWRITE`` replaces the partitions of the new rows only."""
    mode = spark.conf.get("spark.sql.sources.partitionOverwriteMode", "static")
    return str(mode).lower() == "dynamic"


def _flag(spark: SparkSession, name: str, *, default: bool) -> bool:
    return str(spark.conf.get(name, str(default))).lower() == "true"
