"""Processes whose clocks differ by 30 days write to one table, and maintain it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.writing import actions

import deltareplay as dr

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
SCRIPT = Path(__file__).with_name("clocked.py")
DAY = 24 * 3600
SCHEMA = pa.schema([("id", pa.int64())])

pytestmark = pytest.mark.skipif(
    not LIBRARIES, reason="there is no libfaketime: apt-get install faketime"
)


def by_clock(days: int, table: dr.Table, *verb: str) -> dict[str, Any]:
    """Execute a verb in a process whose clock is ahead by this many days."""
    environment = {
        **os.environ,
        "LD_PRELOAD": str(LIBRARIES[0]),
        "FAKETIME": f"{days:+d}d",
        "NO_FAKE_STAT": "1",  # the machine that stores files sets their timestamps
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, str(SCRIPT), table.uri, *verb],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    output: dict[str, Any] = json.loads(done.stdout)
    assert abs(output["now"] - time.time() - days * DAY) < 3600, "the clock was not shifted"
    return output


def ids(table: dr.Table, version: int | None = None) -> list[int]:
    return sorted(table.snapshot(version=version).scan().to_arrow()["id"].to_pylist())


def test_in_commit_timestamps_increase(tmp_path: Path) -> None:
    properties = {"delta.enableInCommitTimestamps": "true"}
    table = dr.create_table(tmp_path / "t", SCHEMA, properties=properties)
    for number, days in enumerate([0, 30, 0, -30, 30]):
        assert by_clock(days, table, "add", f"f{number}")["version"] == number + 1
    times = [actions(table, v)[0]["commitInfo"]["inCommitTimestamp"] for v in range(6)]
    assert times == sorted(set(times))
    assert times[2] > time.time() * 1000 + 29 * DAY * 1000, "written by the fast clock"
    assert times[3:5] == [times[2] + 1, times[2] + 2], "one millisecond after the previous one"
    assert table.snapshot().num_files == 5
    for version, instant in enumerate(table.history()["timestamp"].to_pylist()[::-1]):
        assert table.snapshot(timestamp=instant).version == version


def test_maintenance_by_a_fast_clock_keeps_needed_files(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", SCHEMA)
    table.append([{"id": 1}])
    table.append([{"id": 2}])
    table.delete("id = 1")
    written = tmp_path / "t" / "part-00000-not-committed-yet.parquet"
    written.write_bytes(b"another writer is about to commit this")
    table.checkpoint()

    assert by_clock(30, table, "vacuum")["files"] == []
    assert by_clock(60, table, "cleanup_log")["files"] == []

    assert written.exists()
    assert [ids(table, version) for version in range(4)] == [[], [1], [1, 2], [2]]


def test_checkpoints_by_a_fast_clock_keep_the_log(tmp_path: Path) -> None:
    """The log is cleaned up after each checkpoint."""
    properties = {"delta.checkpointInterval": "1"}
    table = dr.create_table(tmp_path / "t", SCHEMA, properties=properties)
    for number in range(3):
        assert by_clock(60, table, "add", f"f{number}")["version"] == number + 1
    log = tmp_path / "t" / "_delta_log"
    assert len(list(log.glob("*.checkpoint.parquet"))) == 3
    assert [table.snapshot(version).num_files for version in range(4)] == [0, 1, 2, 3]
    assert len(list(log.glob("*.json"))) == 4


def test_removals_by_a_slow_clock_are_not_expired(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", SCHEMA)
    table.append([{"id": 1}])
    for path in (tmp_path / "t").glob("*.parquet"):  # an old file
        then = time.time() - 20 * DAY
        os.utime(path, (then, then))
    by_clock(-30, table, "delete", "1")
    assert table.vacuum(dry_run=False).files == (), "it was live a moment ago"
    assert ids(table, 1) == [1]


def test_files_expired_by_every_clock_are_deleted(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", SCHEMA)
    orphan = tmp_path / "t" / "part-00000-orphan.parquet"
    orphan.write_bytes(b"x")
    then = time.time() - 20 * DAY
    os.utime(orphan, (then, then))
    assert by_clock(30, table, "vacuum")["files"] == [orphan.name]
    assert not orphan.exists()
    left = [path.name for path in (tmp_path / "t" / "_delta_log").iterdir()]
    assert not [name for name in left if "clock" in name], left
