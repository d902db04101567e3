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

pytestmark = pytest.mark.spark

TESTS = Path(__file__).resolve().parents[1]
PLAIN = {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"}
VECTORS = PLAIN | {"delta.enableDeletionVectors": "true"}
EVERY = [WRITING, *POINTS]
CASES = [
    ("merge", VECTORS, EVERY),
    ("merge", PLAIN, [one for one in EVERY if one != "vectors are written"]),
    ("update", PLAIN, [one for one in EVERY if "source" not in one and "vectors" not in one]),
    # its rows are all that a file has, so that it needs no vector
    ("update", VECTORS, [one for one in EVERY if "source" not in one and "vectors" not in one]),
    ("delete", PLAIN, ["rows are marked", *list(POINTS)[2:6], *list(POINTS)[7:]]),
    ("delete", VECTORS, ["rows are marked", *list(POINTS)[6:]]),
]
#: For every day.
SOME = [
    ("merge", VECTORS, [WRITING, "change files are moved", "vectors are written"]),
    ("update", PLAIN, ["after the commit"]),
]
BEFORE = dict.fromkeys(range(20), 0)
CHANGED = {one: 7 if one >= 10 else 0 for one in range(20)}
AFTER = {
    "update": CHANGED,
    "delete": {one: 0 for one in range(20) if one % 4 != 1},
    "merge": {one: v for one, v in CHANGED.items() if v or one % 4 != 1}
    | dict.fromkeys(range(20, 24), 7),
}


class Drivers:
    """Processes that die; they share the JVM of a session."""

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

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def killed(self, table: Path, statement: str, point: str | None) -> Any:
        assert self.process.stdin is not None
        job = {"table": str(table), "statement": statement, "point": point}
        print(json.dumps(job), file=self.process.stdin, flush=True)
        return json.loads(self.said())


@pytest.fixture(scope="module")
def drivers(spark: Any) -> Iterator[Drivers]:
    made = Drivers(spark)
    try:
        assert made.said() == "ready"
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


def cases() -> list[Any]:
    chosen = CASES if os.environ.get("DELTAREPLAY_SLOW") else SOME
    return [
        pytest.param(name, properties, point, id=f"{name}, {len(properties)} features, {point}")
        for name, properties, points in chosen
        for point in points
    ]


@pytest.mark.parametrize(("name", "properties", "point"), cases())
def test_the_old_version_or_the_new_one(
    spark: Any, drivers: Drivers, tmp_path: Path, name: str, properties: Any, point: str
) -> None:
    path = tmp_path / "table"
    rows = spark.range(0, 20, 1, 2).selectExpr("id", "0L AS v")
    dr_spark.write(rows, path, properties=properties)

    assert drivers.killed(path, name, point) == signal.SIGKILL
    tracker = spark.sparkContext.statusTracker()
    while tracker.getActiveJobsIds():  # the JVM lives on, and ends its job
        time.sleep(0.1)
    found = dr.Table(path)
    done = point == "after the commit"
    assert found.snapshot().version == int(done)
    assert rows_of(path) == (AFTER[name] if done else BEFORE)
    assert not [one for one in found.verify(rows=True).findings if one.severity != "info"]

    found.vacuum(timedelta(0), force=True, dry_run=False)
    assert leftovers(path) == []
    if not done:
        statement(spark, path, name, "7")
    assert rows_of(path) == AFTER[name]
    assert found.verify(rows=True).findings == ()


def rows_of(path: Path) -> dict[int, int]:
    read = dr.Table(path).snapshot().scan(columns=["id", "v"]).to_arrow().to_pydict()
    found = dict(zip(read["id"], read["v"], strict=True))
    assert len(found) == len(read["id"]), "a row is there twice"
    return found
