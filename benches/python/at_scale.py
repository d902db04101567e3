"""Times net changes, vacuum and verify on large tables, and prints one table.

``python benches/python/at_scale.py [--data DIRECTORY] [--rows 100_000_000] [--files 2_000_000]
[--only WORD]``

``changes``: ten updates of a table of three columns, each of a tenth of the rows; the net changes
(``min-delta``, by a key) of the last five return as many rows as the table has, in one process, and
in Spark by shares and by a shuffle. ``vacuum`` and ``verify``: a table of empty data files in 200
partitions with 20,000 orphans; a dry run, and the existence of each file. Every way runs once, in a
fresh process; CPU seconds are those of the process, of the JVM and of Python workers together. With
the defaults the tables take 1.5 GB and two million inodes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PARTS, UPDATES = 50, 10
PARTITIONS, COMMITS, ORPHANS = 200, 20, 100
WAYS = {
    "changes": ("one process", "shares", "shuffle"),
    "vacuum": ("one process",),
    "verify": ("one process",),
}
#: The time of all files: long before the retention of VACUUM.
OLD = 1_700_000_000


def write_updates(path: Path, rows: int) -> None:
    """Write a table of ``rows`` rows, and update each partition once."""
    import numpy as np
    import pyarrow as pa

    import deltareplay as dr

    schema = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("p", pa.int32())])
    size = rows // PARTS

    def batches() -> Iterator[pa.RecordBatch]:
        rng = np.random.default_rng(1)
        for part in range(PARTS):
            ids = np.arange(part * size, (part + 1) * size)
            values = rng.integers(0, 1 << 40, size)
            partition = np.full(size, part * UPDATES // PARTS, dtype=np.int32)
            yield pa.record_batch([ids, values, partition], schema=schema)

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    dr.write(path, reader, partition_columns=["p"])
    table = dr.Table(path)
    for partition in range(UPDATES):
        table.update(f"p = {partition}", {"v": "v + 1"})


def write_files(path: Path, files: int) -> None:
    """Write a log of ``files`` data files, which are empty, and orphans beside them."""
    import deltareplay as dr

    fields = [("id", "long"), ("p", "integer")]
    schema = {
        "type": "struct",
        "fields": [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in fields],
    }
    metadata = {
        "id": "0b0b0b0b-0000-4000-8000-000000000000",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": ["p"],
        "configuration": {},
    }
    head = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]
    log = path / "_delta_log"
    log.mkdir(parents=True)
    files_per_partition = files // PARTITIONS
    for version in range(COMMITS):
        with (log / f"{version:020}.json").open("w", encoding="utf-8") as commit:
            for action in head if version == 0 else []:
                commit.write(json.dumps(action) + "\n")
            for p in range(version, PARTITIONS, COMMITS):
                (path / f"p={p}").mkdir()
                for number in range(files_per_partition):
                    name = f"p={p}/part-{number:05}-{p:08}-0000-4000-8000-{number:012}-c000.parquet"
                    empty(path / name)
                    add = {"path": name, "partitionValues": {"p": str(p)}, "size": 0}
                    add |= {"modificationTime": OLD * 1000, "dataChange": True}
                    commit.write(json.dumps({"add": add}) + "\n")
                for number in range(ORPHANS):
                    empty(path / f"p={p}/orphan-{number}.parquet")
    dr.Table(path).checkpoint()


def empty(path: Path) -> None:
    path.touch()
    os.utime(path, (OLD, OLD))


def in_one_process(task: str, path: Path) -> int:
    import deltareplay as dr

    table = dr.Table(path)
    if task == "changes":
        changes = table.changes(UPDATES // 2 + 1, kind="min-delta", key=["id"])
        return sum(batch.num_rows for batch in changes.to_batches())
    return len(table.vacuum(dry_run=True).files if task == "vacuum" else table.verify().findings)


def in_spark_session(spark: Any, way: str, path: Path) -> int:
    import spark as in_spark

    from deltareplay import spark as dr_spark

    options = {"kind": "min-delta", "key": ["id"], "shuffle": way == "shuffle"}
    return in_spark.sink(dr_spark.changes(spark, path, UPDATES // 2 + 1, **options))


def run(task: str, way: str, path: Path) -> None:
    """Run a task one way; print the answer, the CPU and wall seconds, and the peak memory here."""
    import spark as in_spark

    warnings.simplefilter("ignore")
    spark = None if way == "one process" else in_spark.session("deltareplay")
    if spark is not None:
        spark.range(10).count()
    cpu, wall = in_spark.cpu_seconds(), time.perf_counter()
    answer = in_one_process(task, path) if spark is None else in_spark_session(spark, way, path)
    cpu, wall = in_spark.cpu_seconds() - cpu, time.perf_counter() - wall
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = int(status.split("VmHWM:")[1].split()[0]) >> 10
    print(json.dumps({"answer": answer, "cpu": cpu, "wall": wall, "peak": peak}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE.parent / "data")
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--files", type=int, default=2_000_000)
    parser.add_argument("--only", default="", help="tasks whose name has this text")
    parser.add_argument("--run", nargs=2, metavar=("TASK", "WAY"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    data = arguments.data.absolute()
    updates, files = data / f"updates-{arguments.rows}", data / f"empty-{arguments.files}"
    if arguments.run:
        run(*arguments.run, updates if arguments.run[0] == "changes" else files)
        return
    print("| task | way | answer | CPU s | wall s | peak of the driver's Python, MiB |")
    print("|---|---|---:|---:|---:|---:|")
    for task in filter(lambda task: arguments.only in task, WAYS):
        if task == "changes" and not updates.exists():
            write_updates(updates, arguments.rows)
        if task != "changes" and not files.exists():
            write_files(files, arguments.files)
        answers = set()
        for way in WAYS[task]:
            command = [sys.executable, __file__, "--run", task, way, "--data", str(data)]
            command += ["--rows", str(arguments.rows), "--files", str(arguments.files)]
            environment = {"PYSPARK_PYTHON": sys.executable, **os.environ}
            process = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
            result = json.loads(process.stdout.splitlines()[-1])
            answers.add(result["answer"])
            print(
                f"| {task} | {way} | {result['answer']:,} | {result['cpu']:.1f} "
                f"| {result['wall']:.1f} | {result['peak']} |",
                flush=True,
            )
        if len(answers) > 1:
            sys.exit(f"{task}: the ways disagree: {answers}")


if __name__ == "__main__":
    main()
