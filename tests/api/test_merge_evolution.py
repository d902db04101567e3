"""Merges that add columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("v", pa.int32()),
        ("s", pa.struct([("a", pa.int32()), ("b", pa.int32())])),
    ]
)
ROWS = [{"id": 1, "v": 1, "s": {"a": 1, "b": 1}}, {"id": 2, "v": 2, "s": {"a": 2, "b": 2}}]
SOURCE = pa.table({"id": [2, 3], "s": [{"b": 20, "c": 21}, {"b": 30, "c": 31}], "note": ["x", "y"]})


def create(root: Path, **properties: str) -> dr.Table:
    table = dr.create_table(root / "t", SCHEMA, properties=properties)
    table.append(pa.Table.from_pylist(ROWS, SCHEMA))
    return table


def rows(table: dr.Table) -> list[dict[str, Any]]:
    return table.snapshot(strict=True).scan().to_arrow().sort_by("id").to_pylist()


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"},
        {"delta.columnMapping.mode": "name", "delta.enableChangeDataFeed": "true"},
    ],
    ids=["plain", "vectors", "mapped"],
)
def test_all_columns_of_the_source_are_added(properties: dict[str, str], tmp_path: Path) -> None:
    table = create(tmp_path, **properties)
    merge = table.merge(SOURCE, "id", schema_mode="merge")
    done = merge.when_matched_update_all().when_not_matched_insert_all().execute()
    assert done.version == 2  # rows and columns in one commit
    assert table.snapshot().scan().schema.names == ["id", "v", "s", "note"]
    assert rows(table) == [
        {"id": 1, "v": 1, "s": {"a": 1, "b": 1, "c": None}, "note": None},
        {"id": 2, "v": 2, "s": {"a": 2, "b": 20, "c": 21}, "note": "x"},
        {"id": 3, "v": None, "s": {"a": None, "b": 30, "c": 31}, "note": "y"},
    ]


def test_columns_of_a_clause_are_added(tmp_path: Path) -> None:
    table = create(tmp_path)
    source = [{"id": 2, "note": "x", "other": 1}]
    merge = table.merge(source, "id", schema_mode="merge")
    merge.when_matched_update({"NOTE": "upper(source.note)"}).execute()
    assert table.snapshot().scan().schema.names == ["id", "v", "s", "note"]
    assert [row["note"] for row in rows(table)] == [None, "X"]


def test_fields_of_a_clause_are_added(tmp_path: Path) -> None:
    table = create(tmp_path)
    merge = table.merge(SOURCE, "id", schema_mode="merge")
    merge.when_matched_update({"s.C": "source.s.c", "`note`": "'n'"}).execute()
    assert rows(table) == [
        {"id": 1, "v": 1, "s": {"a": 1, "b": 1, "c": None}, "note": None},
        {"id": 2, "v": 2, "s": {"a": 2, "b": 2, "c": 21}, "note": "n"},
    ]


def test_a_struct_is_assigned_with_its_new_fields(tmp_path: Path) -> None:
    table = create(tmp_path)
    merge = table.merge(SOURCE, "id", schema_mode="merge")
    merge.when_matched_update({"s": "source.s"}).execute()
    assert [row["s"] for row in rows(table)] == [
        {"a": 1, "b": 1, "c": None},
        {"a": None, "b": 20, "c": 21},
    ]
    assert table.snapshot().scan().schema.names == SCHEMA.names


def test_columns_are_added_even_without_new_rows(tmp_path: Path) -> None:
    table = create(tmp_path)
    source = pa.table({"id": [77], "GRÖßE": [1]})
    merge = table.merge(source, "id", schema_mode="merge").when_matched_update({"größe": "7"})
    assert merge.execute().version == 2
    assert table.snapshot().scan().schema.names == [*SCHEMA.names, "GRÖßE"]
    assert rows(table) == [{**row, "GRÖßE": None} for row in ROWS]


def test_clauses_without_source_rows_add_no_columns(tmp_path: Path) -> None:
    table = create(tmp_path)
    merge = table.merge(SOURCE, "id", schema_mode="merge")
    with pytest.raises(dr.InvalidArgumentError, match=r"no column .note"):
        merge.when_not_matched_by_source_update({"note": "'x'"}).execute()


def test_columns_are_not_added_by_default(tmp_path: Path) -> None:
    table = create(tmp_path)
    source = SOURCE.append_column("v", pa.array([2, 3], pa.int32()))
    for clause in ("when_matched_update_all", "when_not_matched_insert_all"):
        with pytest.raises(dr.InvalidArgumentError, match=r"s\.c") as caught:
            getattr(table.merge(source, "id"), clause)().execute()
        assert caught.value.code == "rows.column"
    with pytest.raises(dr.InvalidArgumentError, match="did you mean"):
        table.merge(SOURCE, "id").when_matched_update({"note": "source.note"}).execute()
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.merge(SOURCE, "id", schema_mode="overwrite").when_matched_delete().execute()  # type: ignore[arg-type]
    assert caught.value.code == "rows.schema_mode"
    table.merge(SOURCE, "id", schema_mode="merge").when_matched_delete().execute()
    assert table.snapshot().scan().schema == SCHEMA
    assert [row["id"] for row in rows(table)] == [1]


#: Types, and two values of each.
FIRST_VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.string(), ["x", "y"]),
    (pa.list_(pa.struct([("a", pa.int32())])), [[{"a": 1}], []]),
    (pa.struct([("a", pa.int32()), ("b", pa.string())]), [{"a": 1, "b": "x"}, None]),
]


@pytest.mark.parametrize("mapping", ["none", "name"])
@pytest.mark.parametrize(("arrow", "values"), FIRST_VALUES, ids=["text", "list", "struct"])
@pytest.mark.parametrize("call", ["merge", "append"])
def test_a_column_of_nulls_gets_the_type_of_its_first_values(
    call: str, arrow: pa.DataType, values: list[Any], mapping: str, tmp_path: Path
) -> None:
    """As delta-spark does it (delta-io/delta issues 944 and 1855)."""
    schema = pa.schema([("id", pa.int64()), ("v", pa.null())])
    properties = {"delta.columnMapping.mode": mapping}
    table = dr.create_table(tmp_path / "t", schema, properties=properties)
    table.append([{"id": 1, "v": None}, {"id": 2, "v": None}])
    source = pa.table({"id": [2, 3], "v": pa.array(values, arrow)})
    with pytest.raises(dr.InvalidArgumentError, match="has no type in the table") as caught:
        table.append(source)
    assert caught.value.code == "rows.type"
    if call == "merge":
        merge = table.merge(source, "id", schema_mode="merge")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
        old = [{"id": 1, "v": None}]
    else:
        table.append(source, schema_mode="merge")
        old = [{"id": 1, "v": None}, {"id": 2, "v": None}]
    added = [{"id": 2, "v": values[0]}, {"id": 3, "v": values[1]}]
    assert sorted(rows(table), key=str) == sorted([*old, *added], key=str)
    table.append([{"id": 9, "v": values[0]}])
    inserted = pa.table(table.changes(table.snapshot().version))
    assert inserted.select(["id", "v"]).to_pylist() == [{"id": 9, "v": values[0]}]


def test_a_field_of_nulls_gets_the_type_of_its_first_values(tmp_path: Path) -> None:
    part = pa.struct([("a", pa.int32()), ("b", pa.null())])
    schema = pa.schema([("id", pa.int64()), ("s", part), ("l", pa.list_(part))])
    table = dr.create_table(tmp_path / "t", schema)
    first = {"id": 1, "s": {"a": 1, "b": None}, "l": [{"a": 2, "b": None}]}
    table.append([first])
    table.update("id = 1", {"id": "2"})
    typed = pa.struct([("a", pa.int32()), ("b", pa.string())])
    source_schema = pa.schema([("id", pa.int64()), ("s", typed), ("l", pa.list_(typed))])
    second = {"id": 3, "s": {"a": 3, "b": "x"}, "l": [{"a": 4, "b": "y"}]}
    table.append(pa.Table.from_pylist([second], source_schema), schema_mode="merge")
    assert rows(table) == [{**first, "id": 2}, second]


@pytest.mark.parametrize(
    "arrow", [pa.list_(pa.null()), pa.struct([("x", pa.null())])], ids=["list", "struct"]
)
def test_nested_types_of_nulls_are_refused(arrow: pa.DataType, tmp_path: Path) -> None:
    """delta-spark refuses them, too."""
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    source = pa.table({"id": [1], "v": pa.array([None], arrow)})
    with pytest.raises(dr.UnsupportedFeatureError, match=r"arrays of void|only void fields"):
        table.append(source, schema_mode="merge")
    assert table.snapshot().version == 0
