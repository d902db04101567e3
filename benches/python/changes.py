"""Time change queries with deltareplay and deltalake, and print a table.

``python benches/python/changes.py [--data DIRECTORY] [--runs 3] [--only WORD]``

``feed``: 1,000 commits with the change data feed, each with one change data file of 1,000 changed
rows. ``long``: 10,000 such commits, whose files are hard links to one file. ``tracked``: row
tracking without the feed; 100 commits of 20,000 rows each, each of which updates 10,000 rows of
the previous file by a deletion vector and a new file. ``updated``: row tracking; each of 100
commits updates 10,000 of the 1 million rows of 10 files, by a deletion vector and a new file.
``bare`` reads the same Parquet files with pyarrow, without computing changes. Streamed results are
counted batch by batch, for their peak memory. Each result is the minimum of several fresh
processes, engines taking turns; CPU seconds are those of the task, over all threads, after loading
libraries.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import rows

HERE = Path(__file__).parent
FEED_COMMITS, FEED_ROWS = 1_000, 1_000
LONG_COMMITS = 10_000
FEEDS = {"feed": FEED_COMMITS, "long": LONG_COMMITS}
COMMITS, ROWS = 100, 20_000
UPDATED_FILES = 10
SCHEMA = [("id", "long"), ("x", "double"), ("category", "string"), ("name", "string")]
TASKS = {
    "1M changed rows, 1,000 commits: full-delta": ("feed", "full-delta"),
    "1M changed rows, 1,000 commits: full-delta, streamed": ("feed", "streamed"),
    "10M changed rows, 10,000 commits: full-delta, streamed": ("long", "streamed"),
    "3M changed rows, 100 commits, row tracking: full-delta": ("tracked", "full-delta"),
    "3M changed rows, 100 commits, row tracking: min-delta": ("tracked", "min-delta"),
    "3M changed rows, 100 commits, row tracking: upsert": ("tracked", "upsert"),
    "3M changed rows, 100 commits, row tracking: append-only": ("tracked", "append-only"),
    "1M updated rows, 100 commits, row tracking: min-delta": ("updated", "min-delta"),
    "1M updated rows, 100 commits, row tracking: upsert": ("updated", "upsert"),
}
ENGINES = {"feed": ("deltareplay", "deltalake", "bare"), "tracked": ("deltareplay", "bare")}
ENGINES["updated"] = ENGINES["tracked"]
ENGINES["long"] = ("deltareplay",)
#: The version that the changes begin with.
START = {"feed": 1, "long": 1, "tracked": 1, "updated": 2}
TRACKED = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_since",
}


def write_log(directory: Path, configuration: dict[str, str], commits: list[list[object]]) -> None:
    log = directory / "_delta_log"
    log.mkdir(parents=True)
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in SCHEMA
    ]
    writer = ["changeDataFeed"]
    protocol: dict[str, object] = {"minReaderVersion": 1, "minWriterVersion": 4}
    if "delta.enableRowTracking" in configuration:
        writer = ["deletionVectors", "rowTracking", "domainMetadata"]
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
        protocol |= {"readerFeatures": ["deletionVectors"], "writerFeatures": writer}
    metadata = {
        "id": "7f6c1d52-0b7e-4b0a-9d0c-2f3f9f0f6c13",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": configuration,
        "createdTime": 0,
    }
    for version, actions in enumerate([[{"protocol": protocol}, {"metaData": metadata}], *commits]):
        info = {"commitInfo": {"timestamp": version, "operation": "UPDATE"}}
        lines = "\n".join(json.dumps(action) for action in [info, *actions])
        (log / f"{version:020}.json").write_text(lines)


def columns(rng: random.Random, ids: list[int]) -> dict[str, object]:
    categories = ["alpha", "beta", "gamma", "delta"]
    return {
        "id": ids,
        "x": [rng.random() for _ in ids],
        "category": [categories[rng.randrange(4)] for _ in ids],
        "name": [f"name-{rng.randrange(1 << 30)}" for _ in ids],
    }


def action(path: Path, root: Path, **more: object) -> dict[str, object]:
    size = path.stat().st_size
    name = str(path.relative_to(root))
    return {"path": name, "partitionValues": {}, "size": size, **more}


def write_feed(directory: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (directory / "_change_data").mkdir(parents=True)
    commits: list[list[object]] = []
    for number in range(FEED_COMMITS):
        rng = random.Random(number)
        ids = [rng.randrange(1 << 40) for _ in range(FEED_ROWS // 2)] * 2
        types = ["update_preimage"] * (FEED_ROWS // 2) + ["update_postimage"] * (FEED_ROWS // 2)
        path = directory / "_change_data" / f"cdc-{number}.parquet"
        pq.write_table(pa.table({**columns(rng, ids), "_change_type": types}), path)
        commits.append([{"cdc": action(path, directory, dataChange=False)}])
    write_log(directory, {"delta.enableChangeDataFeed": "true"}, commits)


def write_long(directory: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (directory / "_change_data").mkdir(parents=True)
    file = directory / "_change_data" / "cdc-0.parquet"
    ids = list(range(FEED_ROWS))
    types = ["insert"] * FEED_ROWS
    pq.write_table(pa.table({**columns(random.Random(0), ids), "_change_type": types}), file)
    commits: list[list[object]] = []
    for number in range(LONG_COMMITS):
        path = file.with_name(f"cdc-{number}.parquet")
        if number:
            os.link(file, path)
        commits.append([{"cdc": action(path, directory, dataChange=False)}])
    write_log(directory, {"delta.enableChangeDataFeed": "true"}, commits)


def write_tracked(directory: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    import deltareplay as dr

    directory.mkdir(parents=True)
    commits: list[list[object]] = []
    before: dict[str, object] | None = None
    next_row_id, last = 0, list[int]()
    for number in range(COMMITS):
        rng = random.Random(number)
        moved = last[: ROWS // 2]
        ids: list[int | None] = [*moved, *[None] * (ROWS - len(moved))]
        path = directory / f"part-{number}.parquet"
        values = columns(rng, list(range(next_row_id, next_row_id + ROWS)))
        since = pa.nulls(ROWS, pa.int64())
        row_ids = {"_id": pa.array(ids, pa.int64()), "_since": since} if moved else {}
        pq.write_table(pa.table({**values, **row_ids}), path)
        more = {"dataChange": True, "modificationTime": 0, "baseRowId": next_row_id}
        more |= {"defaultRowCommitVersion": number + 1, "stats": f'{{"numRecords":{ROWS}}}'}
        add = action(path, directory, **more)
        actions: list[object] = [{"add": add}]
        if before is not None:
            vector = dr.DeletionVector.from_rows(range(ROWS // 2)).encode_inline()
            actions.append({"add": {**before, "deletionVector": vector}})
            removed = {key: before[key] for key in ("path", "partitionValues", "size", "baseRowId")}
            removed |= {"defaultRowCommitVersion": before["defaultRowCommitVersion"]}
            removed |= {"dataChange": True, "extendedFileMetadata": True, "deletionTimestamp": 0}
            actions.append({"remove": removed})
        commits.append(actions)
        last = [row_id if row_id is not None else next_row_id + at for at, row_id in enumerate(ids)]
        before, next_row_id = add, next_row_id + ROWS
    write_log(directory, TRACKED, commits)


def write_updated(directory: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    import deltareplay as dr

    directory.mkdir(parents=True)
    each = COMMITS // UPDATED_FILES
    rows = each * (ROWS // 2)  # of a file: each of its commits updates every nth row

    def write(
        name: str, version: int, base: int, ids: list[int], **row_ids: object
    ) -> dict[str, object]:
        path = directory / name
        pq.write_table(pa.table({**columns(random.Random(name), ids), **row_ids}), path)
        more = {"dataChange": True, "modificationTime": 0, "baseRowId": base}
        more |= {"defaultRowCommitVersion": version, "stats": f'{{"numRecords":{len(ids)}}}'}
        return action(path, directory, **more)

    files = [
        write(
            f"base-{number}.parquet",
            1,
            number * rows,
            list(range(number * rows, (number + 1) * rows)),
        )
        for number in range(UPDATED_FILES)
    ]
    commits: list[list[object]] = [[{"add": add} for add in files]]
    next_row_id = rows * UPDATED_FILES
    for number in range(COMMITS):
        at, round_ = number % UPDATED_FILES, number // UPDATED_FILES
        before = files[at]
        ids = [at * rows + row for row in range(round_, rows, each)]
        row_ids = {"_id": pa.array(ids, pa.int64()), "_since": pa.nulls(len(ids), pa.int64())}
        add = write(f"new-{number}.parquet", number + 2, next_row_id, ids, **row_ids)
        next_row_id += len(ids)
        removed = [row for row in range(rows) if row % each <= round_]
        vector = dr.DeletionVector.from_rows(removed).encode_inline()
        files[at] = {**before, "deletionVector": vector}
        remove = {
            key: value for key, value in before.items() if key not in ("stats", "modificationTime")
        }
        remove |= {"extendedFileMetadata": True, "deletionTimestamp": 0}
        commits.append([{"add": add}, {"add": files[at]}, {"remove": remove}])
    write_log(directory, TRACKED, commits)


WRITE = {"feed": write_feed, "long": write_long, "tracked": write_tracked, "updated": write_updated}


def step(engine: str, kind: str, table: Path) -> Callable[[], int]:
    if engine == "bare":
        import pyarrow as pa
        import pyarrow.parquet as pq

        files = sorted(path for path in table.rglob("*.parquet") if "_delta_log" not in str(path))
        names = [name for name, _ in SCHEMA]
        return lambda: (
            pa.concat_tables([pq.ParquetFile(path).read(columns=names) for path in files]).num_rows
        )
    if engine == "deltalake":
        import pyarrow as pa
        from deltalake import DeltaTable

        return lambda: pa.table(DeltaTable(str(table)).load_cdf(starting_version=1)).num_rows
    import deltareplay as dr

    start = START[table.name.removeprefix("changes-")]
    if kind == "streamed":
        changes = dr.Table(str(table)).changes(start)
        return lambda: sum(batch.num_rows for batch in changes.to_batches())
    return lambda: dr.Table(str(table)).changes(start, kind=kind).to_arrow().num_rows  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE.parent / "data")
    parser.add_argument("--runs", type=int, default=3, help="fresh processes for each figure")
    parser.add_argument("--only", default="", help="tasks whose title has this text")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        engine, kind, table = arguments.one
        rows.timed(step(engine, kind, Path(table)))
        return
    print("| task | engine | CPU s | wall s | peak MB | CPU, ours = 1 |")
    print("|---|---|---:|---:|---:|---:|")
    for title, (name, kind) in TASKS.items():
        if arguments.only not in title:
            continue
        table = arguments.data / f"changes-{name}"
        if not (table / "_delta_log" / f"{0:020}.json").is_file():
            WRITE[name](table)
        ours = 0.0
        for engine in ENGINES[name][: 1 if kind == "streamed" else None]:
            best = rows.measure(__file__, engine, kind, table, arguments.runs)
            if name in FEEDS and best["found"] != FEEDS[name] * FEED_ROWS:
                sys.exit(f"{engine}, {title}: found {best['found']} rows")
            ours = ours or best["cpu"]
            print(rows.line(title, engine, best, ours), flush=True)


if __name__ == "__main__":
    main()
