"""Deleted rows left out by Spark itself: a bitmap a file, broadcast, and tested by ``getbit``.

A vector travels as chunks of bits, each a row of ``key`` and ``words``. The key is the number of
the vector, above that of the chunk; every row of a data file knows both. No Python runs, and no row
stands for a deleted row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay._readers import reader
from deltareplay.exceptions import DeltaReplayError, UnsupportedFeatureError
from deltareplay.spark.names import ROW_NUMBER, VECTOR
from deltareplay.spark.session import version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._snapshot import Snapshot

#: Rows in a chunk, as powers of two, from the cheapest to test to the smallest to send.
_CHUNKS = (16, 12, 9)
#: The total size of the bitmaps from which smaller chunks are tried, and the largest allowed.
_COMFORTABLE = 64 << 20
_MOST = 2 << 30
#: Place of the vector's number in a key; a file has fewer than 2^32 chunks.
_KEY_BITS = 32


def has_vector(files: pa.Table) -> Any:
    """Which files have a deletion vector."""
    kinds = [
        pc.struct_field(chunk, [chunk.type.get_field_index("storageType")])
        for chunk in files.column("deletionVector").chunks
    ]
    return pc.is_valid(pa.chunked_array(kinds, pa.string()))


def without_deleted(
    spark: SparkSession, frame: DataFrame, snapshot: Snapshot, vectors: list[Any]
) -> DataFrame:
    """Leaves the deleted rows out of the rows of some files.

    Args:
        spark: The session.
        frame: Numbered rows, and the number of the file's vector as ``names.VECTOR``.
        snapshot: Whose table the vectors belong to.
        vectors: Descriptors, by that number.

    Raises:
        CorruptTableError: A vector does not decode; the error names its file and the version.
        UnsupportedFeatureError: They are too large to be broadcast.
    """
    from pyspark.sql import functions as sf

    bits = _chunk_bits(vectors)
    bitmaps = _bitmaps(spark, snapshot, vectors, bits)
    row = sf.col(ROW_NUMBER)
    in_chunk = row.bitwiseAND(sf.lit((1 << bits) - 1))
    word = sf.get("__deltareplay_words", sf.shiftright(in_chunk, 6).cast("int"))
    deleted = sf.getbit(word, row.bitwiseAND(sf.lit(63)).cast("int")) == sf.lit(1)
    key = sf.shiftleft(sf.col(VECTOR), _KEY_BITS).bitwiseOR(sf.shiftright(row, bits))
    same = key == sf.col("__deltareplay_key")
    return frame.join(sf.broadcast(bitmaps), same & deleted, "left_anti")


def _chunk_bits(vectors: list[dict[str, Any]]) -> int:
    for bits in _CHUNKS:
        # A vector has at most as many chunks as rows, and about as many as bytes at most.
        chunks = sum(min(one["cardinality"], one["sizeInBytes"]) for one in vectors)
        if chunks * (1 << bits) // 8 <= _COMFORTABLE:
            return bits
    return _CHUNKS[-1]


def _bitmaps(
    spark: SparkSession, snapshot: Snapshot, vectors: list[dict[str, Any]], bits: int
) -> DataFrame:
    descriptors = [
        (
            one["storageType"],
            one["pathOrInlineDv"],
            one["offset"],
            one["sizeInBytes"],
            one["cardinality"],
        )
        for one in vectors
    ]
    batches, total = [], 0
    try:
        for batch in reader(snapshot._table._native.bitmaps(descriptors, bits)):
            total += batch.nbytes
            if total > _MOST:
                raise UnsupportedFeatureError(
                    f"the deletion vectors of this scan take more than {_MOST >> 30} GiB as "
                    "bitmaps, which is too much to broadcast: narrow it with a filter, read it by "
                    "the format 'deltareplay', or rewrite the files (OPTIMIZE)",
                    code="spark.vectors",
                )
            batches.append(batch)
    except DeltaReplayError as error:
        if error.version is None:
            error.version = snapshot.version
        raise
    rows = pa.Table.from_batches(batches, _SCHEMA) if batches else _SCHEMA.empty_table()
    key = pc.bit_wise_or(pc.shift_left(rows["vector"], _KEY_BITS), rows["chunk"])
    found = pa.table([key, rows["words"]], names=["__deltareplay_key", "__deltareplay_words"])
    types = "__deltareplay_key bigint, __deltareplay_words array<bigint>"
    if version(spark) >= (4, 0):
        return spark.createDataFrame(found, types)
    return spark.createDataFrame(list(zip(*found.to_pydict().values(), strict=True)), types)


_SCHEMA = pa.schema(
    [
        pa.field("vector", pa.int64(), nullable=False),
        pa.field("chunk", pa.int64(), nullable=False),
        pa.field("words", pa.list_(pa.field("item", pa.int64(), nullable=False)), nullable=False),
    ]
)
