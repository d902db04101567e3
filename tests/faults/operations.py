"""All operations that write to a table, each with a table, and the rows before and after it.

This module also runs in the process with injected faults: it does not import the tests.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltareplay as dr

Rows = dict[int, int]
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64())])
#: The rows of the table, written by two appends.
ROWS: Rows = {number: number * 10 for number in range(10)}
VECTORS = {"delta.enableDeletionVectors": "true"}
V2 = {"delta.feature.v2Checkpoint": "supported"}
DAY = 24 * 3600
#: The timeout in seconds against a failing storage.
TIMEOUT = 2.0


def no_change(rows: Rows) -> Rows:
    return rows


@dataclass(frozen=True)
class Operation:
    """An operation on a table.

    Attributes:
        name: The id of its tests.
        run: Executes it on an open table.
        after: Returns the rows after it, given those before.
        properties: The properties of the table.
        prepare: Prepares the table, which already has two versions with rows.
        commits: How many versions it creates.
        oldest: The oldest version that can be read afterwards.
    """

    name: str
    run: Callable[[dr.Table], Any]
    after: Callable[[Rows], Rows] = no_change
    properties: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[dr.Table], Any] = lambda table: None
    commits: int = 1
    oldest: int = 0

    def __str__(self) -> str:
        return self.name

    def build(self, root: Path) -> dr.Table:
        """Create a table for the operation."""
        table = dr.create_table(root, SCHEMA, properties=self.properties)
        for half in (range(5), range(5, 10)):
            table.append(as_rows({number: ROWS[number] for number in half}), durable=False)
        self.prepare(table)
        return table


def as_rows(rows: Rows) -> list[dict[str, int]]:
    return [{"id": id, "v": v} for id, v in rows.items()]


def rows_of(table: dr.Table, version: int | None = None) -> tuple[int, Rows, int]:
    """Return the version, its rows by id, and their number, which shows duplicate ids."""
    snapshot = table.snapshot(version=version)
    result = snapshot.scan(columns=["id", "v"]).to_arrow().to_pylist()
    return snapshot.version, {row["id"]: row["v"] for row in result}, len(result)


def root_of(table: dr.Table) -> Path:
    return Path(table.uri.removeprefix("file://"))


def age(table: dr.Table, pattern: str, days: int) -> None:
    """Make files older."""
    then = time.time() - days * DAY
    for path in root_of(table).glob(pattern):
        os.utime(path, (then, then))


def delete_two_rows(table: dr.Table) -> Any:
    return table.delete("id = 1 OR id = 7", timeout=TIMEOUT)


def without_two_rows(rows: Rows) -> Rows:
    return {id: v for id, v in rows.items() if id not in (1, 7)}


def merge(table: dr.Table) -> Any:
    source: list[dict[str, int | None]] = [
        {"id": 3, "v": 33},
        {"id": 50, "v": 50},
        {"id": 8, "v": None},
    ]
    merging = table.merge(source, "id", timeout=TIMEOUT)
    merging = merging.when_matched_delete("source.v IS NULL").when_matched_update_all()
    return merging.when_not_matched_insert_all().execute()


def merged(rows: Rows) -> Rows:
    return {id: v for id, v in {**rows, 3: 33, 50: 50}.items() if id != 8}


def expired_log(table: dr.Table) -> None:
    table.append(as_rows({20: 200}), durable=False)
    table.checkpoint()
    table.append(as_rows({21: 210}), durable=False)
    for version in range(4):
        age(table, f"_delta_log/{version:020}.*", 60 - version)
    table.append(as_rows({22: 220}), durable=False)


def unused_files(table: dr.Table) -> None:
    table.update("id < 5", {"v": "v + 1"})
    age(table, "*.parquet", 30)


def without_checksums(table: dr.Table) -> None:
    for path in root_of(table).glob("_delta_log/*.crc"):
        path.unlink()


def incremented(rows: Rows) -> Rows:
    return {id: v + (id < 5) for id, v in rows.items()}


def vacuum(table: dr.Table) -> Any:
    return table.vacuum(timedelta(0), dry_run=False, force=True)


def append(table: dr.Table) -> Any:
    return table.append(as_rows({100: 1, 101: 2}), timeout=TIMEOUT)


def appended(rows: Rows) -> Rows:
    return {**rows, 100: 1, 101: 2}


OPERATIONS = [
    Operation("append", append, appended),
    Operation(
        "append with checkpoint", append, appended, properties={"delta.checkpointInterval": "3"}
    ),
    Operation(
        "append in transaction",
        lambda table: table.append(as_rows({100: 1, 101: 2}), txn=("app", 1), timeout=TIMEOUT),
        appended,
        properties={"delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"},
    ),
    Operation(
        "overwrite",
        lambda table: table.overwrite(as_rows({7: 7, 200: 2}), timeout=TIMEOUT),
        lambda rows: {7: 7, 200: 2},
    ),
    Operation("delete by vectors", delete_two_rows, without_two_rows, properties=VECTORS),
    Operation("delete by rewriting", delete_two_rows, without_two_rows),
    Operation(
        "delete with change feed",
        delete_two_rows,
        without_two_rows,
        properties={"delta.enableChangeDataFeed": "true"},
    ),
    Operation(
        "update",
        lambda table: table.update("id >= 4 AND id <= 6", {"v": "v + 5"}, timeout=TIMEOUT),
        lambda rows: {id: v + 5 * (4 <= id <= 6) for id, v in rows.items()},
    ),
    Operation("merge", merge, merged, properties=VECTORS),
    Operation("checkpoint", lambda table: table.checkpoint(layout="classic"), commits=0),
    Operation(
        "checkpoint v2", lambda table: table.checkpoint(layout="v2"), properties=V2, commits=0
    ),
    Operation(
        "checkpoint v2-json",
        lambda table: table.checkpoint(layout="v2-json"),
        properties=V2,
        commits=0,
    ),
    Operation("compact_log", lambda table: table.compact_log(0, 2), commits=0),
    Operation(
        "cleanup_log",
        lambda table: table.cleanup_log(dry_run=False),
        lambda rows: {**rows, 20: 200, 21: 210, 22: 220},
        prepare=expired_log,
        commits=0,
        oldest=3,
    ),
    Operation("vacuum", vacuum, incremented, prepare=unused_files, commits=2, oldest=3),
    Operation(
        "restore",
        lambda table: table.restore(1),
        lambda rows: {id: v for id, v in rows.items() if id < 5},
    ),
    Operation("set_properties", lambda table: table.set_properties({"some.key": "value"})),
    Operation("add_columns", lambda table: table.add_columns(pa.schema([("w", pa.string())]))),
    Operation(
        "write_checksum",
        lambda table: table.write_checksum(),
        prepare=without_checksums,
        commits=0,
    ),
]
CREATE = Operation("create_table", lambda table: dr.create_table(root_of(table), SCHEMA))
BY_NAME = {operation.name: operation for operation in [*OPERATIONS, CREATE]}
