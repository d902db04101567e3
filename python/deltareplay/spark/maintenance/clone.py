"""``clone``: a copy of a table whose files the executors copy."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay._table.clone import target_of
from deltareplay._table.renamed import renamed
from deltareplay.spark.catalog.table_argument import TableLike, snapshot_at, table_of
from deltareplay.spark.executors import run
from deltareplay.spark.executors.worker import Batches, results
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from deltareplay._table.table import Table

#: The approximate number of bytes that a task copies, and the maximum number of files.
BYTES_PER_TASK = 1 << 30
FILES_PER_TASK = 500

#: A file of ``Cloning.copies``; the last value is its size, if it is known.
_Copy = tuple[str, str | None, str, int | None]


@dataclass(frozen=True)
class CopyFiles:
    """Copies files of one table into another.

    Attributes:
        source: The table that has the files.
        target: The table that they are copied into.
        parts: The files of each part.
    """

    source: Table
    target: Table
    parts: list[list[_Copy]]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Copy the files of the numbered parts."""
        source, target = self.source.native, self.target.native
        return results(
            batches, lambda part: str(_native.copy_files(source, target, self.parts[part]))
        )


@renamed(replace="or_replace")
def clone(
    spark: SparkSession,
    source: TableLike,
    target: str | os.PathLike[str],
    *,
    version: int | None = None,
    timestamp: datetime.datetime | str | None = None,
    shallow: bool = True,
    or_replace: bool = False,
    properties: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Table:
    """Create a table with the rows of a version of another; the executors copy the files.

    Rules and results are those of ``Table.clone``. A shallow clone needs no executor: it is only a
    commit. For a deep one, the tasks copy about 1 GiB each, then the driver commits.

    Args:
        spark: As in ``read``.
        source: As in ``read``; with a ``Snapshot``, its version.
        target: The location of the clone. The executors must be able to reach it.
        version: As in ``Table.clone``.
        timestamp: As in ``Table.clone``.
        shallow: As in ``Table.clone``.
        or_replace: As in ``Table.clone``.
        properties: As in ``Table.clone``.
        storage_options: As in ``Table.clone``.

    Returns:
        The clone.

    Raises:
        UnsupportedFeatureError: Spark is older than 4.0 (``spark.too_old``); or the executors lack
            deltareplay (``spark.executors``).
        TableNotFoundError: As in ``read``.
        DeltaReplayError: As for ``Table.clone``.

    >>> clone(spark, "s3://lake/events", "s3://lake/copy", shallow=False)  # doctest: +SKIP
    Table('s3://lake/copy')
    """
    target_table, _ = commit_clone(
        spark,
        source,
        target,
        version=version,
        timestamp=timestamp,
        shallow=shallow,
        or_replace=or_replace,
        properties=properties,
        storage_options=storage_options,
    )
    return target_table


def commit_clone(
    spark: SparkSession,
    source: TableLike,
    target: str | os.PathLike[str],
    *,
    version: int | None = None,
    timestamp: datetime.datetime | str | None = None,
    shallow: bool,
    or_replace: bool,
    properties: Mapping[str, str] | None,
    storage_options: Mapping[str, str] | None = None,
) -> tuple[Table, int | None]:
    """Return the table that ``clone`` returns, and the version that it committed."""
    capabilities.require_spark_4(spark, "cloning")
    snapshot = snapshot_at(spark, source, version, timestamp)
    source_table = table_of(snapshot)
    target_table = target_of(source_table, target, shallow, storage_options)
    cloning = _native.Cloning(
        source_table.native,
        snapshot.native,
        target_table.native,
        shallow,
        or_replace,
        dict(properties or {}),
    )
    parts = _parts(cloning.copies())
    if parts:
        run.check(spark)
        run.results(spark, CopyFiles(source_table, target_table, parts), len(parts))
    return target_table, cloning.commit(True)


def _parts(copies: list[_Copy]) -> list[list[_Copy]]:
    """Group the files to copy by task."""
    parts: list[list[_Copy]] = []
    remaining = 0
    for copy in copies:
        if not parts or remaining <= 0 or len(parts[-1]) == FILES_PER_TASK:
            parts.append([])
            remaining = BYTES_PER_TASK
        parts[-1].append(copy)
        remaining -= copy[3] or 0
    return parts
