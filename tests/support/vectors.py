"""Deletion vectors as writers create them: portable 64-bit Roaring, base 85, files of vectors."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from support.actions import deletion_vector

#: The digits of ZeroMQ's base 85.
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_MAGIC = 1681511377
_COOKIE = 12346


def bitmap(rows: Iterable[int]) -> bytes:
    """Return the rows (all below 2^32) as a bitmap without run containers."""
    containers: dict[int, list[int]] = {}
    for row in sorted(set(rows)):
        containers.setdefault(row >> 16, []).append(row & 0xFFFF)
    if not containers:
        return struct.pack("<IQ", _MAGIC, 0)
    head = struct.pack("<II", _COOKIE, len(containers))
    bodies = []
    for key, values in containers.items():
        head += struct.pack("<HH", key, len(values) - 1)
        if len(values) <= 4096:
            bodies.append(struct.pack(f"<{len(values)}H", *values))
        else:
            bits = sum(1 << value for value in values)
            bodies.append(bits.to_bytes(8192, "little"))
    offset = len(head) + 4 * len(bodies)
    for body in bodies:
        head += struct.pack("<I", offset)
        offset += len(body)
    return struct.pack("<IQI", _MAGIC, 1, 0) + head + b"".join(bodies)


def base85(data: bytes) -> str:
    """Encode four bytes as five digits; the last four are padded with zeros."""
    padded = data + bytes(-len(data) % 4)
    text = ""
    for (word,) in struct.iter_unpack(">I", padded):
        digits = ""
        for _ in range(5):
            word, digit = divmod(word, 85)
            digits = _DIGITS[digit] + digits
        text += digits
    return text


def inline(rows: Iterable[int]) -> dict[str, Any]:
    """Return an inline descriptor of the rows."""
    deleted = set(rows)
    data = bitmap(deleted)
    return deletion_vector(
        base85(data), storage_type="i", offset=None, size=len(data), cardinality=len(deleted)
    )


def in_file(
    vectors: Sequence[Iterable[int]], name: uuid.UUID
) -> tuple[bytes, list[dict[str, Any]]]:
    """Return the bytes of ``deletion_vector_<name>.bin`` at the table root, and its descriptors."""
    data = b"\x01"
    descriptors = []
    for rows in vectors:
        deleted = set(rows)
        content = bitmap(deleted)
        descriptors.append(
            deletion_vector(
                base85(name.bytes), offset=len(data), size=len(content), cardinality=len(deleted)
            )
        )
        data += struct.pack(">I", len(content)) + content
        data += struct.pack(">I", zlib.crc32(content))
    return data, descriptors
