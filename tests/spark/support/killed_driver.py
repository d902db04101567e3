"""Drivers that are killed in the middle of a statement: ``python -m spark.support.killed_driver``.

Takes lines of JSON: a table, the name of a statement, and the point at which to die. For each line
it forks a process that uses the JVM at ``PYSPARK_GATEWAY_PORT``, so that no JVM has to start, and
prints the signal that ended the process, or ``null``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

from deltareplay import spark as dr_spark
from deltareplay._transaction.transaction import Transaction
from deltareplay.spark.dml.merge.execution import MergeExecution
from deltareplay.spark.dml.rewrite import Rewrite
from deltareplay.spark.dml.target_rows import RowSets
from deltareplay.spark.writing.staged_write import StagedWrite

#: The points at which a driver dies: a method, and whether it dies after the call or before.
POINTS: dict[str, tuple[type, str, bool]] = {
    "the source is stored": (MergeExecution, "_matches", False),
    "rows are marked": (Rewrite, "stage", False),
    "files are written": (StagedWrite, "_files", False),
    "change files are not moved": (StagedWrite, "_moved", False),
    "change files are moved": (StagedWrite, "_moved", True),
    "files are staged": (StagedWrite, "write", True),
    "vectors are written": (RowSets, "write_vectors", True),
    "before the commit": (Rewrite, "commit", False),
    "after the commit": (Transaction, "commit", True),
}
#: The point at which a task computes a value of a row, and kills the driver.
WRITING = "rows are written"


def session() -> Any:
    """Return a session of a JVM that another process has started."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    gateway: Any = launch_gateway()
    core = gateway.jvm.org.apache.spark
    jsc = core.api.java.JavaSparkContext.fromSparkContext(core.SparkContext.getOrCreate())
    conf = SparkConf(_jconf=jsc.getConf())
    return SparkSession(SparkContext(conf=conf, gateway=gateway, jsc=jsc))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(owner: type, name: str, *, after: bool) -> None:
    """Make a method kill the process, before or after its call."""
    method = getattr(owner, name)

    def dying(*args: Any, **named: Any) -> Any:
        if not after:
            die()
        method(*args, **named)
        die()

    setattr(owner, name, dying)


def statement(spark: Any, path: Path, name: str, value: Any) -> Any:
    """Run a statement; an update or a merge sets ``v`` to the value where ``id`` is 10 or more."""
    if name == "update":
        return dr_spark.update(spark, path, "id >= 10", {"v": value})
    if name == "delete":
        return dr_spark.delete(spark, path, "id % 4 = 1")
    # rows in an unknown order: the merge stores the source
    source = spark.range(10, 24).selectExpr("id", "7L AS v").distinct().alias("s")
    merge = dr_spark.merge(spark, path, source, "t.id = s.id", target_alias="t")
    merge = merge.when_matched_update({"v": value}).when_not_matched_insert_all()
    return merge.when_not_matched_by_source_delete("t.id % 4 = 1").execute()


def run(job: dict[str, Any]) -> None:
    from pyspark.sql import functions as sf

    spark = session()
    value: Any = sf.lit(7)
    if job["point"] == WRITING:
        driver = os.getpid()

        def kill_driver(seven: int) -> int:
            with contextlib.suppress(ProcessLookupError):
                os.kill(driver, signal.SIGKILL)
            return seven

        value = sf.udf(kill_driver, "long")(sf.lit(7))
    elif job["point"]:
        owner, name, after = POINTS[job["point"]]
        die_at(owner, name, after=after)
    statement(spark, Path(job["table"]), job["statement"], value)


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    run(json.loads(line))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(json.dumps(os.WTERMSIG(status) if os.WIFSIGNALED(status) else None), flush=True)


if __name__ == "__main__":
    main()
