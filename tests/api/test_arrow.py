"""Arrow export: all libraries accept a snapshot, and its types are plain."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import logs

import deltareplay as dr

ROWS = [{"id": 1, "name": "one"}, {"id": 3, "name": "three"}]
PATHS = ["day=2026-01-02/b.parquet", "day=2026-01-03/c.parquet"]


@pytest.fixture
def snapshot(table: dr.Table) -> dr.Snapshot:
    return table.snapshot()


def test_pyarrow_accepts_the_rows_of_a_snapshot(rows: dr.Table) -> None:
    snapshot = rows.snapshot()
    for source in (snapshot, snapshot.scan(), snapshot.scan().splits()[0]):
        assert pa.table(source).to_pylist() == ROWS
        assert pa.RecordBatchReader.from_stream(source).read_all().to_pylist() == ROWS


def test_a_snapshot_is_exported_repeatedly(rows: dr.Table) -> None:
    snapshot = rows.snapshot()
    assert pa.table(snapshot).equals(pa.table(snapshot))


def test_the_schema_is_that_of_the_stream(rows: dr.Table) -> None:
    snapshot = rows.snapshot()
    assert pa.schema(snapshot) == pa.table(snapshot).schema == snapshot.schema
    scan = snapshot.scan(columns=["name"], with_file_path=True)
    assert pa.schema(scan) == pa.table(scan).schema == scan.schema
    split = scan.splits()[0]
    assert pa.schema(split) == pa.table(split).schema == scan.schema


def test_the_schema_is_known_without_a_data_file(rows: dr.Table, tmp_path: Path) -> None:
    (tmp_path / "rows" / "part-0.parquet").unlink()
    assert pa.schema(rows.snapshot().scan(columns=["id"])).names == ["id"]


def test_polars_accepts_files(snapshot: dr.Snapshot) -> None:
    polars = pytest.importorskip("polars")
    for source in (snapshot.files(), snapshot.file_batches()):
        frame = polars.DataFrame(source)
        assert sorted(frame["path"].to_list()) == PATHS
        assert frame["size"].sum() == 500


def test_polars_accepts_rows(rows: dr.Table) -> None:
    polars = pytest.importorskip("polars")
    for source in (rows.snapshot(), rows.snapshot().scan(columns=["id", "name"])):
        assert polars.DataFrame(source).to_dicts() == ROWS


def test_duckdb_accepts_files(snapshot: dr.Snapshot) -> None:
    duckdb = pytest.importorskip("duckdb")
    files, batches = snapshot.files(), snapshot.file_batches()
    assert files.num_rows  # the names are used by the queries
    assert batches.schema
    for name in ("files", "batches"):
        query = f"SELECT path, partitionValues['day'], size FROM {name} ORDER BY path"
        assert duckdb.sql(query).fetchall() == [
            (PATHS[0], "2026-01-02", 200),
            (PATHS[1], "2026-01-03", 300),
        ]


def test_duckdb_accepts_rows(rows: dr.Table) -> None:
    duckdb = pytest.importorskip("duckdb")
    snapshot = rows.snapshot()
    scan = snapshot.scan(columns=["name", "id"])
    assert scan.schema  # the names are used by the queries
    for name in ("snapshot", "scan"):
        assert duckdb.sql(f"SELECT id, name FROM {name} ORDER BY id").fetchall() == [
            (1, "one"),
            (3, "three"),
        ]
        assert duckdb.sql(f"SELECT count(*) FROM {name}").fetchall() == [(2,)]
        assert duckdb.sql(f"SELECT name FROM {name} WHERE id > 1").fetchall() == [("three",)]


def test_pandas_accepts_rows(rows: dr.Table) -> None:
    pytest.importorskip("pandas")
    frame = rows.snapshot().scan().to_arrow().to_pandas()
    assert frame["id"].tolist() == [1, 3]
    assert frame["name"].tolist() == ["one", "three"]


def test_pandas_accepts_files(snapshot: dr.Snapshot) -> None:
    pytest.importorskip("pandas")
    frame = snapshot.files().to_pandas()
    assert sorted(frame["path"]) == PATHS
    assert frame["size"].sum() == 500


def test_a_reader_is_read_once(snapshot: dr.Snapshot) -> None:
    reader = snapshot.file_batches()
    assert reader.read_all().num_rows == 2
    assert reader.read_all().num_rows == 0


def test_native_batches_are_read_once(snapshot: dr.Snapshot) -> None:
    batches = snapshot.native.file_batches()
    assert pa.table(batches).num_rows == 2
    assert batches.next_batch() is None
    with pytest.raises(RuntimeError, match="already been read"):
        pa.table(batches)


def test_native_batches_continue_as_a_stream(events: logs.LogBuilder) -> None:
    events.commit(logs.add("d"))
    batches = dr.Table(events.uri).native.actions(0)
    first = pa.record_batch(batches.next_batch())
    rest = pa.table(batches)
    assert first.num_rows + rest.num_rows == sum(len(actions) for actions in events.commits)


def test_a_column_outlives_its_table(snapshot: dr.Snapshot) -> None:
    column = snapshot.files()["path"].slice(1, 1)
    gc.collect()
    assert column.to_pylist()[0] in PATHS


def test_an_error_in_a_c_stream_names_the_file(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    logs.write_file(log.table, logs.commit_name(1), b'{"add":{"path":5}}\n')
    with pytest.raises(Exception, match=r"00000000000000000001\.json"):
        pa.table(dr.Table(log.uri).native.actions(1))


def is_supported_everywhere(type_: pa.DataType) -> bool:
    """Return whether Spark, pandas, Polars and DuckDB all support a type."""
    if pa.types.is_nested(type_):
        assert not pa.types.is_union(type_)
        return all(is_supported_everywhere(type_.field(i).type) for i in range(type_.num_fields))
    return type_ in (pa.string(), pa.int64(), pa.int32(), pa.bool_()) or pa.types.is_timestamp(
        type_
    )


@pytest.mark.parametrize("kind", ["none", "classic", "v2-json", "v2-parquet"])
def test_types_are_plain(events: logs.LogBuilder, kind: str) -> None:
    if kind != "none":
        events.checkpoint(version=1, kind=kind)
    table = dr.Table(events.uri)
    snapshot = table.snapshot()
    for schema in (
        snapshot.files().schema,
        snapshot.file_batches().schema,
        snapshot.tombstones().schema,
        table.history().schema,
        table.actions(0).schema,
    ):
        for field in schema:
            assert is_supported_everywhere(field.type), field


TYPES: dict[str, Any] = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "decimal(38,9)": pa.decimal128(38, 9),
}


def test_the_schema_has_the_types_of_arrow(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    nested = {
        "type": "struct",
        "fields": [
            logs.field_json(
                "a", {"type": "array", "elementType": "long", "containsNull": False}, nullable=False
            )
        ],
    }
    mapped = {"type": "map", "keyType": "string", "valueType": "date", "valueContainsNull": True}
    columns = {f"c{i}": name for i, name in enumerate(TYPES)}
    log.create(logs.schema(**columns, nested=nested, mapped=mapped))
    schema = dr.Table(log.uri).snapshot().schema

    assert [schema.field(name).type for name in columns] == list(TYPES.values())
    inner = schema.field("nested").type.field("a")
    assert not inner.nullable
    assert pa.types.is_list(inner.type)
    assert inner.type.value_type == pa.int64()
    assert not inner.type.value_field.nullable
    assert schema.field("mapped").type.key_type == pa.string()
    assert schema.field("mapped").type.item_type == pa.date32()
