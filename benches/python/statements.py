"""Time DELETE, UPDATE and MERGE in Spark, with this package and delta-spark.

``python benches/python/statements.py [--data DIRECTORY] [--runs 2] [--only WORD]
[--cluster]``

The table of ``spark.py``: 20 million rows of 10 columns in 20 files, with deletion vectors and
without. Each statement runs on a copy of it (hard links); the first run warms up the JVM, and
results are the minimum of the others. DELETE removes 1 % of the rows, scattered, UPDATE changes
1 %, MERGE updates 5 % and inserts 1 % from Parquet files. CPU seconds are those of the JVM and of
all Python processes. Both engines must leave the same number of rows, and the same sum of a column.

With ``--cluster``, a single MERGE is timed once, with a source of 20 million rows, half of which
are in the table, on two executors of 1 GB each with one core (``local-cluster[2,1,1024]``) and a
driver of 1 GB. Peaks are the highest resident memory of the driver's Python, of its JVM, and of the
larger executor.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spark as in_spark

HERE = Path(__file__).parent
ENGINES = ("deltareplay", "delta-spark")
SOURCE, LARGE_SOURCE = "statements-source", "statements-large-source"
CONDITION = "pmod(hash(id), 100) = 7"
SETS = {"x": "x + 1", "name": "concat(name, '!')"}
ON = "t.id = s.id"
MERGE = "MERGE 5 % and 1 %"
LARGE = "MERGE of 20 million rows"
CLUSTER = "local-cluster[2,1,1024]"


def copied(table: Path, work: Path, vectors: bool) -> Path:
    """Copy a table as links, and enable deletion vectors if requested."""
    import deltareplay as dr

    shutil.rmtree(work, ignore_errors=True)
    (work / "_delta_log").mkdir(parents=True)
    for path in table.glob("*.parquet"):
        os.link(path, work / path.name)
    for path in (table / "_delta_log").glob("*.json"):
        shutil.copy(path, work / "_delta_log")
    if vectors:
        dr.Table(work).set_properties({"delta.enableDeletionVectors": "true"})
    return work


def write_sources(spark: Any, data: Path) -> None:
    """Write one million existing rows and 200,000 new ones; then ten million of each."""
    total = in_spark.FILES * in_spark.ROWS
    existing = spark.range(0, total, 20)
    write_source(existing.union(spark.range(total, total + total // 100)), data / SOURCE)
    write_source(spark.range(0, 2 * total, 2), data / LARGE_SOURCE)


def write_source(ids: Any, path: Path) -> None:
    if (path / "_SUCCESS").exists():
        return
    rows = ids.selectExpr(
        "id",
        "CAST(id % 1000 AS INT) AS units",
        "rand(1) AS x",
        "rand(2) AS y",
        "'merged' AS category",
        "concat('merged-', id) AS name",
        "TIMESTAMP '2026-01-01' AS at",
        "DATE '2026-01-01' AS day",
        "CAST(id % 100 AS DECIMAL(21, 2)) AS price",
        "id % 2 = 0 AS flag",
    )
    rows.repartition(4).write.mode("overwrite").parquet(str(path))


def statements(spark: Any, engine: str, source: Path) -> dict[str, Callable[[Path], Any]]:
    def rows() -> Any:
        return spark.read.parquet(str(source)).alias("s")

    if engine == "deltareplay":
        from deltareplay import spark as dr_spark

        return {
            "DELETE 1 %": lambda path: dr_spark.delete(spark, path, CONDITION),
            "UPDATE 1 %": lambda path: dr_spark.update(spark, path, CONDITION, SETS),
            MERGE: lambda path: (
                dr_spark.merge(spark, path, rows(), ON, target_alias="t")
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .execute()
            ),
        }
    from delta.tables import DeltaTable

    def table(path: Path) -> Any:
        return DeltaTable.forPath(spark, str(path))

    return {
        "DELETE 1 %": lambda path: table(path).delete(CONDITION),
        "UPDATE 1 %": lambda path: table(path).update(CONDITION, SETS),
        MERGE: lambda path: (
            table(path)
            .alias("t")
            .merge(rows(), ON)
            .whenMatchedUpdateAll()
            .whenNotMatchedInsertAll()
            .execute()
        ),
    }


def measured(run: Callable[[Path], Any], path: Path) -> dict[str, Any]:
    """Run a statement, and return its cost and a summary of the table that it leaves."""
    import deltareplay as dr

    began, start = in_spark.cpu_seconds(), time.perf_counter()
    run(path)
    wall, cpu = time.perf_counter() - start, in_spark.cpu_seconds() - began
    peaks = peaks_mb()  # before this process reads the table
    rows = dr.Table(path).snapshot().scan(columns=["id", "units"]).to_arrow()
    answer = [rows.num_rows, sum(rows["units"].to_numpy().tolist())]
    return {"answer": answer, "cpu": cpu, "wall": wall, "peaks": peaks}


def report(task: str, result: dict[str, Any]) -> None:
    print(f"{task}: {result}", file=sys.stderr)
    print("RESULT " + json.dumps({"task": task, **result}), flush=True)


def run_engine(engine: str, data: Path, runs: int, only: str) -> None:
    spark = in_spark.session(engine)
    source = data / SOURCE
    for vectors in (False, True):
        for name, run in statements(spark, engine, source).items():
            task = f"{name}, {'with' if vectors else 'without'} vectors"
            if only not in task:
                continue
            results = []
            for _ in range(runs + 1):
                path = copied(data / "spark-rows", data / "statements-work", vectors)
                results.append(measured(run, path))
            _, *warm = results
            best = {cost: min(result[cost] for result in warm) for cost in ("cpu", "wall")}
            report(task, warm[-1] | best)
    shutil.rmtree(data / "statements-work", ignore_errors=True)
    spark.stop()


def on_cluster(engine: str, data: Path, only: str) -> None:
    """Run the large merge, once for each kind of table."""
    # Spark's default number of shuffle partitions
    others = {"spark_driver_memory": "1g", "spark_sql_shuffle_partitions": "200"}
    spark = in_spark.session(engine, CLUSTER, **others)
    run = statements(spark, engine, data / LARGE_SOURCE)[MERGE]
    for vectors in (False, True):
        task = f"{LARGE}, {'with' if vectors else 'without'} vectors"
        if only not in task:
            continue
        path = copied(data / "spark-rows", data / "statements-work", vectors)
        report(task, measured(run, path))
    shutil.rmtree(data / "statements-work", ignore_errors=True)
    spark.stop()


def peaks_mb() -> list[int]:
    """Return the peak memory of the driver's Python, of its JVM, and of the larger executor."""
    import psutil

    peaks = [0, 0, 0]
    me = psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        try:
            command = " ".join(process.cmdline())
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        kinds = [process == me, "SparkSubmit" in command, "ExecutorBackend" in command]
        if any(kinds):
            status = Path(f"/proc/{process.pid}/status").read_text()
            [peak] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
            kind = kinds.index(True)
            peaks[kind] = max(peaks[kind], int(peak) >> 10)
    return peaks


def linked_home(directory: str) -> str:
    """Create a Spark home of links: workers of a local cluster write to its ``work``."""
    import pyspark

    for entry in Path(pyspark.__file__).parent.iterdir():
        if entry.name != "work":
            (Path(directory) / entry.name).symlink_to(entry)
    return directory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE.parent / "data")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--only", default="", help="statements whose name has this text")
    parser.add_argument(
        "--cluster", action="store_true", help="the large merge, on small executors"
    )
    parser.add_argument("--engine", choices=ENGINES, help="run only this one, in this process")
    args = parser.parse_args()
    data = args.data.absolute()
    if args.engine:
        warnings.simplefilter("ignore")
        if args.cluster:
            on_cluster(args.engine, data, args.only)
        else:
            run_engine(args.engine, data, args.runs, args.only)
        return
    if not (data / "spark-rows" / "_delta_log").exists():
        in_spark.write_rows(data / "spark-rows", deleted=False)
    if not all((data / name / "_SUCCESS").exists() for name in (SOURCE, LARGE_SOURCE)):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        session = in_spark.session("deltareplay")
        write_sources(session, data)
        session.stop()
    with tempfile.TemporaryDirectory() as home:
        compare(args, data, home)


def compare(args: argparse.Namespace, data: Path, home: str) -> None:
    """Run each engine in its own process, and print the table."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    if args.cluster:
        environment["SPARK_HOME"] = linked_home(home)
    results: dict[str, dict[str, Any]] = {}
    for engine in ENGINES:
        command = [sys.executable, __file__, "--data", str(data), "--runs", str(args.runs)]
        command += ["--only", args.only, "--engine", engine]
        command += ["--cluster"] if args.cluster else []
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env=environment
        )
        for line in done.stdout.splitlines():
            if line.startswith("RESULT "):
                result = json.loads(line.removeprefix("RESULT "))
                results.setdefault(result["task"], {})[engine] = result
    print("| statement | ours: CPU s, wall s | delta-spark: CPU s, wall s | CPU ratio |", end="")
    print(" peak MB: ours | delta-spark |" if args.cluster else "")
    print("|---" * (6 if args.cluster else 4) + "|")
    for task, engines in results.items():
        mine, other = engines["deltareplay"], engines["delta-spark"]
        if mine["answer"] != other["answer"]:
            raise AssertionError(
                f"{task}: the engines disagree: {mine['answer']}, {other['answer']}"
            )
        print(
            f"| {task} | {mine['cpu']:.1f}, {mine['wall']:.1f} | "
            f"{other['cpu']:.1f}, {other['wall']:.1f} | {mine['cpu'] / other['cpu']:.2f} |",
            end="",
        )
        print(f" {mine['peaks']} | {other['peaks']} |" if args.cluster else "")


if __name__ == "__main__":
    main()
