"""Tables to write to, and their commits from the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import deltareplay as dr
from support import logs

DAYS = ("2026-01-01", "2026-01-02")

#: Properties of tables that delete rows by vectors or by rewriting files, with and without row ids.
MODES = {
    "copies": {},
    "vectors": {"delta.enableDeletionVectors": "true"},
    "copies with ids": {"delta.enableRowTracking": "true"},
    "vectors with ids": {
        "delta.enableRowTracking": "true",
        "delta.enableDeletionVectors": "true",
    },
}


def actions(table: dr.Table, version: int) -> list[dict[str, Any]]:
    """Return the lines of one commit."""
    root = logs.local_path(table.uri)
    text = (root / "_delta_log" / f"{version:020}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]


def bodies(table: dr.Table, version: int, kind: str) -> list[dict[str, Any]]:
    """Return the actions of one kind in one commit."""
    return [action[kind] for action in actions(table, version) if kind in action]


def partitioned(root: Path, **configuration: str) -> dr.Table:
    """Log two files for each of two days, ``1a``, ``1b``, ``2a`` and ``2b``; no data is written."""
    log = logs.LogBuilder(root)
    log.create(
        logs.schema(id="long", day="date"), partition_columns=["day"], configuration=configuration
    )
    log.commit(
        *(
            logs.add(f"{number}{name}", partition_values={"day": day}, stats=logs.stats(3))
            for number, day in enumerate(DAYS, 1)
            for name in "ab"
        )
    )
    return dr.Table(log.uri)


def unpartitioned(root: Path, **options: Any) -> dr.Table:
    """Log the files ``a`` and ``b`` of a table without partitions; no data is written."""
    log = logs.LogBuilder(root)
    log.create(logs.schema(id="long"), **options)
    log.commit(*(logs.add(name, stats=logs.stats(3)) for name in "ab"))
    return dr.Table(log.uri)
