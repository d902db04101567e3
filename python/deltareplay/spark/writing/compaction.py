"""The tasks of OPTIMIZE, and its commit."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay._support.warnings import warn
from deltareplay._transaction.written import Written, options, written
from deltareplay.exceptions import CommitStateUnknownError, DeltaReplayError
from deltareplay.spark.executors import run
from deltareplay.spark.executors.worker import Batches, cores, results
from deltareplay.spark.session import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._table.table import Table
    from deltareplay.spark.writing.target_table import TargetTable

#: Bytes of data files that a task spills.
_PIECE = 64 << 20


@dataclass(frozen=True)
class PackFiles:
    """Packs some bins of a plan, each into one file.

    Attributes:
        definition: The definition on which its data files depend.
    """

    table: Table
    definition: tuple[Any, ...]
    bins: list[str]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the ``add`` bodies of each numbered bin, as a JSON array."""
        table, definition = self.table.native, self.definition
        return results(
            batches, lambda part: _native.pack_files(table, definition, self.bins[part], cores())
        )


@dataclass(frozen=True)
class SpillPieces:
    """Writes some pieces of bins into temporary files, their rows grouped by part of an order.

    Attributes:
        pieces: Each piece, after the index of its order in ``orders``.
    """

    table: Table
    directory: str
    orders: list[str]
    pieces: list[tuple[int, str]]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the temporary file of each numbered piece, as JSON."""

        def spill(number: int) -> str:
            order, piece = self.pieces[number]
            path = f"{self.directory}/{uuid.uuid4()}"  # each attempt of a task has its own
            return _native.spill_piece(self.table.native, self.orders[order], piece, path)

        return results(batches, spill)


@dataclass(frozen=True)
class WriteOrdered:
    """Writes some files out of the temporary files of their bins.

    Attributes:
        definition: The definition on which its data files depend.
        spilled: The temporary files of each order, as JSON.
        files: The index of each file in its order, after the index of the order in ``orders``.
    """

    table: Table
    definition: tuple[Any, ...]
    orders: list[str]
    spilled: list[list[str]]
    files: list[tuple[int, int]]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the ``add`` bodies of each numbered file, as a JSON array."""

        def write(number: int) -> str:
            order, file = self.files[number]
            return _native.write_ordered(
                self.table.native, self.definition, self.orders[order], file, self.spilled[order]
            )

        return results(batches, write)


class Compaction:
    """Files that replace others, written by the executors."""

    def __init__(
        self, spark: SparkSession, target: TargetTable, plan: _native.OptimizePlan
    ) -> None:
        """Prepare the rewrite; nothing is written yet."""
        self._spark = spark
        self._table = target.table
        self._definition = target.definition
        self._plan = plan

    def commit(self, user_metadata: str | None) -> Written:
        """Run the tasks, and commit the files that they wrote.

        Raises:
            CommitConflictError: Another writer removed or changed a file that was rewritten.
            StorageError: ``rows.vacuumed``: a vacuum deleted files that the tasks wrote.
        """
        added = self._ordered() if self._plan.is_ordered else self._packed()
        text = settings.user_metadata(self._spark) if user_metadata is None else user_metadata
        write_options = options(None, None, text, None, True, 60.0)
        # if nothing is committed, the files are deleted
        return written(self._plan.commit(added, write_options))

    def _packed(self) -> list[tuple[int, str]]:
        bins = self._plan.bins()
        task = PackFiles(self._table, self._definition, bins)
        return list(enumerate(run.results(self._spark, task, len(bins))))

    def _ordered(self) -> list[tuple[int, str]]:
        planned = self._plan.orders(_PIECE)
        orders = [order for order, _, _ in planned]
        pieces = [
            (number, piece)
            for number, (_, pieces_of_order, _) in enumerate(planned)
            for piece in pieces_of_order
        ]
        directory = str(uuid.uuid4())
        try:
            task = SpillPieces(self._table, directory, orders, pieces)
            spills = run.results(self._spark, task, len(pieces))
            spilled: list[list[str]] = [[] for _ in orders]
            for (number, _), spill in zip(pieces, spills, strict=True):
                spilled[number].append(spill)
            files = [
                (number, file)
                for number, (_, _, count) in enumerate(planned)
                for file in range(count)
            ]
            ordered = WriteOrdered(self._table, self._definition, orders, spilled, files)
            adds = run.results(self._spark, ordered, len(files))
        finally:
            self._discard(directory)
        return [(number, added) for (number, _), added in zip(files, adds, strict=True)]

    def _discard(self, directory: str) -> None:
        try:
            _native.discard_spilled(self._table.native, directory)
        except DeltaReplayError as error:
            warn(f"temporary files remain in {directory} until VACUUM removes them: {error}")


def after_write(spark: SparkSession, target: TargetTable, version: int, added: pa.Table) -> None:
    """Compact small files after a write, if the session or the table enables it.

    ``added`` has the columns of ``add`` of the files that the write added. Failures, except the one
    below, are warnings, because the write is committed.

    Raises:
        CommitStateUnknownError: It is not known whether the compaction was committed.
    """
    compacts = settings.compacts(spark)
    if compacts is None:
        compacts = _native.is_auto_compacted(target.metadata)
    if not compacts:
        return
    table = target.table
    try:
        snapshot = table.snapshot(version)
        body = json.dumps(
            [{**row, "partitionValues": dict(row["partitionValues"])} for row in added.to_pylist()]
        )
        plan = _native.OptimizePlan.after_write(table.native, snapshot.native, body)
        if plan is not None:
            Compaction(spark, target, plan).commit(None)
    except CommitStateUnknownError:
        raise
    except Exception as error:
        warn(f"version {version} is committed, but its small files are not compacted: {error}")
