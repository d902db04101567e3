"""Time reads of one table in Spark, by this package, delta-spark and bare Parquet.

``python benches/python/spark.py [--data DIRECTORY] [--runs 5] [--only WORD]``

20 million rows of 10 columns in 20 files; again with 0.5 % of the rows deleted by vectors; and
100,000 files for planning: hard links to small ones. Each engine has its own session
(``local[2]``), in which every query first runs several times to warm up (code that the JVM has not
compiled yet is slower); results are the minimum of further runs. CPU seconds are those of the JVM
and of all Python processes. Every engine must return the same result; ``parquet`` ignores deleted
rows, and reads the table without them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rows

HERE = Path(__file__).parent
FILES, ROWS, DELETED = 20, 1_000_000, 5_000
WARM_UP = 5
MANY = 100_000
LINKS = 50_000  # a file system limits them
ENGINES = ("deltareplay", "delta-spark", "parquet")
SCHEMA = {
    "id": "long",
    "units": "integer",
    "x": "double",
    "y": "double",
    "category": "string",
    "name": "string",
    "at": "timestamp",
    "day": "date",
    "price": "decimal(21,2)",
    "flag": "boolean",
}
QUERIES: dict[str, Callable[[Any], Any]] = {
    "count": lambda frame: frame.count(),
    "sum of a column": lambda frame: frame.selectExpr("sum(units)").first()[0],
    "three columns": lambda frame: sink(frame.select("id", "x", "category")),
    "group": lambda frame: sorted(map(tuple, frame.groupBy("category").count().collect())),
    "selective filter": lambda frame: frame.where("id BETWEEN 7000000 AND 7001000").count(),
    "all columns": lambda frame: sink(frame),
}


def sink(frame: Any) -> int:
    """Produce every row and drop it; delta-spark refuses ``noop`` for tables with vectors."""
    return int(frame._jdf.queryExecution().toRdd().count())


def write_rows(directory: Path, deleted: bool) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import deltareplay as dr

    adds = []
    directory.mkdir(parents=True)
    for number in range(FILES):
        rng = np.random.default_rng(number)
        columns = {
            "id": pa.array(np.arange(ROWS) + number * ROWS),
            "units": pa.array(rng.integers(0, 1000, ROWS, np.int32)),
            "x": pa.array(rng.random(ROWS)),
            "y": pa.array(rng.random(ROWS)),
            "category": pa.array(
                np.array(["alpha", "beta", "gamma", "delta"])[rng.integers(0, 4, ROWS)]
            ),
            "name": pa.array([f"name-{value}" for value in rng.integers(0, 1 << 30, ROWS)]),
            "at": pa.array(1_700_000_000_000_000 + rng.integers(0, 10**12, ROWS)).cast(
                pa.timestamp("us", "UTC")
            ),
            "day": pa.array(rng.integers(18_000, 20_000, ROWS, np.int32)).cast(pa.date32()),
            "price": pa.array(rng.integers(0, 10**7, ROWS))
            .cast(pa.decimal128(19, 0))
            .cast(pa.decimal128(21, 2)),
            "flag": pa.array(rng.random(ROWS) < 0.5),
        }
        path = directory / f"part-{number:05}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=ROWS // 4)
        bounds = {"minValues": {"id": number * ROWS}, "maxValues": {"id": (number + 1) * ROWS - 1}}
        add = added(path.name, path.stat().st_size, ROWS, bounds)
        if deleted:
            deleted_rows = np.sort(rng.choice(ROWS, DELETED, replace=False))
            add["deletionVector"] = dr.DeletionVector.from_rows(deleted_rows).encode_inline()
        adds.append(add)
    rows.write_log(directory, [*SCHEMA.items()], adds, deleted)


def write_many(directory: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    directory.mkdir(parents=True)
    table, first, adds = pa.table({"id": pa.array(range(10), pa.int64())}), Path(), []
    for number in range(MANY):
        name = f"part-{number:06}.parquet"
        if number % LINKS == 0:
            first = directory / name
            pq.write_table(table, first)
        else:
            os.link(first, directory / name)
        size = first.stat().st_size
        bounds = {"minValues": {"id": 0}, "maxValues": {"id": 9}, "nullCount": {"id": 0}}
        adds.append(added(name, size, 10, bounds))
    rows.write_log(directory, [("id", "long")], adds, False)


def added(path: str, size: int, rows: int, bounds: dict[str, Any]) -> dict[str, Any]:
    return {
        "path": path,
        "partitionValues": {},
        "size": size,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
        "stats": json.dumps({"numRecords": rows, **bounds}),
    }


def session(engine: str, master: str = "local[2]", **others: str) -> Any:
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    settings |= {name.replace("_", "."): value for name, value in others.items()}
    builder = SparkSession.builder.master(master).appName(f"bench {engine}")
    if engine == "delta-spark":
        settings["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
        settings["spark.sql.catalog.spark_catalog"] = (
            "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
    for name, value in settings.items():
        builder = builder.config(name, value)
    if engine == "delta-spark":
        from delta import configure_spark_with_delta_pip

        builder = configure_spark_with_delta_pip(builder)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def opener(spark: Any, engine: str) -> Callable[[Path], Any]:
    if engine == "deltareplay":
        from deltareplay import spark as dr_spark

        return lambda table: dr_spark.read(spark, table)
    if engine == "parquet":
        return lambda table: spark.read.parquet(str(table))

    def load(table: Path) -> Any:
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        return spark.read.format("delta").load(str(table))

    return load


def plan(frame: Any) -> int:
    """Do everything before the first task: plan, list files, split them."""
    return int(frame._jdf.queryExecution().toRdd().getNumPartitions())


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and all that it has started, running or ended."""
    import psutil

    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def measured(step: Callable[[], Any], runs: int) -> tuple[Any, float, float]:
    answer = step()
    for _ in range(WARM_UP - 1):
        step()
    cpu, wall = [], []
    for _ in range(runs):
        began, start = cpu_seconds(), time.perf_counter()
        if step() != answer:
            raise AssertionError("two runs gave two answers")
        wall.append(time.perf_counter() - start)
        cpu.append(cpu_seconds() - began)
    return answer, min(cpu), min(wall)


def run_engine(engine: str, data: Path, runs: int, only: str) -> None:
    spark = session(engine)
    load = opener(spark, engine)
    tables = {"rows": data / "spark-rows", "deleted": data / "spark-deleted"}
    if engine == "parquet":
        del tables["deleted"]
    for kind, table in tables.items():
        for name, query in QUERIES.items():
            if only in f"{kind}: {name}":
                report(f"{kind}: {name}", measured(lambda q=query, t=table: q(load(t)), runs))
        if engine == "deltareplay" and only in f"{kind}: spark.count":
            from deltareplay import spark as dr_spark

            count = measured(lambda t=table: dr_spark.count(spark, t), runs)
            report(f"{kind}: spark.count", count)
    if only in f"planning {MANY} files":
        many = data / "spark-many"
        report(f"planning {MANY} files", measured(lambda: plan(load(many)), runs))
    spark.stop()


def report(task: str, measured: tuple[Any, float, float]) -> None:
    answer, cpu, wall = measured
    print(f"{task}: CPU {cpu:.2f} s, wall {wall:.2f} s", file=sys.stderr)
    print("RESULT " + json.dumps({"task": task, "answer": answer, "cpu": cpu, "wall": wall}))
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE.parent / "data")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--engine", choices=ENGINES, help="run only this one, in this process")
    args = parser.parse_args()
    for name, write in (
        ("spark-rows", lambda path: write_rows(path, False)),
        ("spark-deleted", lambda path: write_rows(path, True)),
        ("spark-many", write_many),
    ):
        if not (args.data / name / "_delta_log").exists():
            write(args.data / name)
    if args.engine:
        warnings.simplefilter("ignore")
        run_engine(args.engine, args.data.absolute(), args.runs, args.only)
        return
    results: dict[str, dict[str, Any]] = {}
    for engine in ENGINES:
        command = [sys.executable, __file__, "--data", str(args.data), "--runs", str(args.runs)]
        command += ["--only", args.only, "--engine", engine]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env=environment
        )
        for line in done.stdout.splitlines():
            if line.startswith("RESULT "):
                result = json.loads(line.removeprefix("RESULT "))
                results.setdefault(result["task"], {})[engine] = result
    print_table(results)


def print_table(results: dict[str, dict[str, Any]]) -> None:
    heads = [f"{engine}: CPU s, wall s" for engine in ENGINES]
    print("| task | " + " | ".join([*heads, "ours / delta-spark", "ours / parquet"]) + " |")
    print("|---" * (len(heads) + 3) + "|")
    for task, engines in results.items():
        answers = {
            json.dumps(result["answer"]) for result in engines.values() if "planning" not in task
        }
        if len(answers) > 1:
            raise AssertionError(f"{task}: the engines disagree: {answers}")
        cells = [
            f"{engines[name]['cpu']:.2f}, {engines[name]['wall']:.2f}" if name in engines else "-"
            for name in ENGINES
        ]
        measure = "wall" if "planning" in task else "cpu"
        for other in ENGINES[1:]:
            both = "deltareplay" in engines and other in engines
            ours = engines["deltareplay"][measure] if both else 0.0
            cells.append(f"{ours / max(engines[other][measure], 1e-9):.2f}" if both else "-")
        print(f"| {task} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
