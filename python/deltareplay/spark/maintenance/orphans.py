"""Old files of a table that its log does not name, found by the executors."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay.spark.catalog.table_argument import table_of
from deltareplay.spark.executors import run
from deltareplay.spark.executors.replay import files
from deltareplay.spark.schema.frames import from_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._snapshot.snapshot import Snapshot

_FILES = "path string, size long"

#: About how many directories are listed in parallel.
LISTINGS = 64


def unnamed(
    spark: SparkSession, snapshot: Snapshot, cutoff: int, named: Sequence[str]
) -> tuple[list[str], int]:
    """Return the files that are older than a cutoff and are not live or otherwise protected.

    Tasks list the table, one for each top-level directory, or deeper ones if there are few. Others
    resolve the paths of live files and their deletion vectors. An anti join of both, on the
    executors, leaves the orphaned files.

    Args:
        spark: The session.
        snapshot: The latest version.
        cutoff: Milliseconds since the epoch: younger files are left out.
        named: Additional paths that are protected.

    Returns:
        Their paths, sorted, relative to the table root and not encoded; and their total size.
    """
    table = table_of(snapshot)
    visible = _native.visible_names(snapshot._native)
    directories, above = _native.listing_parts(table._native, visible, LISTINGS, cutoff)
    columns: dict[str, Any] = {
        "path": pa.array([path for path, _ in above], pa.string()),
        "size": pa.array([size for _, size in above], pa.int64()),
    }
    listed = from_arrow(spark, pa.table(columns), _FILES)
    if directories:
        sent = pickle.dumps((table, visible, cutoff, directories))
        tasks = len(directories)
        below = run.rows(spark, "old_files", sent, tasks, _FILES)
        listed = listed.union(below)
    live = files(spark, snapshot, columns=["path", "deletionVector"])
    protected = run.over(live, "named_files", pickle.dumps(table), "path string")
    if named:
        others = pa.table({"path": pa.array(named, pa.string())})
        protected = protected.union(from_arrow(spark, others))
    orphans: Any = listed.join(protected, "path", "left_anti").toArrow().sort_by("path")
    return orphans.column("path").to_pylist(), sum(orphans.column("size").to_pylist())
