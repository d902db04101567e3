"""Statements on executors that are lost, fail once or are slow; run by ``losing``."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from spark.support.leftovers import leftovers

import deltareplay as dr
from deltareplay import spark as dr_spark

PLAIN = {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"}
VECTORS = PLAIN | {"delta.enableDeletionVectors": "true"}


def faulty(module_path: Path, fault: str) -> Any:
    """Return a function for Spark that returns its argument; the first call causes a fault."""
    marker = str(module_path)

    def same(value: int) -> int:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return value
        if fault == "raises":
            raise RuntimeError("only once")
        if fault == "slow":
            time.sleep(30)
        if fault == "killed":
            daemon = os.getppid()
            with open(f"/proc/{daemon}/stat") as reported:
                executor = int(reported.read().rsplit(")", 1)[1].split()[1])
            os.kill(executor, signal.SIGKILL)
            time.sleep(30)
        return value

    from pyspark.sql import functions as sf

    return sf.udf(same, "long")


@dataclass(frozen=True)
class Case:
    """A statement, and the fault in one of its tasks.

    Attributes:
        algorithm: How tasks commit their files.
        fault: What the first call of the function meets; ``lost`` is an executor that is lost right
            after a task has committed.
        properties: Of the table.
        statement: Takes the session, the table and the function.
        expected: The rows afterwards, as ids and values.
        changes: How many rows the change feed tells of.
    """

    algorithm: int
    fault: str
    properties: dict[str, str]
    statement: Callable[[Any, Path, Any], Any]
    expected: dict[int, int]
    changes: int


def update(spark: Any, path: Path, same: Any) -> Any:
    from pyspark.sql import functions as sf

    return dr_spark.update(spark, path, "id % 2 = 0", {"v": same(sf.col("v")) + 1})


def delete(spark: Any, path: Path, same: Any) -> Any:
    from pyspark.sql import functions as sf

    return dr_spark.delete(spark, path, same(sf.col("id")) % 4 == 1)


def merge(spark: Any, path: Path, same: Any) -> Any:
    from pyspark.sql import functions as sf

    source = spark.range(30, 50, 1, 2).selectExpr("id", "5L AS v").alias("s")
    merge = dr_spark.merge(spark, path, source, "t.id = s.id", target_alias="t")
    merge = merge.when_matched_update({"v": same(sf.col("t.v")) + sf.col("s.v")}, "t.id < 38")
    return merge.when_matched_delete().when_not_matched_insert_all().execute()


UPDATED = {number: 1 - number % 2 for number in range(40)}
DELETED = {number: 0 for number in range(40) if number % 4 != 1}
MERGED = {number: 5 if number >= 30 else 0 for number in range(50) if number not in (38, 39)}

#: One of each kind, for every day.
SOME = {
    "update, killed": Case(2, "killed", PLAIN, update, UPDATED, 40),
    "merge, lost": Case(1, "lost", VECTORS, merge, MERGED, 28),
}
ALL = {
    f"{statement.__name__}, {fault}, v{algorithm}, {name}": Case(
        algorithm, fault, properties, statement, expected, changes
    )
    for statement, expected, changes in (
        (update, UPDATED, 40),
        (delete, DELETED, 10),
        (merge, MERGED, 28),
    )
    for name, properties in (("plain", PLAIN), ("vectors", VECTORS))
    for algorithm in (1, 2)
    for fault in ("killed", "raises", "slow", "lost")
    if not (statement is delete and properties is VECTORS and fault == "lost")  # writes no rows
}


def results(spark: Any, root: Path) -> Iterator[dict[str, Any]]:
    """Yield the result of each case."""
    for name, case in (ALL if os.environ.get("DELTAREPLAY_SLOW") else SOME).items():
        path, lost = root / name, root / f"lost-{name}"
        spark.conf.set("mapreduce.fileoutputcommitter.algorithm.version", case.algorithm)
        spark.conf.set("deltareplay.lost", str(root / "nothing"))
        (root / "nothing").touch()
        first = spark.range(0, 40, 1, 2).selectExpr("id", "0L AS v")
        dr_spark.write(first, path, properties=case.properties)
        if case.fault == "lost":
            spark.conf.set("deltareplay.lost", str(lost))
        # if it exists, the fault has occurred
        marker = root / "nothing" if case.fault == "lost" else lost
        started = time.monotonic()
        case.statement(spark, path, faulty(marker, case.fault))
        seconds = time.monotonic() - started
        table = dr.Table(path)
        version = table.snapshot().version
        rows = table.snapshot().scan().to_arrow()
        changes = dr_spark.changes(spark, path, 1).count()
        wrong = [
            str(finding)
            for finding in table.verify(rows=True).findings
            if finding.severity != "info"
        ]
        table.vacuum(timedelta(0), force=True, dry_run=False)
        yield {
            "case": name,
            "met": lost.exists(),
            "seconds": round(seconds, 1),
            "right": sorted(zip(*rows.to_pydict().values(), strict=True))
            == sorted(case.expected.items()),
            "changes": changes == case.changes,
            "wrong": wrong,
            "left": leftovers(path),
            "version": version,
        }
