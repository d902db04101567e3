"""Hostile tables: how they are built, and the results that the protocol allows.

A case is a function that damages a small valid table, registered with the expected results: of the
snapshot the number of its live files, of a scan the ids of its rows, or the error; and the
findings of ``Table.verify()``. The valid table has two versions and one data file,
``good.parquet``, with the ids 1, 2, 3; ``more.parquet`` with 4 and 5 exists without an action.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from support import logs

SCHEMA = logs.schema(id="long")
GOOD = (1, 2, 3)
MORE = (4, 5)
BOTH = (1, 2, 3, 4, 5)

Build = Callable[[logs.LogBuilder], None]


@dataclass(frozen=True)
class Refused:
    """An error of this class that names this file, or a part of its name."""

    file: str
    error: str = "CorruptTableError"


@dataclass(frozen=True)
class Case:
    """A hostile table.

    Attributes:
        kind: The part of the table that is hostile.
        name: What is wrong with it.
        build: Changes the valid table.
        snapshot: The number of live files.
        rows: The ids that a scan returns, in any order; None is a row without an id.
        verify: Codes that verification must find; a code that ends in a dot is a prefix.
        finding: A text that the path or the message of each of these findings must contain.
        filter: The filter of the scan.
        columns: The columns of the scan.
        start: Whether ``build`` gets the valid table, or one without commits.
    """

    kind: str
    name: str
    build: Build
    snapshot: int | Refused
    rows: tuple[int | None, ...] | Refused
    verify: tuple[str, ...] = ()
    finding: str = ""
    filter: str | None = None
    columns: tuple[str, ...] | None = None
    start: bool = True

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}"


CASES: list[Case] = []


def case(
    kind: str,
    name: str,
    *,
    snapshot: int | Refused,
    rows: tuple[int | None, ...] | Refused | None = None,
    **options: Any,
) -> Callable[[Build], Build]:
    """Register a table; a scan is refused like the snapshot by default."""

    def register(build: Build) -> Build:
        if rows is None:
            assert isinstance(snapshot, Refused)
        outcome = snapshot if rows is None else rows
        assert isinstance(outcome, (tuple, Refused))
        CASES.append(Case(kind, name, build, snapshot, outcome, **options))
        return build

    return register


def write_data(table: Path, name: str, ids: tuple[int, ...], **parquet: Any) -> Path:
    """Write a data file with these ids."""
    path = table / name
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), path, **parquet)
    return path


def data(log: logs.LogBuilder, name: str, path: str | None = None, **options: Any) -> logs.Action:
    """Return the ``add`` of one of the data files; ``path`` is its path in the log."""
    rows = {"good.parquet": 3, "more.parquet": 2}.get(name, 2)
    file = log.table / name
    body = {"size": file.stat().st_size if file.is_file() else 100, "stats": logs.stats(rows)}
    return logs.add(name if path is None else path, **{**body, **options})


def build(case: Case, table: Path) -> None:
    """Build the table of a case."""
    log = logs.LogBuilder(table)
    write_data(table, "good.parquet", GOOD)
    write_data(table, "more.parquet", MORE)
    if case.start:
        log.create(SCHEMA)
        log.commit(data(log, "good.parquet"))
    case.build(log)


def raw(log: logs.LogBuilder, content: bytes | str, version: int = 2) -> Path:
    """Write a commit of these bytes."""
    content = content.encode() if isinstance(content, str) else content
    return logs.write_file(log.table, logs.commit_name(version), content)


def log_path(log: logs.LogBuilder, name: str) -> Path:
    """Return the path of a log file."""
    return logs.log_dir(log.table) / name


def line(kind: str, **fields: Any) -> bytes:
    """Return an action as a line."""
    return logs.json_lines([{kind: fields}])


def fifo(path: Path) -> None:
    """Create a pipe without a writer: opening it for reading would block."""
    os.mkfifo(path)
