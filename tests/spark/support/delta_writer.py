"""A process with delta-spark that executes steps: ``delta_writer JARS``.

Takes lines of JSON: the table's directory, names of writers, the number of their commits, the
directory of the journals, and whether every step is a MERGE. Each writer is a thread with its own
session. Prints ``ready`` once the session has started, and for each line the number of commits
that its log store has put, and of lost races.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from concurrency import plans
from delta import exceptions
from delta.exceptions import captured  # noqa: F401  # without it PySpark knows none of them
from pyspark.sql import SparkSession

#: The exceptions of delta-spark for conflicts.
CONFLICTS = tuple(getattr(exceptions, name) for name in exceptions.__all__)
MARK = "spark.databricks.delta.commitInfo.userMetadata"


def session(jars: str) -> Any:
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.delta.logStore.file.impl": "deltareplay.LinkLogStore",
        "spark.jars": jars,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master("local[1]").appName("race")
    for name, value in settings.items():
        builder = builder.config(name, value)
    created = builder.getOrCreate()
    created.sparkContext.setLogLevel("OFF")
    return created


def statement(step: plans.Step, table: str) -> str:
    if step["kind"] in ("append", "merge"):
        rows = ", ".join(
            f"('{row['key']}', '{row['owner']}', {row['half']}, {row['v']}L)"
            for row in plans.rows(step)
        )
    if step["kind"] == "append":
        return f"INSERT INTO {table} VALUES {rows}"
    if step["kind"] == "merge":
        on = "t.key = s.key AND t.half = s.half"
        on += "" if step["wide"] else f" AND t.owner = '{step['owner']}'"
        return (
            f"MERGE INTO {table} t USING (VALUES {rows} AS s(key, owner, half, v)) s ON {on}"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    if step["kind"] == "delete":
        return f"DELETE FROM {table} WHERE {plans.where(step)}"
    return f"UPDATE {table} SET v = v + 1 WHERE {plans.where(step)}"


def merge(step: plans.Step, table: str) -> str:
    """Return the statement of the same step as a MERGE."""
    if step["kind"] in ("append", "merge"):
        return statement({**step, "kind": "merge"}, table)
    then = "DELETE" if step["kind"] == "delete" else "UPDATE SET v = t.v + s.more"
    return (
        f"MERGE INTO {table} t USING (VALUES ('{step['key']}', 1L) AS s(key, more)) s "
        f"ON t.key = s.key AND t.owner = '{step['owner']}' WHEN MATCHED THEN {then}"
    )


def write(session: Any, job: dict[str, Any], name: str) -> None:
    own = session.newSession()
    table = f"delta.`{job['table']}`"
    make = merge if job.get("merges") else statement

    def carry_out(step: plans.Step, mark: str) -> None:
        own.conf.set(MARK, mark)
        own.sql(make({**step, "wide": False}, table))

    journal = Path(job["journals"], f"writer-{name}")
    steps = plans.planned(name, job["commits"])
    plans.execute_steps(name, steps, journal, carry_out, CONFLICTS)


def main(jars: str) -> None:
    spark = session(jars)
    spark.range(1).collect()
    store = spark._jvm.deltareplay.LinkLogStore
    print("ready", flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        published, taken = store.published(), store.taken()
        with ThreadPoolExecutor(len(job["names"])) as threads:
            list(threads.map(partial(write, spark, job), job["names"]))
        result = {"put": store.published() - published, "taken": store.taken() - taken}
        print(json.dumps(result), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
