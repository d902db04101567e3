"""What does it cost to append 1 GB of Arrow, and to commit? Against deltalake.

python benches/python/writes.py [--rows 12000000] [--commits 200]
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

SEED = 42


def rows(count: int) -> pa.Table:
    """About 85 bytes a row: numbers, moments, texts of few and of many values."""
    random = np.random.default_rng(SEED)
    words = np.array([f"word-{number:04}-{'x' * 12}" for number in range(1000)])
    names = np.char.add("user-", random.integers(0, 10**9, count).astype("U10"))
    return pa.table(
        {
            "id": pa.array(np.arange(count)),
            "v": pa.array(random.normal(size=count)),
            "n": pa.array(random.integers(0, 10**6, count, dtype=np.int32)),
            "ts": pa.array(np.arange(count) * 1000, pa.timestamp("us", "UTC")),
            "word": pa.array(words[random.integers(0, 1000, count)]),
            "name": pa.array(names),
        }
    )


def append(engine: str, path: str, count: int) -> None:
    data = rows(count)
    start = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if engine == "deltareplay":
        import deltareplay as dr

        table = dr.create_table(path, data.schema)
        table.append(data, durable=False)
    else:
        import deltalake

        deltalake.write_deltalake(
            path, data, writer_properties=deltalake.WriterProperties(compression="ZSTD")
        )
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    files = list(Path(path).rglob("*.parquet"))
    size = sum(file.stat().st_size for file in files)
    print(
        f"append      {engine:12} {data.nbytes / 1e9:5.2f} GB {seconds:7.2f} s "
        f"{data.nbytes / 1e6 / seconds:7.0f} MB/s  +{peak / 1024:6.0f} MiB "
        f"{len(files)} files, {size / 1e6:.0f} MB"
    )


def commits(engine: str, path: str, count: int) -> None:
    data = pa.table({"id": [1, 2, 3]})
    if engine == "deltareplay":
        import deltareplay as dr

        table = dr.create_table(path, data.schema)
        start = time.perf_counter()
        for _ in range(count):
            table.append(data, durable=False)
    else:
        import deltalake

        deltalake.write_deltalake(path, data)
        other = deltalake.DeltaTable(path)
        start = time.perf_counter()
        for _ in range(count):
            deltalake.write_deltalake(other, data, mode="append")
    seconds = time.perf_counter() - start
    print(
        f"small       {engine:12} {count} appends {seconds:7.2f} s {count / seconds:7.1f} commits/s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=12_000_000)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        what, engine, path = arguments.one
        if what == "append":
            append(engine, path, arguments.rows)
        else:
            commits(engine, path, arguments.commits)
        return
    for what in ("append", "commits"):
        for engine in ("deltareplay", "deltalake"):
            folder = tempfile.mkdtemp(prefix="writes-")
            try:
                # a process each: peaks of memory do not mix
                command = [sys.executable, __file__, "--one", what, engine, f"{folder}/t"]
                command += ["--rows", str(arguments.rows), "--commits", str(arguments.commits)]
                subprocess.run(command, check=True)
            finally:
                shutil.rmtree(folder)


if __name__ == "__main__":
    main()
