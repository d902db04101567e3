"""Time rows and filters with several engines, and print a table.

``python benches/python/rows.py [--data DIRECTORY] [--runs 3] [--only WORD]``

The table is written once: 6 files of 1 million rows and 10 columns, in row groups of 262,144 rows,
and again with 1 % of the rows deleted by vectors. Each result is the minimum of several fresh
processes, engines taking turns; CPU seconds are those of the task, over all threads, after loading
libraries; OpenBLAS is limited to one thread, since it starts some that only wait. ``pyarrow`` and
``... files`` read the same Parquet files without the log and without vectors. Every engine must
return the same number of rows.

The filters list files of the log of 1 million files that ``generate.py`` writes. The table of 10
GB is hard links to the first file, streamed batch by batch for its peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import generate
from worker import peak_mb

HERE = Path(__file__).parent
FILES = 6
ROWS = 1_000_000
GROUP = 262_144
DELETED = 100  # one row in this many
TEN_GB = 10_000_000_000
SCHEMA = [
    ("id", "long"),
    ("units", "integer"),
    ("x", "double"),
    ("y", "double"),
    ("category", "string"),
    ("name", "string"),
    ("at", "timestamp"),
    ("day", "date"),
    ("price", "decimal(21,2)"),
    ("flag", "boolean"),
]
THREE = ["id", "x", "category"]
TASKS = {
    "6M rows: all of 10 columns": ("all", "rows"),
    "6M rows: 3 of 10 columns": ("three", "rows"),
    "6M rows, 1 % deleted: 3 of 10 columns": ("three", "deleted"),
    "6M rows, 1 % deleted: all of 10 columns": ("all", "deleted"),
    "10 GB, streamed": ("stream", "ten"),
    "1M files: those of one partition": ("partition", "million"),
    "1M files: by a data column, JSON stats": ("data", "million"),
    "1M files: by a data column again, files kept": ("again", "million"),
}
FILTERS = {"partition": "region = 'eu-west' AND day = '{day}'", "data": "id = {id}"}
ENGINES = {
    "rows": ("deltareplay", "deltalake", "pyarrow", "polars", "polars files", "duckdb files"),
    "deleted": ("deltareplay",),
    "partition": ("deltareplay", "deltalake"),
}


def write(directory: Path, deleted: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    import deltareplay as dr

    random.seed(generate.SEED)
    directory.mkdir(parents=True)
    adds = []
    categories = ["alpha", "beta", "gamma", "delta"]
    for number in range(FILES):
        first = number * ROWS
        rng = random.Random(number)
        columns = {
            "id": pa.array(range(first, first + ROWS), pa.int64()),
            "units": pa.array([rng.randrange(1000) for _ in range(ROWS)], pa.int32()),
            "x": pa.array([rng.random() for _ in range(ROWS)]),
            "y": pa.array([rng.random() for _ in range(ROWS)]),
            "category": pa.array([categories[rng.randrange(4)] for _ in range(ROWS)]),
            "name": pa.array([f"name-{rng.randrange(1 << 30)}" for _ in range(ROWS)]),
            "at": pa.array(
                [1_700_000_000_000_000 + rng.randrange(10**12) for _ in range(ROWS)],
                pa.timestamp("us", "UTC"),
            ),
            "day": pa.array([18_000 + rng.randrange(2000) for _ in range(ROWS)], pa.int32()).cast(
                pa.date32()
            ),
            "price": pa.array([rng.randrange(10**9) for _ in range(ROWS)], pa.int64())
            .cast(pa.decimal128(19, 0))
            .cast(pa.decimal128(21, 2)),
            "flag": pa.array([rng.random() < 0.5 for _ in range(ROWS)]),
        }
        path = directory / f"part-{number}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=GROUP)
        add = added(path)
        if deleted:
            rows = sorted(rng.sample(range(ROWS), ROWS // DELETED))
            add["deletionVector"] = dr.DeletionVector.from_rows(rows).encode_inline()
        adds.append(add)
    write_log(directory, SCHEMA, adds, deleted)


def write_ten(directory: Path, rows: Path) -> None:
    """Write 10 GB of rows that take no space: one file under many names."""
    directory.mkdir(parents=True)
    file, adds = rows / "part-0.parquet", []
    for number in range(-(-TEN_GB // file.stat().st_size)):
        path = directory / f"part-{number:05}.parquet"
        os.link(file, path)
        adds.append(added(path))
    write_log(directory, SCHEMA, adds, deleted=False)


def added(path: Path) -> dict[str, object]:
    return {
        "path": path.name,
        "partitionValues": {},
        "size": path.stat().st_size,
        "modificationTime": 0,
        "dataChange": True,
        "stats": json.dumps({"numRecords": ROWS}),
    }


def write_log(
    directory: Path, schema: list[tuple[str, str]], adds: list[dict[str, object]], deleted: bool
) -> None:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in schema
    ]
    protocol: dict[str, object] = {"minReaderVersion": 1, "minWriterVersion": 2}
    if deleted:
        features = ["deletionVectors"]
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
        protocol |= {"readerFeatures": features, "writerFeatures": features}
    metadata = {
        "id": "7f6c1d52-0b7e-4b0a-9d0c-2f3f9f0f6c12",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 0,
    }
    actions = [{"protocol": protocol}, {"metaData": metadata}, *({"add": add} for add in adds)]
    log = directory / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))


def engine_step(engine: str, task: str, table: Path) -> Callable[[], int]:
    files = sorted(map(str, table.glob("*.parquet")))
    columns = THREE if task == "three" else [name for name, _ in SCHEMA]
    if engine == "pyarrow":
        import pyarrow as pa
        import pyarrow.parquet as pq

        return lambda: (
            pa.concat_tables(
                [pq.ParquetFile(file).read(columns=columns) for file in files]
            ).num_rows
        )
    if engine == "polars files":
        import polars as pl

        return lambda: pl.scan_parquet(files).select(columns).collect().height
    if engine == "polars":
        import polars as pl

        return lambda: pl.scan_delta(str(table)).select(columns).collect().height
    if engine == "duckdb files":
        import duckdb

        names = ", ".join(f'"{name}"' for name in columns)
        query = f"SELECT {names} FROM read_parquet({files})"
        return lambda: duckdb.sql(query).to_arrow_table().num_rows

    if engine == "deltalake" and task in ("all", "three"):
        from deltalake import DeltaTable

        return lambda: DeltaTable(str(table)).to_pyarrow_table(columns=columns).num_rows

    import deltareplay as dr

    if task in ("all", "three"):
        return lambda: dr.Table(str(table)).snapshot().scan(columns).to_arrow().num_rows
    if task == "stream":
        scan = dr.Table(str(table)).snapshot().scan
        return lambda: sum(batch.num_rows for batch in scan(columns).to_batches())
    sample = dr.Table(str(table)).snapshot().files(["partitionValues", "stats"]).slice(4321, 1)
    row = sample.to_pylist()[0]
    day = dict(row["partitionValues"])["day"]
    condition = FILTERS["partition" if task == "partition" else "data"].format(
        day=day, id=json.loads(row["stats"])["minValues"]["id"]
    )
    if engine == "deltalake":
        from deltalake import DeltaTable

        partition = [("region", "=", "eu-west"), ("day", "=", day)]
        return lambda: len(DeltaTable(str(table)).file_uris(partition_filters=partition))
    if task == "again":
        snapshot = dr.Table(str(table)).snapshot()
        snapshot.files(["path", "size"])
        snapshot.files(["path", "size"], filter=condition)
        return lambda: snapshot.files(["path", "size"], filter=condition).num_rows
    return lambda: dr.Table(str(table)).snapshot().files(["path"], filter=condition).num_rows


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def timed(step: Callable[[], int]) -> None:
    """Run a step once and print its cost."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    result = step()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    peak = peak_mb(resource.RUSAGE_SELF)
    print(json.dumps({"found": result, "cpu": cpu, "wall": wall, "peak": peak}), flush=True)
    os._exit(0)  # the shutdown of an engine is not timed, and must not fail here


def find(name: str, data: Path) -> Path:
    if name == "million":
        elsewhere = os.environ.get("DELTAREPLAY_BENCH_LOGS")
        if elsewhere and (Path(elsewhere) / name / "_expected.json").is_file():
            return Path(elsewhere) / name
        if not (data / name / "_expected.json").is_file():
            generate.generate(data / name, generate.SHAPES[name])
        return data / name
    table = data / name
    if not (table / "_delta_log" / f"{0:020}.json").is_file():
        if name == "ten":
            write_ten(table, find("rows", data))
        else:
            write(table, deleted=name == "deleted")
    return table


def measure(script: str, engine: str, task: str, table: Path, runs: int) -> dict[str, float]:
    """Return the minimum of several fresh processes."""
    best: dict[str, float] = {}
    for _ in range(runs):
        command = [sys.executable, script, "--one", engine, task, str(table)]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
        answer = json.loads(done.stdout)
        best = {key: min(best.get(key, value), value) for key, value in answer.items()}
    return best


def line(title: str, engine: str, best: dict[str, float], ours: float) -> str:
    """Format a row of the table."""
    return (
        f"| {title} | {engine} | {best['cpu']:.3f} | {best['wall']:.3f} | "
        f"{best['peak']:,.0f} | {best['cpu'] / max(ours, 1e-6):.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE.parent / "data")
    parser.add_argument("--runs", type=int, default=3, help="fresh processes for each figure")
    parser.add_argument("--only", default="", help="tasks whose title has this text")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        engine, task, table = arguments.one
        timed(engine_step(engine, task, Path(table)))
        return
    print("| task | engine | CPU s | wall s | peak MB | CPU, ours = 1 |")
    print("|---|---|---:|---:|---:|---:|")
    for title, (task, name) in TASKS.items():
        if arguments.only not in title:
            continue
        table = find(name, arguments.data)
        ours = 0.0
        for engine in ENGINES.get(task) or ENGINES.get(name) or ("deltareplay",):
            best = measure(__file__, engine, task, table, arguments.runs)
            if name == "rows" and best["found"] != FILES * ROWS:
                sys.exit(f"{engine}, {title}: found {best['found']} rows")
            ours = ours or best["cpu"]
            print(line(title, engine, best, ours), flush=True)


if __name__ == "__main__":
    main()
