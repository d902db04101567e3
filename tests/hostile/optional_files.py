"""Hints, checksums and compacted files with wrong content."""

# ruff: noqa: E501  one case a line
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile.cases import BOTH, GOOD, case, data, fifo, log_path
from hostile.checkpoints import write_checkpoint
from support import logs
from support.logs import LogBuilder

# -- hints: whatever their content, the table is the same

HINTS: dict[str, bytes] = {
    "empty": b"",
    "zero bytes": bytes(100),
    "not JSON": b"{",
    "an array": b"[]",
    "null": b"null",
    "deep": b"[" * 100_000,
    "a negative version": b'{"version":-1,"size":1}',
    "a version beyond 64 bits": b'{"version":99999999999999999999,"size":1}',
    "version 2^63 - 1": b'{"version":9223372036854775807,"size":1}',
    "version 2^64 - 1": b'{"version":18446744073709551615,"size":1}',
    "a version that is a string": b'{"version":"2","size":1}',
    "a version that is 1e400": b'{"version":1e400,"size":1}',
    "no version": b'{"size":1}',
    "an older version": b'{"version":0,"size":1}',
    "a newer version": b'{"version":7,"size":1}',
    "another checksum": b'{"version":2,"size":8,"checksum":"00000000000000000000000000000000"}',
    "ten megabytes": b'{"version":2,"size":1,"x":"' + b"x" * 10_000_000 + b'"}',
    "a version twice": b'{"version":2,"size":1,"version":0}',
}


def hint(name: str, text: bytes) -> None:
    valid = name == "ten megabytes"
    code = "hint.stale" if name == "an older version" else "hint.corrupt"
    newer = ("a newer version", "version 2^63 - 1", "version 2^64 - 1")
    code = "hint.wrong" if name in newer else code

    @case(
        "hint",
        name,
        snapshot=2,
        rows=BOTH,
        verify=() if valid else (code,),
        finding="_last_checkpoint",
    )
    def _(log: LogBuilder) -> None:
        write_checkpoint(log, cleaned=False)
        logs.write_file(log.table, "_last_checkpoint", text)


for _name, _text in HINTS.items():
    hint(_name, _text)


def special_hint(name: str, make: Callable[[Path], Any]) -> None:
    @case("hint", name, snapshot=2, rows=BOTH, verify=("hint.corrupt",), finding="_last_checkpoint")
    def _(log: LogBuilder) -> None:
        write_checkpoint(log, cleaned=False)
        path = log_path(log, "_last_checkpoint")
        path.unlink()
        make(path)


special_hint("a directory", lambda path: path.mkdir())
special_hint("a pipe", fifo)
special_hint("a link to /dev/zero", lambda path: path.symlink_to("/dev/zero"))

# -- checksums: the log is used; a contradiction is reported

WRONG_VALUES: dict[str, Any] = {
    "numFiles": 7,
    "tableSizeBytes": 7,
    "setTransactions": [{"appId": "x", "version": 1}],
    "domainMetadata": [{"domain": "x", "configuration": "", "removed": False}],
    "numDeletedRecordsOpt": 7,
    "numDeletionVectorsOpt": 7,
    "allFiles": [{"path": "x"}],
}


def wrong_value(field: str, value: Any) -> None:
    # counts and lists are taken from a checksum if nothing else has them, and compared with the
    # log when that is replayed
    @case(
        "checksum",
        f"another {field}",
        snapshot=1,
        rows=GOOD,
        verify=("checksum.mismatch",),
        finding=".crc",
    )
    def _(log: LogBuilder) -> None:
        log.checksum(1, **{field: value})


for _field, _value in WRONG_VALUES.items():
    wrong_value(_field, _value)

UNREADABLE = {
    "empty": b"",
    "not JSON": b"{",
    "an array": b"[]",
    "deep": b'{"x":' + b"[" * 100_000,
    "a negative count": b'{"numFiles":-1}',
    "a count beyond 64 bits": b'{"numFiles":99999999999999999999}',
    "a count that is a string": b'{"numFiles":"1"}',
    "not UTF-8": b'{"x":"\xff"}',
    "lists of different lengths": b'{"fileSizeHistogram":{"sortedBinBoundaries":[0],"fileCounts":[],"totalBytes":[]}}',
    "descending boundaries": b'{"fileSizeHistogram":{"sortedBinBoundaries":[0,2,1],"fileCounts":[0,0,0],"totalBytes":[0,0,0]}}',
}


def unreadable(name: str, text: bytes) -> None:
    @case("checksum", name, snapshot=1, rows=GOOD, verify=("checksum.unreadable",), finding=".crc")
    def _(log: LogBuilder) -> None:
        logs.write_file(log.table, logs.checksum_name(1), text)


for _name, _text in UNREADABLE.items():
    unreadable(_name, _text)

# -- compacted files

COMPACTED = logs.compacted_name(1, 2)


def compacted(name: str, text: bytes, code: str) -> None:
    @case("compacted", name, snapshot=2, rows=BOTH, verify=(code,), finding=COMPACTED)
    def _(log: LogBuilder) -> None:
        log.commit(data(log, "more.parquet"))
        logs.write_file(log.table, COMPACTED, text)


for _name, _text, _code in (
    ("empty", b"", "log.empty_file"),
    ("zero bytes", bytes(100), "commit."),
    ("not JSON", b"{", "commit."),
    ("deep", b"[" * 100_000, "commit."),
    ("cut", b'{"add":{"path":"x"', "commit."),
):
    compacted(_name, _text, _code)


@case(
    "compacted",
    "lacks a file",
    snapshot=1,
    rows=GOOD,  # it replaces its commits
    verify=("compacted.mismatch",),
    finding=COMPACTED,
)
def _lacks(log: LogBuilder) -> None:
    log.commit(data(log, "more.parquet"))
    logs.write_compacted(log.table, 1, 2, [data(log, "good.parquet")])


@case("compacted", "ends before it begins", snapshot=2, rows=BOTH)
def _backwards(log: LogBuilder) -> None:
    log.commit(data(log, "more.parquet"))
    logs.write_compacted(log.table, 2, 1, [logs.add("x")])


@case("compacted", "ends beyond the log", snapshot=2, rows=BOTH)
def _beyond(log: LogBuilder) -> None:
    log.commit(data(log, "more.parquet"))
    logs.write_compacted(log.table, 1, 99, [logs.add("x")])
