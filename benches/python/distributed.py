"""Replay a log of many files on Spark's executors, and print time and memory.

``python benches/python/distributed.py [--log TABLE | --files 1000000] [--cores 1,2] [--memory 2g]``

Each result comes from a session in a fresh process: seconds from the call of
``deltareplay.spark.files`` until all of its rows, with the named columns, have reached the JVM;
CPU seconds of the JVM and of all Python workers in that time; the peak memory of the driver's
Python beyond that of the libraries. In local mode, executor and driver share one JVM of
``--memory``.

With ``--equal``, the rows are compared with those of ``Snapshot.file_batches`` by their number and
by sums of sizes and of checksums of paths and statistics. ``--reconcile executors`` times the
shuffle by key that a log without a checkpoint needs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import generate

SETS = {
    "paths": ["path"],
    "lean": ["path", "size", "partitionValues", "deletionVector"],
    "all": None,
}
Json = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", type=Path, help="a table; one is generated where none is given")
    parser.add_argument("--files", type=int, default=1_000_000, help="of the generated table")
    parser.add_argument("--cores", default="1,2", help="a session for each")
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--columns", default="paths,lean,all", help=", ".join(SETS))
    parser.add_argument("--filter", help="which files")
    parser.add_argument("--piece-size", type=int, default=64 << 20)
    parser.add_argument("--reconcile", default="auto")
    parser.add_argument("--equal", action="store_true")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        print(json.dumps(task(json.loads(args.task))))
        return
    with tempfile.TemporaryDirectory() as directory:
        log = args.log or Path(directory) / "log"
        if args.log is None:
            shape = generate.Shape(files=args.files, commits=100, adds=60, removes=40)
            generate.generate(log, shape)
        for columns in args.columns.split(","):
            for cores in args.cores.split(","):
                show(columns, cores, vars(args) | {"log": str(log), "columns": SETS[columns]})


def show(columns: str, cores: str, arguments: Json) -> None:
    """Run one session and print its results."""
    arguments = arguments | {"cores": cores}
    command = [sys.executable, __file__, "--task", json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-4000:])
    result = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{columns:5} local[{cores}] {result['pieces']:5} pieces {result['files']:>11,} files "
        f"{result['seconds']:7.1f} s {result['cpu']:7.1f} CPU s "
        f"{result['cpu'] / result['files'] * 1e6:6.2f} CPU us a file "
        f"{result['driver']:4.0f} MB on the driver {result['worker']:4.0f} MB a worker "
        f"{result['equal']}",
        flush=True,
    )


def task(arguments: Json) -> Json:
    """Return the results of one session."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import count, lit

    import deltareplay as dr
    from deltareplay import spark as dr_spark

    spark = session(arguments["cores"], arguments["memory"])
    warm = spark.range(0, 8, 1, 8).mapInArrow(lambda batches: batches, "id long")
    warm.write.format("noop").mode("overwrite").save()
    memory, used, start = peak(), cpu(), time.monotonic()
    frame = dr_spark.files(
        spark,
        arguments["log"],
        columns=arguments["columns"],
        filter=arguments["filter"],
        piece_size=arguments["piece_size"],
        reconcile=arguments["reconcile"],
    )
    planned = peak() - memory
    rows = Observation()
    frame.observe(rows, count(lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
    seconds, used = time.monotonic() - start, cpu() - used
    workers = [
        peak(process)
        for process, _ in tree(os.getpid())
        if "pyspark.daemon" in Path(f"/proc/{process}/cmdline").read_text()
    ]
    snapshot = dr.Table(arguments["log"]).snapshot()
    keyed = arguments["reconcile"] == "executors"
    plan = snapshot.replay_plan(piece_size=arguments["piece_size"], keyed=keyed)
    num_rows = rows.get["rows"]
    if arguments["filter"] is None:
        assert num_rows == snapshot.num_files, num_rows
    equal = ""
    if arguments["equal"]:
        ours, theirs = sums(frame), local_sums(snapshot, arguments)
        equal = "equal" if ours == theirs else f"DIFFERENT: {ours} and {theirs}"
    spark.stop()
    return {
        "pieces": len(plan.pieces),
        "files": num_rows,
        "seconds": seconds,
        "cpu": used,
        "driver": planned / (1 << 20),
        "worker": max(workers) / (1 << 20),
        "equal": equal,
    }


def session(cores: str, memory: str) -> Any:
    """Start Spark with only the settings that ``files`` needs."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores}]").appName("distributed replay")
    builder = builder.config("spark.driver.memory", memory).config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "8")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def peak(process: int | str = "self") -> int:
    """Return the peak memory of a process in bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


def cpu() -> float:
    """Return the CPU seconds of this process and all its descendants, including those that have
    ended.
    """
    ticks = os.sysconf("SC_CLK_TCK")
    return sum(sum(map(int, fields[11:15])) for _, fields in tree(os.getpid())) / ticks


def tree(process: int) -> Iterator[tuple[int, list[str]]]:
    """Yield a process and its descendants: the id, and the fields after the name in
    ``/proc/PID/stat``.
    """
    try:
        text = Path(f"/proc/{process}/stat").read_text()
        below = [
            child
            for each in Path(f"/proc/{process}/task").iterdir()
            for child in (each / "children").read_text().split()
        ]
    except FileNotFoundError:
        return
    yield process, text.rpartition(")")[2].split()
    for child in below:
        yield from tree(int(child))


def sums(frame: Any) -> list[int]:
    """Return number, sizes and checksums of the rows, computed by Spark."""
    names = frame.columns
    expressions = ["count(*)"]
    if "size" in names:
        expressions.append("sum(size)")
    expressions += [f"sum(crc32({name}))" for name in ("path", "stats") if name in names]
    return [value or 0 for value in frame.selectExpr(*expressions).first()]


def local_sums(snapshot: Any, arguments: Json) -> list[int]:
    """Return the sums, computed in this process."""
    import pyarrow.compute as pc

    totals: list[int] = []
    for batch in snapshot.file_batches(arguments["columns"], arguments["filter"]):
        names = batch.schema.names
        sums_of_batch = [batch.num_rows]
        if "size" in names:
            sums_of_batch.append(pc.sum(batch.column("size")).as_py() or 0)
        for name in ("path", "stats"):
            if name in names:
                texts = batch.column(name).to_pylist()
                sums_of_batch.append(
                    sum(zlib.crc32(text.encode()) for text in texts if text is not None)
                )
        totals = [
            sum(pair)
            for pair in zip(totals or [0] * len(sums_of_batch), sums_of_batch, strict=True)
        ]
    return totals


if __name__ == "__main__":
    main()
