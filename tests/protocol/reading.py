"""Short helpers for the tests of the protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support import logs

import deltareplay as dr

SCHEMA = logs.schema(id="long")


def opened(log: logs.LogBuilder, version: int | None = None, **options: Any) -> dr.Snapshot:
    """Return a snapshot of the table that ``log`` wrote."""
    return dr.Table(log.uri).snapshot(version=version, **options)


def paths(snapshot: dr.Snapshot) -> list[str]:
    """Return the paths of the live files, sorted."""
    return sorted(snapshot.files(columns=["path"])["path"].to_pylist())


def one_file(snapshot: dr.Snapshot, **columns: Any) -> dict[str, Any]:
    """Return the row of the only live file."""
    rows = snapshot.files(**columns).to_pylist()
    assert len(rows) == 1
    row: dict[str, Any] = rows[0]
    return row


def codes(snapshot: dr.Snapshot) -> list[str]:
    """Return the codes of the warnings."""
    return [warning.code for warning in snapshot.warnings]


def commits(log: logs.LogBuilder, count: int) -> None:
    """Write version 0 and ``count`` more, each with one more file ``f<version>``."""
    log.create(SCHEMA)
    for version in range(1, count + 1):
        log.commit(logs.commit_info(), logs.add(f"f{version}"))


def names(count: int) -> list[str]:
    """Return the live files after ``commits(log, count)``."""
    return sorted(f"f{version}" for version in range(1, count + 1))


def file(log: logs.LogBuilder, name: str) -> Path:
    """Return the path of a log file."""
    return logs.log_dir(log.table) / name


def stats_of(row: dict[str, Any]) -> Any:
    """Return the statistics of a file as JSON values."""
    return None if row["stats"] is None else json.loads(row["stats"])
