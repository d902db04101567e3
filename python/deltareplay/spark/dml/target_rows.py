"""The files and rows of the table that a statement works on.

Spark aggregates row positions into 64-bit words, without Python and mostly before the
shuffle. The driver keeps at most one bit per row, and sends the sets back as bitmaps, which a join
tests.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay import _native
from deltareplay._protocol.properties import is_on
from deltareplay.spark.scan import deletion_vectors, hidden_columns
from deltareplay.spark.scan.frame import check_types, frame
from deltareplay.spark.scan.projection import ExtraColumns
from deltareplay.spark.schema.fields import Column as TableColumn
from deltareplay.spark.schema.fields import columns_of
from deltareplay.spark.session import capabilities, internals
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._transaction.transaction import Transaction

#: The columns of a file that its ``remove`` action needs.
REMOVE_COLUMNS = [
    "path",
    "partitionValues",
    "size",
    "tags",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
]

_COLUMNS = [*REMOVE_COLUMNS, "modificationTime", "stats", "numRecords", "partitionValues_parsed"]


@dataclass(frozen=True)
class Candidates:
    """Live files of one version, each with a number.

    Attributes:
        files: The columns of ``add``, ``numRecords``, and the number as ``hidden_columns.FILE``.
    """

    spark: SparkSession
    snapshot: Snapshot
    files: pa.Table
    columns: list[TableColumn]
    root: str | None

    @classmethod
    def of(
        cls, spark: SparkSession, snapshot: Snapshot, filter: Filter | None, root: str | None
    ) -> Candidates:
        """Return the files that match a filter."""
        files = snapshot.scan(filter=filter).files(_COLUMNS)
        files = files.append_column(
            hidden_columns.FILE, pa.array(range(files.num_rows), pa.int32())
        )
        columns = columns_of(snapshot, with_void_fields=capabilities.reads_void(spark))
        check_types(spark, columns)
        return cls(spark, snapshot, files, columns, root)

    @property
    def tracks_rows(self) -> bool:
        """True if the table has row tracking."""
        return is_on(self.snapshot.properties, "delta.enableRowTracking")

    def numbers(self, filter: Filter | None = None) -> set[int]:
        """Return the numbers of all files, or of those that match a filter."""
        files = self.files
        if filter is not None:
            paths = self.snapshot.scan(filter=filter).files(["path"])["path"]
            files = files.filter(pc.is_in(files["path"], paths.combine_chunks()))
        numbers_of_files: list[Any] = files[hidden_columns.FILE].to_pylist()
        return set(numbers_of_files)

    def live_rows(self, numbers: Collection[int]) -> dict[int, int | None]:
        """Return the number of live rows of each file; None if its statistics lack the number."""
        columns = ["numRecords", "deletionVector", hidden_columns.FILE]
        files: list[dict[str, Any]] = self.with_numbers(numbers).select(columns).to_pylist()
        return {file[hidden_columns.FILE]: _live_rows(file) for file in files}

    def counted_rows(self, live: Mapping[int, int | None]) -> dict[int, int]:
        """Complete the result of ``live_rows``: Spark counts the rows of the other files."""
        from pyspark.sql import functions as sf

        counts = {number: rows or 0 for number, rows in live.items()}
        unknown = [number for number, rows in live.items() if rows is None]
        if unknown:
            grouped = self.rows(unknown).groupBy(sf.col(hidden_columns.FILE).alias("file"))
            counted = internals.arrow_of(grouped.agg(sf.count(sf.lit(1)).alias("rows")))
            numbers: list[Any] = counted["file"].to_pylist()
            rows: list[Any] = counted["rows"].to_pylist()
            counts.update(zip(numbers, rows, strict=True))
        return counts

    def with_numbers(self, numbers: Collection[int]) -> pa.Table:
        """Return the files with these numbers."""
        sorted_numbers = pa.array(sorted(numbers), pa.int32())
        return self.files.filter(pc.is_in(self.files[hidden_columns.FILE], sorted_numbers))

    def rows(self, numbers: Collection[int] | None = None) -> DataFrame:
        """Return the rows of all files, or of those with these numbers, without deleted rows.

        The result has the columns of the table, then ``FILE`` and ``ROW_NUMBER`` of
        ``hidden_columns``; if the table tracks rows, also ``OLD_ROW_ID`` and ``OLD_VERSION``.
        """
        files = self.files if numbers is None else self.with_numbers(numbers)
        extra = ExtraColumns(self.tracks_rows, origin=True)
        return frame(self.spark, self.snapshot, files, self.columns, extra, self.root)


def _live_rows(file: dict[str, Any]) -> int | None:
    rows, vector = file["numRecords"], file["deletionVector"]
    return None if rows is None else rows - (0 if vector is None else vector["cardinality"])


_WORDS = pa.schema([("file", pa.int32()), ("word", pa.int64()), ("bits", pa.int64())])


class RowSets:
    """Sets of rows: for each file, by its number, the positions of rows."""

    def __init__(self, spark: SparkSession, words: pa.Table) -> None:
        """Create the sets from the columns ``file``, ``word`` and ``bits``."""
        self._spark = spark
        self._native = _native.MarkedRows(words)
        #: The number of rows in the set of each file.
        self.counts: dict[int, int] = dict(self._native.counts())

    @classmethod
    def of(cls, rows: DataFrame) -> RowSets:
        """Run a query, and return its rows as sets.

        The rows have ``FILE`` and ``ROW_NUMBER`` of ``hidden_columns``.
        """
        return cls(rows.sparkSession, words(rows, {"bits": bit()}))

    @classmethod
    def of_words(cls, spark: SparkSession, table: pa.Table, *columns: str) -> RowSets:
        """Return the union of columns of the output of ``words``."""
        parts = [table.select(["file", "word", column]) for column in columns]
        renamed = [part.rename_columns(["file", "word", "bits"]) for part in parts]
        joined = pa.concat_tables(renamed)
        return cls(spark, joined.filter(pc.not_equal(joined["bits"], pa.scalar(0))))

    @classmethod
    def empty(cls, spark: SparkSession) -> RowSets:
        """Return sets without rows."""
        return cls(spark, _WORDS.empty_table())

    def __len__(self) -> int:
        return sum(self.counts.values())

    def only(self, rows: DataFrame) -> DataFrame:
        """Keep the rows in the sets."""
        return self._joined(rows, "left_semi")

    def without(self, rows: DataFrame) -> DataFrame:
        """Keep the rows that are not in the sets."""
        return self._joined(rows, "left_anti")

    def flagged(self, rows: DataFrame) -> DataFrame:
        """Keep all rows; add ``hidden_columns.MARKED``, which is true for rows in the sets."""
        from pyspark.sql import functions as sf

        joined = self._joined(rows, "left")
        marked = sf.col(hidden_columns.KEY).isNotNull().alias(hidden_columns.MARKED)
        return joined.select(*[sf.col(names.quoted(column)) for column in rows.columns], marked)

    def _joined(self, rows: DataFrame, how: str) -> DataFrame:
        bits = deletion_vectors.chunk_bits(len(self))
        bitmaps = deletion_vectors.bitmap_frame(self._spark, self._native.bitmaps(bits))
        return deletion_vectors.join_bitmaps(rows, bitmaps, hidden_columns.FILE, bits, how)

    def write_vectors(
        self, transaction: Transaction, files: pa.Table
    ) -> Mapping[str, Mapping[str, Any]]:
        """Write deletion vectors, merged with the existing vectors of the files.

        Return the descriptors, by the path of the data file. ``files`` are rows of
        ``Candidates.files``.
        """
        numbers: list[Any] = files[hidden_columns.FILE].to_pylist()
        existing = [
            vector and deletion_vectors.descriptor(vector)
            for vector in files["deletionVector"].to_pylist()
        ]
        written = self._native.write_vectors(
            transaction.native, list(zip(numbers, existing, strict=True))
        )
        paths: list[Any] = files["path"].to_pylist()
        return dict(zip(paths, written, strict=True))


def bit() -> Column:
    """Return the bit of a row in its word."""
    from pyspark.sql import functions as sf

    position = sf.col(hidden_columns.ROW_NUMBER).bitwiseAND(sf.lit(63)).cast("int")
    return sf.call_function("shiftleft", sf.lit(1).cast("bigint"), position)


#: The file number of the extra row, which belongs to no file.
EXTRA_ROW = -1


def words(
    rows: DataFrame,
    bits: Mapping[str, Column],
    *aggregates: Column,
    extra_row: DataFrame | None = None,
) -> pa.Table:
    """Run a query, and aggregate its rows by the columns ``file`` and ``word``.

    Args:
        rows: Rows with ``hidden_columns.FILE`` and ``hidden_columns.ROW_NUMBER``.
        bits: Bits of rows, by the name of their column; the bits of a word are combined by OR.
        aggregates: Other aggregates, with aliases.
        extra_row: A row with other aggregates to add to the result, with ``EXTRA_ROW`` as its file.
    """
    from pyspark.sql import functions as sf

    word = sf.shiftright(sf.col(hidden_columns.ROW_NUMBER), 6).alias("word")
    combined = [sf.bit_or(column).alias(name) for name, column in bits.items()]
    grouped = rows.groupBy(sf.col(hidden_columns.FILE).alias("file"), word)
    aggregated = grouped.agg(*combined, *aggregates)
    if extra_row is not None:
        extra_row = extra_row.withColumn("file", sf.lit(EXTRA_ROW))
        aggregated = aggregated.unionByName(extra_row, allowMissingColumns=True)
    return internals.arrow_of(aggregated)
