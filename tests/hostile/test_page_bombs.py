"""Pages of Parquet files whose headers claim less, or more, than is in them.

Each file has some kilobytes, or few megabytes. What the decoders of the Parquet crate would
allocate is stated beside each case; each process is limited and measured as in ``test_memory``.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hostile.test_memory import MAX_MIB, run
from support import logs, parquet_bytes
from support.parquet_bytes import DATA, DATA_V2, DICTIONARY, Column, varint, zigzag

READS = (
    "sum(b.num_rows for b in table.snapshot().scan().to_batches())",
    "table.update(None, {'x': 'x'}).version",
    "[(f.code, f.path) for f in table.verify(rows=True).findings]",
)
TYPES = {"int64": "long", "string": "string", "fixed": "binary"}
HUGE = 2 << 30


def make(table: Path, column: Column, rows: int) -> None:
    log = logs.LogBuilder(table)
    log.create(logs.schema(x=TYPES[column.kind]))
    size = parquet_bytes.write(table / "a.parquet", column, rows)
    log.commit(logs.add("a.parquet", size=size, stats=None))


def refuses(table: Path, reads: tuple[str, ...] = READS) -> None:
    for code in reads:
        output, peak = run(table, code)
        if "verify" in code:
            assert output == [["data.pages", "a.parquet"]], code
        else:
            assert output[:3] == ["CorruptTableError", "data.pages", "a.parquet"], code
        assert peak < MAX_MIB, code


def compressed(content: bytes, codec: Any) -> bytes:
    return pa.compress(content, codec, asbytes=True)


def zeros(codec: Any) -> bytes:
    """Return 2 GiB of zeros: members of gzip, one stream of brotli, one frame of lz4."""
    if codec == "gzip":
        encoder = zlib.compressobj(9, zlib.DEFLATED, 31)
        member = encoder.compress(bytes(64 << 20)) + encoder.flush()
        return member * (HUGE // (64 << 20))
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        piece = bytes(16 << 20)
        for _ in range(HUGE // len(piece)):
            stream.write(piece)
    return bytes(sink.getvalue())


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["gzip", "brotli", "lz4"])
def test_pages_that_decompress_to_more_than_they_claim(codec: str, tmp_path: Path) -> None:
    """2 GiB each where eight bytes are claimed; their decoders return all there is."""
    body = zeros(codec)
    small = compressed(bytes(8), "lz4_raw" if codec == "lz4" else codec)
    pages = {
        "v1": (parquet_bytes.page(DATA, body, 8, 1), 0),
        "v2": (parquet_bytes.page(DATA_V2, body, 8, 1), 0),
        "dictionary": (parquet_bytes.page(DICTIONARY, body, 8, 1), 1),
    }
    if codec != "gzip":
        del pages["v1"]
    for name, (page, is_dictionary) in pages.items():
        table = tmp_path / name
        table.mkdir()
        dictionary = len(page) if is_dictionary else 0
        after = parquet_bytes.page(DATA, small, 8, 1, encoding="indexes") if dictionary else b""
        make(table, Column("int64", page + after, 1, codec, dictionary), 1)
        refuses(table, READS if name == "v2" else READS[:1])


def test_pages_after_the_values_of_a_chunk(tmp_path: Path) -> None:
    """The chunk claims one value, the row group two: the decoder continues with the next page."""
    first = parquet_bytes.page(DATA, compressed(bytes(8), "snappy"), 8, 1)
    second = compressed(bytes(1000), "snappy")
    pages = first + parquet_bytes.page(DATA, second, 2**31 - 1, 1)
    make(tmp_path, Column("int64", pages, 1, "snappy"), 2)
    refuses(tmp_path)


def numbers(count: int, block: int = 128, first: int = 0) -> bytes:
    """Return delta-encoded numbers that all equal the first."""
    widths = bytes(4 if block == 128 else 1)
    return varint(block) + varint(len(widths)) + varint(count) + zigzag(first) + zigzag(0) + widths


@pytest.mark.parametrize("encoding", ["delta_length", "delta_bytes", "suffixes", "fixed"])
def test_delta_encodings_that_claim_more_strings(encoding: str, tmp_path: Path) -> None:
    """Memory for 8 Gi, or 2^40, lengths is allocated at once; without it the process ends."""
    name = "delta_length" if encoding == "delta_length" else "delta_bytes"
    for page, codec, many in (
        (DATA, "none", numbers(2**33, 2**40)),
        (DATA_V2, "zstd", numbers(2**40)),
    ):
        table = tmp_path / codec
        table.mkdir()
        values = {"suffixes": numbers(1) + many}.get(encoding, many + numbers(1)) + bytes(100)
        body = values if codec == "none" else compressed(values, codec)
        pages = parquet_bytes.page(page, body, len(values), 10, encoding=name)
        is_fixed = encoding == "fixed"
        kind, length = ("fixed", 16) if is_fixed else ("string", None)
        make(table, Column(kind, pages, 10, codec, length=length), 10)
        refuses(table, READS if codec == "none" and name == "delta_length" else READS[:1])


def test_delta_encodings_that_claim_the_truth(tmp_path: Path) -> None:
    heads = {"delta_length": numbers(10, 128, 3), "delta_bytes": numbers(10) + numbers(10, 128, 3)}
    for page, (encoding, head) in zip((DATA, DATA_V2), heads.items(), strict=True):
        table = tmp_path / encoding
        table.mkdir()
        body = head + b"abc" * 10
        pages = parquet_bytes.page(page, body, len(body), 10, encoding=encoding)
        make(table, Column("string", pages, 10), 10)
        output, _ = run(table, "table.snapshot().scan().to_arrow()['x'].to_pylist()")
        assert output == ["abc"] * 10


def test_a_sound_page(tmp_path: Path) -> None:
    """What the other tests damage."""
    body = struct.pack("<2q", 5, 6)
    make(tmp_path, Column("int64", parquet_bytes.page(DATA, body, len(body), 2), 2), 2)
    output, _ = run(tmp_path, "table.snapshot().scan().to_arrow()['x'].to_pylist()")
    assert output == [5, 6]
