"""Writes Parquet files page by page: each header can claim anything.

Source: Apache Parquet, ``parquet.thrift``; Apache Thrift, ``thrift-compact-protocol.md``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

DATA, DICTIONARY, DATA_V2 = 0, 2, 3
CODECS = {"none": 0, "snappy": 1, "gzip": 2, "brotli": 4, "lz4": 5, "zstd": 6, "lz4_raw": 7}
TYPES = {"int64": 2, "string": 6, "fixed": 7}
ENCODINGS = {"plain": 0, "rle": 3, "delta": 5, "delta_length": 6, "delta_bytes": 7, "indexes": 8}


class Long(int):
    """A 64-bit integer; others have 32 bits."""


def varint(number: int) -> bytes:
    """Encode an unsigned integer."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def zigzag(number: int) -> bytes:
    """Encode a signed integer."""
    return varint(number * 2 if number >= 0 else -number * 2 - 1)


def _value(value: Any) -> tuple[int, bytes]:
    if isinstance(value, int):
        return 6 if isinstance(value, Long) else 5, zigzag(value)
    if isinstance(value, str):
        return 8, varint(len(value)) + value.encode()
    if isinstance(value, list):
        items = [_value(item) for item in value]
        head = bytes([0xF0 | items[0][0]]) + varint(len(items))
        return 9, head + b"".join(body for _, body in items)
    return 12, fields(value)


def fields(values: Mapping[int, Any]) -> bytes:
    """Encode a struct, without the fields that are None."""
    encoded, last = b"", 0
    for number, value in sorted(values.items()):
        if value is not None:
            kind, body = _value(value)
            encoded += bytes([(number - last) << 4 | kind]) + body
            last = number
    return encoded + b"\0"


def page(
    kind: int, body: bytes, size: int, values: int, *, encoding: str = "plain", levels: int = 0
) -> bytes:
    """Return a page.

    Args:
        kind: ``DATA``, ``DICTIONARY`` or ``DATA_V2``.
        body: Its bytes.
        size: The size to which they decompress, as claimed.
        values: The number of values, as claimed.
        encoding: The encoding of the values.
        levels: Bytes of definition levels before the values, of a V2 page.
    """
    code = ENCODINGS[encoding]
    header: dict[int, Any] = {1: kind, 2: size, 3: len(body)}
    if kind == DATA:
        header[5] = {1: values, 2: code, 3: ENCODINGS["rle"], 4: ENCODINGS["rle"]}
    elif kind == DICTIONARY:
        header[7] = {1: values, 2: code}
    else:
        header[8] = {1: values, 2: 0, 3: values, 4: code, 5: levels, 6: 0}
    return fields(header) + body


@dataclass(frozen=True)
class Column:
    """The only column of a file, required and named ``x``.

    Attributes:
        kind: One of ``TYPES``.
        pages: Its pages.
        values: The number of its values, as claimed.
        codec: One of ``CODECS``.
        dictionary: The length of the first page, if it is a dictionary.
        dictionary_offset: The position of the dictionary, as claimed; by default the first page.
        length: The length of the values of the type ``fixed``.
        annotation: The number of the ``ConvertedType``; by default ``UTF8`` for strings, otherwise
            none.
    """

    kind: str
    pages: bytes
    values: int
    codec: str = "none"
    dictionary: int = 0
    dictionary_offset: int | None = None
    length: int | None = None
    annotation: int | None = None


def footer_start(content: bytes) -> int:
    """Return the position of the footer in a file."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def with_row_count(path: Path, claimed: int) -> bytes:
    """Return a file whose footer claims another number of rows, and of values of flat columns."""
    content, rows = path.read_bytes(), pq.ParquetFile(path).metadata.num_rows
    start = footer_start(content)
    body, footer = content[:start], content[start:-8]
    # an i64, compact type 6, after the field before it: the rows of the file and of a row group
    # (field 3), and the values of a column (field 5)
    before, after = b"\x16" + zigzag(rows), b"\x16" + zigzag(claimed)
    assert before in footer
    footer = footer.replace(before, after)
    return body + footer + struct.pack("<I", len(footer)) + b"PAR1"


def with_other_pages(path: Path) -> bytes:
    """Return a file whose pages are replaced, and whose footer is not."""
    content = path.read_bytes()
    start = footer_start(content)
    return content[:4] + b"\xff" * (start - 4) + content[start:]


def write(path: Path, column: Column, rows: int) -> int:
    """Write a file of one row group; return its size."""
    start, size = 4, len(column.pages)
    chunk = {
        1: TYPES[column.kind],
        2: [*ENCODINGS.values()],
        3: ["x"],
        4: CODECS[column.codec],
        5: Long(column.values),
        6: Long(size),
        7: Long(size),
        9: Long(start + column.dictionary),
        11: Long(start) if column.dictionary else None,
    }
    if column.dictionary_offset is not None:
        chunk[11] = Long(column.dictionary_offset)
    annotation = column.annotation
    if annotation is None and column.kind == "string":
        annotation = 0
    leaf = {1: TYPES[column.kind], 2: column.length, 3: 0, 4: "x", 6: annotation}
    group = {1: [{2: Long(start), 3: chunk}], 2: Long(size), 3: Long(rows)}
    footer = fields({1: 1, 2: [{4: "schema", 5: 1}, leaf], 3: Long(rows), 4: [group]})
    trailer = struct.pack("<I", len(footer)) + b"PAR1"
    return path.write_bytes(b"PAR1" + column.pages + footer + trailer)
