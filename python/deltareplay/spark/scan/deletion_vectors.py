"""Removal of deleted rows by Spark: one bitmap per file, broadcast, and tested by ``getbit``.

A vector is sent as chunks of bits, each a row of ``key`` and ``words``. The key combines the number
of the vector and that of the chunk; both are known for each row of a data file. No Python runs on
executors, and deleted rows are not sent one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay._support.readers import reader
from deltareplay.exceptions import DeltaReplayError, UnsupportedFeatureError
from deltareplay.spark.scan.hidden_columns import KEY, ROW_NUMBER, VECTOR, WORDS
from deltareplay.spark.session.capabilities import version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._native import BatchIterator
    from deltareplay._snapshot.snapshot import Snapshot

#: Rows in a chunk, as powers of two, from the cheapest to test to the smallest to send.
_CHUNKS = (16, 12, 9)
#: The total size of bitmaps above which smaller chunks are tried, and the maximum.
_TARGET_BYTES = 64 << 20
_MAX_BYTES = 2 << 30
#: Position of the vector's number in a key; a file has fewer than 2^32 chunks.
_KEY_BITS = 32
#: The columns of chunks, as the core returns them.
_SCHEMA = pa.schema(
    [
        pa.field("vector", pa.int64(), nullable=False),
        pa.field("chunk", pa.int64(), nullable=False),
        pa.field("words", pa.list_(pa.field("item", pa.int64(), nullable=False)), nullable=False),
    ]
)


def has_vector(files: pa.Table) -> Any:
    """Return a mask of the files that have a deletion vector."""
    kinds = [
        pc.struct_field(chunk, [chunk.type.get_field_index("storageType")])
        for chunk in files.column("deletionVector").chunks
    ]
    return pc.is_valid(pa.chunked_array(kinds, pa.string()))


def without_deleted(
    spark: SparkSession, frame: DataFrame, snapshot: Snapshot, vectors: list[Any]
) -> DataFrame:
    """Remove the deleted rows from the rows of files.

    Args:
        spark: The session.
        frame: Numbered rows, and the number of the file's vector as ``hidden_columns.VECTOR``.
        snapshot: The version of the table.
        vectors: Descriptors, by that number.

    Raises:
        CorruptTableError: A vector does not decode; the error names its file and the version.
    """
    # a vector has at most one chunk for each deleted row, and hardly more than one for each byte
    bits = chunk_bits(sum(min(vector["cardinality"], vector["sizeInBytes"]) for vector in vectors))
    batches = snapshot.table.native.bitmaps([descriptor(vector) for vector in vectors], bits)
    try:
        bitmaps = bitmap_frame(spark, batches)
    except DeltaReplayError as error:
        if error.version is None:
            error.version = snapshot.version
        raise
    return join_bitmaps(frame, bitmaps, VECTOR, bits, "left_anti")


def descriptor(vector: Mapping[str, Any]) -> tuple[str, str, int | None, int, int]:
    """Convert a descriptor with the protocol's names to the arguments of the core."""
    return (
        vector["storageType"],
        vector["pathOrInlineDv"],
        vector["offset"],
        vector["sizeInBytes"],
        vector["cardinality"],
    )


def chunk_bits(chunks: int) -> int:
    """Return the number of rows in a chunk, as a power of two, for at most this many chunks."""
    fitting = (bits for bits in _CHUNKS if chunks * (1 << bits) // 8 <= _TARGET_BYTES)
    return next(fitting, _CHUNKS[-1])


def bitmap_frame(spark: SparkSession, chunks: BatchIterator) -> DataFrame:
    """Convert chunks of bits to a DataFrame of ``KEY`` and ``WORDS``, to be broadcast.

    Raises:
        UnsupportedFeatureError: ``spark.vectors``: the chunks are too large to be broadcast.
    """
    batches, total = [], 0
    for batch in reader(chunks):
        total += batch.nbytes
        if total > _MAX_BYTES:
            raise UnsupportedFeatureError(
                "the deletion vectors or row sets of this scan take more than "
                f"{_MAX_BYTES >> 30} GiB as bitmaps, which is too much to broadcast: narrow it "
                "with a filter, read it by the format 'deltareplay', or rewrite the files "
                "(OPTIMIZE)",
                code="spark.vectors",
            )
        batches.append(batch)
    rows = pa.Table.from_batches(batches, _SCHEMA) if batches else _SCHEMA.empty_table()
    key = pc.bit_wise_or(pc.shift_left(rows["vector"], _KEY_BITS), rows["chunk"])
    words = pa.table([key, rows["words"]], names=[KEY, WORDS])
    types = f"{KEY} bigint, {WORDS} array<bigint>"
    if version(spark) >= (4, 0):
        return spark.createDataFrame(words, types)
    return spark.createDataFrame(list(zip(*words.to_pydict().values(), strict=True)), types)


def join_bitmaps(
    frame: DataFrame, bitmaps: DataFrame, number: str, bits: int, how: str
) -> DataFrame:
    """Keep the rows whose bit is set (``left_semi``) or is not set (``left_anti``).

    With ``left``, all rows are kept; those whose bit is not set have null as their ``KEY``.

    Args:
        frame: Numbered rows.
        bitmaps: As ``bitmap_frame`` returns them.
        number: The column with the number of the bitmap.
        bits: Rows in a chunk, as a power of two.
        how: The kind of the join.
    """
    from pyspark.sql import functions as sf

    row = sf.col(ROW_NUMBER)
    in_chunk = row.bitwiseAND(sf.lit((1 << bits) - 1))
    word = sf.get(WORDS, sf.shiftright(in_chunk, 6).cast("int"))
    is_set = sf.getbit(word, row.bitwiseAND(sf.lit(63)).cast("int")) == sf.lit(1)
    high_bits = sf.shiftleft(sf.col(number).cast("bigint"), _KEY_BITS)
    key = high_bits.bitwiseOR(sf.shiftright(row, bits))
    return frame.join(sf.broadcast(bitmaps), (key == sf.col(KEY)) & is_set, how)
