"""``convert``: a directory of Parquet files becomes a table."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.writing import bodies

import deltareplay as dr

PARTITIONS = pa.schema([("p", pa.string()), ("q", pa.int32())])


def _file(at: Path, rows: pa.Table | None = None) -> Path:
    at.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": [1, 2]}) if rows is None else rows, at)
    return at


def _partitioned(root: Path) -> Path:
    _file(root / "p=a b%25c%2Fd%3De" / "q=1" / "x y%.parquet", pa.table({"id": [1]}))
    _file(root / "p=__HIVE_DEFAULT_PARTITION__" / "q=02" / "b.parquet", pa.table({"id": [2]}))
    return root


def test_files_become_a_table(tmp_path: Path) -> None:
    _file(tmp_path / "a.parquet")
    _file(tmp_path / "below" / "b.parquet", pa.table({"id": [3, None]}))
    table = dr.convert(tmp_path)

    snapshot = table.snapshot()
    assert snapshot.version == 0
    assert sorted(snapshot.scan().to_arrow()["id"].to_pylist(), key=str) == [1, 2, 3, None]
    assert snapshot.files(columns=["path"])["path"].to_pylist() == [
        "a.parquet",
        "below/b.parquet",
    ]
    adds = {item["path"]: json.loads(item["stats"]) for item in bodies(table, 0, "add")}
    assert adds["below/b.parquet"] == {
        "numRecords": 2,
        "minValues": {"id": 3},
        "maxValues": {"id": 3},
        "nullCount": {"id": 1},
    }
    [info] = bodies(table, 0, "commitInfo")
    assert info["operation"] == "CONVERT"
    assert info["operationParameters"] == {
        "numFiles": 2,
        "partitionedBy": "[]",
        "collectStats": True,
        "sourceFormat": "parquet",
    }
    assert info["operationMetrics"] == {"numConvertedFiles": "2"}
    assert info["isBlindAppend"] is False
    assert table.verify(rows=True).ok


def test_partitions_come_from_directories(tmp_path: Path) -> None:
    table = dr.convert(_partitioned(tmp_path), partition_schema=PARTITIONS)
    snapshot = table.snapshot()
    assert snapshot.partition_columns == ["p", "q"]
    assert snapshot.scan().to_arrow().sort_by("id").to_pylist() == [
        {"id": 1, "p": "a b%c/d=e", "q": 1},
        {"id": 2, "p": None, "q": 2},
    ]
    adds = {item["path"]: item["partitionValues"] for item in bodies(table, 0, "add")}
    assert adds == {
        "p=a%20b%2525c%252Fd%253De/q=1/x%20y%25.parquet": {"p": "a b%c/d=e", "q": "1"},
        "p=__HIVE_DEFAULT_PARTITION__/q=02/b.parquet": {"p": None, "q": "2"},
    }


def test_names_of_partition_columns_differ_in_case(tmp_path: Path) -> None:
    _file(tmp_path / "p=1" / "a.parquet")
    snapshot = dr.convert(tmp_path, partition_schema=pa.schema([("P", pa.int64())])).snapshot()
    assert snapshot.scan().to_arrow()["P"].to_pylist() == [1, 1]


def test_hidden_files_are_ignored(tmp_path: Path) -> None:
    _file(tmp_path / "_p=1" / "a.parquet")
    for name in ("_metadata", ".b.parquet", "_SUCCESS"):
        (tmp_path / "_p=1" / name).write_bytes(b"no Parquet")
    _file(tmp_path / "_hidden" / "c.parquet")
    _file(tmp_path / ".hidden" / "_p=1" / "c.parquet")
    table = dr.convert(tmp_path, partition_schema=pa.schema([("_p", pa.int64())]))
    assert table.snapshot().files(columns=["path"])["path"].to_pylist() == ["_p=1/a.parquet"]


def _batch(root: Path, name: str, *entries: tuple[str, str]) -> None:
    """Write a file of the log of a stream, in the format of Spark's FileStreamSinkLog."""
    lines = [
        json.dumps(
            {
                "path": f"file:///where/it/was/written/{path}",
                "size": 1,
                "isDir": False,
                "modificationTime": 1,
                "blockReplication": 1,
                "blockSize": 1,
                "action": action,
            }
        )
        for action, path in entries
    ]
    log = root / "_spark_metadata"
    log.mkdir(exist_ok=True)
    (log / name).write_text("\n".join(["v1", *lines]))


def test_only_files_that_a_stream_committed_are_converted(tmp_path: Path) -> None:
    for name in ("p=1/a", "p=2/a2", "p=0/b", "p=0/c", "p=0/d", "p=0/failed"):
        _file(tmp_path / f"{name}.parquet")
    _batch(tmp_path, "0", ("add", "p=0/gone.parquet"))
    _batch(tmp_path, "2.compact", ("add", "p=1/a.parquet"), ("add", "p=2/a2.parquet"))
    _batch(tmp_path, "9", ("add", "p=0/b.parquet"), ("add", "p=0/d.parquet"))
    _batch(tmp_path, "10", ("delete", "p=0/d.parquet"), ("add", "p=0/c.parquet"))
    (tmp_path / "_spark_metadata" / ".10.crc").write_bytes(b"crc")
    table = dr.convert(tmp_path, partition_schema=pa.schema([("p", pa.int32())]))
    paths = table.snapshot().files(columns=["path"])["path"].to_pylist()
    assert sorted(paths) == ["p=0/b.parquet", "p=0/c.parquet", "p=1/a.parquet", "p=2/a2.parquet"]


@pytest.mark.parametrize("text", ["v2\n", "", "v1\n{}", 'v1\n{"path": "a", "action": "move"}'])
def test_logs_of_streams_in_another_format_are_refused(tmp_path: Path, text: str) -> None:
    _file(tmp_path / "a.parquet")
    _batch(tmp_path, "0")
    (tmp_path / "_spark_metadata" / "0").write_text(text)
    with pytest.raises(dr.InvalidArgumentError, match="move _spark_metadata elsewhere") as caught:
        dr.convert(tmp_path)
    assert caught.value.code == "convert.path"
    assert caught.value.path == "_spark_metadata/0"


def test_a_missing_file_of_a_stream_is_refused(tmp_path: Path) -> None:
    _file(tmp_path / "a.parquet")
    _batch(tmp_path, "0", ("add", "a.parquet"), ("add", "b.parquet"))
    with pytest.raises(dr.InvalidArgumentError, match="no longer in the directory") as caught:
        dr.convert(tmp_path)
    assert (caught.value.code, caught.value.path) == ("convert.path", "b.parquet")
    assert not dr.is_table(tmp_path)


def test_columns_of_all_files_are_merged(tmp_path: Path) -> None:
    inner = pa.struct([("a", pa.int32())])
    more = pa.struct([("a", pa.int32()), ("b", pa.string())])
    first = pa.table({"id": pa.array([1], pa.int8()), "s": pa.array([{"a": 1}], inner)})
    other = pa.table(
        {"x": [1.5], "s": pa.array([{"a": 2, "b": "b"}], more), "id": pa.array([2], pa.int32())}
    )
    _file(tmp_path / "1.parquet", first)
    _file(tmp_path / "2.parquet", other)
    snapshot = dr.convert(tmp_path).snapshot()
    assert snapshot.schema == pa.schema([("id", pa.int32()), ("s", more), ("x", pa.float64())])
    assert snapshot.scan().to_arrow().sort_by("id").to_pylist() == [
        {"id": 1, "s": {"a": 1, "b": None}, "x": None},
        {"id": 2, "s": {"a": 2, "b": "b"}, "x": 1.5},
    ]


def test_a_partition_column_that_files_have_too(tmp_path: Path) -> None:
    _file(tmp_path / "p=1" / "a.parquet", pa.table({"p": [7], "id": [1]}))
    table = dr.convert(tmp_path, partition_schema=pa.schema([("p", pa.string())]))
    assert table.snapshot().scan().to_arrow().to_pylist() == [{"p": "1", "id": 1}]


def test_int96_timestamps_are_instants(tmp_path: Path) -> None:
    instants = pa.array([1_000_000], pa.timestamp("us"))
    rows = pa.table({"l": pa.array([[0]]), "t": instants})
    pq.write_table(rows, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    schema = dr.convert(tmp_path).snapshot().schema
    assert schema.field("t").type == pa.timestamp("us", "UTC")


def test_properties_and_mapping(tmp_path: Path) -> None:
    _file(tmp_path / "a.parquet", pa.table({"a b": [1]}))
    table = dr.convert(tmp_path, properties={"delta.columnMapping.mode": "name", "owner": "me"})
    snapshot = table.snapshot()
    assert snapshot.properties["owner"] == "me"
    assert snapshot.scan().to_arrow().to_pylist() == [{"a b": 1}]
    [field] = json.loads(snapshot.schema_json)["fields"]
    assert field["metadata"]["delta.columnMapping.physicalName"] == "a b"


def test_without_statistics(tmp_path: Path) -> None:
    _file(tmp_path / "a.parquet")
    table = dr.convert(tmp_path, statistics=False)
    [add] = bodies(table, 0, "add")
    assert "stats" not in add
    assert table.snapshot().scan().to_arrow().num_rows == 2


def test_bounds_that_may_hide_nan_are_left_out(tmp_path: Path) -> None:
    """As delta-spark: pyarrow leaves NaN out of the footer, but it is greater than all numbers."""
    pq.write_table(pa.table({"x": [1.0, math.nan], "id": [1, 2]}), tmp_path / "a.parquet")
    [add] = bodies(dr.convert(tmp_path), 0, "add")
    assert json.loads(add["stats"])["maxValues"] == {"id": 2}
    assert json.loads(add["stats"])["nullCount"] == {"x": 0, "id": 0}


def test_converting_a_table_again_changes_nothing(tmp_path: Path) -> None:
    _file(tmp_path / "a.parquet")
    first = dr.convert(tmp_path).snapshot()
    _file(tmp_path / "b.parquet")
    repeated = dr.convert(tmp_path, partition_schema=PARTITIONS).snapshot()
    assert (repeated.version, repeated.metadata.id) == (0, first.metadata.id)


def test_files_in_memory() -> None:
    created = dr.create_table("memory://converted/from", pa.schema([("id", pa.int64())]))
    created.append(pa.table({"id": [1]}))
    table = dr.convert("memory://converted")  # the log in "from" is hidden
    assert table.snapshot().scan().to_arrow()["id"].to_pylist() == [1]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.convert("memory://converted/nothing")
    assert caught.value.code == "convert.no_files"


def _bad(root: Path) -> None:
    _file(root / "a.parquet")
    (root / "bad.parquet").write_bytes(b"nonsense that is long enough")


def _short(root: Path) -> None:
    (root / "bad.parquet").write_bytes(b"")


def _other_type(root: Path) -> None:
    _file(root / "a.parquet", pa.table({"s": [{"x": 1}]}))
    _file(root / "bad.parquet", pa.table({"s": [{"x": "1"}]}))


def _time(root: Path) -> None:
    _file(root / "bad.parquet", pa.table({"t": pa.array([1], pa.time64("us"))}))


def _no_partition(root: Path) -> None:
    _file(root / "p=1" / "q=1" / "a.parquet")
    _file(root / "p=1" / "bad.parquet")


def _wrong_value(root: Path) -> None:
    _file(root / "p=1" / "q=1" / "a.parquet")
    _file(root / "p=1" / "q=one" / "bad.parquet")


def _no_value(root: Path) -> None:
    _file(root / "p=__HIVE_DEFAULT_PARTITION__" / "bad.parquet")


def _wrong_order(root: Path) -> None:
    _file(root / "q=1" / "p=1" / "bad.parquet")


REFUSED: dict[str, tuple[Callable[[Path], None], pa.Schema | None, type[Exception], str]] = {
    "no Parquet": (_bad, None, dr.CorruptTableError, "data.footer"),
    "an empty file": (_short, None, dr.CorruptTableError, "data.footer"),
    "another type": (_other_type, None, dr.InvalidArgumentError, "convert.schema"),
    "an unsupported type": (_time, None, dr.InvalidArgumentError, "schema.arrow_type"),
    "partitions without a schema": (
        _wrong_order,
        None,
        dr.InvalidArgumentError,
        "convert.partition",
    ),
    "a directory is missing": (
        _no_partition,
        PARTITIONS,
        dr.InvalidArgumentError,
        "convert.partition",
    ),
    "a value of another type": (
        _wrong_value,
        PARTITIONS,
        dr.InvalidArgumentError,
        "convert.partition",
    ),
    "no value of a column that is NOT NULL": (
        _no_value,
        pa.schema([pa.field("p", pa.string(), nullable=False)]),
        dr.InvalidArgumentError,
        "convert.partition",
    ),
    "another order": (_wrong_order, PARTITIONS, dr.InvalidArgumentError, "convert.partition"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_directories_are_refused(tmp_path: Path, case: str) -> None:
    write, schema, error, code = REFUSED[case]
    write(tmp_path)
    with pytest.raises(error) as caught:
        dr.convert(tmp_path, partition_schema=schema)
    assert isinstance(caught.value, dr.DeltaReplayError)
    assert caught.value.code == code
    assert (caught.value.path or "").endswith("bad.parquet")
    assert not dr.is_table(tmp_path)


def test_invalid_column_names_are_refused(tmp_path: Path) -> None:
    _file(tmp_path / "a.parquet", pa.table({"a b": [1]}))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.convert(tmp_path)
    assert caught.value.code == "transaction.column_name"


def _not_utf8(path: Path) -> None:
    os.rename(path / "p=2" / "b.parquet", os.fsencode(path / "p=2") + b"/b\xff.parquet")


def _directory_not_utf8(path: Path) -> None:
    os.rename(path / "p=2", os.fsencode(path) + b"/p=\xff")


def _linked_directory(path: Path) -> None:
    (path / "p=3").symlink_to(path / "p=2")


def _broken_link(path: Path) -> None:
    (path / "p=2" / "c.parquet").symlink_to(path / "nothing.parquet")


def _pipe(path: Path) -> None:
    os.mkfifo(path / "p=2" / "c.parquet")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize(
    "change", [_not_utf8, _directory_not_utf8, _linked_directory, _broken_link, _pipe]
)
def test_links_pipes_and_names_that_are_not_utf8_are_refused(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    for value in (1, 2):
        (tmp_path / f"p={value}").mkdir()
    _file(tmp_path / "p=1" / "a.parquet", pa.table({"id": [1]}))
    _file(tmp_path / "p=2" / "b.parquet", pa.table({"id": [2]}))
    change(tmp_path)
    schema = pa.schema([("p", pa.string())])
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.convert(tmp_path, partition_schema=schema)
    assert caught.value.code == "convert.path"
    assert not dr.is_table(tmp_path)


def test_hidden_links_and_pipes_are_ignored(tmp_path: Path) -> None:
    _file(tmp_path / "a.parquet", pa.table({"id": [1]}))
    (tmp_path / "_elsewhere").symlink_to(tmp_path)
    os.mkfifo(tmp_path / ".pipe")
    assert dr.convert(tmp_path).snapshot().num_files == 1


@pytest.mark.parametrize("missing", ["nothing", "empty"])
def test_directories_without_files_are_refused(tmp_path: Path, missing: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.convert(tmp_path / missing)
    assert caught.value.code == "convert.no_files"
