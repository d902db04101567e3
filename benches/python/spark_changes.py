"""Time change queries in Spark with this package and delta-spark, and print a table.

``python benches/python/spark_changes.py [--data DIRECTORY] [--runs 3] [--only WORD]``

The tables are those of ``changes.py``. Each query first runs several times to warm up; results are
the minimum of further runs. ``deltareplay`` is Python alone, the rows as Arrow; ``deltareplay in
Spark`` is a DataFrame all of whose rows are produced and dropped, like delta-spark's. Every way
must return as many rows.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import changes
import spark as in_spark

HERE = Path(__file__).parent


def ways(spark: Any, name: str, table: Path, kind: Any) -> dict[str, Callable[[], int]]:
    import deltareplay as dr
    from deltareplay import spark as dr_spark

    start = changes.START[name]

    def theirs() -> int:
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        reader = spark.read.format("delta").option("readChangeFeed", "true")
        return in_spark.sink(reader.option("startingVersion", start).load(str(table)))

    def frame(**more: Any) -> Callable[[], int]:
        return lambda: in_spark.sink(dr_spark.changes(spark, table, start, kind=kind, **more))

    alone = {
        "deltareplay": lambda: dr.Table(table).changes(start, kind=kind).to_arrow().num_rows,
    }
    if kind == "full-delta":
        feed = {"delta-spark": theirs} if name == "feed" else {}
        return {**alone, "deltareplay in Spark": frame(), **feed}
    return {
        **alone,
        "deltareplay in Spark, shares": frame(shuffle=False),
        "deltareplay in Spark, shuffle": frame(shuffle=True),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE.parent / "data")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="tasks whose title has this text")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = in_spark.session("delta-spark")
    print("| task | way | CPU s | wall s | wall, ours = 1 |")
    print("|---|---|---:|---:|---:|")
    for title, (name, kind) in changes.TASKS.items():
        if arguments.only not in title:
            continue
        table = arguments.data.absolute() / f"changes-{name}"
        if not (table / "_delta_log" / f"{0:020}.json").is_file():
            changes.WRITE[name](table)
        result, ours = set(), 0.0
        for way, query in ways(spark, name, table, kind).items():
            answer, cpu, wall = in_spark.measured(query, arguments.runs)
            result.add(answer)
            ours = ours or wall
            print(f"| {title} | {way} | {cpu:.2f} | {wall:.2f} | {wall / ours:.1f} |", flush=True)
        if len(result) > 1:
            sys.exit(f"{title}: the ways disagree: {result}")
    spark.stop()


if __name__ == "__main__":
    main()
