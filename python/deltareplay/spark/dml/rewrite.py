"""Changes of a statement to the files of a table, staged in one transaction.

One job writes both the changed rows and their images for the change data feed, so that values that
are not deterministic are equal in both.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay._protocol.schema import Field
from deltareplay.spark.dml.target_rows import REMOVE_COLUMNS, Candidates, RowSets
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.scan.frame import materialized_columns
from deltareplay.spark.schema.alignment import evolved
from deltareplay.spark.syntax import names
from deltareplay.spark.writing.compaction import after_write
from deltareplay.spark.writing.staged_write import FileRows, StagedWrite, commit_or_discard

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from deltareplay._transaction.transaction import Transaction
    from deltareplay.spark.writing.target_table import TargetTable


class Rewrite:
    """The files that a statement removes, marks and adds, in one commit.

    If the table has deletion vectors, deleted rows are marked. Otherwise the other rows of their
    files are copied, with their row ids. A file without any remaining row is removed.

    Attributes:
        metrics: Counts of files, rows and bytes.
        staged_from: When ``stage`` was called, in seconds of the monotonic clock.
    """

    def __init__(
        self,
        candidates: Candidates,
        target: TargetTable,
        transaction: Transaction,
        columns: Collection[str] | None = None,
        *,
        by_partition: bool = False,
    ) -> None:
        """Prepare the rewrite; nothing is written yet.

        ``columns`` are those of new rows that the statement supplies; None for all. The write
        generates the others. ``by_partition`` shuffles the rows of a partitioned table before the
        write, so that a partition gets few files.
        """
        self._supplied = target.written_names if columns is None else columns
        self._by_partition = by_partition
        self._candidates = candidates
        self._target = target
        self._transaction = transaction
        self._staged: StagedWrite | None = None
        self._added: pa.Table | None = None
        self._removed: set[int] = set()
        self.metrics: Counter[str] = Counter()
        self.staged_from = time.monotonic()

    def remove_whole(self, numbers: Collection[int]) -> None:
        """Remove files with all of their rows, when ``stage`` is called."""
        self._removed |= set(numbers)

    def stage(
        self, marked: RowSets, rows: DataFrame | None = None, *, with_remaining: bool = False
    ) -> None:
        """Stage the deletion of rows and the addition of others.

        Args:
            marked: The rows to delete.
            rows: New rows, checked, with the columns of the table; with ``OLD_ROW_ID`` and
                ``OLD_VERSION`` of ``hidden_columns`` if the table tracks rows; and rows of the
                change data feed, whose ``CHANGE`` is the change type. None if there are none.
            with_remaining: Whether ``rows`` include the remaining rows of all files; only for
                tables without deletion vectors.
        """
        self.staged_from = time.monotonic()
        recorded = self._candidates.live_rows(marked.counts)
        live = self._candidates.counted_rows(recorded)
        partly_deleted = {number for number, count in marked.counts.items() if count < live[number]}
        self._removed |= set(recorded) - partly_deleted
        # the protocol requires the number of rows of a file with a vector
        uses_vectors = self._target.uses_vectors
        vectors = {
            number for number in partly_deleted if uses_vectors and recorded[number] is not None
        }
        copied = partly_deleted - vectors
        if copied and not with_remaining:
            copies = marked.without(self._candidates.rows(copied))
            copies = copies.drop(hidden_columns.FILE, hidden_columns.ROW_NUMBER)
            copies = evolved(copies, self._target.written_fields)
            if rows is not None and hidden_columns.CHANGE in rows.columns:
                copies = with_change(copies, None)
            # remaining rows are null in columns that the statement adds
            rows = copies if rows is None else rows.unionByName(copies, allowMissingColumns=True)
        if copied:
            num_deleted = sum(marked.counts[number] for number in copied)
            self.metrics["copied_rows"] = sum(live[number] for number in copied) - num_deleted
            self._removed |= copied
        if rows is not None:
            self._write(rows)
        if vectors:
            files = self._candidates.with_numbers(vectors)
            self._transaction.update_vectors(marked.write_vectors(self._transaction, files))
            self._transaction.read_files(_strings(files["path"]))
            self.metrics["vectors_added"] = files["deletionVector"].null_count
            self.metrics["vectors_updated"] = len(vectors) - files["deletionVector"].null_count
            num_deleted = sum(marked.counts[number] for number in vectors)
            self.metrics["kept_rows"] = sum(live[number] for number in vectors) - num_deleted
            self.metrics["kept_bytes"] = pc.sum(files["size"]).as_py()
        if self._removed:
            files = self._candidates.with_numbers(self._removed)
            self._transaction.read_files(_strings(files["path"]))
            self._transaction.remove_files(files.select(REMOVE_COLUMNS))
            self.metrics["removed_files"] = files.num_rows
            self.metrics["removed_bytes"] = pc.sum(files["size"]).as_py()
            self.metrics["vectors_removed"] = files.num_rows - files["deletionVector"].null_count
        if self._candidates.tracks_rows:
            self._transaction.set_tag("delta.rowTracking.preserved", "true")

    def _write(self, rows: DataFrame) -> None:
        spark = self._candidates.spark
        ids = {}
        if self._candidates.tracks_rows:
            row_id, version = materialized_columns(self._candidates.snapshot)
            ids = {row_id: hidden_columns.OLD_ROW_ID, version: hidden_columns.OLD_VERSION}
        self._staged = StagedWrite(spark, self._target, uuid.uuid4().hex, self._candidates.root)
        file_rows = FileRows.as_stored(rows, self._target, ids, self._supplied)
        written = self._staged.write(file_rows, by_partition=self._by_partition)
        self._added = written.adds
        written.stage(self._transaction, self._target)
        self.metrics["change_files"] = len(written.changes)
        self.metrics["added_files"] = written.metrics["numFiles"]
        self.metrics["added_bytes"] = written.metrics["numOutputBytes"]
        self.metrics["output_rows"] = written.metrics["numOutputRows"]

    def commit_metrics(self, **others: int) -> dict[str, int]:
        """Return the metrics of DELETE and UPDATE, by delta-spark's names."""
        counts = self.metrics
        return others | {
            "numCopiedRows": counts["copied_rows"],
            "numAddedFiles": counts["added_files"],
            "numAddedBytes": counts["added_bytes"],
            "numAddedChangeFiles": counts["change_files"],
            "numRemovedFiles": counts["removed_files"],
            "numRemovedBytes": counts["removed_bytes"],
            "numDeletionVectorsAdded": counts["vectors_added"] + counts["vectors_updated"],
            "numDeletionVectorsUpdated": counts["vectors_updated"],
            "numDeletionVectorsRemoved": counts["vectors_removed"] + counts["vectors_updated"],
        }

    @contextmanager
    def discarded_on_error(self) -> Iterator[None]:
        """Delete the written files if the block fails."""
        try:
            yield
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Delete the written files; deletion vectors are left for ``VACUUM``."""
        if self._staged is not None:
            self._staged.discard()

    def commit(self) -> int | None:
        """Commit the changes, if any; delete the written files if nothing was committed."""
        if self._transaction.is_empty:
            self.discard()
            return None
        version = commit_or_discard(self._transaction, self.discard)
        if version is not None and self._added is not None:
            after_write(self._candidates.spark, self._target, version, self._added)
        return version


def _strings(column: pa.ChunkedArray[Any]) -> list[str]:
    strings: list[Any] = column.to_pylist()
    return strings


def with_change(rows: DataFrame, change_type: str | None) -> DataFrame:
    """Add the change type to rows of the feed; it is None for rows of the table."""
    from pyspark.sql import functions as sf

    return rows.withColumn(hidden_columns.CHANGE, sf.lit(change_type).cast("string"))


def with_images(rows: DataFrame, fields: Sequence[Field]) -> DataFrame:
    """Return changed rows together with their images, as ``Rewrite.stage`` takes them.

    Args:
        rows: The table's columns after the change; ``hidden_columns`` as follows: the columns
            before the change in ``BEFORE``, the kind of change in ``KIND``, and row ids if the
            table tracks rows.
        fields: The columns of the table.
    """
    from pyspark.sql import functions as sf

    ids = [
        column
        for column in (hidden_columns.OLD_ROW_ID, hidden_columns.OLD_VERSION)
        if column in rows.columns
    ]

    def row(change: str | None, *, old: bool) -> Column:
        columns = []
        for field in fields:
            new = sf.col(names.quoted(field.name))
            column = sf.col(hidden_columns.BEFORE).getField(field.name) if old else new
            columns.append(column.alias(field.name))
        columns.append(sf.lit(change).cast("string").alias(hidden_columns.CHANGE))
        null = sf.lit(None).cast("bigint")
        columns += [(sf.col(name) if change is None else null).alias(name) for name in ids]
        return sf.struct(*columns)

    data = row(None, old=False)
    update = sf.array(data, row("update_preimage", old=True), row("update_postimage", old=False))
    insert = sf.array(data, row("insert", old=False))
    kind = sf.col(hidden_columns.KIND)
    written = sf.when(kind == "update", update).when(kind == "insert", insert)
    return rows.select(sf.inline(written.otherwise(sf.array(row("delete", old=True)))))


def inserted(rows: DataFrame, fields: Sequence[Field], *, tracks_rows: bool) -> DataFrame:
    """Add the hidden columns that ``with_images`` takes to new rows."""
    from pyspark.sql import functions as sf

    null = sf.lit(None).cast("bigint")
    id_names = (hidden_columns.OLD_ROW_ID, hidden_columns.OLD_VERSION) if tracks_rows else ()
    ids = [null.alias(name) for name in id_names]
    columns = [sf.col(names.quoted(field.name)).alias(field.name) for field in fields]
    before = sf.struct(*columns).alias(hidden_columns.BEFORE)  # has the right type; not read
    return rows.select(*columns, *ids, before, sf.lit("insert").alias(hidden_columns.KIND))
