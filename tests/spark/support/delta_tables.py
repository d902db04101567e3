"""Helpers for the tests of ``DeltaTable`` and ``sql``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable

ROWS = [("a", 1), ("b", 2), ("c", 3), ("d", 4)]


def write_table(
    spark: Any, path: Path, rows: Any = ROWS, names: Any = ("key", "value")
) -> DeltaTable:
    """Write a table of these rows, or overwrite the existing one."""
    frame = spark.createDataFrame(rows, list(names))
    dr_spark.write(frame, path, mode="overwrite")
    return DeltaTable.forPath(spark, str(path))


def rows_of(frame: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a DataFrame, sorted."""
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def rows_by_delta_spark(spark: Any, path: Path) -> list[tuple[Any, ...]]:
    """Return the rows that delta-spark reads, sorted."""
    return rows_of(spark.read.format("delta").load(str(path)))
