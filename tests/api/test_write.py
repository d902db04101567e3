"""``write``: rows for a table that may not exist yet, in one commit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr

ROWS = {"id": [1, 2, 3], "p": ["a", "b", "b"]}


def ids(path: Path) -> list[int]:
    result: list[Any] = (
        dr.Table(path).snapshot(strict=True).scan(["id"]).to_arrow()["id"].to_pylist()
    )
    return sorted(result)


def files_below(path: Path) -> list[str]:
    return sorted(name for _, _, names in os.walk(path) for name in names)


@pytest.mark.parametrize("mode", ["append", "overwrite", "error", "ignore"])
def test_the_first_write_creates_the_table(mode: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    properties = {"delta.enableRowTracking": "true", "delta.columnMapping.mode": "name"}
    written = dr.write(
        path,
        pa.table(ROWS),
        mode=mode,
        partition_columns="p",
        properties=properties,
        name="orders",
        description="of today",
        txn=("nightly", 7),
        user_metadata="first",
    )
    assert written.version == 0
    table = dr.Table(path)
    [commit] = table.history().to_pylist()
    metrics = {name: int(count) for name, count in commit["operationMetrics"]}
    assert written.metrics == metrics
    assert (metrics["numFiles"], metrics["numOutputRows"]) == (2, 3)
    assert (commit["operation"], commit["userMetadata"]) == ("WRITE", "first")
    snapshot = table.snapshot(strict=True)
    assert snapshot.partition_columns == ["p"]
    assert snapshot.transactions == {"nightly": 7}
    assert (snapshot.metadata.name, snapshot.metadata.description) == ("orders", "of today")
    assert properties.items() <= snapshot.properties.items()
    assert snapshot.scan(["id"], with_row_id=True).to_arrow()["_row_id"].null_count == 0
    assert ids(path) == [1, 2, 3]
    assert table.verify(rows=True).findings == ()


def test_a_write_without_rows_commits_nothing(tmp_path: Path) -> None:
    """As in delta-spark, which commits only if there are actions."""
    none = pa.table({"id": pa.array([], pa.int64())})
    assert dr.write(tmp_path / "t", none).version == 0
    table = dr.Table(tmp_path / "t")
    assert table.append(none).version is None
    assert table.overwrite(none).version is None
    assert table.append(none, txn=("app", 1)).version == 1
    table.append([{"id": 1}])
    assert table.overwrite(none, where="id = 2").version is None
    assert table.overwrite(none, where="1 = 2").version is None
    assert table.overwrite(none).version == 3


def test_modes_of_a_table_that_exists(tmp_path: Path) -> None:
    path = tmp_path / "t"
    dr.write(path, ROWS, partition_columns=["p"])
    assert dr.write(path, {"id": [4], "p": ["a"]}, partition_columns=["P"]).version == 1
    assert dr.write(path, ROWS, mode="ignore") == dr.Written(None, {})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.write(path, ROWS, mode="error")
    assert caught.value.code == "table.exists"
    assert ids(path) == [1, 2, 3, 4]
    dr.write(path, {"id": [5], "p": ["b"]}, mode="overwrite", where="p = 'b'")
    assert ids(path) == [1, 4, 5]
    dr.write(path, {"id": [6], "p": ["a"]}, mode="overwrite", partition_overwrite="dynamic")
    assert ids(path) == [5, 6]
    dr.write(path, {"id": [7], "p": ["c"], "more": ["x"]}, schema_mode="merge", txn=("a", 1))
    assert dr.write(path, ROWS, txn=("a", 1)).version is None
    assert ids(path) == [5, 6, 7]
    other = pa.table({"p": ["d"], "id": ["x"]})
    done = dr.write(path, other, mode="overwrite", schema_mode="overwrite")
    assert dr.Table(path).snapshot().schema.names == ["p", "id"]
    assert done.version == dr.Table(path).snapshot().version == 5


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"mode": "upsert"}, "write.mode"),
        ({"where": "id = 1"}, "write.mode"),
        ({"partition_overwrite": "dynamic"}, "write.mode"),
        ({"schema_mode": "overwrite"}, "write.mode"),
        ({"partition_columns": ["id"]}, "write.partitions"),
        ({"mode": 1}, "write.mode"),
        ({"mode": ["append"]}, "write.mode"),
    ],
    ids=str,
)
def test_contradictions_are_refused(arguments: dict[str, Any], code: str, tmp_path: Path) -> None:
    dr.write(tmp_path / "t", ROWS)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.write(tmp_path / "t", ROWS, **arguments)
    assert caught.value.code == code
    assert dr.Table(tmp_path / "t").snapshot().version == 0


def test_a_failed_first_write_leaves_no_files(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for data, arguments, code in [
        (ROWS, {"mode": "overwrite", "where": "id < 3"}, "rows.where"),
        (ROWS, {"partition_columns": ["nothing"]}, "transaction.partition_columns"),
        ({"a": [1], "A": [2]}, {}, "schema.duplicate_column"),
    ]:
        with pytest.raises(dr.InvalidArgumentError) as caught:
            dr.write(path, data, **arguments)
        assert caught.value.code == code
        assert not dr.is_table(path)
        assert files_below(path) == []
    with pytest.raises(TypeError, match="not str"):
        dr.write(path, "text")


def test_two_first_writes_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, commit = tmp_path / "t", dr.Transaction.commit

    def late(self: dr.Transaction) -> int | None:
        monkeypatch.undo()
        dr.write(path, {"id": [9], "p": ["z"]})
        return commit(self)

    monkeypatch.setattr(dr.Transaction, "commit", late)
    with pytest.raises(dr.CommitConflictError) as caught:
        dr.write(path, ROWS)
    assert caught.value.code == "conflict.protocol_changed"
    assert ids(path) == [9]
    assert sum(name.endswith(".parquet") for name in files_below(path)) == 1


def test_a_stream_is_read_once_and_in_full(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    batches = (pa.record_batch({"id": range(item, item + 10)}, schema) for item in (0, 10))
    dr.write(tmp_path / "t", pa.RecordBatchReader.from_batches(schema, batches))
    assert ids(tmp_path / "t") == list(range(20))
    # the nullability of the rows applies to the table
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.write(tmp_path / "t", {"id": [None]})
    assert caught.value.code == "rows.null"


@pytest.mark.parametrize(
    "argument",
    [
        {"mode": "overwrite", "partition_overwrite": "banana"},
        {"mode": "overwrite", "partition_overwrite": "dynamic", "where": "id = 1"},
        {"schema_mode": "nonsense"},
    ],
    ids=str,
)
def test_arguments_are_checked_before_the_table_is_created(argument: Any, tmp_path: Path) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.write(tmp_path / "t", [{"id": 1}], **argument)
    assert caught.value.code == "write.mode"
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_other_columns_and_partitions_in_one_commit(mapping: str, tmp_path: Path) -> None:
    """As delta-spark's ``overwriteSchema`` with ``partitionBy``."""
    path = tmp_path / "t"
    properties = {"delta.columnMapping.mode": mapping}
    rows = pa.table({"n": [1, 2], "s": ["foo", "bar"]})
    dr.write(path, rows, partition_columns=["s"], properties=properties)
    new = pa.table({"n": [2, 3], "day": ["a", "b"]})
    overwrite: dict[str, Any] = {"mode": "overwrite", "schema_mode": "overwrite"}
    assert dr.write(path, new, partition_columns=["n"], **overwrite).version == 1
    table = dr.Table(path)
    snapshot = table.snapshot()
    assert snapshot.partition_columns == ["n"]
    assert snapshot.schema.names == ["n", "day"]
    assert snapshot.num_files == 2
    assert snapshot.scan(filter="n = 3").to_arrow()["day"].to_pylist() == ["b"]
    [entry] = table.history(limit=1).to_pylist()
    assert dict(entry["operationParameters"])["partitionBy"] == '["n"]'
    assert table.snapshot(0).scan(filter="s = 'foo'").count() == 1
    assert table.snapshot(0).partition_columns == ["s"]
    table.overwrite(new, schema_mode="overwrite", partition_columns=[])
    assert table.snapshot().partition_columns == []
    table.append(new)
    assert table.snapshot().scan().count() == 4


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        (["nothing"], "transaction.partition_columns"),
        (["n", "N"], "transaction.partition_columns"),
        (["n", "day"], "transaction.partition_columns"),
        (["list"], "transaction.partition_columns"),
    ],
    ids=str,
)
def test_invalid_partition_columns_are_refused(
    columns: list[str], code: str, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    dr.write(path, {"n": [1]})
    new = pa.table({"n": [2], "day": ["a"]})
    if columns == ["list"]:
        new = new.append_column("list", pa.array([[1]]))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.write(path, new, mode="overwrite", schema_mode="overwrite", partition_columns=columns)
    assert caught.value.code == code
    assert len(list(path.rglob("*.parquet"))) == 1


@pytest.mark.parametrize("schema_mode", [None, "merge"])
def test_new_partition_columns_require_schema_mode_overwrite(
    schema_mode: Any, tmp_path: Path
) -> None:
    dr.write(tmp_path / "t", {"n": [1]})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.Table(tmp_path / "t").overwrite(
            {"n": [1]}, schema_mode=schema_mode, partition_columns=["n"]
        )
    assert caught.value.code == "rows.schema_mode"


def test_added_columns_have_no_expressions(tmp_path: Path) -> None:
    """Existing rows do not satisfy them."""
    invariant = json.dumps({"expression": json.dumps({"expression": "v > 3"})})
    metadata = {
        "g": {"delta.generationExpression": "id + 1"},
        "d": {"CURRENT_DEFAULT": "7"},
        "v": {"delta.invariants": invariant, "comment": "a number"},
    }
    added = [pa.field(name, pa.int64(), metadata=values) for name, values in metadata.items()]
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    table.append([{"id": 1}])
    more = pa.schema([pa.field("id", pa.int64()), *added]).empty_table()
    table.append(more, schema_mode="merge")
    fields = json.loads(table.snapshot().schema_json)["fields"]
    assert [field["metadata"] for field in fields] == [{}, {}, {}, {"comment": "a number"}]
    assert table.snapshot().protocol.min_writer_version == 2
    table.append([{"id": 2}])
    rows = table.snapshot().scan(filter="id = 2").to_arrow()
    assert rows.to_pylist() == [{"id": 2, "g": None, "d": None, "v": None}]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.date32(), 2**31 - 1, "+5881580-07-11"),
        (pa.date32(), -(2**31), "-5877641-06-23"),
        (pa.timestamp("us", "UTC"), 2**63 - 1, "+294247-01-10T04:00:54.775807Z"),
        (pa.timestamp("us"), -(2**63), "-290308-12-21 19:59:05.224192"),
    ],
)
def test_partitions_of_any_date(kind: pa.DataType, value: int, text: str, tmp_path: Path) -> None:
    """The ends of Spark's types, as Spark prints them."""
    table = dr.create_table(tmp_path, pa.schema([("id", pa.int64()), ("p", kind)]), ["p"])
    bits = pa.int32() if kind == pa.date32() else pa.int64()
    table.append(pa.table({"id": [1], "p": pa.array([value], bits).cast(kind)}))
    assert table.snapshot().files()["partitionValues"].to_pylist() == [[("p", text)]]
    [read] = table.snapshot().scan(["p"]).to_arrow()["p"].combine_chunks().cast(bits).to_pylist()
    assert read == value
