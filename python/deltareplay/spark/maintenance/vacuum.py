"""``vacuum``: deletion of files that no version in the retention period needs, by the executors."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay._support.arguments import checked
from deltareplay._support.units import instant, span
from deltareplay._table.vacuum import Vacuumed
from deltareplay.exceptions import DeltaReplayError, StorageError
from deltareplay.spark.catalog.table_argument import TableLike, resolved, table_of
from deltareplay.spark.executors import run
from deltareplay.spark.executors.worker import Batches, answers
from deltareplay.spark.maintenance.orphans import unnamed
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from deltareplay._table.table import Table

_MILLISECOND = timedelta(milliseconds=1)

#: Files that a task deletes.
FILES_PER_TASK = 1000


@dataclass(frozen=True)
class DeleteFiles:
    """Deletes files.

    Attributes:
        parts: The paths of each part.
    """

    table: Table
    parts: list[list[str]]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Delete the files of the parts of these numbers."""

        def delete(part: int) -> str:
            _native.delete_files(self.table.native, self.parts[part])
            return ""

        return answers(batches, delete)


@checked
def vacuum(
    spark: SparkSession,
    table: TableLike,
    *,
    retention: timedelta | None = None,
    lite: bool = False,
    dry_run: bool = True,
    force: bool = False,
    log: bool | None = None,
) -> Vacuumed:
    """Delete data files that no version inside the retention period needs, on the executors.

    Rules and result are those of ``Table.vacuum``; use this for tables with too many files for one
    machine to list in time. Tasks list the table and resolve the paths in the log, a join finds
    the files that nothing names, and tasks delete them. The driver holds the removals of the
    retention period and the paths to delete in memory.

    Args:
        spark: As in ``read``.
        table: As in ``read``; of a ``Snapshot``, the latest version is used.
        retention: As in ``Table.vacuum``.
        lite: As in ``Table.vacuum``. Nothing is listed, so the driver does it alone.
        dry_run: As in ``Table.vacuum``.
        force: As in ``Table.vacuum``.
        log: As in ``Table.vacuum``.

    Returns:
        The files that were deleted, or would be.

    Raises:
        InvalidArgumentError: The retention is too short; or with ``lite`` the log does not reach
            back far enough.
        UnsupportedFeatureError: The table has a feature that this release cannot write; or the
            executors lack deltareplay.
        StorageError: A file cannot be deleted.

    >>> vacuum(spark, "s3://lake/events").size_in_bytes  # doctest: +SKIP
    52613349376
    """
    capabilities.check_writing(spark, "vacuuming")
    of = table_of(resolved(spark, table))
    if lite:
        return of.vacuum(retention, lite=True, dry_run=dry_run, force=force, log=log)
    snapshot = of.snapshot()
    milliseconds = None if retention is None else retention // _MILLISECOND
    own, period, cutoff = _native.vacuum_period(
        of.native, snapshot.native, milliseconds, force, dry_run
    )
    run.check(spark)
    removed = _native.removed_files(of.native, snapshot.native, cutoff)
    paths, size = unnamed(spark, snapshot, cutoff, removed)
    report = Vacuumed(
        dry_run=dry_run,
        lite=False,
        cutoff=instant(cutoff),
        retention=span(period),
        files=tuple(paths),
        size_in_bytes=size,
    )
    if dry_run:
        return report
    if log is None:
        log = not of.uri.startswith("s3")
    parameters = {"retentionCheckEnabled": not force, "defaultRetentionMillis": own}
    if milliseconds is not None:
        parameters["specifiedRetentionMillis"] = milliseconds
    metrics = {"numFilesToDelete": len(paths), "sizeOfDataToDelete": size}
    started = functools.partial(_note, of, "VACUUM START", parameters, metrics)
    is_late = False
    if log:
        try:
            started()
        except StorageError as error:
            if error.code != "storage.full":
                raise
            is_late = True  # deleting makes space for it
    covered = _native.covered_by_vacuum(of.native, snapshot.native, cutoff)
    # deleting files makes their directories young
    directories = _native.old_directories(of.native, _native.visible_names(snapshot.native), cutoff)
    try:
        _delete(spark, of, paths)
        vacuumed = _native.finish_vacuum(of.native, covered, directories)
    except DeltaReplayError:
        if log:
            _end(of, "FAILED", 0, 0)
        raise
    try:
        if is_late:
            started()
        if log:
            _end(of, "COMPLETED", len(paths), vacuumed)
    except StorageError as error:
        if error.code != "storage.full":  # the files are deleted, even if the log cannot record it
            raise
    return report


def _delete(spark: SparkSession, table: Table, paths: list[str]) -> None:
    parts = [paths[at : at + FILES_PER_TASK] for at in range(0, len(paths), FILES_PER_TASK)]
    run.answers(spark, DeleteFiles(table, parts), len(parts))


def _end(table: Table, status: str, files: int, directories: int) -> None:
    metrics = {"numDeletedFiles": files, "numVacuumedDirectories": directories}
    _note(table, "VACUUM END", {"status": status}, metrics)


def _note(
    table: Table, operation: str, parameters: dict[str, Any], metrics: dict[str, int]
) -> None:
    """Commit an operation without file actions."""
    table.transaction(operation, parameters=parameters, metrics=metrics).commit()
