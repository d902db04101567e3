"""The result of ``OPTIMIZE`` and ``REORG``: one row with delta-spark's metrics."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay._expressions.filter_at import filter_at
from deltareplay._names import parts_of
from deltareplay._protocol.properties import property_of
from deltareplay._snapshot.clustering import clustering_columns
from deltareplay.spark.maintenance.detail import location
from deltareplay.spark.maintenance.optimize import optimize
from deltareplay.spark.schema.frames import from_arrow
from deltareplay.spark.schema.spelling import check_spelling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._table.table import Table
    from deltareplay._transaction.written import Written


def _required(name: str, data_type: Any) -> pa.Field[Any]:
    return pa.field(name, data_type, nullable=False)


_LONG = pa.int64()
_SIZES = pa.struct(
    [
        ("min", _LONG),
        ("max", _LONG),
        _required("avg", pa.float64()),
        _required("totalFiles", _LONG),
        _required("totalSize", _LONG),
    ]
)
_CUBE_FILES = pa.struct([_required("num", _LONG), _required("size", _LONG)])
_Z_ORDER = pa.struct(
    [
        ("strategyName", pa.string()),
        ("inputCubeFiles", _CUBE_FILES),
        ("inputOtherFiles", _CUBE_FILES),
        _required("inputNumCubes", _LONG),
        ("mergedFiles", _CUBE_FILES),
        _required("numOutputCubes", _LONG),
        ("mergedNumCubes", _LONG),
    ]
)
_CLUSTER_FILES = pa.struct([_required("numFiles", _LONG), _required("size", _LONG)])
_CLUSTERING = pa.struct(
    [
        ("inputZCubeFiles", _CLUSTER_FILES),
        ("inputOtherFiles", _CLUSTER_FILES),
        _required("inputNumZCubes", _LONG),
        ("mergedFiles", _CLUSTER_FILES),
        _required("numOutputZCubes", _LONG),
    ]
)
_PARALLELISM = pa.struct(
    [
        (f"{bound}{scope}ActiveParallelism", _LONG)
        for scope in ("Cluster", "Session")
        for bound in ("max", "min")
    ]
)
_VECTORS = pa.struct(
    [
        _required("numDeletionVectorsRemoved", _LONG),
        _required("numDeletionVectorRowsRemoved", _LONG),
    ]
)
_METRICS = pa.struct(
    [
        _required("numFilesAdded", _LONG),
        _required("numFilesRemoved", _LONG),
        ("filesAdded", _SIZES),
        ("filesRemoved", _SIZES),
        _required("partitionsOptimized", _LONG),
        ("zOrderStats", _Z_ORDER),
        ("clusteringStats", _CLUSTERING),
        _required("numBins", _LONG),
        _required("numBatches", _LONG),
        _required("totalConsideredFiles", _LONG),
        _required("totalFilesSkipped", _LONG),
        _required("preserveInsertionOrder", pa.bool_()),
        _required("numFilesSkippedToReduceWriteAmplification", _LONG),
        _required("numBytesSkippedToReduceWriteAmplification", _LONG),
        _required("startTimeMs", _LONG),
        _required("endTimeMs", _LONG),
        _required("totalClusterParallelism", _LONG),
        _required("totalScheduledTasks", _LONG),
        ("autoCompactParallelismStats", _PARALLELISM),
        ("deletionVectorStats", _VECTORS),
        _required("numTableColumns", _LONG),
        _required("numTableColumnsWithStats", _LONG),
    ]
)
_SCHEMA = pa.schema([("path", pa.string()), ("metrics", _METRICS)])

#: Tags of a clustered file: its cube, and the clustering columns as JSON.
_CUBE, _CUBE_COLUMNS = "ZCUBE_ID", "ZCUBE_ZORDER_BY"


def run(
    spark: SparkSession,
    table: Table,
    where: str | None,
    z_order_by: Sequence[str] | None = None,
    *,
    purge: bool = False,
    full: bool = False,
) -> DataFrame:
    """Rewrite files, and return the metrics.

    The arguments are those of ``deltareplay.spark.optimize``, and ``where`` may have the current
    time.
    """
    check_spelling(spark, table, map(_path, z_order_by or ()), "alter.column")
    if where is not None:
        where = _at_current_time(spark, where)
    started = _now()
    before = table.snapshot()
    commit = optimize(spark, table, where=where, z_order_by=z_order_by, purge=purge, full=full)
    metrics = _metrics(table, before, commit, where, z_order_by, full=full)
    metrics["startTimeMs"], metrics["endTimeMs"] = started, _now()
    metrics["totalClusterParallelism"] = _parallelism(spark)
    row = {"path": location(table.uri), "metrics": metrics}
    return from_arrow(spark, pa.Table.from_pylist([row], _SCHEMA))


def _at_current_time(spark: SparkSession, where: str) -> str:
    """Replace the functions of the current time in a condition, if it has any.

    The core has no time zone but UTC, so the time is what the clock shows in the session's zone.
    """
    if filter_at(where, datetime.min) == filter_at(where, datetime.max):
        return where
    [row] = spark.sql("SELECT CAST(current_timestamp() AS TIMESTAMP_NTZ) AS now").collect()
    return filter_at(where, row.now)


def _path(column: str) -> Sequence[str]:
    return parts_of(column) or (column,)


def _metrics(
    table: Table,
    before: Snapshot,
    commit: Written,
    where: str | None,
    z_order_by: Sequence[str] | None,
    *,
    full: bool,
) -> dict[str, Any]:
    added, removed = _files(table, commit.version)
    considered = before.files(["path"], where).num_rows
    partitions = len({json.dumps(file["partitionValues"], sort_keys=True) for file in removed})
    columns = len(before.schema.names)
    indexed = _indexed_columns(before.properties)
    clusters = not z_order_by and "delta.clustering" in before.domain_metadata
    vectors = [file["deletionVector"] for file in removed if file["deletionVector"]]
    metrics: dict[str, Any] = {
        "numFilesAdded": len(added),
        "numFilesRemoved": len(removed),
        "filesAdded": _sizes(added),
        "filesRemoved": _sizes(removed),
        "partitionsOptimized": partitions,
        "zOrderStats": None,
        "clusteringStats": None,
        "numBins": partitions if z_order_by or clusters else len(added),
        "numBatches": 1,
        "totalConsideredFiles": considered,
        "totalFilesSkipped": considered - len(removed),
        "preserveInsertionOrder": not z_order_by and not clusters,
        "numFilesSkippedToReduceWriteAmplification": 0,
        "numBytesSkippedToReduceWriteAmplification": 0,
        "totalScheduledTasks": 0,
        "autoCompactParallelismStats": None,
        "deletionVectorStats": None,
        "numTableColumns": columns,
        "numTableColumnsWithStats": columns if indexed < 0 else min(indexed, columns),
    }
    if vectors:
        rows = sum(vector["cardinality"] for vector in vectors)
        metrics["deletionVectorStats"] = {
            "numDeletionVectorsRemoved": len(vectors),
            "numDeletionVectorRowsRemoved": rows,
        }
    size = sum(file["size"] or 0 for file in removed)
    if z_order_by:
        merged = {"num": len(removed), "size": size}
        metrics["zOrderStats"] = {
            "strategyName": "all",
            "inputCubeFiles": {"num": 0, "size": 0},
            "inputOtherFiles": merged,
            "inputNumCubes": 0,
            "mergedFiles": merged,
            "numOutputCubes": partitions,
            "mergedNumCubes": None,
        }
    elif clusters:
        metrics["clusteringStats"] = {
            **_input_cubes(before, full=full),
            "mergedFiles": {"numFiles": len(removed), "size": size},
            "numOutputZCubes": len({dict(file["tags"]).get(_CUBE) for file in added}),
        }
    return metrics


def _input_cubes(before: Snapshot, *, full: bool) -> dict[str, Any]:
    """Return the number and size of files in and outside of cubes of the clustering columns."""
    files = before.files(["size", "tags"])
    cubes, columns = (pc.map_lookup(files["tags"], tag, "first") for tag in (_CUBE, _CUBE_COLUMNS))
    is_in_cube = cubes.is_valid()
    if not full:
        current = json.dumps(clustering_columns(before), separators=(",", ":"), ensure_ascii=False)
        is_in_cube = pc.and_(is_in_cube, pc.fill_null(pc.equal(columns, pa.scalar(current)), False))
    sizes = files["size"]

    def totals(mask: Any) -> dict[str, int]:
        chosen = sizes.filter(mask)
        return {"numFiles": len(chosen), "size": pc.sum(chosen).as_py() or 0}

    return {
        "inputZCubeFiles": totals(is_in_cube),
        "inputOtherFiles": totals(pc.invert(is_in_cube)),
        "inputNumZCubes": len(cubes.filter(is_in_cube).unique()),
    }


def _indexed_columns(properties: Mapping[str, str]) -> int:
    """Return the number of columns that get statistics; negative for all.

    Another writer may have stored a text that is no number; files then get the default.

    >>> _indexed_columns({"delta.dataSkippingNumIndexedCols": "many"})
    32
    """
    try:
        return int(property_of(properties, "delta.dataSkippingNumIndexedCols") or "")
    except ValueError:
        return 32


def _files(table: Table, version: int | None) -> tuple[list[Any], list[Any]]:
    """Return the files that the commit added and removed; none without a commit."""
    if version is None:
        return [], []
    rows = table.actions(version, version).read_all().select(["add", "remove"]).to_pylist()
    added = [row["add"] for row in rows if row["add"] is not None]
    return added, [row["remove"] for row in rows if row["remove"] is not None]


def _sizes(files: list[Any]) -> dict[str, Any]:
    sizes = [file["size"] or 0 for file in files]
    return {
        "min": min(sizes, default=None),
        "max": max(sizes, default=None),
        "avg": sum(sizes) / len(sizes) if sizes else 0.0,
        "totalFiles": len(sizes),
        "totalSize": sum(sizes),
    }


def _parallelism(spark: SparkSession) -> int:
    """Return the number of tasks that the cluster runs at once; 0 if Connect hides it."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Connect raises its own error
        return 0


def _now() -> int:
    return int(time.time() * 1000)
