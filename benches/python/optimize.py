"""Time OPTIMIZE of many small files, by compaction and Z-order, in three ways.

The ways are this package alone, its functions in Spark, and delta-spark.

``python benches/python/optimize.py [--files 1000] [--rows 20000] [--data DIRECTORY] [--only WORD]
[--heap 4g]``

``--rows`` is the number of rows of a file. The table is written once: rows of ten columns, in
random order over all files. Each way runs once, like a nightly job, in its own session and on its
own copy of the table (hard links). CPU seconds are those of the process and all its children,
without the start of the JVM. Peaks are the highest resident memory of the Python process that plans
and commits, and of the JVM, which with ``local[2]`` is also the executor and uses up to ``--heap``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import spark as in_spark
import statements

HERE = Path(__file__).parent
WAYS = ("deltareplay", "deltareplay in Spark", "delta-spark")
TASKS = {"pack": None, "Z-order": ["units", "at"]}


def write(directory: Path, files: int, rows: int) -> None:
    """Write the table, one commit for all files."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import deltareplay as dr

    directory.mkdir(parents=True)
    adds = []
    for number in range(files):
        rng = np.random.default_rng(number)
        micros = rng.integers(1_600_000_000_000_000, 1_700_000_000_000_000, rows)
        data = pa.table(
            {
                "id": pa.array(np.arange(rows) + number * rows),
                "units": pa.array(rng.integers(0, 1_000_000, rows, np.int32)),
                "x": pa.array(rng.random(rows)),
                "y": pa.array(rng.random(rows)),
                "category": pa.array(np.array(["a", "b", "c", "d"])[rng.integers(0, 4, rows)]),
                "name": pa.array([f"name-{value}" for value in rng.integers(0, 1 << 30, rows)]),
                "at": pa.array(micros, pa.timestamp("us", "UTC")),
                "day": pa.array((micros // 86_400_000_000).astype(np.int32), pa.date32()),
                "z": pa.array(rng.random(rows)),
                "flag": pa.array(rng.integers(0, 2, rows).astype(bool)),
            }
        )
        path = directory / f"{number:05}.parquet"
        pq.write_table(data, path)
        stats = json.dumps({"numRecords": rows})
        adds.append({"path": path.name, "size": path.stat().st_size, "stats": stats})
    table = dr.create_table(directory, data.schema)
    with table.transaction() as transaction:
        for add in adds:
            transaction.add(**add)


def run(way: str, task: str, path: Path, heap: str) -> None:
    """Run one task in one way, in this process, and print its cost."""
    import deltareplay as dr
    from deltareplay import spark as dr_spark

    columns = TASKS[task]
    spark = None
    if way != "deltareplay":
        # Spark's default number of shuffle partitions
        settings = {"spark_driver_memory": heap, "spark_sql_shuffle_partitions": "200"}
        spark = in_spark.session(way, **settings)
        spark.range(1000).selectExpr("sum(id)").collect()
    before, started = in_spark.cpu_seconds(), time.perf_counter()
    if way == "deltareplay":
        dr.Table(path).optimize(z_order_by=columns, target_file_size=256 << 20)
    elif way == "deltareplay in Spark":
        dr_spark.optimize(spark, path, z_order_by=columns, target_file_size=256 << 20)
    else:
        spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(256 << 20))
        spark.conf.set("spark.databricks.delta.optimize.minFileSize", str(256 << 20))
        by = f" ZORDER BY ({', '.join(columns)})" if columns else ""
        spark.sql(f"OPTIMIZE delta.`{path}`{by}").collect()
    wall = time.perf_counter() - started
    cpu, peaks = in_spark.cpu_seconds() - before, statements.peaks_mb()[:2]
    snapshot = dr.Table(path).snapshot()
    size = snapshot.size_in_bytes >> 20
    cells = [task, way, f"{cpu:.1f}", f"{wall:.1f}", *peaks, snapshot.num_files, size]
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE.parent / "data")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--only", default="", help="tasks and ways whose title has this text")
    parser.add_argument("--heap", default="4g", help="spark.driver.memory")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    base = arguments.data.absolute() / f"small-{arguments.files}-{arguments.rows}"
    if arguments.run:
        run(*arguments.run, base.with_name(base.name + "-copy"), arguments.heap)
        return
    if not (base / "_delta_log" / f"{1:020}.json").is_file():
        write(base, arguments.files, arguments.rows)
    copy = base.with_name(base.name + "-copy")
    print(
        "| task | way | CPU s | wall s | peak MB | JVM's peak MB | files | MB |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|",
        flush=True,
    )
    for task in TASKS:
        for way in WAYS:
            if arguments.only not in f"{task} {way}":
                continue
            subprocess.run(["rm", "-rf", str(copy)], check=True)
            subprocess.run(["cp", "-rl", str(base), str(copy)], check=True)
            subprocess.run([sys.executable, *sys.argv, "--run", way, task], check=True)
            subprocess.run(["rm", "-rf", str(copy)], check=True)


if __name__ == "__main__":
    main()
