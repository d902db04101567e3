"""Data files that Spark has written and that are not committed yet."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pyarrow as pa

from deltareplay import _native
from deltareplay.exceptions import CommitStateUnknownError, DeltaReplayError, StorageError
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.session import capabilities
from deltareplay.spark.session import settings as delta_settings
from deltareplay.spark.storage.staging_directory import Directory
from deltareplay.spark.syntax import names
from deltareplay.spark.writing import constraints, identity_columns
from deltareplay.spark.writing.table_rows import Outgoing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._transaction.transaction import Transaction
    from deltareplay.spark.writing.target_table import TargetTable

#: Characters that are not encoded in the paths of the log.
SAFE = "/=:@!$&'()*+,;~-._"

#: Values that are not the names of their directories.
_DIRECTORIES = {"__HIVE_DEFAULT_PARTITION__": None, hidden_columns.EMPTY: ""}

#: Settings of the written files that only a session can have.
_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}

#: Additional settings for Spark 4.1 and later.
_SHREDDING = {"spark.sql.variant.writeShredding.enabled": "false"}


#: For optimized writes: partitions of the shuffle are joined, or cut, to about this size.
_OPTIMIZED = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "512m",
}


@dataclass(frozen=True)
class StagedFiles:
    """The files that a job has written.

    Attributes:
        adds: The columns of ``add`` for each data file.
        changes: The arguments of ``Transaction.add_change_data`` for each change data file.
        changed_rows: The number of rows in change data files.
        marks: The new high-water marks of identity columns, by name.
        written: The encoded path, size in bytes and time in milliseconds of each file.
    """

    adds: pa.Table
    changes: list[dict[str, Any]]
    changed_rows: int
    marks: Mapping[str, int]
    written: list[tuple[str, int, int]]

    def stage(self, transaction: Transaction) -> None:
        """Stage the files; the commit checks that old files still exist."""
        transaction.add_files(self.adds)
        for change in self.changes:
            transaction.add_change_data(**change)
        transaction.expect(self.written)


class Staged:
    """A directory of new data files in a table."""

    def __init__(
        self, spark: SparkSession, target: TargetTable, name: str, root: str | None
    ) -> None:
        """Choose the name of the directory, without writing anything.

        Args:
            spark: The session.
            target: The table.
            name: The name of the directory, unique to this write.
            root: The table's Hadoop path, if it is not its URI.
        """
        self._spark = spark
        self._target = target
        self._directory = Directory(spark, target.table, name, root)
        #: Change data files outside of the directory, not encoded.
        self._changes: list[str] = []

    def write(self, outgoing: Outgoing) -> StagedFiles:
        """Write the rows, and return the files that have rows.

        Raises:
            InvalidArgumentError: A row breaks a constraint.
        """
        from pyspark.sql import Observation
        from pyspark.sql import functions as sf

        codec = self._target.properties.get("delta.parquet.compression.codec", "snappy")
        settings = _SETTINGS | (_SHREDDING if capabilities.version(self._spark) >= (4, 1) else {})
        written, rows = Observation(), outgoing.rows
        if self._is_optimized():
            # the rows of a partition come together; Spark's planner evens out the files
            rows = rows.hint("rebalance", *map(sf.col, map(names.quoted, outgoing.partitions)))
            settings |= _OPTIMIZED
        rows = capabilities.in_own_session(rows, settings)
        counted = outgoing.counted
        farthest = [
            identity_columns.farthest(field, name).alias(name) for name, field in counted.items()
        ]
        rows = rows.observe(written, sf.count(sf.lit(1)).alias("rows"), *farthest)
        writer = rows.write.format("parquet").mode("append").option("compression", codec.lower())
        writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        writer = writer.options(**self._directory.opened_by.options_for(self._spark))
        try:
            writer.partitionBy(*outgoing.partitions).save(self._directory.path)
        except Exception as error:
            broken = constraints.broken(error)
            if broken is None:
                raise
            raise broken from error
        observed = written.get
        marks = {field.name: observed[name] for name, field in counted.items()}
        marks = {name: mark for name, mark in marks.items() if mark is not None}
        files = self._files(outgoing.partitions, marks)
        self._check_rows(files, observed["rows"])
        return files

    def _is_optimized(self) -> bool:
        """Return whether rows are shuffled before the write, by session or table."""
        optimizes = delta_settings.optimizes_writes(self._spark)
        if optimizes is not None:
            return optimizes
        properties = {key.lower(): value.lower() for key, value in self._target.properties.items()}
        return "true" in (
            properties.get("delta.autooptimize"),
            properties.get("delta.autooptimize.optimizewrite"),
        )

    def _check_rows(self, files: StagedFiles, written: int) -> None:
        """Check that there are no files of attempts that Spark did not commit.

        Some committers leave such files: an attempt that moved its files and was then lost is
        repeated, and if the source is not deterministic, files of the first attempt may remain.
        """
        num_rows = self.metrics(files.adds)["numOutputRows"] + files.changed_rows
        if num_rows != written:
            raise StorageError(
                f"Spark's tasks committed {written} rows, but the files in {self._directory.name} "
                f"have {num_rows}: a repeated attempt left extra files, or lost some. Nothing was "
                "committed; write again",
                code="write.uncommitted_files",
            )

    def _files(self, partitions: Sequence[str], marks: Mapping[str, int]) -> StagedFiles:
        files = _native.staged_statistics(
            self._target.table.native, self._directory.name, self._target.facts
        )
        adds, changes, changed = [], [], 0
        for file in files:
            row: dict[str, Any] = dict(zip(_LISTED, file, strict=True))
            count = json.loads(row["stats"])["numRecords"]
            if count == 0:
                continue
            directories = row["path"].split("/")[1 : 1 + len(partitions)]
            values = [tuple(map(unquote, directory.split("=", 1))) for directory in directories]
            known = [(key, _DIRECTORIES.get(value, value)) for key, value in values]
            is_change = dict(known).get(hidden_columns.IS_CHANGE) == "true"
            known = [value for value in known if value[0] != hidden_columns.IS_CHANGE]
            if is_change:
                changes.append({**row, "partitionValues": known})
                changed += count
            else:
                path = quote(row["path"], safe=SAFE)
                adds.append({**row, "path": path, "partitionValues": known, "dataChange": True})
        moved = self._moved(changes)
        times = [row["modificationTime"] for row in changes]
        written = [(row["path"], row["size"], row["modificationTime"]) for row in adds]
        written += [
            (change["path"], change["size"], time)
            for change, time in zip(moved, times, strict=True)
        ]
        return StagedFiles(pa.Table.from_pylist(adds, _ADD), moved, changed, marks, written)

    def _moved(self, changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Move change data files to the directory that the protocol prescribes."""
        if not changes:
            return []
        moved = {}
        for change in changes:
            _, _, *directories, file = change["path"].split("/")
            file = "cdc-" + file.removeprefix("part-")
            moved[change["path"]] = "/".join(["_change_data", *directories, file])
        self._changes = list(moved.values())  # they may exist even if not all can be moved
        _native.move_staged(self._target.table.native, list(moved.items()))
        return [
            {
                "path": quote(moved[change["path"]], safe=SAFE),
                "size": change["size"],
                "partition_values": dict(change["partitionValues"]),
            }
            for change in changes
        ]

    @staticmethod
    def metrics(written: pa.Table) -> dict[str, int]:
        """Return the metrics of the write."""
        added = written.to_pylist()
        rows = sum(json.loads(file["stats"])["numRecords"] for file in added)
        return {
            "numFiles": written.num_rows,
            "numOutputRows": rows,
            "numOutputBytes": sum(file["size"] for file in added),
        }

    def discard(self) -> None:
        """Delete the files as far as possible; the rest is left for ``VACUUM``."""
        if self._changes:
            paths = [quote(path, safe=SAFE) for path in self._changes]
            with contextlib.suppress(DeltaReplayError):  # the error that led here counts
                _native.discard_staged(self._target.table.native, paths)
        self._directory.discard()


_LISTED = ("path", "size", "modificationTime", "stats")

_ADD = pa.schema(
    [
        ("path", pa.string()),
        ("partitionValues", pa.map_(pa.string(), pa.string())),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
    ]
)


def commit_or_discard(transaction: Transaction, discard: Callable[[], None]) -> int | None:
    """Commit; delete the written files if it is certain that nothing was committed.

    Args:
        transaction: The transaction to commit.
        discard: Deletes the written files.
    """
    try:
        return transaction.commit()
    except CommitStateUnknownError:
        raise
    except DeltaReplayError:  # after other errors, such as Ctrl-C, the commit may exist
        discard()
        raise
