"""Pages of Parquet files whose headers claim less, or more, than they contain.

Each file has some kilobytes or a few megabytes. The tests state what the decoders of the parquet
crate would allocate; each process is limited and measured as in ``test_memory``.
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


def assert_refused(table: Path, reads: tuple[str, ...] = READS) -> None:
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
    """The headers claim eight bytes; the codecs return 2 GiB."""
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
        assert_refused(table, READS if name == "v2" else READS[:1])


def test_pages_after_the_values_of_a_chunk(tmp_path: Path) -> None:
    """The chunk claims one value, the row group two: the decoder continues with the next page."""
    first = parquet_bytes.page(DATA, compressed(bytes(8), "snappy"), 8, 1)
    second = compressed(bytes(1000), "snappy")
    pages = first + parquet_bytes.page(DATA, second, 2**31 - 1, 1)
    make(tmp_path, Column("int64", pages, 1, "snappy"), 2)
    assert_refused(tmp_path)


def numbers(count: int, block: int = 128, first: int = 0) -> bytes:
    """Return delta-encoded numbers that all equal the first."""
    widths = bytes(4 if block == 128 else 1)
    return varint(block) + varint(len(widths)) + varint(count) + zigzag(first) + zigzag(0) + widths


@pytest.mark.parametrize("encoding", ["delta_length", "delta_bytes", "suffixes", "fixed"])
def test_delta_encodings_that_claim_more_strings(encoding: str, tmp_path: Path) -> None:
    """A decoder would allocate memory for 8 Gi, or 2^40, lengths at once, or abort."""
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
        assert_refused(table, READS if codec == "none" and name == "delta_length" else READS[:1])


def test_valid_delta_encodings(tmp_path: Path) -> None:
    heads = {"delta_length": numbers(10, 128, 3), "delta_bytes": numbers(10) + numbers(10, 128, 3)}
    for page, (encoding, head) in zip((DATA, DATA_V2), heads.items(), strict=True):
        table = tmp_path / encoding
        table.mkdir()
        body = head + b"abc" * 10
        pages = parquet_bytes.page(page, body, len(body), 10, encoding=encoding)
        make(table, Column("string", pages, 10), 10)
        output, _ = run(table, "table.snapshot().scan().to_arrow()['x'].to_pylist()")
        assert output == ["abc"] * 10


def test_more_strings_than_a_page_can_have(tmp_path: Path) -> None:
    """2^27 empty strings in 50 bytes: a decoder would allocate memory for 2^28 lengths at once."""
    body = numbers(2**27, 2**40) * 2
    page = parquet_bytes.page(DATA, body, len(body), 2**27, encoding="delta_bytes")
    make(tmp_path, Column("string", page, 2**27), 2**27)
    assert_refused(tmp_path, READS[:1])


def test_prefixes_beyond_the_string_before(tmp_path: Path) -> None:
    """Early versions of parquet-mr wrote such pages (PARQUET-246), which lack the prefixes."""
    body = numbers(10, first=2) + numbers(10, first=1) + b"a" * 10
    page = parquet_bytes.page(DATA, body, len(body), 10, encoding="delta_bytes")
    make(tmp_path, Column("string", page, 10), 10)
    assert_refused(tmp_path, READS[:1])


@pytest.mark.parametrize("encoding", ["plain", "delta_length", "delta_bytes", "indexes"])
def test_strings_that_are_not_text(encoding: str, tmp_path: Path) -> None:
    """Halves of a character, which together are text; bytes that are declared as JSON."""
    halves, not_text = ("é" * 5).encode(), b"\xff" * 10
    for annotation, content in ((0, halves), (19, halves), (19, not_text)):
        table = tmp_path / f"{annotation} {len(set(content))}"
        table.mkdir()
        plain = b"".join(struct.pack("<I", 1) + bytes([byte]) for byte in content)
        lengths = numbers(10, first=1)
        bodies = {
            "plain": plain,
            "delta_length": lengths + content,
            "delta_bytes": numbers(10) + lengths + content,
            "indexes": b"\x04" + varint(2 << 1 | 1) + b"\x10\x32\x54\x76\x98" + bytes(3),
        }
        first = parquet_bytes.page(DICTIONARY, plain, len(plain), 10)
        dictionary = first if encoding == "indexes" else b""
        body = bodies[encoding]
        page = parquet_bytes.page(DATA, body, len(body), 10, encoding=encoding)
        column = Column(
            "string", dictionary + page, 10, dictionary=len(dictionary), annotation=annotation
        )
        make(table, column, 10)
        assert_refused(table, READS[:1])


def test_terabytes_before_a_page_with_an_index_out_of_range(tmp_path: Path) -> None:
    """1.5 TiB from a dictionary; the last page is padded with indexes that no string has."""
    text = struct.pack("<I", 16 << 20) + bytes(16 << 20)
    bodies = (b"\x01" + varint(100_000 << 1) + b"\0", b"\x01" + varint(1 << 1 | 1) + b"\xfe")
    dictionary = parquet_bytes.page(DICTIONARY, compressed(text, "zstd"), len(text), 1)
    pages = dictionary
    for body, count in zip(bodies, (100_000, 1), strict=True):
        content = compressed(body, "zstd")
        pages += parquet_bytes.page(DATA, content, len(body), count, encoding="indexes")
    make(tmp_path, Column("string", pages, 100_001, "zstd", len(dictionary)), 100_001)
    assert_refused(tmp_path, READS[:1])


def test_values_of_two_gigabytes(tmp_path: Path) -> None:
    """A decoder would allocate memory for 1,024 of them to compare statistics with a filter."""
    page = parquet_bytes.page(DATA, bytes(40), 40, 10)
    make(tmp_path, Column("fixed", page, 10, length=2**31 - 1), 10)
    code = "table.snapshot().scan(filter='x IS NOT NULL').to_arrow()"
    output, peak = run(tmp_path, code)
    assert output[:3] == ["CorruptTableError", "data.footer", "a.parquet"]
    assert peak < MAX_MIB


@pytest.mark.parametrize(
    ("kind", "encoding", "body"),
    [
        ("int64", "indexes", b"\x04\x14\x00"),  # no dictionary
        ("int64", "delta", b"\xff" * 11),  # a number of eleven bytes
        ("int64", "delta", numbers(0)),
        ("string", "delta_length", b"\xff" * 11),
        ("string", "indexes", b"\x20\x14" + b"\xff" * 4),
        ("fixed", "indexes", b"\x04\x14\x09"),
    ],
)
def test_panics_of_the_decoder_are_errors(
    kind: str, encoding: str, body: bytes, tmp_path: Path
) -> None:
    """``run`` also refuses the text of a panic on the standard error stream."""
    values = {"int64": bytes(8), "string": bytes(4), "fixed": bytes(4)}[kind]
    first = parquet_bytes.page(DICTIONARY, values, len(values), 1)
    dictionary = first if kind != "int64" else b""
    page = parquet_bytes.page(DATA, body, len(body), 10, encoding=encoding)
    length = 4 if kind == "fixed" else None
    column = Column(kind, dictionary + page, 10, dictionary=len(dictionary), length=length)
    make(tmp_path, column, 10)
    assert_refused(tmp_path, READS[:1])


def test_a_valid_page(tmp_path: Path) -> None:
    body = struct.pack("<2q", 5, 6)
    make(tmp_path, Column("int64", parquet_bytes.page(DATA, body, len(body), 2), 2), 2)
    output, _ = run(tmp_path, "table.snapshot().scan().to_arrow()['x'].to_pylist()")
    assert output == [5, 6]
