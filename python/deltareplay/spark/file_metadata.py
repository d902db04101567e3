"""Spark's column ``_metadata``, which says of each row from which file it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltareplay.spark import names, session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

NAME = "_metadata"

#: How Spark marks a column as one that only those see who name it.
_HIDDEN = {"__metadata_col": NAME}


def of_rows(rows: DataFrame, ids: tuple[Column, Column] | None = None) -> Column:
    """The column of a scan, for a select.

    Args:
        rows: The scan.
        ids: The id and the commit version of each row, which become fields.
    """
    from pyspark.sql import functions as sf

    value: Any = rows.metadataColumn(NAME) if hasattr(rows, "metadataColumn") else sf.col(NAME)
    if ids is not None:
        value = value.withField("base_row_id", sf.col(names.BASE_ROW_ID))
        value = value.withField("default_row_commit_version", sf.col(names.DEFAULT_VERSION))
        value = value.withField("row_id", ids[0]).withField("row_commit_version", ids[1])
    return value.alias(NAME)


def union(
    spark: SparkSession, one: DataFrame, other: DataFrame, shown: Sequence[Column]
) -> DataFrame:
    """The rows of two scans with some columns, and ``_metadata`` for those who name it.

    Spark hides the columns of files from all that is above a union. On classic Spark, from 4.0 on,
    the union has them, and the select above it hides them again.
    """
    plain = [one.select(*shown), other.select(*shown)]
    is_own = any(name.lower() == NAME for name in plain[0].columns)
    if not is_own and session.is_classic(spark) and session.version(spark) >= (4, 0):
        hidden = [
            rows.select(*shown, of_rows(rows).alias(NAME, metadata=_HIDDEN))
            for rows in (one, other)
        ]
        return _without_last(spark, hidden[0].union(hidden[1]))
    return plain[0].union(plain[1])


def _without_last(spark: SparkSession, rows: DataFrame) -> DataFrame:
    """A select of all columns but the last one, which can still be named above it."""
    jvm: Any = spark._jvm
    logical = jvm.org.apache.spark.sql.catalyst.plans.logical
    plan: Any = rows._jdf.queryExecution().analyzed()
    output = plan.output()
    selected = logical.Project(output.init(), plan)
    selected.setTagValue(logical.Project.hiddenOutputTag(), output.takeRight(1))
    frame = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, selected)
    return type(rows)(frame, spark)
