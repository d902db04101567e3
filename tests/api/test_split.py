"""``Scan.splits``: pieces that together are the scan, read anywhere."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import data, logs

import deltareplay as dr
from deltareplay import _native


@pytest.fixture
def numbers(log: logs.LogBuilder) -> logs.LogBuilder:
    """A large file of 20 row groups between small ones; partitioned, with deleted rows."""
    log.create(
        logs.schema(id="long", kind="string"),
        protocol_action=logs.features("deletionVectors"),
        partition_columns=["kind"],
    )
    log.commit(
        *(_file(log, f"{n}.parquet", n * 10, 10, deleted=[3], kind="small") for n in range(3)),
        _file(log, "large.parquet", 100, 20_000, deleted=[0, 500, 12_345], kind="large"),
        *(_file(log, f"{n}.parquet", n * 10, 10, deleted=[], kind=None) for n in range(3, 6)),
    )
    return log


def _file(
    log: logs.LogBuilder, name: str, first: int, count: int, *, deleted: list[int], kind: Any
) -> logs.Action:
    return data.write(
        log.table,
        name,
        {"id": list(range(first, first + count))},
        deleted=deleted,
        row_group_size=1000,
        partition_values={"kind": kind},
    )


EXPECTED = [
    *(number for number in range(30) if number % 10 != 3),
    *(100 + number for number in range(20_000) if number not in (0, 500, 12_345)),
    *range(30, 60),
]

SIZES = [900, 5_000, 10_000, 60_000, 1 << 20, 1 << 40]


def scan_of(log: logs.LogBuilder, **options: Any) -> dr.Scan:
    return dr.Table(log.uri).snapshot().scan(**options)


def read(split: dr.Split) -> pa.Table:
    """Read a split, as a worker does."""
    return split.to_arrow()


@pytest.mark.parametrize("size", SIZES)
def test_splits_in_order_are_the_scan(numbers: logs.LogBuilder, size: int) -> None:
    scan = scan_of(numbers, with_file_path=True, with_row_index=True)
    splits = scan.splits(size)
    result = pa.concat_tables([split.to_arrow() for split in splits])

    assert result["id"].to_pylist() == EXPECTED
    assert result.equals(scan.to_arrow())
    assert {split.schema for split in splits} == {scan.schema}
    assert sum(split.size_in_bytes for split in splits) == sum(
        scan.files(columns=["size"])["size"].to_pylist()
    )


def test_small_files_are_grouped_and_large_ones_split(numbers: logs.LogBuilder) -> None:
    large = (numbers.table / "large.parquet").stat().st_size
    size = large // 4
    splits = scan_of(numbers).splits(size)

    paths = [split.paths for split in splits]
    assert paths[0] == ["0.parquet", "1.parquet", "2.parquet"]
    assert paths[-1] == ["3.parquet", "4.parquet", "5.parquet"]
    assert paths[1:-1] == [["large.parquet"]] * (len(splits) - 2)
    assert 4 <= len(splits) - 2 <= 5
    counts = [split.to_arrow().num_rows for split in splits[1:-1]]
    assert sum(counts) == 19_997
    assert max(counts) < 8_000, "cut about evenly"
    assert all(split.size_in_bytes <= size for split in splits)


def test_splits_are_the_same_every_time(numbers: logs.LogBuilder) -> None:
    first, second = (
        [pickle.dumps(split) for split in scan_of(numbers).splits(10_000)] for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize(
    ("size", "code"), [(0, "split.size"), (-1, "argument.range"), (1 << 70, "argument.range")]
)
def test_invalid_sizes_are_refused(numbers: logs.LogBuilder, size: int, code: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as raised:
        scan_of(numbers).splits(size)
    assert raised.value.code == code


def test_a_split_pickles(numbers: logs.LogBuilder) -> None:
    for split in scan_of(numbers, columns=["kind", "ID"], with_row_index=True).splits(20_000):
        unpickled = pickle.loads(pickle.dumps(split))
        assert unpickled.paths == split.paths
        assert unpickled.size_in_bytes == split.size_in_bytes
        assert unpickled.schema == split.schema
        assert unpickled.schema.names == ["kind", "id", "_row_index"]
        assert unpickled.to_arrow().equals(split.to_arrow())
        assert repr(unpickled) == repr(split)


def test_reading_a_split_opens_no_log(numbers: logs.LogBuilder) -> None:
    sent = [pickle.dumps(split) for split in scan_of(numbers).splits(10_000)]
    logs.log_dir(numbers.table).rename(numbers.table / "away")

    result = [row for item in sent for row in pickle.loads(item).to_arrow()["id"].to_pylist()]
    assert result == EXPECTED


def test_a_split_does_not_see_later_commits(numbers: logs.LogBuilder) -> None:
    splits = scan_of(numbers).splits()
    numbers.commit(_file(numbers, "6.parquet", 60, 10, deleted=[], kind=None))
    result = [row for split in splits for row in split.to_arrow()["id"].to_pylist()]
    assert result == EXPECTED


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_splits_are_read_in_other_processes(numbers: logs.LogBuilder, method: str) -> None:
    scan = scan_of(numbers)
    assert scan.to_arrow().num_rows == len(EXPECTED), "the parent's threads are running"
    with multiprocessing.get_context(method).Pool(2) as pool:
        tables = pool.map(read, scan.splits(30_000))
    assert pa.concat_tables(tables).equals(scan.to_arrow())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_reads_the_scan_again(numbers: logs.LogBuilder) -> None:
    scan = scan_of(numbers)
    reader = scan.to_batches()
    first = reader.read_next_batch().num_rows
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(30)
            is_complete = scan.to_arrow()["id"].to_pylist() == EXPECTED
            code = 0 if is_complete and scan.count() == len(EXPECTED) else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert first + reader.read_all().num_rows == len(EXPECTED)


def test_storage_options_are_pickled(numbers: logs.LogBuilder) -> None:
    table = dr.Table(numbers.uri, storage_options={"timeout": "17s"})
    split = table.snapshot().scan().splits()[0]
    unpickled = pickle.loads(pickle.dumps(split))
    assert unpickled._table.storage_options == table.storage_options == {"timeout": "17s"}
    assert "17s" not in repr(unpickled)
    assert unpickled.to_arrow().num_rows == len(EXPECTED)


def test_bad_files_are_skipped_in_splits(numbers: logs.LogBuilder) -> None:
    (numbers.table / "1.parquet").unlink()
    strict = scan_of(numbers).splits()[0]
    with pytest.raises(dr.CorruptTableError) as raised:
        strict.to_arrow()
    assert raised.value.path == "1.parquet"

    split = pickle.loads(pickle.dumps(scan_of(numbers, on_error="skip").splits()[0]))
    result = split.to_arrow()["id"].to_pylist()
    assert result == [number for number in EXPECTED if not 10 <= number < 20]
    assert [(file.path, file.code) for file in split.skipped] == [("1.parquet", "data.missing")]


def test_invalid_json_is_refused() -> None:
    for text in ("", "{}", "[]", '{"definition":5}', "\0"):
        with pytest.raises(dr.InvalidArgumentError) as raised:
            _native.Split(text)
        assert raised.value.code == "split.json"


def test_a_file_replaced_by_a_shorter_one(numbers: logs.LogBuilder, tmp_path: Path) -> None:
    """Sizes in a split are those of the log; those of the storage are authoritative."""
    splits = scan_of(numbers).splits(30_000)
    other = data.write(tmp_path, "x.parquet", {"id": list(range(100, 20_100))})
    assert other["add"]["size"] != (numbers.table / "large.parquet").stat().st_size
    (tmp_path / "x.parquet").replace(numbers.table / "large.parquet")
    result = [row for split in splits for row in split.to_arrow()["id"].to_pylist()]
    assert result == EXPECTED
