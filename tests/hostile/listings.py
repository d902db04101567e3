"""Unusual names in the log directory."""

# ruff: noqa: RUF001  letters that look like others
from __future__ import annotations

import shutil
from pathlib import Path

from hostile.cases import BOTH, GOOD, Refused, case, data, fifo, log_path
from support import logs
from support.logs import LogBuilder

SECOND = logs.commit_name(2)


@case("listing", "a gap", snapshot=Refused(SECOND), verify=("log.gap",), finding=SECOND)
def _gap(log: LogBuilder) -> None:
    log.commit(data(log, "more.parquet"))
    log.commit(logs.txn("x", 1))
    log_path(log, SECOND).unlink()


@case("listing", "no first commit", snapshot=Refused(""), verify=("log.truncated",))
def _no_first(log: LogBuilder) -> None:
    log_path(log, logs.commit_name(0)).unlink()


@case("listing", "no log", snapshot=Refused("", "TableNotFoundError"), verify=("table.not_found",))
def _no_log(log: LogBuilder) -> None:
    shutil.rmtree(log.table / "_delta_log")


@case(
    "listing",
    "an empty log",
    snapshot=Refused("", "TableNotFoundError"),
    verify=("table.not_found",),
)
def _empty(log: LogBuilder) -> None:
    for path in (log.table / "_delta_log").iterdir():
        path.unlink()


@case(
    "listing",
    "a commit far beyond the log",
    snapshot=Refused(SECOND),
    verify=("log.gap",),
    finding=SECOND,
)
def _far(log: LogBuilder) -> None:
    logs.write_commit(log.table, 999_999, [logs.txn("x", 1)])


@case(
    "listing",
    "a commit of version 2^63 - 1",
    snapshot=Refused(SECOND),
    verify=("log.gap",),
    finding=SECOND,
)
def _last(log: LogBuilder) -> None:
    logs.write_commit(log.table, 2**63 - 1, [logs.txn("x", 1)])


#: Names that resemble those of the protocol.
OTHER_NAMES = [
    "2.json",
    "0000000000000000002.json",
    "000000000000000000002.json",
    "99999999999999999999.json",
    "-0000000000000000002.json",
    "+0000000000000000002.json",
    "0000000000000000000x.json",
    "00000000000000000002.JSON",
    "00000000000000000002.json.tmp",
    ".00000000000000000002.json.crc",
    "_00000000000000000002.json",
    "00000000000000000002.json ",
    "００000000000000000002.json",
    "00000000000000000002.checkpoint.parquet.tmp",
    "00000000000000000002.checkpoint.0000000000.0000000000.parquet",
    "x" * 250,
]


def other_name(name: str) -> None:
    @case("listing", f"the name {name[:64]!r}", snapshot=1, rows=GOOD)
    def _(log: LogBuilder) -> None:
        logs.write_file(log.table, name, b"\xff")


for _name in OTHER_NAMES:
    other_name(_name)


@case("listing", "10,000 other names", snapshot=1, rows=GOOD)
def _many(log: LogBuilder) -> None:
    for number in range(10_000):
        log_path(log, f"x{number}").touch()


@case("listing", "a commit that is a directory", snapshot=1, rows=GOOD)
def _directory(log: LogBuilder) -> None:
    log_path(log, SECOND).mkdir()  # a directory is not a commit


@case("listing", "a checkpoint that is a directory", snapshot=2, rows=BOTH)
def _checkpoint_directory(log: LogBuilder) -> None:
    log.commit(data(log, "more.parquet"))
    log_path(log, logs.classic_name(2)).mkdir()


@case("listing", "a commit that is a link", snapshot=2, rows=BOTH)
def _link(log: LogBuilder) -> None:
    log.commit(data(log, "more.parquet"))
    elsewhere = Path(f"{log.table}-elsewhere.json")
    log_path(log, SECOND).rename(elsewhere)
    log_path(log, SECOND).symlink_to(elsewhere)


@case("listing", "a commit that is a pipe", snapshot=1, rows=GOOD)
def _pipe(log: LogBuilder) -> None:
    fifo(log_path(log, SECOND))


@case("listing", "a commit that is a link to /dev/zero", snapshot=1, rows=GOOD)
def _zero(log: LogBuilder) -> None:
    log_path(log, SECOND).symlink_to("/dev/zero")


@case(
    "listing",
    "a checkpoint of an unusual name",
    snapshot=Refused("0000000001.parquet"),  # any name may be used instead of a UUID
    verify=("checkpoint.parquet",),
    finding="0000000001.parquet",
)
def _unusual_name(log: LogBuilder) -> None:
    logs.write_file(log.table, "00000000000000000002.checkpoint.0000000001.parquet", b"x")


@case(
    "listing",
    "a commit that is a link in a loop",
    snapshot=Refused(SECOND, "StorageError"),
    verify=("storage.name",),
    finding=SECOND,
)
def _loop(log: LogBuilder) -> None:
    log_path(log, SECOND).symlink_to(SECOND)


@case("listing", "only a checkpoint", snapshot=1, rows=GOOD, verify=("log.checkpoint_only",))
def _checkpoint_only(log: LogBuilder) -> None:
    log.checkpoint(1)
    log.delete_commits(2)
