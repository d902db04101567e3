"""A driver that is killed at any step of a statement leaves the old version, or the new one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from spark.support.killed_driver import POINTS, WRITING, statement
from spark.support.leftovers import leftovers

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # drivers of their own

TESTS = Path(__file__).resolve().parents[1]
PLAIN = {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"}
VECTORS = PLAIN | {"delta.enableDeletionVectors": "true"}
EVERY = [WRITING, *POINTS]


def without(*words: str) -> list[str]:
    return [point for point in EVERY if not any(word in point for word in words)]


CASES = [
    ("merge", VECTORS, EVERY),
    ("merge", PLAIN, without("vectors")),
    ("update", PLAIN, without("source", "vectors")),
    # it changes all rows of a file, so it needs no vector
    ("update", VECTORS, without("source", "vectors")),
    ("delete", PLAIN, without("source", "vectors", WRITING)),
    ("delete", VECTORS, without("source", "files", WRITING)),
]
#: The cases of every run.
SOME = [
    ("merge", VECTORS, [WRITING, "change files are moved", "vectors are written"]),
    ("update", PLAIN, ["after the commit"]),
]
BEFORE = dict.fromkeys(range(20), 0)
CHANGED = {number: 7 if number >= 10 else 0 for number in range(20)}
AFTER = {
    "update": CHANGED,
    "delete": {number: 0 for number in range(20) if number % 4 != 1},
    "merge": {item: v for item, v in CHANGED.items() if v or item % 4 != 1}
    | dict.fromkeys(range(20, 24), 7),
}


class Drivers:
    """Drivers that are killed, in processes that share the JVM of a session."""

    def __init__(self, spark: Any) -> None:
        parameters = spark.sparkContext._gateway.gateway_parameters
        paths = [str(TESTS.parent / "python"), str(TESTS), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "spark.support.killed_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYSPARK_GATEWAY_PORT": str(parameters.port),
                "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONPATH": os.pathsep.join(paths),
            },
        )

    def read_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def run(self, table: Path, statement: str, point: str) -> Any:
        """Run a statement in a new process; return the signal that ended it."""
        assert self.process.stdin is not None
        job = {"table": str(table), "statement": statement, "point": point}
        print(json.dumps(job), file=self.process.stdin, flush=True)
        return json.loads(self.read_line())


@pytest.fixture(scope="module")
def drivers(spark: Any) -> Iterator[Drivers]:
    created = Drivers(spark)
    try:
        assert created.read_line() == "ready"
        yield created
    finally:
        created.process.kill()
        created.process.communicate()


def cases() -> list[Any]:
    chosen = CASES if os.environ.get("DELTAREPLAY_SLOW") else SOME
    return [
        pytest.param(
            name, properties, point, id=f"{name}{', vectors' * (properties is VECTORS)}, {point}"
        )
        for name, properties, points in chosen
        for point in points
    ]


@pytest.mark.parametrize(("name", "properties", "point"), cases())
def test_a_killed_driver_leaves_the_old_or_the_new_version(
    spark: Any, drivers: Drivers, tmp_path: Path, name: str, properties: Any, point: str
) -> None:
    path = tmp_path / "table"
    rows = spark.range(0, 20, 1, 2).selectExpr("id", "0L AS v")
    dr_spark.write(rows, path, properties=properties)

    assert drivers.run(path, name, point) == signal.SIGKILL
    tracker = spark.sparkContext.statusTracker()
    while tracker.getActiveJobsIds():  # the JVM continues, and finishes its job
        time.sleep(0.1)
    result = dr.Table(path)
    done = point == "after the commit"
    assert result.snapshot().version == int(done)
    assert rows_of(path) == (AFTER[name] if done else BEFORE)
    assert not [
        finding for finding in result.verify(rows=True).findings if finding.severity != "info"
    ]

    result.vacuum(timedelta(0), force=True, dry_run=False)
    assert leftovers(path) == []
    if not done:
        statement(spark, path, name, "7")
    assert rows_of(path) == AFTER[name]
    assert result.verify(rows=True).findings == ()


def rows_of(path: Path) -> dict[int, int]:
    read = dr.Table(path).snapshot().scan(columns=["id", "v"]).to_arrow().to_pydict()
    result = dict(zip(read["id"], read["v"], strict=True))
    assert len(result) == len(read["id"]), "a row is duplicated"
    return result
