"""Old files of a table that its log does not name, found by the executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay.spark.catalog.table_argument import table_of
from deltareplay.spark.executors import run
from deltareplay.spark.executors.replay import files
from deltareplay.spark.executors.worker import Batches, numbers_of, stream_of
from deltareplay.spark.schema.frames import from_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._table.table import Table

_FILES = "path string, size long"

#: About how many directories are listed in parallel.
LISTINGS = 64


@dataclass(frozen=True)
class ListOldFiles:
    """Lists the files of some directories that are older than a cutoff.

    Attributes:
        visible: The names that a vacuum sees, as text.
        cutoff: Milliseconds since the epoch.
        directories: The directory of each part.
    """

    table: Table
    visible: str
    cutoff: int
    directories: list[str]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return path, relative to the table and not encoded, and size of each file."""
        for number in numbers_of(batches):
            listed = _native.old_files(
                self.table.native, self.visible, self.directories[number], self.cutoff
            )
            yield pa.RecordBatch.from_pydict(
                {
                    "path": pa.array([path for path, _ in listed], pa.string()),
                    "size": pa.array([size for _, size in listed], pa.int64()),
                }
            )


@dataclass(frozen=True)
class ResolveNames:
    """Resolves the paths of data files and deletion vectors that the log names."""

    table: Table

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the paths of file actions that have ``path`` and ``deletionVector``."""
        if (actions := stream_of(batches)) is not None:
            paths = _native.named_files(self.table.native, actions)
            yield pa.RecordBatch.from_pydict({"path": pa.array(paths, pa.string())})


def unnamed(
    spark: SparkSession, snapshot: Snapshot, cutoff: int, used_paths: Sequence[str]
) -> tuple[list[str], int]:
    """Return the files that are older than a cutoff and are not live or otherwise protected.

    Tasks list the table, one for each top-level directory, or deeper ones if there are few. Others
    resolve the paths of live files and their deletion vectors. An anti join of both, on the
    executors, leaves the orphaned files.

    Args:
        spark: The session.
        snapshot: The latest version.
        cutoff: Milliseconds since the epoch: younger files are left out.
        used_paths: Additional paths that are protected.

    Returns:
        Their paths, sorted, relative to the table root and not encoded; and their total size.
    """
    table = table_of(snapshot)
    visible = _native.visible_names(snapshot.native)
    directories, above = _native.listing_parts(table.native, visible, LISTINGS, cutoff)
    columns: dict[str, Any] = {
        "path": pa.array([path for path, _ in above], pa.string()),
        "size": pa.array([size for _, size in above], pa.int64()),
    }
    listed = from_arrow(spark, pa.table(columns), _FILES)
    if directories:
        task = ListOldFiles(table, visible, cutoff, directories)
        listed = listed.union(run.rows(spark, task, len(directories), _FILES))
    live = files(spark, snapshot, columns=["path", "deletionVector"])
    protected = run.over(live, ResolveNames(table), "path string")
    if used_paths:
        used_files = pa.table({"path": pa.array(used_paths, pa.string())})
        protected = protected.union(from_arrow(spark, used_files))
    orphans: Any = listed.join(protected, "path", "left_anti").toArrow().sort_by("path")
    return orphans.column("path").to_pylist(), sum(orphans.column("size").to_pylist())
