"""Changes of a statement to the files of a table, staged in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay.spark.dml.overwrite import REMOVED
from deltareplay.spark.scan import hidden_columns as names
from deltareplay.spark.scan.frame import materialized_columns
from deltareplay.spark.schema.alignment import evolved
from deltareplay.spark.writing import identity_columns
from deltareplay.spark.writing.compaction import after_write
from deltareplay.spark.writing.staged_files import Staged, commit_or_discard
from deltareplay.spark.writing.table_rows import Outgoing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deltareplay._transaction.transaction import Transaction
    from deltareplay.spark.dml.row_sets import Marked
    from deltareplay.spark.scan.candidates import Candidates
    from deltareplay.spark.writing.target_table import TargetTable


class Rewrite:
    """The files that a statement removes, marks and adds, in one commit.

    If the table has deletion vectors, deleted rows are marked. Otherwise the other rows of their
    files are copied, with their row ids. A file without any remaining row is removed.

    Attributes:
        metrics: Counts of files, rows and bytes, under neutral names.
    """

    def __init__(
        self,
        candidates: Candidates,
        target: TargetTable,
        transaction: Transaction,
        columns: Collection[str] | None = None,
    ) -> None:
        """Prepare the rewrite; nothing is written yet.

        Args:
            candidates: The files.
            target: The table.
            transaction: The transaction.
            columns: Columns of new rows whose values do not come from the table; None for all.
        """
        self._given = target.written_names if columns is None else columns
        self._candidates = candidates
        self._target = target
        self._transaction = transaction
        self._staged: Staged | None = None
        self._added: pa.Table | None = None
        self._removed: set[int] = set()
        self.metrics = dict.fromkeys(
            (
                "copied",
                "added",
                "added_bytes",
                "output_rows",
                "removed",
                "removed_bytes",
                "vectors_added",
                "vectors_updated",
                "vectors_rows",
                "vectors_bytes",
                "change_files",
            ),
            0,
        )

    def remove_whole(self, numbers: Collection[int]) -> None:
        """Mark files for removal with all of their rows."""
        self._removed |= set(numbers)

    def stage(
        self, marked: Marked, rows: DataFrame | None = None, *, with_kept: bool = False
    ) -> None:
        """Stage the deletion of rows and the addition of others.

        Args:
            marked: The rows to delete.
            rows: New rows with the columns of the table, checked, and rows of the change data feed,
                with the change type as ``names.CHANGE``; with ``names.OLD_ROW_ID`` and
                ``names.OLD_VERSION`` if the table tracks rows. None if there are none.
            with_kept: Whether ``rows`` include the remaining rows of all files; only for tables
                without deletion vectors.
        """
        live_rows = self._candidates.live_rows(marked.counts)
        live = self._candidates.counted_rows(live_rows)
        some_stay = {number for number, count in marked.counts.items() if count < live[number]}
        self._removed |= set(live_rows) - some_stay
        # the protocol requires the number of rows beside a vector
        uses_vectors = self._target.uses_vectors
        vectors = {number for number in some_stay if uses_vectors and live_rows[number] is not None}
        copied = some_stay - vectors
        if copied and not with_kept:
            left = marked.without(self._candidates.rows(copied))
            left = evolved(left.drop(names.FILE, names.ROW_NUMBER), self._target.written_fields)
            if rows is not None and names.CHANGE in rows.columns:
                left = with_change(left, None)
            # rows that stay have null in columns that the statement adds
            rows = left if rows is None else rows.unionByName(left, allowMissingColumns=True)
        if copied:
            leaving = sum(marked.counts[number] for number in copied)
            self.metrics["copied"] = sum(live[number] for number in copied) - leaving
            self._removed |= copied
        if rows is not None:
            self._write(rows)
        if vectors:
            files = self._candidates.chosen(vectors)
            self._transaction.update_vectors(marked.write_vectors(self._transaction, files))
            self._transaction.read_files(_texts(files["path"]))
            had = sum(vector is not None for vector in files["deletionVector"].to_pylist())
            self.metrics["vectors_updated"] = had
            self.metrics["vectors_added"] = len(vectors) - had
            leaving = sum(marked.counts[number] for number in vectors)
            self.metrics["vectors_rows"] = sum(live[number] for number in vectors) - leaving
            self.metrics["vectors_bytes"] = pc.sum(files["size"]).as_py()
        if self._removed:
            files = self._candidates.chosen(self._removed)
            self._transaction.read_files(_texts(files["path"]))
            self._transaction.remove_files(files.select(REMOVED))
            self.metrics["removed"] = files.num_rows
            self.metrics["removed_bytes"] = pc.sum(files["size"]).as_py()
        if self._candidates.tracks_rows:
            self._transaction._description["tags"]["delta.rowTracking.preserved"] = "true"

    def _write(self, rows: DataFrame) -> None:
        spark = self._candidates.spark
        ids = {}
        if self._candidates.tracks_rows:
            row_id, version = materialized_columns(self._candidates.snapshot)
            ids = {row_id: names.OLD_ROW_ID, version: names.OLD_VERSION}
        self._staged = Staged(spark, self._target, uuid.uuid4().hex, self._candidates.root)
        written = self._staged.write(Outgoing.as_stored(rows, self._target, ids, self._given))
        identity_columns.set_marks(self._transaction, self._target, written.marks)
        self._added = written.adds
        written.stage(self._transaction)
        self.metrics["change_files"] = len(written.changes)
        counted = Staged.metrics(written.adds)
        self.metrics["added"] = counted["numFiles"]
        self.metrics["added_bytes"] = counted["numOutputBytes"]
        self.metrics["output_rows"] = counted["numOutputRows"]

    def commit_metrics(self, **others: int) -> dict[str, int]:
        """Return the metrics of DELETE and UPDATE, by delta-spark's names."""
        counts = self.metrics
        return others | {
            "numCopiedRows": counts["copied"],
            "numAddedFiles": counts["added"],
            "numAddedBytes": counts["added_bytes"],
            "numAddedChangeFiles": counts["change_files"],
            "numRemovedFiles": counts["removed"],
            "numRemovedBytes": counts["removed_bytes"],
            "numDeletionVectorsAdded": counts["vectors_added"] + counts["vectors_updated"],
            "numDeletionVectorsUpdated": counts["vectors_updated"],
            "numDeletionVectorsRemoved": counts["vectors_updated"],
        }

    def discard(self) -> None:
        """Delete the written files; deletion vectors are left for ``VACUUM``."""
        if self._staged is not None:
            self._staged.discard()

    def commit(self) -> int | None:
        """Commit the changes, if any; delete the written files if nothing was committed."""
        if self._transaction._native.is_empty():
            self.discard()
            return None
        version = commit_or_discard(self._transaction, self.discard)
        if version is not None and self._added is not None:
            after_write(self._candidates.spark, self._target, version, self._added)
        return version


def _texts(column: pa.ChunkedArray[Any]) -> list[str]:
    texts: list[Any] = column.to_pylist()
    return texts


def with_change(rows: DataFrame, kind: str | None) -> DataFrame:
    """Add the change type of rows of the feed; None marks rows of the table."""
    from pyspark.sql import functions as sf

    return rows.withColumn(names.CHANGE, sf.lit(kind).cast("string"))
