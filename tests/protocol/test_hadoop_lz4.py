"""Pages that Hadoop compressed with LZ4: a size, then blocks, each after its length.

Source: Hadoop's ``BlockCompressorStream``, which Spark uses for the codec ``lz4``; it writes blocks
of at most 256 KiB, and as many sizes as there were calls.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support import logs, parquet_bytes
from support.parquet_bytes import DATA, DATA_V2, DICTIONARY, Column, varint, zigzag

import deltareplay as dr

VALUES = [f"value {index}" for index in range(40)]


def framed(content: bytes, calls: int, blocks: int) -> bytes:
    """Compress the content as these many calls, each in these many blocks."""

    def length(part: bytes) -> bytes:
        return len(part).to_bytes(4, "big")

    def parts(whole: bytes, count: int) -> list[bytes]:
        size = -(-len(whole) // count)
        return [whole[at : at + size] for at in range(0, len(whole), size)]

    body = b""
    for call in parts(content, calls):
        body += length(call)
        for part in parts(call, blocks):
            block = pa.compress(part, "lz4_raw", asbytes=True)
            body += length(block) + block
    return body


def plain(values: list[str]) -> bytes:
    return b"".join(len(value).to_bytes(4, "little") + value.encode() for value in values)


def delta(values: list[str]) -> bytes:
    """Encode strings of one length, as lengths and bytes."""
    assert len({len(value) for value in values}) == 1
    head = varint(128) + varint(4) + varint(len(values)) + zigzag(len(values[0]))
    return head + zigzag(0) + bytes(4) + "".join(values).encode()


def page(kind: int, body: bytes, count: int, framing: tuple[int, int], encoding: str) -> bytes:
    packed = framed(body, *framing)
    return parquet_bytes.page(kind, packed, len(body), count, encoding=encoding)


@pytest.mark.parametrize("framing", [(1, 1), (1, 2), (1, 5), (2, 1), (3, 1), (3, 4)])
@pytest.mark.parametrize("form", ["v1", "v2", "dictionary", "old_dictionary", "delta"])
def test_pages_of_several_blocks(form: str, framing: tuple[int, int], tmp_path: Path) -> None:
    values, dictionary = VALUES[10:], 0
    half = len(values) // 2
    if form.endswith("dictionary"):
        first = page(DICTIONARY, plain(values), len(values), framing, "plain")
        # parquet-mr before 1.12, as in Spark before 3.2, states no offset of the dictionary
        dictionary = 0 if form == "old_dictionary" else len(first)
        indexes = b"\x08" + b"".join(varint(2) + bytes([at]) for at in range(len(values)))
        pages = first + page(DATA, indexes, len(values), framing, "indexes")
    else:
        kind = DATA if form == "v1" else DATA_V2
        encode, encoding = (delta, "delta_length") if form == "delta" else (plain, "plain")
        pages = page(kind, encode(values[:half]), half, framing, encoding)
        # a page of one block after the others
        pages += page(kind, encode(values[half:]), len(values) - half, (1, 1), encoding)
    column = Column("string", pages, len(values), "lz4", dictionary)
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(x="string"))
    size = parquet_bytes.write(tmp_path / "a.parquet", column, len(values))
    log.commit(logs.add("a.parquet", size=size, stats=None))
    snapshot = dr.Table(tmp_path).snapshot()
    assert snapshot.scan().to_arrow()["x"].to_pylist() == values
    assert snapshot.scan(filter="x = 'value 33'").to_arrow()["x"].to_pylist() == ["value 33"]
    findings = dr.Table(tmp_path).verify(rows=True).findings
    assert not [finding for finding in findings if finding.code.startswith("data.")]
    dr.Table(tmp_path).delete("x < 'value 35'")
    assert dr.Table(tmp_path).snapshot().scan().count() == 5


def test_a_page_that_does_not_decompress_is_refused(tmp_path: Path) -> None:
    body = framed(plain(VALUES), 1, 3)
    for at, damaged in enumerate([body[:-1], body + b"\0", body[:4] + b"\xff" + body[5:]]):
        table = tmp_path / str(at)
        table.mkdir()
        pages = parquet_bytes.page(DATA, damaged, len(plain(VALUES)), len(VALUES))
        log = logs.LogBuilder(table)
        log.create(logs.schema(x="string"))
        size = parquet_bytes.write(table / "a.parquet", Column("string", pages, 40, "lz4"), 40)
        log.commit(logs.add("a.parquet", size=size, stats=None))
        with pytest.raises(dr.CorruptTableError) as caught:
            dr.Table(table).snapshot().scan().to_arrow()
        assert caught.value.code == "data.pages"
