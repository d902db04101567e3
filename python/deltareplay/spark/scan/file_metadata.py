"""Spark's hidden column ``_metadata``, which describes the file of each row."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from deltareplay.spark.scan import driver_classes, hidden_columns
from deltareplay.spark.session import capabilities, internals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

NAME = "_metadata"


def _column(rows: DataFrame) -> Any:
    """Return the hidden column, from 4.0 on even if the table has a column of that name."""
    from pyspark.sql import functions as sf

    return rows.metadataColumn(NAME) if hasattr(rows, "metadataColumn") else sf.col(NAME)


def field(rows: DataFrame, name: str) -> Any:
    """Return a field of ``_metadata`` of a scan."""
    return _column(rows).getField(name)


def of_rows(rows: DataFrame, ids: tuple[Column, Column] | None = None) -> Column:
    """Return ``_metadata`` of a scan, to be selected.

    Args:
        rows: The scan.
        ids: The id and the commit version of each row, added as fields.
    """
    from pyspark.sql import functions as sf

    value = _column(rows)
    if ids is not None:
        value = value.withField("base_row_id", sf.col(hidden_columns.BASE_ROW_ID))
        value = value.withField(
            "default_row_commit_version", sf.col(hidden_columns.DEFAULT_VERSION)
        )
        value = value.withField("row_id", ids[0]).withField("row_commit_version", ids[1])
    return value.alias(NAME)


def union(
    spark: SparkSession, left: DataFrame, right: DataFrame, columns: Sequence[Column]
) -> DataFrame:
    """Return the union of two scans, with ``_metadata`` as a hidden column where possible.

    It is possible on classic Spark 4.0 or later, unless Spark is a modified build. Otherwise the
    union has no ``_metadata``.
    """
    left, right = left.select(*columns), right.select(*columns)
    if capabilities.is_classic(spark) and capabilities.version(spark) >= (4, 0):
        with contextlib.suppress(Exception):  # each build fails in its own way
            return _union_with_metadata(spark, left, right)
    return left.union(right)


def _union_with_metadata(spark: SparkSession, left: DataFrame, right: DataFrame) -> DataFrame:
    jvm = internals.jvm(spark)
    plans = [internals.analyzed_plan(rows) for rows in (left, right)]
    union = driver_classes.new(spark, "Union", jvm.PythonUtils.toSeq(plans), False, False)
    return internals.frame_of_plan(spark, union)
