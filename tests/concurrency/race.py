"""A race of processes that append rows to one table, and the expected result."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa

import deltareplay as dr

from .appender import ROWS

HERE = Path(__file__).parent
SCHEMA = pa.schema([("writer", pa.string()), ("number", pa.int64()), ("row", pa.int64())])
READERS = 2


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(HERE / script), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def append_concurrently(
    table: dr.Table, options: dict[str, str], processes: int, commits: int
) -> None:
    """Append from several processes, with concurrent readers.

    Raises:
        AssertionError: A commit is not acknowledged under its own version, a row is lost or
            duplicated, or a reader saw an incomplete version.
    """
    options_json = json.dumps(options)
    readers = [start("reader.py", table.uri, options_json) for _ in range(READERS)]
    names = [f"w{number}" for number in range(processes)]
    writers = [start("appender.py", table.uri, name, str(commits), options_json) for name in names]
    try:
        acknowledged: dict[int, str] = {}
        for name, writer in zip(names, writers, strict=True):
            versions, errors = writer.communicate(timeout=3600)
            assert writer.returncode == 0, errors
            numbered = [int(version) for version in versions.split()]
            assert numbered == sorted(numbered), "a writer's commits are in order"
            for number, version in enumerate(numbered):
                assert version not in acknowledged, f"version {version} was acknowledged twice"
                acknowledged[version] = f"{name} {number}"
        for reader in readers:
            times, errors = reader.communicate("stop\n", timeout=600)
            assert reader.returncode == 0, errors
            assert int(times) > 0
    finally:
        for process in (*writers, *readers):
            process.kill()
            process.communicate()

    total = processes * commits
    assert sorted(acknowledged) == list(range(1, total + 1)), (
        "all commits are acknowledged, without a gap"
    )
    history = table.history().to_pylist()
    result = {row["version"]: row["userMetadata"] for row in history if row["version"] > 0}
    assert result == acknowledged, "each version is the commit to which it was acknowledged"
    rows = Counter(
        (row["writer"], row["number"], row["row"])
        for row in table.snapshot().scan().to_arrow().to_pylist()
    )
    expected = {(name, n, row) for name in names for n in range(commits) for row in range(ROWS)}
    assert set(rows) == expected, "no row is lost"
    assert rows.total() == len(expected), "no row is duplicated"
