"""Statements whose executor is lost once, or whose task fails or is slow; run by ``losing``."""

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


def faulty_identity(marker: Path, fault: str) -> Any:
    """Return a function for Spark that returns its argument, and causes a fault once.

    It creates the file ``marker`` first, and causes no fault if the file exists.
    """
    path = str(marker)

    def identity(value: int) -> int:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return value
        if fault == "raises":
            raise RuntimeError("only once")
        if fault == "slow":
            time.sleep(30)
        if fault == "killed":
            daemon = os.getppid()
            with open(f"/proc/{daemon}/stat") as stat:
                executor = int(stat.read().rsplit(")", 1)[1].split()[1])
            os.kill(executor, signal.SIGKILL)
            time.sleep(30)
        return value

    from pyspark.sql import functions as sf

    return sf.udf(identity, "long")


@dataclass(frozen=True)
class Case:
    """A statement, and the fault in one of its tasks.

    Attributes:
        algorithm: The algorithm version of Hadoop's committer.
        fault: What happens to the first call of the function: it ``raises``, is ``slow``, or its
            executor is ``killed``; or ``killed after commit``, an executor that ends when a task
            has committed.
        properties: The table's properties.
        statement: Takes the session, the table and the function.
        expected: The rows afterwards, as ids and values.
        num_changes: The number of rows in the change feed.
    """

    algorithm: int
    fault: str
    properties: dict[str, str]
    statement: Callable[[Any, Path, Any], Any]
    expected: dict[int, int]
    num_changes: int


def update(spark: Any, path: Path, identity: Any) -> Any:
    from pyspark.sql import functions as sf

    return dr_spark.update(spark, path, "id % 2 = 0", {"v": identity(sf.col("v")) + 1})


def delete(spark: Any, path: Path, identity: Any) -> Any:
    from pyspark.sql import functions as sf

    return dr_spark.delete(spark, path, identity(sf.col("id")) % 4 == 1)


def merge(spark: Any, path: Path, identity: Any) -> Any:
    from pyspark.sql import functions as sf

    source = spark.range(30, 50, 1, 2).selectExpr("id", "5L AS v").alias("s")
    merge = dr_spark.merge(spark, path, source, "t.id = s.id", target_alias="t")
    value = identity(sf.col("t.v")) + sf.col("s.v")
    merge = merge.when_matched_update({"v": value}, "t.id < 38")
    return merge.when_matched_delete().when_not_matched_insert_all().execute()


UPDATED = {number: 1 - number % 2 for number in range(40)}
DELETED = {number: 0 for number in range(40) if number % 4 != 1}
MERGED = {number: 5 if number >= 30 else 0 for number in range(50) if number not in (38, 39)}

#: The cases of every run.
SOME = {
    "update, killed": Case(2, "killed", PLAIN, update, UPDATED, 40),
    "merge, killed after commit": Case(1, "killed after commit", VECTORS, merge, MERGED, 28),
}
#: The cases with ``DELTAREPLAY_SLOW``.
ALL = {
    f"{statement.__name__}, {fault}, v{algorithm}, {name}": Case(
        algorithm, fault, properties, statement, expected, num_changes
    )
    for statement, expected, num_changes in (
        (update, UPDATED, 40),
        (delete, DELETED, 10),
        (merge, MERGED, 28),
    )
    for name, properties in (("plain", PLAIN), ("vectors", VECTORS))
    for algorithm in (1, 2)
    for fault in ("killed", "raises", "slow", "killed after commit")
    # a deletion with vectors writes no rows, so that no task commits
    if not (statement is delete and properties is VECTORS and fault == "killed after commit")
}


def results(spark: Any, root: Path) -> Iterator[dict[str, Any]]:
    """Yield the result of each case."""
    for name, case in (ALL if os.environ.get("DELTAREPLAY_SLOW") else SOME).items():
        path, marker, no_fault = root / name, root / f"fault-{name}", root / "no-fault"
        no_fault.touch()
        spark.conf.set("mapreduce.fileoutputcommitter.algorithm.version", case.algorithm)
        spark.conf.set("deltareplay.lost", str(no_fault))
        first = spark.range(0, 40, 1, 2).selectExpr("id", "0L AS v")
        dr_spark.write(first, path, properties=case.properties)
        in_commit, in_function = no_fault, marker
        if case.fault == "killed after commit":
            in_commit, in_function = marker, no_fault
        spark.conf.set("deltareplay.lost", str(in_commit))
        case.statement(spark, path, faulty_identity(in_function, case.fault))
        table = dr.Table(path)
        version = table.snapshot().version
        rows = table.snapshot().scan().to_arrow()
        num_changes = dr_spark.changes(spark, path, 1).count()
        findings = [
            str(finding)
            for finding in table.verify(rows=True).findings
            if finding.severity != "info"
        ]
        table.vacuum(timedelta(0), force=True, dry_run=False)
        yield {
            "case": name,
            "fault occurred": marker.exists(),
            "rows are right": sorted(zip(*rows.to_pydict().values(), strict=True))
            == sorted(case.expected.items()),
            "number of changes is right": num_changes == case.num_changes,
            "findings": findings,
            "leftovers": leftovers(path),
            "version": version,
        }
