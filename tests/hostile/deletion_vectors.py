"""Deletion vectors, in the log and in separate files."""

from __future__ import annotations

import struct
import uuid
import zlib
from typing import Any

from hostile.cases import Refused, case, data
from support import logs, vectors
from support.logs import LogBuilder

NAME = uuid.UUID(int=0x1234_5678_9ABC_4DEF_8000_0000_0000_0002)
FILE = f"deletion_vector_{NAME}.bin"
VALID = vectors.bitmap([0, 2])


def head(count: int) -> bytes:
    return struct.pack("<IQ", 1681511377, count)


def runs(*pairs: tuple[int, int]) -> bytes:
    """Return a bitmap of one container of runs, each a start and its length minus one."""
    body = struct.pack("<H", len(pairs))
    body += b"".join(struct.pack("<HH", start, more) for start, more in pairs)
    return head(1) + struct.pack("<IIBHH", 0, 12347, 1, 0, 0) + body


#: Bitmaps that are invalid, have another number of rows than stated, or rows beyond the file.
BITMAPS: dict[str, tuple[bytes, int]] = {
    "another magic": (b"\x00" + VALID[1:], 2),
    "only the magic": (VALID[:4], 2),
    "cut": (VALID[:-2], 2),
    "bytes after it": (VALID + bytes(4), 2),
    "2^32 bitmaps": (head(2**32) + VALID[12:], 2),
    "2^63 bitmaps": (head(2**63) + VALID[12:], 2),
    "one key twice": (head(2) + VALID[12:] + VALID[12:], 4),
    "descending keys": (
        head(2) + struct.pack("<I", 1) + VALID[16:] + struct.pack("<I", 0) + VALID[16:],
        4,
    ),
    "a key beyond 2^31": (head(1) + struct.pack("<I", 2**32 - 1) + VALID[16:], 2),
    "another cookie": (VALID[:16] + b"\xff\xff" + VALID[18:], 2),
    "65,537 containers": (VALID[:20] + struct.pack("<I", 65_537) + VALID[24:], 2),
    "no containers": (VALID[:20] + struct.pack("<I", 0), 2),
    "a container of runs without runs": (runs(), 0),
    "runs that overlap": (runs((0, 5), (2, 5)), 12),
    "a run beyond its container": (runs((65_000, 1000)), 1001),
    "a cardinality of one more": (VALID, 3),
    "a cardinality of none": (VALID, 0),
    "a cardinality of 2^62": (VALID, 2**62),
    "rows beyond the file": (vectors.bitmap([0, 9]), 2),
    "rows far beyond the file": (vectors.bitmap([2**31]), 1),
}
BEYOND = ("rows beyond the file", "rows far beyond the file")


def table(log: LogBuilder, vector: dict[str, Any]) -> None:
    log.create(logs.schema(id="long"), protocol_action=logs.features("deletionVectors"))
    log.commit(data(log, "good.parquet", deletion_vector=vector))


def inline_case(name: str, content: bytes, cardinality: int) -> None:
    @case(
        "vector in the log",
        name,
        snapshot=1,
        rows=Refused("good.parquet"),
        verify=("dv.",),
        finding="good.parquet",
        start=False,
    )
    def _(log: LogBuilder) -> None:
        text = vectors.base85(content)
        vector = logs.deletion_vector(
            text, storage_type="i", offset=None, size=len(content), cardinality=cardinality
        )
        table(log, vector)


def file_case(name: str, content: bytes, cardinality: int) -> None:
    file = "good.parquet" if name in BEYOND else ""

    @case("vector in a file", name, snapshot=1, rows=Refused(file), verify=("dv.",), start=False)
    def _(log: LogBuilder) -> None:
        framed = struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))
        (log.table / FILE).write_bytes(b"\x01" + framed)
        table(log, stored_vector(size=len(content), cardinality=cardinality))


def stored_vector(**options: Any) -> dict[str, Any]:
    return logs.deletion_vector(vectors.base85(NAME.bytes), **{"offset": 1, **options})


for _name, (_content, _rows) in BITMAPS.items():
    inline_case(_name, _content, _rows)
for _name in (
    "another magic",
    "cut",
    "one key twice",
    "runs that overlap",
    "rows beyond the file",
    "a cardinality of one more",
):
    file_case(_name, *BITMAPS[_name])

INLINE: dict[str, dict[str, Any]] = {
    "invalid letters": {"path_or_inline": "~~~~~", "size": 4},
    "an invalid length": {"path_or_inline": "abcd", "size": 4},
    "a word beyond 32 bits": {"path_or_inline": "#####", "size": 4},
    "letters beyond ASCII": {"path_or_inline": "äöüß€", "size": 4},
    "no text": {"path_or_inline": "", "size": 0},
    "a size beyond the text": {"size": 2**31 - 1},
    "a negative size": {"size": -1},
    "a negative cardinality": {"cardinality": -1},
    "an unknown kind": {"storage_type": "q"},
    "a kind of two letters": {"storage_type": "ii"},
}


def descriptor_case(name: str, options: dict[str, Any]) -> None:
    @case(
        "vector in the log",
        name,
        snapshot=1,
        rows=Refused("good.parquet"),
        verify=("dv.",),
        finding="good.parquet",
        start=False,
    )
    def _(log: LogBuilder) -> None:
        valid = {
            "path_or_inline": vectors.base85(VALID),
            "storage_type": "i",
            "offset": None,
            "size": len(VALID),
            "cardinality": 2,
        }
        table(log, logs.deletion_vector(**{**valid, **options}))


for _name, _options in INLINE.items():
    descriptor_case(_name, _options)

#: The first byte of a file with a valid vector, or its whole content (None: no file), and changed
#: fields of the descriptor.
FILES: dict[str, tuple[bytes | None, dict[str, Any]]] = {
    "missing": (None, {}),
    "empty": (b"", {}),
    "zero bytes": (bytes(100), {}),
    "another version": (b"\x02", {}),
    "an offset beyond the file": (b"\x01", {"offset": 2**31 - 1}),
    "a negative offset": (b"\x01", {"offset": -1}),
    "a size beyond the file": (b"\x01", {"size": 2**31 - 9}),
    "a negative size": (b"\x01", {"size": -1}),
    "another size": (b"\x01", {"size": len(VALID) - 1}),
    "another checksum": (b"\x01", {}),
}


def stored_case(name: str, first: bytes | None, options: dict[str, Any]) -> None:
    is_truncated = first == b"" or name in ("an offset beyond the file", "a size beyond the file")
    code = "storage.truncated" if is_truncated else "dv."

    @case("vector in a file", name, snapshot=1, rows=Refused(""), verify=(code,), start=False)
    def _(log: LogBuilder) -> None:
        checksum = zlib.crc32(VALID) ^ (name == "another checksum")
        framed = struct.pack(">I", len(VALID)) + VALID + struct.pack(">I", checksum)
        if first is not None:
            content = first + framed if len(first) == 1 else first
            (log.table / FILE).write_bytes(content)
        table(log, stored_vector(**{"size": len(VALID), "cardinality": 2, **options}))


for _name, (_first, _options) in FILES.items():
    stored_case(_name, _first, _options)


@case(
    "vector in a file",
    "a directory",
    snapshot=1,
    rows=Refused(FILE, "StorageError"),
    verify=("storage.not_a_file",),
    start=False,
)
def _directory(log: LogBuilder) -> None:
    (log.table / FILE).mkdir()
    table(log, stored_vector(size=len(VALID), cardinality=2))


@case(
    "vector in a file",
    "a name that is too short",
    snapshot=1,
    rows=Refused("good.parquet"),
    verify=("dv.",),
    start=False,
)
def _short(log: LogBuilder) -> None:
    table(log, logs.deletion_vector("abc", size=len(VALID)))


@case(
    "vector in a file",
    "a prefix that leads out of the table",
    snapshot=1,
    rows=Refused(".."),
    verify=("path.escapes_root",),
    start=False,
)
def _prefix(log: LogBuilder) -> None:
    table(log, logs.deletion_vector("../.." + vectors.base85(NAME.bytes), size=len(VALID)))


@case("vector in the log", "valid", snapshot=1, rows=(2,), start=False)
def _valid(log: LogBuilder) -> None:
    table(log, vectors.inline([0, 2]))


@case("vector in the log", "of no rows", snapshot=1, rows=(1, 2, 3), start=False)
def _none(log: LogBuilder) -> None:
    table(log, vectors.inline([]))
