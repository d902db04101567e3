"""Generate Delta logs for the benches: realistic, without data files, the same for the same seed.

``python benches/python/generate.py DIRECTORY [SHAPE ...]`` writes each shape below ``DIRECTORY``.
Next to every ``_delta_log`` are ``_expected.json`` (version, live files, their bytes) and
``_next_commit/``: one more commit, not part of the table yet, for timing an update.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SEED = 20260101
CHECKPOINT_VERSION = 1000
FIRST_TIMESTAMP = 1_767_225_600_000  # ms: 2026-01-01 in UTC
ROWS_OF_A_GROUP = 440_000
ROWS_OF_A_BATCH = 50_000
REGIONS = ("ap-south", "ap-north", "eu-west", "eu-central", "us-east", "us-west", "sa-east", "af")
SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in [
            ("id", "long"),
            ("at", "timestamp"),
            ("amount", "double"),
            ("customer", "string"),
            ("city", "string"),
            ("units", "integer"),
            ("day", "date"),
            ("region", "string"),
        ]
    ],
}
METADATA = {
    "id": "7f6c1d52-0b7e-4b0a-9d0c-2f3f9f0f6c11",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": json.dumps(SCHEMA, separators=(",", ":")),
    "partitionColumns": ["day", "region"],
    "configuration": {"delta.logRetentionDuration": "interval 3650 days"},
    "createdTime": FIRST_TIMESTAMP,
}
PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}


@dataclass(frozen=True)
class Shape:
    """The shape of a log. ``files`` are live in the checkpoint; 0 means that there is none."""

    files: int
    commits: int
    adds: int  # of each commit
    removes: int  # of each commit


SHAPES = {
    "small": Shape(files=20_000, commits=20, adds=60, removes=40),
    "million": Shape(files=1_000_000, commits=100, adds=60, removes=40),
    "commits": Shape(files=0, commits=1_000, adds=80, removes=20),
    "tail": Shape(files=10_000, commits=10_000, adds=2, removes=1),
}


@dataclass(frozen=True)
class File:
    """A fictitious data file whose properties follow from its number."""

    number: int

    @property
    def digest(self) -> bytes:
        return hashlib.blake2b(f"{SEED}/{self.number}".encode(), digest_size=16).digest()

    @property
    def partition(self) -> tuple[str, str]:
        month, day = divmod(self.number // 500 % 336, 28)
        return f"2025-{month + 1:02}-{day + 1:02}", REGIONS[self.digest[0] % len(REGIONS)]

    @property
    def path(self) -> str:
        day, region = self.partition
        name = self.digest.hex()
        unique = f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:]}"
        task = self.number % 200
        return f"day={day}/region={region}/part-{task:05}-{unique}.c000.snappy.parquet"

    @property
    def size(self) -> int:
        return 20_000_000 + int.from_bytes(self.digest[1:4], "big") * 10

    @property
    def modification_time(self) -> int:
        return FIRST_TIMESTAMP + self.number * 100

    @property
    def stats(self) -> str:
        first = self.number * 1000
        unit = int.from_bytes(self.digest[4:8], "big")
        day, _ = self.partition
        low = (
            f'"id":{first},"at":"{day}T00:00:{unit % 60:02}.000Z","amount":{unit % 977 / 7!r},'
            f'"customer":"customer {unit % 100_000:06}","city":"Aachen {unit % 97}","units":1'
        )
        high = (
            f'"id":{first + 999},"at":"{day}T23:59:{unit % 60:02}.000Z",'
            f'"amount":{9000 + unit % 977 / 7!r},"customer":"customer {900_000 + unit % 100_000}",'
            f'"city":"Zwolle {unit % 89}","units":{unit % 500}'
        )
        nulls = f'"id":0,"at":0,"amount":{unit % 13},"customer":0,"city":{unit % 5},"units":0'
        return (
            f'{{"numRecords":1000,"minValues":{{{low}}},"maxValues":{{{high}}},'
            f'"nullCount":{{{nulls}}},"tightBounds":true}}'
        )

    def add(self) -> dict[str, object]:
        day, region = self.partition
        return {
            "path": self.path,
            "partitionValues": {"day": day, "region": region},
            "size": self.size,
            "modificationTime": self.modification_time,
            "dataChange": True,
            "stats": self.stats,
        }

    def remove(self, timestamp: int) -> dict[str, object]:
        day, region = self.partition
        return {
            "path": self.path,
            "deletionTimestamp": timestamp,
            "dataChange": True,
            "extendedFileMetadata": True,
            "partitionValues": {"day": day, "region": region},
            "size": self.size,
        }


STRINGS = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    {
        "storageType": pa.string(),
        "pathOrInlineDv": pa.string(),
        "offset": pa.int32(),
        "sizeInBytes": pa.int32(),
        "cardinality": pa.int64(),
    }
)
ADD = pa.struct(
    {
        "path": pa.string(),
        "partitionValues": STRINGS,
        "size": pa.int64(),
        "modificationTime": pa.int64(),
        "dataChange": pa.bool_(),
        "stats": pa.string(),
        "tags": STRINGS,
        "deletionVector": VECTOR,
    }
)
REMOVE = pa.struct(
    {
        "path": pa.string(),
        "deletionTimestamp": pa.int64(),
        "dataChange": pa.bool_(),
        "extendedFileMetadata": pa.bool_(),
        "partitionValues": STRINGS,
        "size": pa.int64(),
        "deletionVector": VECTOR,
    }
)
CHECKPOINT = pa.schema(
    {
        "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
        "add": ADD,
        "remove": REMOVE,
        "metaData": pa.struct(
            {
                "id": pa.string(),
                "name": pa.string(),
                "description": pa.string(),
                "format": pa.struct({"provider": pa.string(), "options": STRINGS}),
                "schemaString": pa.string(),
                "partitionColumns": pa.list_(pa.string()),
                "configuration": STRINGS,
                "createdTime": pa.int64(),
            }
        ),
        "protocol": pa.struct(
            {
                "minReaderVersion": pa.int32(),
                "minWriterVersion": pa.int32(),
                "readerFeatures": pa.list_(pa.string()),
                "writerFeatures": pa.list_(pa.string()),
            }
        ),
    }
)


def generate(root: Path, shape: Shape) -> None:
    """Write a table's log below ``root``, which is replaced."""
    shutil.rmtree(root, ignore_errors=True)
    log = root / "_delta_log"
    log.mkdir(parents=True)
    rng = random.Random(SEED)
    if shape.files:
        write_checkpoint(log, shape, rng)
    live = Live(shape.files)
    first = CHECKPOINT_VERSION + 1 if shape.files else 0
    for version in range(first, first + shape.commits):
        write_commit(log, version, live, shape, rng)
    version = first + shape.commits - 1
    expected = {
        "version": version,
        "live_files": len(live.numbers),
        "total_size": sum(File(number).size for number in live.numbers),
    }
    (root / "_expected.json").write_text(json.dumps(expected))
    (root / "_next_commit").mkdir()
    write_commit(root / "_next_commit", version + 1, live, shape, rng)


class Live:
    """The numbers of the live files, for random removal."""

    def __init__(self, files: int) -> None:
        self.numbers = list(range(files))
        self.next = files

    def add(self) -> File:
        self.numbers.append(self.next)
        self.next += 1
        return File(self.next - 1)

    def remove(self, rng: random.Random) -> File:
        at = rng.randrange(len(self.numbers))
        self.numbers[at], self.numbers[-1] = self.numbers[-1], self.numbers[at]
        return File(self.numbers.pop())


def write_commit(
    directory: Path, version: int, live: Live, shape: Shape, rng: random.Random
) -> None:
    timestamp = FIRST_TIMESTAMP + version * 60_000
    removed = [live.remove(rng) for _ in range(shape.removes) if live.numbers]
    actions: list[dict[str, object]] = [
        {"commitInfo": {"timestamp": timestamp, "operation": "WRITE", "operationParameters": {}}}
    ]
    if version == 0:
        actions += [{"protocol": PROTOCOL}, {"metaData": METADATA}]
    actions += [{"add": live.add().add()} for _ in range(shape.adds)]
    actions += [{"remove": file.remove(timestamp)} for file in removed]
    lines = (json.dumps(action, separators=(",", ":")) for action in actions)
    (directory / f"{version:020}.json").write_text("\n".join(lines) + "\n")


def write_checkpoint(log: Path, shape: Shape, rng: random.Random) -> None:
    """Write a classic checkpoint in random order, as after Spark's shuffle; 2 % are tombstones."""
    tombstones = range(1 << 32, (1 << 32) + shape.files // 50)
    numbers = [*range(shape.files), *tombstones]
    rng.shuffle(numbers)
    path = log / f"{CHECKPOINT_VERSION:020}.checkpoint.parquet"
    with pq.ParquetWriter(
        path, CHECKPOINT, compression="snappy", write_page_index=True, store_schema=False
    ) as writer:
        for first in range(0, len(numbers), ROWS_OF_A_GROUP):
            group = numbers[first : first + ROWS_OF_A_GROUP]
            batches = list(checkpoint_batches(group, with_metadata=first == 0))
            writer.write_table(pa.Table.from_batches(batches), row_group_size=2 * ROWS_OF_A_GROUP)
    hint = {"version": CHECKPOINT_VERSION, "size": len(numbers) + 2, "sizeInBytes": 0}
    hint["sizeInBytes"] = path.stat().st_size
    (log / "_last_checkpoint").write_text(json.dumps(hint))


def checkpoint_batches(numbers: list[int], with_metadata: bool) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(numbers), ROWS_OF_A_BATCH):
        files = [File(number) for number in numbers[first : first + ROWS_OF_A_BATCH]]
        live = [file.number < 1 << 32 for file in files]
        yield batch(
            add=structs(ADD, files, live, add_columns),
            remove=structs(REMOVE, files, [not is_live for is_live in live], remove_columns),
        )
    if with_metadata:
        metadata = {**METADATA, "configuration": list(METADATA["configuration"].items())}
        metadata["format"] = {"provider": "parquet", "options": []}
        yield batch(
            protocol=pa.array([PROTOCOL, None], CHECKPOINT.field("protocol").type),
            metaData=pa.array([None, metadata], CHECKPOINT.field("metaData").type),
        )


def batch(**columns: pa.Array) -> pa.RecordBatch:
    rows = len(next(iter(columns.values())))
    arrays = [columns.get(field.name, pa.nulls(rows, field.type)) for field in CHECKPOINT]
    return pa.record_batch(arrays, schema=CHECKPOINT)


def structs(kind, files, selected, columns_of) -> pa.Array:
    """Return a struct for each selected file, null for the others."""
    columns = columns_of([file for file, keep in zip(files, selected, strict=True) if keep])
    rows = sum(selected)
    arrays = [
        pa.array(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(rows, field.type)
        for field in kind
    ]
    struct = pa.StructArray.from_arrays(arrays, fields=list(kind))
    positions, position = [], 0
    for keep in selected:
        positions.append(position if keep else None)
        position += keep
    return struct.take(pa.array(positions, pa.int64()))


def add_columns(files: list[File]) -> dict[str, list[object]]:
    return {
        "path": [file.path for file in files],
        "partitionValues": [partition_items(file) for file in files],
        "size": [file.size for file in files],
        "modificationTime": [file.modification_time for file in files],
        "dataChange": [False] * len(files),
        "stats": [file.stats for file in files],
    }


def remove_columns(files: list[File]) -> dict[str, list[object]]:
    return {
        "path": [file.path for file in files],
        "deletionTimestamp": [FIRST_TIMESTAMP] * len(files),
        "dataChange": [True] * len(files),
        "extendedFileMetadata": [True] * len(files),
        "partitionValues": [partition_items(file) for file in files],
        "size": [file.size for file in files],
    }


def partition_items(file: File) -> list[tuple[str, str]]:
    day, region = file.partition
    return [("day", day), ("region", region)]


def main(arguments: list[str]) -> None:
    is_directory = bool(arguments) and not arguments[0].startswith("-")
    if not is_directory or any(name not in SHAPES for name in arguments[1:]):
        sys.exit(f"usage: generate.py DIRECTORY [SHAPE ...], with shapes {', '.join(SHAPES)}")
    for name in arguments[1:] or SHAPES:
        print(f"generating {name}", file=sys.stderr)
        generate(Path(arguments[0]) / name, SHAPES[name])


if __name__ == "__main__":
    main(sys.argv[1:])
