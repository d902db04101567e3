"""The files in which a statement looks for rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay.spark.scan import hidden_columns as names
from deltareplay.spark.scan.frame import check_types, frame
from deltareplay.spark.scan.projection import ExtraColumns
from deltareplay.spark.schema.fields import Column, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._snapshot.snapshot import Snapshot

Json = dict[str, Any]

_COLUMNS = [
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "stats",
    "tags",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
    "numRecords",
    "partitionValues_parsed",
]


@dataclass(frozen=True)
class Candidates:
    """Live files of one version, numbered.

    Attributes:
        spark: The session.
        snapshot: The version.
        files: The columns of ``add``, ``numRecords``, and the number as ``names.FILE``.
        columns: The columns of the table.
        root: As in ``read``.
    """

    spark: SparkSession
    snapshot: Snapshot
    files: pa.Table
    columns: list[Column]
    root: str | None

    @classmethod
    def of(
        cls, spark: SparkSession, snapshot: Snapshot, filter: Filter | None, root: str | None
    ) -> Candidates:
        """Return the files that match a filter."""
        files = snapshot.scan(filter=filter).files(_COLUMNS)
        files = files.append_column(names.FILE, pa.array(range(files.num_rows), pa.int32()))
        columns = [column for column in columns_of(snapshot) if not column.is_void]
        check_types(spark, columns)
        return cls(spark, snapshot, files, columns, root)

    @property
    def tracks_rows(self) -> bool:
        """Whether the table has row tracking."""
        return self.snapshot.properties.get("delta.enableRowTracking", "").lower() == "true"

    def numbers(self, filter: Filter | None = None) -> set[int]:
        """Return the numbers of all files, or of those that match a filter."""
        files = self.files
        if filter is not None:
            left = self.snapshot.scan(filter=filter).files(["path"])["path"]
            files = files.filter(pc.is_in(files["path"], left.combine_chunks()))
        numbers_of_files: list[Any] = files[names.FILE].to_pylist()
        return set(numbers_of_files)

    def live_rows(self, numbers: Collection[int]) -> dict[int, int | None]:
        """Return the number of live rows per file; None if a file's statistics lack it."""
        columns = ["numRecords", "deletionVector", names.FILE]
        files: list[Json] = self.chosen(numbers).select(columns).to_pylist()
        return {file[names.FILE]: _live_rows(file) for file in files}

    def counted_rows(self, live: Mapping[int, int | None]) -> dict[int, int]:
        """Complete the result of ``live_rows``: Spark counts rows of files without statistics."""
        from pyspark.sql import functions as sf

        counts = {number: rows or 0 for number, rows in live.items()}
        unknown = [number for number, rows in live.items() if rows is None]
        if unknown:
            grouped = self.rows(unknown).groupBy(sf.col(names.FILE).alias("file"))
            counted = grouped.agg(sf.count(sf.lit(1)).alias("rows")).toArrow()
            numbers: list[Any] = counted["file"].to_pylist()
            rows: list[Any] = counted["rows"].to_pylist()
            counts.update(zip(numbers, rows, strict=True))
        return counts

    def chosen(self, numbers: Collection[int]) -> pa.Table:
        """Return the files with these numbers."""
        sorted_numbers = pa.array(sorted(numbers), pa.int32())
        return self.files.filter(pc.is_in(self.files[names.FILE], sorted_numbers))

    def rows(self, numbers: Collection[int] | None = None) -> DataFrame:
        """Return the rows of all files, or of those with these numbers, without deleted rows.

        The result has the columns of the table, then ``names.FILE`` and ``names.ROW_NUMBER``; if
        the table tracks rows, also ``names.OLD_ROW_ID`` and ``names.OLD_VERSION``.
        """
        files = self.files if numbers is None else self.chosen(numbers)
        extra = ExtraColumns(self.tracks_rows, file_path=False, row_index=False, origin=True)
        return frame(self.spark, self.snapshot, files, self.columns, extra, self.root)


def _live_rows(file: Json) -> int | None:
    rows, vector = file["numRecords"], file["deletionVector"]
    return None if rows is None else rows - (0 if vector is None else vector["cardinality"])
