"""The DataFrames that statements return, as in delta-spark: metrics, or paths for ``VACUUM``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay.spark.schema.frames import from_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._table.restore import Restored
    from deltareplay._table.table import Table


def affected(spark: SparkSession, metrics: Mapping[str, int], metric: str) -> DataFrame:
    """Return the result of ``DELETE`` and ``UPDATE``.

    ``metric`` counts the rows. As in delta-spark, the count is -1 if it is unknown.
    """
    return _row(spark, {"num_affected_rows": metrics.get(metric, -1)})


def merged(spark: SparkSession, metrics: Mapping[str, int]) -> DataFrame:
    """Return the result of ``MERGE``."""
    updated, deleted, inserted = (
        metrics.get(f"numTargetRows{kind}", 0) for kind in ("Updated", "Deleted", "Inserted")
    )
    row = {
        "num_affected_rows": updated + deleted + inserted,
        "num_updated_rows": updated,
        "num_deleted_rows": deleted,
        "num_inserted_rows": inserted,
    }
    return _row(spark, row)


def restored(spark: SparkSession, table: Table, commit: Restored) -> DataFrame:
    """Return the result of ``RESTORE``."""
    snapshot = table.snapshot(commit.version)
    row = {
        "table_size_after_restore": snapshot.size_in_bytes,
        "num_of_files_after_restore": snapshot.num_files,
        "num_removed_files": commit.num_removed_files,
        "num_restored_files": commit.num_restored_files,
        "removed_files_size": commit.removed_files_size,
        "restored_files_size": commit.restored_files_size,
    }
    return _row(spark, row)


def cloned(spark: SparkSession, metrics: Mapping[str, int]) -> DataFrame:
    """Return the result of ``SHALLOW CLONE`` in SQL.

    Without metrics, because an existing table was kept, all values are -1.
    """
    columns = {
        "source_table_size": "sourceTableSize",
        "source_num_of_files": "sourceNumOfFiles",
        "num_removed_files": "numRemovedFiles",
        "num_copied_files": "numCopiedFiles",
        "removed_files_size": "removedFilesSize",
        "copied_files_size": "copiedFilesSize",
    }
    return _row(spark, {name: metrics.get(metric, -1) for name, metric in columns.items()})


def vacuumed(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Return the result of ``VACUUM`` in SQL."""
    return from_arrow(spark, pa.table({"path": pa.array(paths, pa.string())}))


def _row(spark: SparkSession, values: Mapping[str, Any]) -> DataFrame:
    schema = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in values])
    return from_arrow(spark, pa.Table.from_pylist([dict(values)], schema))
