"""Data files that contradict the log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hostile.cases import BOTH, GOOD, Refused, case, data
from hostile.checkpoints import BROKEN
from support import logs
from support.logs import LogBuilder

NAME = "more.parquet"


def broken_case(name: str, change: Callable[[Path], bytes]) -> None:
    """Register a table with a broken data file."""
    code = "data.pages" if name == "pages of other bytes" else "file.size"

    @case("data file", name, snapshot=2, rows=Refused(NAME), verify=(code,), finding=NAME)
    def _(log: LogBuilder) -> None:
        log.commit(data(log, NAME))
        path = log.table / NAME
        path.write_bytes(change(path))


for _name, _change in BROKEN.items():
    if "rows" not in _name and _name != "an encrypted footer":
        broken_case(_name, _change)


@case(
    "data file", "missing", snapshot=2, rows=Refused(NAME), verify=("file.missing",), finding=NAME
)
def _missing(log: LogBuilder) -> None:
    log.commit(data(log, NAME))
    (log.table / NAME).unlink()


@case("data file", "empty", snapshot=2, rows=Refused(NAME), verify=("file.size",), finding=NAME)
def _empty(log: LogBuilder) -> None:
    log.commit(data(log, NAME))
    (log.table / NAME).write_bytes(b"")


@case(
    "data file",
    "another size in the log",
    snapshot=2,
    rows=BOTH,
    verify=("file.size",),
    finding=NAME,
)
def _another_size(log: LogBuilder) -> None:
    log.commit(data(log, NAME, size=7))


@case(
    "data file",
    "a negative size in the log",
    snapshot=2,
    rows=BOTH,
    verify=("file.size",),
    finding=NAME,
)
def _negative_size(log: LogBuilder) -> None:
    log.commit(data(log, NAME, size=-7))


@case(
    "data file",
    "a size of 2^63 - 1 in the log",
    snapshot=2,
    rows=BOTH,
    verify=("file.size",),
    finding=NAME,
)
def _huge_size(log: LogBuilder) -> None:
    log.commit(data(log, NAME, size=2**63 - 1))


def typed(name: str, column: pa.Array, rows: Any) -> None:
    @case("data file", name, snapshot=2, rows=rows)
    def _(log: LogBuilder) -> None:
        pq.write_table(pa.table({"id": column}), log.table / NAME)
        log.commit(data(log, NAME, stats=None))


typed("texts for numbers", pa.array(["4", "5"]), Refused(NAME))
typed("lists for numbers", pa.array([[4], [5]]), Refused(NAME))
typed("structs for numbers", pa.array([{"x": 4}, {"x": 5}]), Refused(NAME))
typed("doubles for numbers", pa.array([4.5, 5.5]), Refused(NAME))
typed("dates for numbers", pa.array([4, 5], pa.date32()), Refused(NAME))


@case("data file", "without the column", snapshot=2, rows=(*GOOD, None, None))
def _no_column(log: LogBuilder) -> None:
    pq.write_table(pa.table({"x": [4, 5]}), log.table / NAME)
    log.commit(data(log, NAME, stats=None))


@case("data file", "with more columns", snapshot=2, rows=BOTH)
def _more_columns(log: LogBuilder) -> None:
    pq.write_table(pa.table({"x": ["a", "b"], "id": [4, 5]}), log.table / NAME)
    log.commit(data(log, NAME))


@case("data file", "the column twice", snapshot=2, rows=Refused(NAME))
def _column_twice(log: LogBuilder) -> None:
    pq.write_table(pa.table([[4, 5], [6, 7]], names=["id", "id"]), log.table / NAME)
    log.commit(data(log, NAME))


@case("data file", "no rows", snapshot=2, rows=GOOD)
def _no_rows(log: LogBuilder) -> None:
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), log.table / NAME)
    log.commit(data(log, NAME, stats=logs.stats(0)))


@case("data file", "added again with another spelling of its path", snapshot=1, rows=GOOD)
def _spelled(log: LogBuilder) -> None:
    log.commit(data(log, "good.parquet", "./good.parquet"))
