"""A writer that needs longer than the retention, with a concurrent vacuum.

The protocol has no rule for it, and delta-spark commits; then the table refers to deleted files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay import _native

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string())])


def rows(pause: Callable[[], None]) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(6):
            if number == 5:
                pause()
            ids = range(number * 20_000, (number + 1) * 20_000)
            texts = [f"{number * 7919:032x}" for number in ids]
            yield pa.record_batch({"id": pa.array(ids, pa.int64()), "s": texts}, schema=SCHEMA)

    return pa.RecordBatchReader.from_batches(SCHEMA, batches())


@pytest.mark.parametrize("method", ["append", "overwrite"])
def test_files_that_a_vacuum_deleted_are_not_committed(tmp_path: Path, method: str) -> None:
    retention = {"delta.deletedFileRetentionDuration": "interval 1 seconds"}
    table = dr.create_table(tmp_path / "t", SCHEMA, properties=retention)
    table.append({"id": [-1], "s": ["first"]})
    deleted: list[str] = []

    def pause() -> None:
        time.sleep(2.5)
        deleted.extend(dr.Table(table.uri).vacuum(dry_run=False, log=False).files)

    with pytest.raises(dr.StorageError) as caught:
        getattr(table, method)(rows(pause), target_file_size=100_000)
    assert caught.value.code == "rows.vacuumed"
    assert caught.value.path in deleted
    assert table.snapshot().version == 1
    assert table.snapshot().scan().to_arrow().num_rows == 1
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 1, "the write leaves no files"


def test_first_files_that_a_vacuum_deleted_are_not_committed(tmp_path: Path) -> None:
    """The files of a new table exist before its log."""
    root = tmp_path / "t"
    retention = {"delta.deletedFileRetentionDuration": "interval 1 seconds"}

    def pause() -> None:
        time.sleep(2.5)
        next(root.glob("*.parquet")).unlink()  # a vacuum of a directory without a log

    with pytest.raises(dr.StorageError) as caught:
        dr.write(root, rows(pause), properties=retention, target_file_size=100_000)
    assert caught.value.code == "rows.vacuumed"
    assert not dr.is_table(root)
    assert not list(root.glob("*.parquet")), "the write leaves no files"


@pytest.mark.parametrize("is_reused", [False, True], ids=["copied", "existing"])
def test_copies_that_a_vacuum_deleted_are_not_committed(tmp_path: Path, is_reused: bool) -> None:
    retention = {"delta.deletedFileRetentionDuration": "interval 1 seconds"}
    source = dr.create_table(tmp_path / "s", SCHEMA, properties=retention)
    source.append({"id": [1], "s": ["a"]})
    target = dr.create_table(tmp_path / "t", SCHEMA, properties=retention)
    native = _native.Table(str(target.uri))
    if is_reused:
        [file] = (tmp_path / "s").glob("*.parquet")
        (tmp_path / "t" / file.name).write_bytes(file.read_bytes())
    snapshot = source.snapshot()
    planned = _native.Cloning(source.native, snapshot.native, native, False, True, {})
    planned.copy()
    time.sleep(2.5)
    assert len(target.vacuum(dry_run=False, log=False).files) == 1
    with pytest.raises(dr.StorageError) as caught:
        planned.commit(True)
    assert caught.value.code == "rows.vacuumed"
    assert target.snapshot().version == 0


def test_a_pause_without_a_vacuum_is_committed(tmp_path: Path) -> None:
    retention = {"delta.deletedFileRetentionDuration": "interval 1 seconds"}
    table = dr.create_table(tmp_path / "t", SCHEMA, properties=retention)
    table.append(rows(lambda: time.sleep(2.5)), target_file_size=100_000)
    assert table.snapshot().scan().to_arrow().num_rows == 120_000
