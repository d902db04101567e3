"""``Snapshot.scan``: columns, extras, order, counts."""

from __future__ import annotations

import gc
import pickle
import struct
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import data, logs, parquet_bytes
from support.mixed import LEFT, MIXED, ids, snapshot_of
from support.parquet_bytes import DATA, DICTIONARY, Column

import deltareplay as dr


def test_all_columns_are_those_of_the_schema(mixed: logs.LogBuilder) -> None:
    snapshot = snapshot_of(mixed)
    result = snapshot.scan().to_arrow()

    assert result.schema == snapshot.schema == snapshot.scan().schema
    assert result.schema == pa.schema(
        [("id", pa.int64()), ("Name", pa.string()), ("day", pa.date32())]
    )
    assert result["id"].to_pylist() == LEFT
    assert result["Name"].to_pylist() == [f"n{number}" for number in LEFT]
    days = [None if day is None else day.isoformat() for day in result["day"].to_pylist()]
    assert days == ["2026-01-01"] * 4 + ["2026-01-02"] * 4 + [None] * 4


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        (["day", "id"], ["day", "id"]),
        (["NAME", "Id"], ["Name", "id"]),
        (("Name",), ["Name"]),
        (["DAY"], ["day"]),
    ],
)
def test_columns_have_the_requested_order(
    mixed: logs.LogBuilder, requested: Any, expected: list[str]
) -> None:
    snapshot = snapshot_of(mixed)
    result = snapshot.scan(columns=requested).to_arrow()

    assert result.schema.names == expected
    assert result.equals(snapshot.scan().to_arrow().select(expected))


def test_a_scan_without_columns_has_rows(mixed: logs.LogBuilder) -> None:
    scan = snapshot_of(mixed).scan(columns=[])
    assert scan.schema.names == []
    assert sum(batch.num_rows for batch in scan.to_batches()) == len(LEFT)


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        (["id", "nothing"], "columns.unknown"),
        (["id", "ID"], "columns.twice"),
        (["_file_path"], "columns.unknown"),
    ],
)
def test_unknown_and_duplicate_columns_are_refused(
    mixed: logs.LogBuilder, columns: list[str], code: str
) -> None:
    with pytest.raises(dr.InvalidArgumentError) as raised:
        snapshot_of(mixed).scan(columns=columns)
    assert raised.value.code == code


@pytest.mark.parametrize("columns", [[1], 5, {"id": 1}, b"id"])
def test_columns_are_a_list_of_names(mixed: logs.LogBuilder, columns: Any) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="columns needs"):
        snapshot_of(mixed).scan(columns=columns)


def test_extra_columns_locate_each_row(mixed: logs.LogBuilder) -> None:
    scan = snapshot_of(mixed).scan(columns=["id"], with_row_index=True, with_file_path=True)
    result = scan.to_arrow()

    assert result.schema == scan.schema
    assert result.schema.names == ["id", "_file_path", "_row_index"]
    for row in result.to_pylist():
        assert row["_file_path"] == f"part-{row['id'] // 5}.parquet"
        assert row["_row_index"] == row["id"] % 5


def test_a_column_with_the_name_of_an_extra_column_excludes_it(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long", _FILE_PATH="string"))
    log.commit(data.write(log.table, "a.parquet", {"id": [1], "_FILE_PATH": ["mine"]}))
    snapshot = snapshot_of(log)

    with pytest.raises(dr.InvalidArgumentError) as raised:
        snapshot.scan(with_file_path=True)
    assert raised.value.code == "columns.reserved"
    result = snapshot.scan(columns=["id"], with_file_path=True).to_arrow()
    assert result.to_pylist() == [{"id": 1, "_file_path": "a.parquet"}]
    assert snapshot.scan().to_arrow()["_FILE_PATH"].to_pylist() == ["mine"]


def test_a_filter_takes_the_tables_column_with_the_name_of_an_extra(log: logs.LogBuilder) -> None:
    log.create(logs.schema(_row_index="long", id="long", name="string"))
    rows = {"_row_index": [100, 200, 2], "id": [1, 2, 2], "name": ["a", "b", "c"]}
    log.commit(data.write(log.table, "a.parquet", rows))
    snapshot = snapshot_of(log)

    for condition in ("_row_index = 200", "_row_index = 200 AND id = 2"):
        both = snapshot.scan(filter=condition).to_arrow()
        assert both.to_pylist() == [{"_row_index": 200, "id": 2, "name": "b"}]
        extra = snapshot.scan(columns=["name"], filter=condition, with_row_index=True).to_arrow()
        assert extra.to_pylist() == [{"name": "b", "_row_index": 1}]


def test_row_ids_need_row_tracking(mixed: logs.LogBuilder) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="enableRowTracking") as raised:
        snapshot_of(mixed).scan(with_row_id=True)
    assert raised.value.code == "columns.row_tracking"


def test_row_ids_are_materialized_or_computed(log: logs.LogBuilder) -> None:
    log.create(
        logs.schema(id="long"),
        protocol_action=logs.features("deletionVectors", writer_only=["rowTracking"]),
        configuration={
            "delta.enableRowTracking": "true",
            "delta.rowTracking.materializedRowIdColumnName": "_rid",
            "delta.rowTracking.materializedRowCommitVersionColumnName": "_rcv",
        },
    )
    kept = {"id": [7, 8, 9], "_rid": [100, None, 102], "_rcv": pa.array([1, 2, None], pa.int64())}
    log.commit(
        data.write(
            log.table,
            "a.parquet",
            {"id": [1, 2, 3]},
            deleted=[0],
            base_row_id=10,
            default_row_commit_version=4,
        ),
        data.write(log.table, "b.parquet", kept, base_row_id=20, default_row_commit_version=5),
    )
    scan = snapshot_of(log).scan(with_row_id=True)

    assert scan.schema.names == ["id", "_row_id", "_row_commit_version"]
    rows = [tuple(row.values()) for row in scan.to_arrow().to_pylist()]
    assert rows == [(2, 11, 4), (3, 12, 4), (7, 100, 1), (8, 21, 2), (9, 102, 5)]
    assert [row for split in scan.splits(300) for row in split.to_arrow().to_pylist()] == (
        scan.to_arrow().to_pylist()
    )


@pytest.mark.parametrize("on_error", ["", "RAISE", None, True])
def test_on_error_is_one_of_two_words(mixed: logs.LogBuilder, on_error: Any) -> None:
    with pytest.raises(dr.InvalidArgumentError) as raised:
        snapshot_of(mixed).scan(on_error=on_error)
    assert raised.value.code == "argument.on_error"


@pytest.mark.parametrize("look_ahead", [None, 0, 1, 1 << 40])
def test_look_ahead_changes_no_row(mixed: logs.LogBuilder, look_ahead: int | None) -> None:
    scan = snapshot_of(mixed).scan(look_ahead=look_ahead)
    assert ids(scan) == LEFT
    assert scan.count() == len(LEFT)


@pytest.mark.parametrize(
    ("look_ahead", "code"),
    [
        (-1, "argument.range"),
        (1 << 80, "argument.range"),
        ("1", "argument.type"),
        (1.5, "argument.type"),
    ],
)
def test_invalid_look_ahead_is_refused(mixed: logs.LogBuilder, look_ahead: Any, code: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as raised:
        snapshot_of(mixed).scan(look_ahead=look_ahead)
    assert raised.value.code == code


@pytest.mark.parametrize("stats", [True, False])
def test_count_is_the_number_of_rows(log: logs.LogBuilder, stats: bool) -> None:
    log.create(MIXED, protocol_action=logs.features("deletionVectors"))
    whole = {"id": list(range(9))}
    log.commit(
        data.write(log.table, "a.parquet", whole, stats=stats),
        data.write(log.table, "b.parquet", whole, deleted=[0, 3, 8], stats=stats),
        data.write(log.table, "c.parquet", whole, deleted=range(9), stats=stats),
    )
    scan = snapshot_of(log).scan(columns=["Name"])

    assert scan.count() == 15 == scan.to_arrow().num_rows
    assert sum(split.to_arrow().num_rows for split in scan.splits(300)) == 15


def test_rows_are_in_order_of_files_and_rows(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    adds = [
        data.write(
            log.table,
            f"part-{number:02}.parquet",
            {"id": list(range(number * 100, number * 100 + 100))},
            row_group_size=7,
        )
        for number in range(30)
    ]
    log.commit(*adds)
    for _ in range(5):
        assert ids(snapshot_of(log).scan()) == list(range(3000))
        assert ids(snapshot_of(log).scan(look_ahead=1)) == list(range(3000))


def test_the_files_are_those_of_the_snapshot(mixed: logs.LogBuilder) -> None:
    snapshot = snapshot_of(mixed)
    assert snapshot.scan().files().equals(snapshot.files())
    assert snapshot.scan().files(columns=["size"]).equals(snapshot.files(columns=["size"]))


def test_an_empty_table_has_a_schema_and_no_rows(log: logs.LogBuilder) -> None:
    log.create(MIXED)
    scan = snapshot_of(log).scan()

    assert scan.to_arrow().schema == scan.schema
    assert scan.to_arrow().num_rows == scan.count() == 0
    assert scan.splits() == []
    assert list(scan.to_batches()) == []


def test_files_without_rows_add_none(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    nothing = pa.table({"id": pa.array([], pa.int64())})
    log.commit(
        data.write(log.table, "a.parquet", nothing),
        data.write(log.table, "b.parquet", {"id": [1]}),
        data.write(log.table, "c.parquet", nothing),
    )
    scan = snapshot_of(log).scan()
    assert ids(scan) == [1]
    assert scan.count() == 1


@pytest.mark.parametrize("has_dictionary", [False, True], ids=["plain", "dictionary"])
def test_a_dictionary_at_position_0_is_not_stated(
    log: logs.LogBuilder, has_dictionary: bool
) -> None:
    """As in ``dict-page-offset-zero.parquet`` of parquet-testing, which readers of the JVM read."""
    values = [7, 8, 9]
    body = struct.pack("<3q", *values)
    if has_dictionary:
        indexes = b"\x08" + bytes([2, 0, 2, 1, 2, 2])  # 8 bits, and three runs of one index
        pages = parquet_bytes.page(DICTIONARY, body, len(body), 3)
        pages += parquet_bytes.page(DATA, indexes, len(indexes), 3, encoding="indexes")
    else:
        pages = parquet_bytes.page(DATA, body, len(body), 3)
    column = Column("int64", pages, 3, dictionary_offset=0)
    size = parquet_bytes.write(log.table / "a.parquet", column, 3)
    log.create(logs.schema(x="long"), logs.add("a.parquet", size=size, stats=None))
    assert pq.read_table(log.table / "a.parquet")["x"].to_pylist() == values
    snapshot = snapshot_of(log)
    assert snapshot.scan().to_arrow()["x"].to_pylist() == values
    assert snapshot.scan(filter="x = 8").to_arrow()["x"].to_pylist() == [8]
    assert dr.Table(log.uri).verify(rows=True).ok


def test_partition_columns_alone_have_their_rows(mixed: logs.LogBuilder) -> None:
    result = snapshot_of(mixed).scan(columns=["day"]).to_arrow()
    assert result.num_rows == len(LEFT)
    assert result["day"].null_count == 4


def test_a_column_that_no_file_has_is_null(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long", later="double"))
    log.commit(data.write(log.table, "a.parquet", {"id": [1, 2]}))
    result = snapshot_of(log).scan().to_arrow()
    assert result.to_pylist() == [{"id": 1, "later": None}, {"id": 2, "later": None}]
    assert snapshot_of(log).scan(columns=["later"]).to_arrow().num_rows == 2


def test_variants_are_read_shredded_or_not(log: logs.LogBuilder) -> None:
    log.create(
        logs.schema(id="long", v="variant"),
        protocol_action=logs.features("variantType", "variantShredding-preview"),
    )
    no_names = b"\1\0\0"  # version 1, no name of any field
    five = bytes([6 << 2]) + (5).to_bytes(8, "little")  # an int64
    names = ["metadata", "value"]
    whole = pa.StructArray.from_arrays([pa.array([no_names]), pa.array([five])], names)
    shredded = pa.StructArray.from_arrays(
        [pa.array([no_names]), pa.array([None], pa.binary()), pa.array([5], pa.int64())],
        [*names, "typed_value"],
    )
    log.commit(
        data.write(log.table, "a.parquet", {"id": pa.array([1]), "v": whole}),
        data.write(log.table, "b.parquet", {"id": pa.array([2]), "v": shredded}),
    )

    result = snapshot_of(log).scan().to_arrow()

    assert result["v"].to_pylist() == [{"metadata": no_names, "value": five}] * 2


# --- the object, and the process around it


def test_files_are_read_with_the_first_batch(mixed: logs.LogBuilder) -> None:
    scan = snapshot_of(mixed).scan()
    reader = scan.to_batches()
    for name in ("part-0.parquet", "part-1.parquet", "part-2.parquet"):
        (mixed.table / name).unlink()
    assert scan.schema.names == ["id", "Name", "day"]
    with pytest.raises(dr.CorruptTableError) as raised:
        reader.read_all()
    assert raised.value.code == "data.missing"


def test_a_scan_pickles(mixed: logs.LogBuilder) -> None:
    scan = snapshot_of(mixed).scan(columns=["Name", "id"], with_row_index=True, on_error="skip")
    unpickled = pickle.loads(pickle.dumps(scan))
    assert unpickled.schema == scan.schema
    assert unpickled.to_arrow().equals(scan.to_arrow())
    assert "part" not in repr(scan)
    assert "Name, id, _row_index" in repr(scan)


def test_a_scan_is_created_by_a_snapshot_only() -> None:
    for cls in (dr.Scan, dr.Split):
        with pytest.raises(TypeError, match="create "):
            cls()


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


@pytest.fixture
def wide(log: logs.LogBuilder) -> logs.LogBuilder:
    """Files that take a while to decode, and much more memory than a small look-ahead."""
    log.create(logs.schema(id="long", text="string"))
    rows = {"id": list(range(100_000)), "text": ["x" * 50] * 100_000}
    adds = [
        data.write(log.table, f"{number}.parquet", rows, row_group_size=20_000)
        for number in range(4)
    ]
    log.commit(*adds)
    return log


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")
def test_an_abandoned_reader_leaves_no_thread(wide: logs.LogBuilder) -> None:
    snapshot = snapshot_of(wide)
    assert snapshot.scan(columns=["id"]).count() == 400_000
    ids(snapshot.scan(columns=["id"]))  # starts the permanent threads
    before = threads()
    for _ in range(10):
        reader = snapshot.scan(look_ahead=1).to_batches()
        assert reader.read_next_batch().num_rows > 0
        del reader
        gc.collect()
    end = time.monotonic() + 10
    while threads() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert threads() <= before


def test_concurrent_readers_get_all_rows(wide: logs.LogBuilder) -> None:
    snapshot = snapshot_of(wide)
    scan = snapshot.scan(columns=["id"])
    result: list[int] = []

    def read() -> None:
        result.append(sum(pa.compute.sum(b["id"]).as_py() for b in scan.to_batches()))

    workers = [threading.Thread(target=read) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert result == [4 * sum(range(100_000))] * 4


def test_ctrl_c_stops_a_scan(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long", text="string"))
    rows = {"id": list(range(50_000)), "text": [f"{n}" * 20 for n in range(50_000)]}
    first = data.write(log.table, "a.parquet", rows)
    # one file under many names: long to read, quick to write
    adds = []
    for number in range(2_000):
        (log.table / f"{number}.parquet").hardlink_to(log.table / "a.parquet")
        adds.append({"add": first["add"] | {"path": f"{number}.parquet", "stats": None}})
    log.commit(*adds)
    code = """
        import os, signal, sys, threading
        import deltareplay

        scan = deltareplay.Table(sys.argv[1]).snapshot().scan()
        rows = 0
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            for batch in scan.to_batches():
                rows += batch.num_rows
        except KeyboardInterrupt:
            print(rows)
        else:
            print("not stopped")
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), log.uri],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2_000 * 50_000


def test_a_filter_that_is_too_long_is_refused(rows: dr.Table) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        rows.snapshot().scan(filter="id" + " + 1" * 501 + " > 0")
    assert caught.value.code == "formula.too_long"


@pytest.mark.parametrize("every", [2, 7, 5_000])
def test_rows_of_large_dictionaries_that_vectors_delete(tmp_path: Path, every: int) -> None:
    """Few rows between deleted ones are selected by a mask, many by runs."""
    words = [f"{number}".zfill(600) for number in range(1_000)]
    rows = pa.table({"id": range(20_000), "word": [words[id % 1_000] for id in range(20_000)]})
    pq.write_table(rows, tmp_path / "part-0.parquet", row_group_size=6_000)
    table = dr.convert(tmp_path)
    table.set_properties({"delta.enableDeletionVectors": "true"})
    table.delete(f"id % {every} = 0")
    expected = rows.take([id for id in range(20_000) if id % every])
    assert table.snapshot().scan().to_arrow().sort_by("id").equals(expected)
    words_alone = table.snapshot().scan(columns=["word"]).to_arrow()
    assert sorted(words_alone["word"].to_pylist()) == sorted(expected["word"].to_pylist())
