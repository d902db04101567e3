"""``Table.merge`` with a source that exceeds memory limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measures memory by /proc")

ROWS = 160_000
SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])

#: Merges strings of 640 MB in all, more than twice what stays in memory.
SCRIPT = """
import json, resource, sys, threading, time
import pyarrow as pa
import deltareplay as dr

path, rows, most_written = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
table = dr.Table(path)


def batches():
    for start in range(0, rows, 1000):
        ids = range(start, start + 1000)
        texts = [f"{number:04000}" for number in ids]
        yield pa.record_batch([pa.array(ids), pa.array(texts)], schema)


def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))


def sample():
    while not done.is_set():
        peaks.append(anonymous())
        time.sleep(0.002)


merge = table.merge(pa.RecordBatchReader.from_batches(schema, batches()), "id")
merge.when_matched_update({"text": "substring(source.text, 3990)"})
merge.when_not_matched_insert({"id": "-source.id"}, "source.id % 10000 = 1")
resource.setrlimit(resource.RLIMIT_FSIZE, (most_written, most_written))
done, peaks, before = threading.Event(), [], anonymous()
sampler = threading.Thread(target=sample)
sampler.start()
try:
    result = {"metrics": merge.execute().metrics}
except dr.StorageError as error:
    result = {"code": error.code, "path": error.path}
done.set()
sampler.join()
print(json.dumps({**result, "grown": max(peaks) - before}))
"""


def filled(path: Path) -> dr.Table:
    table = dr.create_table(path, SCHEMA)
    ids = range(0, ROWS, 40)
    table.append(pa.table({"id": ids, "text": [""] * len(ids)}))
    return table


def merged(table: dr.Table, temporary: Path, most_written: int) -> dict[str, Any]:
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, table.uri, str(ROWS), str(most_written)],
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert not list(temporary.iterdir()), "temporary files are deleted"
    reported: dict[str, Any] = json.loads(done.stdout)
    return reported


@pytest.mark.slow
def test_a_source_larger_than_memory_allows(tmp_path: Path) -> None:
    table = filled(tmp_path / "t")
    reported = merged(table, tmp_path / "temporary", 2 << 30)
    assert reported["metrics"]["numSourceRows"] == ROWS
    assert reported["metrics"]["numTargetRowsUpdated"] == ROWS // 40
    assert reported["metrics"]["numTargetRowsInserted"] == 16
    result = {row["id"]: row["text"] for row in pa.table(table.snapshot()).to_pylist()}
    texts = {number: f"{number:011}" for number in range(0, ROWS, 40)}
    assert result == {**texts, **{-number: None for number in range(1, ROWS, 10_000)}}
    assert reported["grown"] < 512 << 20


def test_a_full_disk_leaves_the_table_unchanged(tmp_path: Path) -> None:
    table = filled(tmp_path / "t")
    files = sorted((tmp_path / "t").rglob("*"))
    temporary = tmp_path / "temporary"
    reported = merged(table, temporary, 64 << 20)
    assert (reported["code"], reported["path"]) == ("storage.full", str(temporary))
    assert sorted((tmp_path / "t").rglob("*")) == files
