"""Row positions per data file, collected by Spark as bitmaps.

Spark aggregates positions into words of 64 bits, without Python and mostly before the shuffle. The
driver keeps at most a bit for each row, and sends the sets back as bitmaps that a join tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay import _native
from deltareplay.spark.scan import deletion_vectors, hidden_columns
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._transaction.transaction import Transaction

_WORDS = pa.schema([("file", pa.int32()), ("word", pa.int64()), ("bits", pa.int64())])


class RowSets:
    """Sets of rows, by the number of their file."""

    def __init__(self, spark: SparkSession, words: pa.Table) -> None:
        """Create the sets from words of bits.

        Args:
            spark: The session.
            words: The columns ``file``, ``word`` and ``bits``.
        """
        self._spark = spark
        self._native = _native.MarkedRows(words)
        #: The number of rows in the set of each file.
        self.counts: dict[int, int] = dict(self._native.counts())

    @classmethod
    def of(cls, rows: DataFrame) -> RowSets:
        """Run a query, and return the set of its rows.

        Args:
            rows: Rows with ``names.FILE`` and ``names.ROW_NUMBER``.
        """
        return cls(rows.sparkSession, words(rows, {"bits": bit()}))

    @classmethod
    def of_words(cls, spark: SparkSession, table: pa.Table, *columns: str) -> RowSets:
        """Return the union of one or several columns of the output of ``words``."""
        parts = [table.select(["file", "word", column]) for column in columns]
        named = [part.rename_columns(["file", "word", "bits"]) for part in parts]
        joined = pa.concat_tables(named)
        return cls(spark, joined.filter(pc.not_equal(joined["bits"], pa.scalar(0))))

    @classmethod
    def none(cls, spark: SparkSession) -> RowSets:
        """Return an empty set."""
        return cls(spark, _WORDS.empty_table())

    def __len__(self) -> int:
        return sum(self.counts.values())

    def only(self, rows: DataFrame) -> DataFrame:
        """Keep the marked rows."""
        return self._joined(rows, "left_semi")

    def without(self, rows: DataFrame) -> DataFrame:
        """Keep the rows that are not marked."""
        return self._joined(rows, "left_anti")

    def flagged(self, rows: DataFrame) -> DataFrame:
        """Keep all rows, and add ``names.MARKED``."""
        from pyspark.sql import functions as sf

        joined = self._joined(rows, "left")
        marked = sf.col(deletion_vectors.KEY).isNotNull().alias(hidden_columns.MARKED)
        return joined.select(*[sf.col(names.quoted(column)) for column in rows.columns], marked)

    def _joined(self, rows: DataFrame, how: str) -> DataFrame:
        bits = deletion_vectors.chunk_bits(len(self))
        bitmaps = deletion_vectors.sent(self._spark, self._native.bitmaps(bits))
        return deletion_vectors.joined(rows, bitmaps, hidden_columns.FILE, bits, how)

    def write_vectors(
        self, transaction: Transaction, files: pa.Table
    ) -> Mapping[str, Mapping[str, Any]]:
        """Write deletion vectors, merged with the existing vectors of the files.

        Args:
            transaction: The transaction that is to commit them.
            files: The files, as ``Candidates`` has them.

        Returns:
            The descriptors, by the path of the data file.
        """
        numbers: list[Any] = files[hidden_columns.FILE].to_pylist()
        old = [
            vector and deletion_vectors.descriptor(vector)
            for vector in files["deletionVector"].to_pylist()
        ]
        written = self._native.write_vectors(
            transaction.native, list(zip(numbers, old, strict=True))
        )
        paths: list[Any] = files["path"].to_pylist()
        return dict(zip(paths, written, strict=True))


def bit() -> Column:
    """Return the bit of a row in its word."""
    from pyspark.sql import functions as sf

    position = sf.col(hidden_columns.ROW_NUMBER).bitwiseAND(sf.lit(63)).cast("int")
    return sf.call_function("shiftleft", sf.lit(1).cast("bigint"), position)


#: The number of no file: that of the row beside the words.
BESIDE = -1


def words(
    rows: DataFrame,
    bits: Mapping[str, Column],
    *others: Column,
    beside: DataFrame | None = None,
) -> pa.Table:
    """Run a query, and aggregate its rows to the columns ``file``, ``word`` and others.

    Args:
        rows: Rows with ``names.FILE`` and ``names.ROW_NUMBER``.
        bits: Bits of rows, by the name of their column; those of a word are combined by OR.
        others: Other aggregates, with their names.
        beside: A row with other aggregates to add to the result, with ``BESIDE`` as its file.
    """
    from pyspark.sql import functions as sf

    word = sf.shiftright(sf.col(hidden_columns.ROW_NUMBER), 6).alias("word")
    united = [sf.bit_or(column).alias(name) for name, column in bits.items()]
    grouped = rows.groupBy(sf.col(hidden_columns.FILE).alias("file"), word)
    aggregated = grouped.agg(*united, *others)
    if beside is not None:
        beside = beside.withColumn("file", sf.lit(BESIDE))
        aggregated = aggregated.unionByName(beside, allowMissingColumns=True)
    table: pa.Table = aggregated.toArrow()
    return table
