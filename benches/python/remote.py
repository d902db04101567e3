"""What does a remote table cost: sequential steps and requests.

``python benches/python/remote.py [--latency SECONDS] [--engines deltareplay,deltalake,polars]``

The store is that of the tests, on this machine, and waits before each response. For each
operation, prints its time divided by the latency, including computing time, and the number of
requests; ``benches/results/remote.json`` has the same, and ``remote.html`` a chart. The operations
of an engine run one after the other in one process, with its caches. ``--draw`` measures nothing:
it draws the page from the JSON.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import engines
import generate
import pyarrow as pa
import remote_page

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tests"))

from stores import fake_gcs
from stores.servers import Store, gcs

ROWS = pa.table(
    {
        "id": pa.array(range(1000), pa.int64()),
        "day": [f"2026-01-{number % 5 + 1:02d}" for number in range(1000)],
    }
)
FILES = 200
ROWS_OF_A_FILE = 2000
Operation = tuple[str, Callable[[], Any]]


def deltareplay(root: str, options: dict[str, str]) -> Iterator[Operation]:
    import deltareplay as dr

    def opened(name: str) -> dr.Snapshot:
        return dr.Table(f"{root}/{name}", options).snapshot()

    created = f"{root}/deltareplay"
    write = {"partition_columns": ["day"], "storage_options": options}
    columns = ["path", "size", "partitionValues", "deletionVector"]
    yield "open, 100 commits", lambda: opened("log").schema
    yield "its files", lambda: opened("log").files(columns=columns)
    yield "history of 10", lambda: dr.Table(f"{root}/log", options).history(limit=10)
    yield "write a new table", lambda: dr.write(created, ROWS, mode="append", **write)
    table = dr.Table(created, options)
    for number in range(3):
        yield f"append {number + 1}", lambda: table.append(ROWS)
    yield "all rows of 20 files", lambda: opened("deltareplay").scan().to_arrow()
    filter = "day = '2026-01-02' AND id = 1"
    yield "rows by a filter", lambda: opened("deltareplay").scan(filter=filter).to_arrow()
    yield "delete", lambda: table.delete("id = 3")
    yield "update", lambda: table.update("id = 4", {"id": "40000"})
    merge = table.merge(ROWS.slice(0, 10), "target.id = source.id")
    merge.when_matched_update_all().when_not_matched_insert_all()
    yield "merge", merge.execute
    yield "changes of a commit", lambda: table.changes(table.snapshot().version).to_arrow()
    yield "checkpoint", lambda: table.checkpoint()
    yield "vacuum, dry run", lambda: table.vacuum(dry_run=True)
    yield "verify", lambda: table.verify()
    yield "all rows of 200 files", lambda: opened("many").scan().to_arrow()
    yield "of these, one row", lambda: opened("many").scan(filter="id = 5000").to_arrow()


def deltalake(root: str, options: dict[str, str]) -> Iterator[Operation]:
    from deltalake import DeltaTable, write_deltalake

    def opened(name: str) -> DeltaTable:
        return DeltaTable(f"{root}/{name}", storage_options=options)

    created = f"{root}/deltalake"
    yield "open, 100 commits", lambda: opened("log").schema()
    yield "its files", lambda: pa.table(opened("log").get_add_actions())
    yield "history of 10", lambda: opened("log").history(10)
    new = {"partition_by": ["day"], "storage_options": options}
    yield "write a new table", lambda: write_deltalake(created, ROWS, **new)
    table = opened("deltalake")
    for number in range(3):
        yield f"append {number + 1}", lambda: write_deltalake(table, ROWS, mode="append")
    yield "all rows of 20 files", lambda: opened("deltalake").to_pyarrow_table()
    filters = [("day", "=", "2026-01-02"), ("id", "=", 1)]
    yield "rows by a filter", lambda: opened("deltalake").to_pyarrow_table(filters=filters)
    yield "delete", lambda: table.delete("id = 3")
    yield "update", lambda: table.update(updates={"id": "40000"}, predicate="id = 4")
    merge = table.merge(
        ROWS.slice(0, 10), "target.id = source.id", source_alias="source", target_alias="target"
    )
    yield "merge", merge.when_matched_update_all().when_not_matched_insert_all().execute
    yield "checkpoint", lambda: table.create_checkpoint()
    yield "vacuum, dry run", lambda: table.vacuum(dry_run=True)
    yield "all rows of 200 files", lambda: opened("many").to_pyarrow_table()


def polars(root: str, options: dict[str, str]) -> Iterator[Operation]:
    import polars as pl

    def opened(name: str) -> pl.LazyFrame:
        return pl.scan_delta(f"{root}/{name}", storage_options=options)

    rows = pl.DataFrame(ROWS)
    created = f"{root}/polars"
    new = {"storage_options": options, "delta_write_options": {"partition_by": ["day"]}}
    yield "open, 100 commits", lambda: opened("log").collect_schema()
    yield "write a new table", lambda: rows.write_delta(created, **new)
    for number in range(3):
        yield f"append {number + 1}", lambda: rows.write_delta(created, mode="append", **new)
    yield "all rows of 20 files", lambda: opened("polars").collect()
    is_row = (pl.col("day") == "2026-01-02") & (pl.col("id") == 1)
    yield "rows by a filter", lambda: opened("polars").filter(is_row).collect()
    yield "all rows of 200 files", lambda: opened("many").collect()
    yield "of these, one row", lambda: opened("many").filter(pl.col("id") == 5000).collect()


ENGINES = {"deltareplay": deltareplay, "deltalake": deltalake, "polars": polars}


def run(engine: str, root: str, options: dict[str, str]) -> None:
    """Run the operations of an engine, one for each line of input."""
    for name, operation in ENGINES[engine](root, options):
        sys.stdin.readline()
        start = time.monotonic()
        operation()
        print(json.dumps([name, time.monotonic() - start]), flush=True)


def figures(engine: str, store: Store, latency: float) -> Iterator[tuple[str, float, int]]:
    """Yield each operation, its time as a multiple of the latency, and its requests."""
    assert store.bucket is not None
    command = [sys.executable, __file__, "--run", engine, store.root, json.dumps(store.options)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        while process.poll() is None:
            before = len(store.bucket.requests)
            try:
                process.stdin.write("\n")
                process.stdin.flush()
            except BrokenPipeError:
                break
            line = process.stdout.readline()
            if not line:
                break
            name, seconds = json.loads(line)
            yield name, seconds / latency, len(store.bucket.requests) - before
    if process.returncode:
        sys.exit(f"{engine} has failed")


def fill(store: Store) -> None:
    """Write the tables that engines read: a log, and a table of many files."""
    import deltareplay as dr

    assert store.bucket is not None
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        generate.generate(log, generate.Shape(files=20_000, commits=100, adds=20, removes=5))
        for path in sorted((log / "_delta_log").rglob("*")):
            if path.is_file():
                key = f"log/{path.relative_to(log).as_posix()}"
                store.bucket.objects[key] = (path.read_bytes(), 1, time.time())
    dr.Table(f"{store.root}/log", store.options).write_checksum()  # as all writers do today
    for number in range(FILES):
        ids = range(number * ROWS_OF_A_FILE, (number + 1) * ROWS_OF_A_FILE)
        rows = pa.table(
            {"id": pa.array(ids, pa.int64()), "name": [f"name {number}" for number in ids]}
        )
        dr.write(f"{store.root}/many", rows, mode="append", storage_options=store.options)


def measure(names: list[str], latency: float) -> dict[str, Any]:
    """Return what the page shows, printing each figure."""
    start = datetime.now(timezone.utc)
    load = os.getloadavg()[0]
    measured = []
    fake_gcs.PAGE = 1000  # as stores do
    with gcs() as store:
        assert store.bucket is not None
        fill(store)
        store.bucket.latency = latency
        for engine in names:
            for operation, steps, requests in figures(engine, store, latency):
                print(
                    f"{engine:12} {operation:24} {steps:6.1f} steps {requests:5d} requests",
                    flush=True,
                )
                entry = {"steps": round(steps, 2), "requests": requests}
                measured.append({"engine": engine, "operation": operation, **entry})
    versions = {name: importlib.metadata.version(name) for name in names}
    return {
        "begun": start.isoformat(timespec="seconds"),
        "latency": latency,
        "load": load,
        "cores": os.cpu_count(),
        "versions": versions,
        "figures": measured,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--latency", type=float, default=0.25, help="seconds before each response")
    parser.add_argument(
        "--engines",
        type=lambda text: engines.parse_names(text, ENGINES),
        default=list(ENGINES),
        help="names, separated by commas; default: all",
    )
    parser.add_argument(
        "--results", type=Path, default=Path(__file__).parent.parent / "results", help="a directory"
    )
    parser.add_argument("--draw", action="store_true", help="measure nothing, draw the JSON again")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        engine, root, options = arguments.run
        run(engine, root, json.loads(options))
        return
    file = arguments.results / "remote.json"
    if not arguments.draw:
        names = [name for name in arguments.engines if importlib.util.find_spec(name)]
        arguments.results.mkdir(parents=True, exist_ok=True)
        text = json.dumps(measure(names, arguments.latency), indent=1)
        file.write_text(text + "\n", encoding="utf-8")
    print(remote_page.draw(file))


if __name__ == "__main__":
    main()
