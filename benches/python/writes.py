"""Time writes: a large append, small commits, merges, a checkpoint of a million files.

``python benches/python/writes.py [--only TASK] [--rows N] [--commits N] [--files N]``

Each engine runs in its own process: CPU is that of the task, user and system together over all
threads, memory the peak of the process, and its growth since libraries and input were loaded.
Engines that are not installed are skipped. Logs of a million files are those of ``run.py``,
generated once.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from worker import peak_mb

SEED = 42
MILLION = 1_000_000
ROOT = Path(__file__).parent.parent.parent
#: Tasks and their engines, taking turns. The bare encode writes the output of deltareplay again.
TASKS = {
    "append": ("deltareplay", "deltalake"),
    "small": ("deltareplay", "deltalake"),
    "million": ("deltareplay", "deltalake"),
    "checkpoint": ("deltareplay", "pyarrow", "deltalake"),
    "merge": ("deltareplay", "deltalake"),
    "merge by vectors": ("deltareplay",),  # deltalake writes no vectors
}


# Libraries are imported where they are used: the process that starts the others must stay small,
# since its memory at the fork counts as theirs.


def make_rows(path: Path, count: int) -> None:
    """Write about 85 bytes per row: numbers, timestamps, strings of few and of many values."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(SEED)
    words = np.array([f"word-{number:04}-{'x' * 12}" for number in range(1000)])
    names = np.char.add("user-", random.integers(0, 10**9, count).astype("U10"))
    rows = pa.table(
        {
            "id": pa.array(np.arange(count)),
            "v": pa.array(random.normal(size=count)),
            "n": pa.array(random.integers(0, 10**6, count, dtype=np.int32)),
            "ts": pa.array(np.arange(count) * 1000, pa.timestamp("us", "UTC")),
            "word": pa.array(words[random.integers(0, 1000, count)]),
            "name": pa.array(names),
        }
    )
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)


def make_log(root: Path, files: int) -> None:
    import generate

    shape = generate.Shape(files=files, commits=100, adds=60, removes=40)
    generate.generate(root, shape)


@contextmanager
def measured(figures: dict[str, float]) -> Iterator[None]:
    peak = peak_mb(resource.RUSAGE_SELF)
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    yield
    figures["wall"] = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = (after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)
    figures["cpu"] = sum(spent)
    figures["peak"] = peak_mb(resource.RUSAGE_SELF)
    figures["beyond"] = figures["peak"] - peak


def append(engine: str, folder: Path, source: Path, _: int) -> dict[str, float]:
    import pyarrow as pa

    with pa.OSFile(str(source)) as file:
        data = pa.ipc.open_file(file).read_all()
    path, figures = str(folder / "t"), {"bytes": data.nbytes}
    if engine == "deltareplay":
        import deltareplay as dr

        table = dr.create_table(path, data.schema)
        with measured(figures):
            table.append(data, durable=False)
    else:
        import deltalake

        codec = deltalake.WriterProperties(compression="ZSTD")
        with measured(figures):
            deltalake.write_deltalake(path, data, writer_properties=codec)
    files = list(Path(path).rglob("*.parquet"))
    figures["written"] = sum(file.stat().st_size for file in files)
    return figures


def small(engine: str, folder: Path, _: Path, count: int) -> dict[str, float]:
    import pyarrow as pa

    data, path = pa.table({"id": [1, 2, 3]}), str(folder / "t")
    if engine == "deltareplay":
        import deltareplay as dr

        table = dr.create_table(path, data.schema)
        return commits(lambda: table.append(data, durable=False), count)
    import deltalake

    deltalake.write_deltalake(path, data)
    other = deltalake.DeltaTable(path)
    return commits(lambda: deltalake.write_deltalake(other, data, mode="append"), count)


def million(engine: str, folder: Path, log: Path, count: int) -> dict[str, float]:
    """Commit one file: staged directly, or one row appended."""
    path = str(mirrored(log, folder / "t"))
    if engine == "deltareplay":
        import deltareplay as dr

        table = dr.Table(path)
        partition = {"day": "2025-01-01", "region": "af"}

        def commit() -> None:
            with table.transaction(durable=False) as transaction:
                name = f"day=2025-01-01/region=af/{time.time_ns()}.parquet"
                stats = {"numRecords": 1}
                transaction.add(name, size=1000, stats=stats, partition_values=partition)

        return commits(commit, count)
    import datetime

    import deltalake
    import pyarrow as pa

    timestamp = datetime.datetime(2025, 1, 1, tzinfo=datetime.timezone.utc)
    row = {"id": 1, "at": timestamp, "amount": 1.0, "customer": "c", "city": "c"}
    row |= {"units": 1, "day": timestamp.date(), "region": "af"}
    fields = {"at": pa.timestamp("us", "UTC"), "units": pa.int32(), "day": pa.date32()}
    kinds = {"id": pa.int64(), "amount": pa.float64()}
    schema = pa.schema([(name, {**fields, **kinds}.get(name, pa.string())) for name in row])
    data = pa.Table.from_pylist([row], schema)
    start = time.perf_counter()
    table = deltalake.DeltaTable(path)
    opened = time.perf_counter() - start
    figures = commits(lambda: deltalake.write_deltalake(table, data, mode="append"), count)
    return {**figures, "opened": opened}


def commits(commit: Callable[[], object], count: int) -> dict[str, float]:
    figures: dict[str, float] = {"count": count}
    durations = []
    with measured(figures):
        for _ in range(count):
            start = time.perf_counter()
            commit()
            durations.append(time.perf_counter() - start)
    figures["median"] = sorted(durations)[count // 2]
    figures["longest"] = max(durations)
    return figures


def checkpoint(engine: str, folder: Path, log: Path, _: int) -> dict[str, float]:
    """Write a checkpoint; pyarrow only encodes the rows of ours, from memory, as equal Parquet."""
    figures: dict[str, float] = {}
    if engine == "deltareplay":
        import deltareplay as dr

        path = str(mirrored(log, folder / "t"))
        with measured(figures):
            written = dr.Table(path).checkpoint()
        count, size = written.num_files, written.size_in_bytes
    elif engine == "deltalake":
        import deltalake

        path = str(mirrored(log, folder / "deltalake"))
        with measured(figures):
            table = deltalake.DeltaTable(path)
            table.create_checkpoint()
        newest = newest_checkpoint(folder / "deltalake")
        count, size = live(newest), newest.stat().st_size
    else:
        import pyarrow.parquet as pq

        source, target = newest_checkpoint(folder / "t"), folder / "bare.parquet"
        metadata = pq.ParquetFile(source).metadata
        names = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
        encoded = [name for name in names if name not in ("add.path", "add.stats")]
        codec = metadata.row_group(0).column(0).compression
        rows = pq.read_table(source)
        with measured(figures):
            pq.write_table(
                rows,
                target,
                row_group_size=50_000,
                compression=codec,
                use_dictionary=encoded,
                write_statistics=encoded,
            )
        count, size = live(target), target.stat().st_size
    expected = json.loads((log / "_expected.json").read_text())["live_files"]
    if count != expected:
        sys.exit(f"{engine} wrote {count} files of {expected}")
    return {**figures, "written": size}


def merge(engine: str, folder: Path, source: Path, vectors: int) -> dict[str, float]:
    """Merge a fifth as many rows as the table has: half of them exist, scattered, half are new."""
    import pyarrow as pa
    import pyarrow.compute as pc

    import deltareplay as dr

    path, figures = str(folder / "t"), {}
    with pa.OSFile(str(source)) as file:
        rows = pa.ipc.open_file(file).read_all()
        properties = {"delta.enableDeletionVectors": str(bool(vectors)).lower()}
        table = dr.create_table(path, rows.schema, properties=properties)
        table.append(rows, durable=False)
        existing = rows.take(pa.array(range(0, rows.num_rows, 10)))
        new = existing.set_column(0, "id", pc.add(existing["id"], rows.num_rows))
        data = pa.concat_tables([existing, new]).combine_chunks()
        total = rows.num_rows + new.num_rows
        del rows, existing, new
    if engine == "deltareplay":
        with measured(figures):
            merge = table.merge(data, on=["id"], durable=False)
            merge.when_matched_update_all().when_not_matched_insert_all().execute()
    else:
        import deltalake

        codec = deltalake.WriterProperties(compression="ZSTD")
        with measured(figures):
            merge = deltalake.DeltaTable(path).merge(
                data, "t.id = s.id", "s", "t", writer_properties=codec
            )
            merge.when_matched_update_all().when_not_matched_insert_all().execute()
    count = dr.Table(path).snapshot().scan(columns=["id"]).to_arrow().num_rows
    if count != total:
        sys.exit(f"{engine} left {count} rows of {total}")
    return figures


def live(checkpoint: Path) -> int:
    import pyarrow.parquet as pq

    return len(pq.ParquetFile(checkpoint).read(columns=["add.path"])["add"].drop_null())


def newest_checkpoint(table: Path) -> Path:
    return max((table / "_delta_log").glob("*.checkpoint.parquet"))


def mirrored(log: Path, root: Path) -> Path:
    """Return the log as links, so that the original stays unchanged."""
    from harness import mirror

    root.mkdir()
    mirror(log / "_delta_log", root / "_delta_log")
    return root


def line(task: str, engine: str, figures: dict[str, float]) -> str:
    wall = figures["wall"]
    text = f"{task:11} {engine:12} {wall:8.2f} s wall {figures['cpu']:8.2f} s CPU"
    text += f" {figures['peak']:6.0f} MiB peak, +{figures['beyond']:.0f}"
    if "bytes" in figures:
        text += f"  {figures['bytes'] / 1e6 / wall:6.0f} MB/s of {figures['bytes'] / 1e9:.2f} GB"
    if "count" in figures:
        text += (
            f"  {figures['count'] / wall:7.1f} commits/s, median {figures['median'] * 1e3:.1f} ms"
        )
        text += f", longest {figures['longest'] * 1e3:.0f} ms"
    if "opened" in figures:
        text += f", opened before in {figures['opened']:.2f} s"
    if "written" in figures:
        text += f"  {figures['written'] / 1e6:.0f} MB written"
    return text


def child(*arguments: object) -> str:
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def log_of(files: int, data: Path) -> Path:
    if files == MILLION and (elsewhere := os.environ.get("DELTAREPLAY_BENCH_LOGS")):
        return Path(elsewhere) / "million"
    log = data / ("million" if files == MILLION else f"files-{files}")
    if not (log / "_expected.json").is_file():
        print(f"generating a log of {files} files", file=sys.stderr)
        child("make_log", log, files)
    return log


def run(task: str, arguments: argparse.Namespace) -> None:
    folder = Path(tempfile.mkdtemp(prefix="writes-"))
    try:
        source, count = folder / "rows.arrow", arguments.commits
        if task == "append" or task.startswith("merge"):
            rows = arguments.rows if task == "append" else arguments.merged_rows
            child("make_rows", source, rows)
            count = int(task == "merge by vectors") if task != "append" else count
        elif task in ("million", "checkpoint"):
            source = log_of(arguments.files, arguments.data)
        for engine in TASKS[task]:
            if importlib.util.find_spec(engine) is None:
                print(f"{task:11} {engine:12} skipped: it is not installed", flush=True)
                continue
            directory = folder if task == "checkpoint" else folder / engine
            directory.mkdir(exist_ok=True)
            figures = json.loads(child(task, engine, directory, source, count))
            print(line(task, engine, figures), flush=True)
    finally:
        shutil.rmtree(folder)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        name, *rest = sys.argv[2:]
        if name in ("make_rows", "make_log"):
            {"make_rows": make_rows, "make_log": make_log}[name](Path(rest[0]), int(rest[1]))
            return
        work = {"append": append, "small": small, "million": million, "checkpoint": checkpoint}
        work |= {"merge": merge, "merge by vectors": merge}
        engine, folder, source, count = rest
        print(json.dumps(work[name](engine, Path(folder), Path(source), int(count))))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=TASKS, help="this task alone")
    parser.add_argument("--rows", type=int, default=12_000_000, help="of the append: about 1 GB")
    parser.add_argument("--merged-rows", type=int, default=5_000_000, help="of the merged table")
    parser.add_argument("--commits", type=int, default=50, help="of the tasks small and million")
    parser.add_argument("--files", type=int, default=MILLION, help="of million and checkpoint")
    parser.add_argument("--data", type=Path, default=ROOT / "benches" / "data", help="logs")
    arguments = parser.parse_args()
    for task in [arguments.only] if arguments.only else TASKS:
        run(task, arguments)


if __name__ == "__main__":
    main()
