"""Many processes, one table: nothing is lost, nothing is duplicated, every version is complete."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pyarrow as pa
from concurrency import race
from support.writing import actions

import deltareplay as dr

WRITER = Path(__file__).with_name("writer.py")
PROCESSES = int(os.environ.get("DELTAREPLAY_WRITERS", "4"))
COMMITS = int(os.environ.get("DELTAREPLAY_COMMITS", "12"))


def test_appended_rows_occur_once_for_every_reader(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", race.SCHEMA)
    race.append_concurrently(table, {}, PROCESSES, COMMITS)


def test_every_commit_is_in_the_log_once(tmp_path: Path) -> None:
    table = dr.create_table(
        tmp_path / "t",
        pa.schema([("id", pa.int64())]),
        properties={"delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"},
    )
    writers = [
        subprocess.Popen(
            [sys.executable, str(WRITER), table.uri, f"w{number}", str(COMMITS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    seen = []
    try:
        with warnings.catch_warnings():
            # between writing a checkpoint and its hint, a reader finds no hint
            warnings.simplefilter("ignore", dr.DeltaReplayWarning)
            while any(writer.poll() is None for writer in writers):
                snapshot = table.snapshot()
                seen.append((snapshot.version, snapshot.num_files, snapshot.files().num_rows))
        for writer in writers:
            _, errors = writer.communicate()
            assert writer.returncode == 0, errors
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()

    removed = COMMITS // 4
    assert table.snapshot().version == PROCESSES * (COMMITS + removed)
    live = sorted(table.snapshot().files(columns=["path"])["path"].to_pylist())
    assert live == sorted(
        f"w{writer}-{number}"
        for writer in range(PROCESSES)
        for number in range(COMMITS)
        if number % 4 != 3
    )
    assert table.snapshot().transactions == {f"w{n}": COMMITS - 1 for n in range(PROCESSES)}
    assert all(counted == listed for _, counted, listed in seen)
    assert [version for version, *_ in seen] == sorted(version for version, *_ in seen)

    ids, times = [], []
    for version in range(table.snapshot().version + 1):
        lines = actions(table, version)
        times.append(lines[0]["commitInfo"]["inCommitTimestamp"])
        ids += [line["add"]["baseRowId"] for line in lines if "add" in line]
    assert sorted(ids) == list(range(PROCESSES * COMMITS)), "row ids without gap or repetition"
    assert times == sorted(set(times)), "in-commit timestamps increase"
