"""Remote tables: no byte is fetched twice in a call, and waits overlap.

The store runs in this process and records every request with its range. Expected values are
computed from these, as in docs/concepts/performance.md. Errors must be those of the same table on
a local disk.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stores import servers
from stores.fake_gcs import Bucket

import deltareplay as dr

DAYS = 5
ROWS = pa.table(
    {
        "id": pa.array(range(100), pa.int64()),
        "day": [f"2026-01-0{number % DAYS + 1}" for number in range(100)],
        "text": [f"text {number}" for number in range(100)],
    }
)


#: Caches are kept per location and options: other options, here a limit, find none.
LIMITS = itertools.count(100)


class RemoteStore:
    """A store, and the requests to it."""

    def __init__(self, store: servers.Store) -> None:
        assert store.bucket is not None
        self.bucket: Bucket = store.bucket
        self.root, self.options = store.root, store.options
        self.tables = 0

    def table(self, files: int = 4, **properties: str) -> dr.Table:
        """Write a table of `files` appends of one file for each day."""
        self.tables += 1
        uri = f"{self.root}/t{self.tables}"
        for number in range(files):
            ids = pa.array(range(number * 100, number * 100 + 100), pa.int64())
            rows = ROWS.set_column(0, "id", ids)
            dr.write(
                uri,
                rows,
                mode="append",
                partition_columns=["day"],
                properties=properties if number == 0 else None,
                storage_options=self.options,
            )
        return dr.Table(uri, self.options)

    def reads(self, call: Callable[[], Any]) -> dict[str, list[tuple[int, int]]]:
        """Return the ranges of data files and vectors that a call reads, by file."""
        self.bucket.reads.clear()
        call()
        ranges: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for key, start, end in self.bucket.reads:
            if "/_delta_log/" not in key:
                ranges[key].append((start, end))
        return ranges

    def uncached(self, uri: str) -> dr.Table:
        """Open a table with options that this process has not cached."""
        return dr.Table(uri, {**self.options, "max_concurrent_requests": str(next(LIMITS))})


@pytest.fixture
def remote() -> Iterator[RemoteStore]:
    with servers.gcs() as store:
        yield RemoteStore(store)


def check_once(reads: dict[str, list[tuple[int, int]]], most: int | None = None) -> None:
    """Check that no two ranges of a file overlap, and that a file has at most `most` ranges."""
    assert reads
    for key, ranges in reads.items():
        ranges.sort()
        for (start, end), (after, _) in pairwise(ranges):
            assert end <= after, f"{key}: {start}-{end} and then {after}: {ranges}"
        assert most is None or len(ranges) <= most, f"{key}: {ranges}"


def merge_rows(table: dr.Table) -> None:
    rows = ROWS.slice(0, 10)
    merge = table.merge(rows, "target.id = source.id")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


def read_splits(table: dr.Table) -> None:
    for split in table.snapshot().scan().splits():
        for _ in pickle.loads(pickle.dumps(split)).to_batches():
            pass


def read_stream(table: dr.Table) -> None:
    for _ in table.snapshot().scan().to_batches():
        pass


CALLS: dict[str, Callable[[dr.Table], Any]] = {
    "scan": lambda table: table.snapshot().scan().to_arrow(),
    "scan, filter": lambda table: table.snapshot().scan(filter="id = 7").to_arrow(),
    "scan, columns": lambda table: table.snapshot().scan(columns=["text"]).to_arrow(),
    "scan, computed": lambda table: table.snapshot().scan(filter="id % 50 = 7").to_arrow(),
    "count": lambda table: table.snapshot().scan(filter="id > 50").count(),
    "delete": lambda table: table.delete("id % 50 = 3"),
    "update": lambda table: table.update("id % 50 = 4", {"text": "'new'"}),
    "merge": merge_rows,
    "replace": lambda table: table.overwrite(ROWS.slice(0, 50), "id < 50"),
    "optimize": lambda table: table.optimize(),
    "optimize, ordered": lambda table: table.optimize(z_order_by=["id"]),
    "changes": lambda table: table.changes(0).to_arrow(),
    "constraint": lambda table: table.add_constraint("some", "id % 7 < 7"),
    "stream": read_stream,
    "splits": read_splits,
    "files": lambda table: table.snapshot().files(),
    "statistics": lambda table: table.snapshot().files(columns=["path", "stats_parsed"]),
    "file batches": lambda table: list(table.snapshot().file_batches()),
    "minimum": lambda table: table.snapshot().min_max("day"),
    "explain": lambda table: table.snapshot().scan(filter="id = 7").explain(),
    "older version": lambda table: table.snapshot(1).files(),
    "actions": lambda table: table.actions(0).read_all(),
    "append": lambda table: table.append(ROWS),
    "overwrite": lambda table: table.overwrite(ROWS),
    "restore": lambda table: table.restore(1),
    "vacuum": lambda table: table.vacuum(dry_run=True),
    "vacuum, deleting": lambda table: table.vacuum(dry_run=False),
    "verify": lambda table: table.verify(),
    "history": lambda table: table.history(),
    "history(3)": lambda table: table.history(limit=3),
    "checkpoint": lambda table: table.checkpoint(),
    "checksum": lambda table: table.write_checksum(),
    "compact": lambda table: table.compact_log(0, 2),
    "clean": lambda table: table.cleanup_log(),
    "clone": lambda table: table.clone(f"{table.uri}-clone"),
    "deep clone": lambda table: table.clone(f"{table.uri}-clone", shallow=False),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:rows of this file were deleted")
@pytest.mark.parametrize("vectors", ["false", "true"])
@pytest.mark.parametrize("call", CALLS)
def test_calls_read_bytes_once(remote: RemoteStore, call: str, vectors: str) -> None:
    """Nothing is cached; the log has a checkpoint, and later commits."""
    table = remote.table(**{"delta.enableDeletionVectors": vectors})
    if vectors == "true":
        table.delete("id % 10 = 9")
    table.checkpoint()
    for _ in range(2):
        table.append(ROWS)
    table = remote.uncached(table.uri)
    remote.bucket.reads.clear()
    CALLS[call](table)
    reads: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for key, start, end in remote.bucket.reads:
        # the hint is read with each listing: a call that commits or opens two versions has several
        if not key.endswith("/_last_checkpoint"):
            reads[key].append((start, end))
    check_once(reads)
    if vectors == "false":
        assert all(len(ranges) == 1 for ranges in reads.values()), "small files are one request"


@pytest.mark.parametrize("tracked", ["true", "false"])
@pytest.mark.parametrize("kind", ["full-delta", "min-delta"])
def test_rows_are_compared_with_one_request_for_each_file(
    remote: RemoteStore, kind: Any, tracked: str
) -> None:
    table = remote.table(**{"delta.enableRowTracking": tracked})
    first = table.snapshot().version + 1
    table.update("id % 50 = 4", {"text": "'new'"})
    table.delete("id = 7")
    key = ["id"] if kind == "min-delta" and tracked == "false" else None
    changes: list[pa.Table] = []
    reads = remote.reads(
        lambda: changes.append(table.changes(first, kind=kind, key=key).to_arrow())
    )
    assert changes[0].num_rows >= 9
    check_once(reads, most=1)


def test_purging_reads_bytes_once(remote: RemoteStore) -> None:
    table = remote.table(**{"delta.columnMapping.mode": "name"})
    table.drop_column("text")
    check_once(remote.reads(lambda: table.optimize(purge=True)), most=1)


def large(remote: RemoteStore) -> dr.Table:
    """Create a table of one file: four row groups, with about 1 MB of each string column."""
    rows = 40_000
    texts = pa.array([f"{number * 7919 % 1_000_003:0100}" for number in range(rows)])
    data = pa.table({"id": pa.array(range(rows), pa.int64()), "a": texts, "b": texts, "c": texts})
    sink = pa.BufferOutputStream()
    options = {"row_group_size": rows // 4, "compression": "none", "use_dictionary": False}
    pq.write_table(data, sink, write_page_index=True, **options)
    body = sink.getvalue().to_pybytes()
    uri = f"{remote.root}/large"
    table = dr.create_table(uri, data.schema, storage_options=remote.options)
    remote.bucket.objects["large/part.parquet"] = (body, 1, time.time())
    with table.transaction() as transaction:
        transaction.add("part.parquet", size=len(body), stats={"numRecords": rows})
    assert len(body) > 10 << 20
    return table


@pytest.mark.parametrize(
    ("filter", "count"),
    [(None, 40_000), ("id = 7", 1), ("id % 10000 = 3", 4), ("a < '5' AND id % 2 = 0", 20_000)],
)
def test_scans_read_bytes_of_a_large_file_once(
    remote: RemoteStore, filter: str | None, count: int
) -> None:
    table = large(remote)
    counts: list[int] = []
    reads = remote.reads(
        lambda: counts.append(table.snapshot().scan(filter=filter).to_arrow().num_rows)
    )
    assert counts == [count]
    check_once(reads)
    sizes = [end - start for start, end in reads["large/part.parquet"]]
    assert max(sizes) <= 2 << 20, "large ranges are divided"
    if count == 1:
        assert sum(sizes) < 4 << 20, "one row group, and the end of the file"


READ_LOG: dict[str, Callable[[dr.Table], Any]] = {
    "files": lambda table: table.snapshot().files(),
    "statistics": lambda table: table.snapshot().files(columns=["path", "stats", "stats_parsed"]),
    "partition": lambda table: table.snapshot().files(filter="day = '3'"),
    "filter": lambda table: table.snapshot().files(columns=["path", "size"], filter="id > 150000"),
    "batches": lambda table: list(table.snapshot().file_batches(columns=["path", "stats"])),
    "tombstones": lambda table: table.snapshot().tombstones(),
    "verify": lambda table: table.snapshot(verify=True),
}


@pytest.fixture(scope="module")
def large_log() -> Iterator[RemoteStore]:
    """A table of 20,000 files whose checkpoint has some MiB, and later commits."""
    with servers.gcs() as store:
        remote = RemoteStore(store)
        schema = pa.schema({"id": pa.int64(), "day": pa.string()})
        uri = f"{remote.root}/log"
        table = dr.create_table(
            uri, schema, partition_columns=["day"], storage_options=remote.options
        )
        with table.transaction() as transaction:
            for number in range(20_000):
                text = hashlib.sha512(str(number).encode()).hexdigest()
                values = {"id": number * 10}
                stats = {"numRecords": 1, "minValues": values, "maxValues": values, "text": text}
                path, day = f"{text[:40]}.parquet", {"day": str(number % 7)}
                transaction.add(path, size=1, partition_values=day, stats=stats)
        table.checkpoint()
        for number in range(3):
            table.append(pa.table({"id": [number], "day": ["3"]}, schema=schema))
        sizes = [
            len(body) for key, (body, *_) in remote.bucket.objects.items() if "checkpoint" in key
        ]
        assert max(sizes) > 1 << 20, "not fetched whole"
        yield remote


@pytest.mark.parametrize("reading", READ_LOG)
def test_bytes_of_a_large_checkpoint_are_read_once(large_log: RemoteStore, reading: str) -> None:
    remote = large_log
    table = remote.uncached(f"{remote.root}/log")
    remote.bucket.reads.clear()
    READ_LOG[reading](table)
    reads: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for key, start, end in remote.bucket.reads:
        if "/_delta_log/" in key:
            reads[key].append((start, end))
    check_once(reads)


def test_statements_read_large_files_once(remote: RemoteStore) -> None:
    table = large(remote)
    check_once(remote.reads(lambda: table.delete("id % 100 = 3")))
    assert table.snapshot().scan().count() == 39_600


def test_requests_in_flight_are_many_and_bounded(remote: RemoteStore) -> None:
    table = remote.table(files=12)
    for most, fewest, latency in [(None, 20, 0.3), (3, 2, 0.1)]:
        remote.bucket.latency = latency
        options = (
            remote.options if most is None else {**remote.options, "max_concurrent_requests": most}
        )
        options = {name: str(value) for name, value in options.items()}
        snapshot = dr.Table(table.uri, options).snapshot()
        snapshot.files()
        remote.bucket.most_in_flight = 0
        start = time.monotonic()
        assert snapshot.scan().to_arrow().num_rows == 1200
        took = time.monotonic() - start
        assert remote.bucket.most_in_flight >= fewest
        if most is None:
            assert took < 60 * latency / 3, "60 files, one after the other, take 18 s"
        else:
            assert remote.bucket.most_in_flight <= most


def test_the_number_of_requests_is_checked(remote: RemoteStore) -> None:
    for wrong in ["0", "many", "-1", "5000"]:
        with pytest.raises(dr.InvalidArgumentError) as caught:
            dr.Table(f"{remote.root}/t", {**remote.options, "max_concurrent_requests": wrong})
        assert caught.value.code == "options.value"
        assert "max_concurrent_requests" in str(caught.value)


def test_waits_for_slow_and_busy_responses_overlap(remote: RemoteStore) -> None:
    table = remote.table(files=12)
    snapshot = table.snapshot()
    snapshot.files()
    for trouble in ["slow", "busy"]:
        remote.bucket.trouble = (5, trouble, 1.0)
        start = time.monotonic()
        assert snapshot.scan().to_arrow().num_rows == 1200
        # twelve files wait for a second each; a server that sends Retry-After gets that much time
        assert 1.0 <= time.monotonic() - start < 8.0, trouble
    remote.bucket.trouble = None


def test_a_scan_that_is_dropped_leaves_no_request(remote: RemoteStore) -> None:
    table = remote.table(files=40)
    snapshot = table.snapshot()
    remote.bucket.latency = 0.3
    remote.bucket.reads.clear()
    batches = iter(snapshot.scan(look_ahead=1).to_batches())
    next(batches)
    del batches
    read = -1
    while read != len(remote.bucket.reads):  # a busy server records what was sent before
        read = len(remote.bucket.reads)
        time.sleep(0.7)
    assert 0 < read < 40, "no request is sent any more"


def test_rows_are_in_order_with_any_look_ahead(remote: RemoteStore) -> None:
    table = remote.table(files=6)
    scan = table.snapshot().scan(columns=["id"])
    expected = scan.to_arrow()["id"].to_pylist()
    for look_ahead in [1, 10_000]:
        batches = table.snapshot().scan(columns=["id"], look_ahead=look_ahead).to_batches()
        assert pa.Table.from_batches(batches)["id"].to_pylist() == expected


def test_files_of_a_converted_directory_are_read_once(remote: RemoteStore) -> None:
    large(remote)
    small = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": pa.array([1], pa.int64())}), small)
    for number in range(5):
        body = small.getvalue().to_pybytes()
        remote.bucket.objects[f"plain/part-{number}.parquet"] = (body, 1, time.time())
    for directory, files in [("plain", 5), ("large", 1)]:
        for key in [
            key for key in remote.bucket.objects if key.startswith(f"{directory}/_delta_log")
        ]:
            del remote.bucket.objects[key]
        reads = remote.reads(
            lambda: dr.convert(f"{remote.root}/{directory}", storage_options=remote.options)  # noqa: B023
        )
        assert len(reads) == files
        check_once(reads)


def local_copy(remote: RemoteStore, table: dr.Table, directory: Path) -> dr.Table:
    prefix = table.uri.removeprefix(remote.root).strip("/") + "/"
    for key, (body, *_) in remote.bucket.objects.items():
        if key.startswith(prefix):
            path = directory / key.removeprefix(prefix)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
    return dr.Table(directory)


def outcome(table: dr.Table, **scan: Any) -> object:
    """Return the number of rows and the skipped files, or the error."""
    rows = table.snapshot().scan(**scan)
    try:
        return rows.to_arrow().num_rows, [str(skipped.path) for skipped in rows.skipped]
    except dr.DeltaReplayError as error:
        return type(error), error.code, error.path, getattr(error, "offset", None)


DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda _: None,
    "empty": lambda _: b"",
    "cut": lambda body: body[:-1],
    "half": lambda body: body[: len(body) // 2],
    "longer": lambda body: body + b"x" * 100,
    "other start": lambda body: b"y" * 50 + body,
    "zeros": lambda body: bytes(len(body)),
    "page": lambda body: body[:20] + bytes(60) + body[80:],
    "footer": lambda body: body[:-200] + bytes(150) + body[-50:],
    "footer of 2 GiB": lambda body: body[:-8] + b"\xff\xff\xff\x7f" + body[-4:],
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("size", ["small", "large"])
def test_errors_are_those_of_a_local_table(
    remote: RemoteStore, tmp_path: Path, size: str, damage: str
) -> None:
    table = remote.table(files=3) if size == "small" else large(remote)
    prefix = table.uri.removeprefix(remote.root).strip("/") + "/"
    keys = [key for key in sorted(remote.bucket.objects) if key.startswith(prefix)]
    damaged = [key for key in keys if key.endswith(".parquet")][-2 if size == "small" else -1]
    body = DAMAGE[damage](remote.bucket.objects.pop(damaged)[0])
    if body is not None:
        remote.bucket.objects[damaged] = (body, 1, time.time())
    local = local_copy(remote, table, tmp_path)
    for scan in [{}, {"filter": "id > 5"}, {"on_error": "skip"}]:
        assert outcome(table, **scan) == outcome(local, **scan), scan
    if damage not in ("longer", "page", "footer"):
        assert isinstance(outcome(table)[0], type), "an error"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_scans_what_its_parent_scans(remote: RemoteStore) -> None:
    table = remote.table(files=4)
    batches = iter(table.snapshot().scan().to_batches())
    first = next(batches)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs is an error
        rows = table.snapshot().scan().to_arrow().num_rows
        os._exit(0 if rows == 400 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert first.num_rows + sum(batch.num_rows for batch in batches) == 400


INTERRUPTED = """
import json, os, signal, sys, threading, time
import deltareplay as dr
snapshot = dr.Table(sys.argv[1], json.loads(sys.argv[2])).snapshot()
snapshot.files()
print("ready", flush=True)
sys.stdin.readline()
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    snapshot.scan(filter=sys.argv[3] or None).to_arrow()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process here")
@pytest.mark.parametrize("filter", ["", "id % 7 = 3"])
def test_a_scan_that_waits_is_interrupted(remote: RemoteStore, filter: str) -> None:
    table = remote.table(files=2)
    command = [sys.executable, "-c", INTERRUPTED, table.uri, json.dumps(remote.options), filter]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        remote.bucket.latency = 60
        start = time.monotonic()
        output, _ = process.communicate("\n", timeout=50)
        assert (output, process.returncode) == ("interrupted\n", 0)
        # much less than a request takes
        assert time.monotonic() - start < 20
    remote.bucket.latency = 0


STREAMED = """
import json, sys, threading, time
import deltareplay as dr

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

snapshot = dr.Table(sys.argv[1], json.loads(sys.argv[2])).snapshot()
snapshot.files(columns=["path"])
before = peak = resident()
rows = 0
for batch in snapshot.scan().to_batches():
    rows += batch.num_rows
    peak = max(peak, resident())
print(rows, peak - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_many_files_are_streamed_in_bounded_memory(remote: RemoteStore) -> None:
    """3,000 files of 100 KB, which share their bytes in the store, are 300 MB."""
    files, rows = 3000, 6000
    data = pa.table({"id": pa.array(range(rows), pa.int64()), "x": [float(x) for x in range(rows)]})
    sink = pa.BufferOutputStream()
    pq.write_table(data, sink, compression="none", use_dictionary=False)
    body = sink.getvalue().to_pybytes()
    assert len(body) > 95_000
    table = dr.create_table(f"{remote.root}/many", data.schema, storage_options=remote.options)
    with table.transaction() as transaction:
        for number in range(files):
            remote.bucket.objects[f"many/{number}.parquet"] = (body, 1, time.time())
            transaction.add(f"{number}.parquet", size=len(body), stats={"numRecords": rows})
    command = [sys.executable, "-c", STREAMED, table.uri, json.dumps(remote.options)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    read, memory = map(int, run.stdout.split())
    assert read == files * rows
    # 64 MiB are fetched or decoded and not yet taken; connections and the allocator need some, too
    assert memory < 128 << 20
