"""Assignments to fields of structs, by ``update`` and by ``merge``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr

INNER = pa.struct([("x", pa.int32()), ("y", pa.string())])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("s", pa.struct([("a", pa.int64()), ("B", pa.string()), ("in", INNER)])),
        ("items", pa.list_(INNER)),
        ("a.b", pa.int32()),
    ]
)
ROWS: list[dict[str, Any]] = [
    {"id": 1, "s": {"a": 1, "B": "one", "in": {"x": 1, "y": "x1"}}, "items": [], "a.b": 1},
    {"id": 2, "s": {"a": 2, "B": None, "in": None}, "items": None, "a.b": 2},
    {"id": 3, "s": None, "items": [{"x": 1, "y": "z"}], "a.b": 3},
]


def create(root: Path, **properties: str) -> dr.Table:
    table = dr.create_table(root / "t", SCHEMA, properties=properties)
    table.append(pa.Table.from_pylist(ROWS, SCHEMA))
    return table


def structs(table: dr.Table) -> list[Any]:
    rows = table.snapshot().scan().to_arrow().sort_by("id")
    return rows["s"].to_pylist()


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_update_keeps_the_other_fields_of_a_struct(vectors: str, tmp_path: Path) -> None:
    properties = {"delta.enableDeletionVectors": vectors, "delta.enableChangeDataFeed": "true"}
    table = create(tmp_path, **properties)
    done = table.update(
        None, {"s.A": "coalesce(s.a, 0) + id", "s.in.y": "'new'", "`a.b`": "`a.b` * 10"}
    )
    assert done.metrics["numUpdatedRows"] == 3
    assert structs(table) == [
        {"a": 2, "B": "one", "in": {"x": 1, "y": "new"}},
        {"a": 4, "B": None, "in": {"x": None, "y": "new"}},
        {"a": 3, "B": None, "in": {"x": None, "y": "new"}},
    ]
    assert sorted(table.snapshot().scan().to_arrow()["a.b"].to_pylist()) == [10, 20, 30]
    reported = table.changes(2).to_arrow().to_pylist()
    assert (
        sorted(row["_change_type"] for row in reported)
        == ["update_postimage"] * 3 + ["update_preimage"] * 3
    )
    assert [row["s"] for row in reported if row["_change_type"] == "update_preimage"] == [
        row["s"] for row in ROWS
    ]


def test_merge_assigns_fields(tmp_path: Path) -> None:
    table = create(tmp_path)
    merge = table.merge([{"id": 1, "text": "uno"}, {"id": 3, "text": "tres"}], "id")
    merge.when_matched_update({"s.b": "source.text"}).execute()
    assert [row and row["B"] for row in structs(table)] == ["uno", None, "tres"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a column and its field": ({"s": None, "s.a": 1}, "set twice"),
    "a field and its field": ({"s.in.x": 1, "s.in": None}, "set twice"),
    "a field twice": ({"s.a": 1, "S.A": 2}, "set twice"),
    "an unknown field": ({"s.aa": 1}, "did you mean s.a"),
    "an unknown column": ({"idd": 1}, "did you mean id"),
    "the element of an array": ({"items.element": 1}, "only columns and fields of structs"),
    "a type that does not fit": ({"s.a": "items"}, "s.a"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_assignments_are_refused(case: str, tmp_path: Path) -> None:
    values, output = REFUSED[case]
    table = create(tmp_path)
    with pytest.raises(dr.InvalidArgumentError, match=output):
        table.update(None, values)
    assert table.snapshot().version == 1


def test_required_fields_refuse_nulls(tmp_path: Path) -> None:
    part = pa.struct([pa.field("n", pa.int64(), nullable=False), ("m", pa.int64())])
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("s", part)]))
    table.append([{"id": 1, "s": {"n": 1, "m": 1}}])
    table.update("id = 1", {"s.m": 5})
    for change in (
        lambda: table.update(None, {"s.n": "nullif(1, 1)"}),
        lambda: table.append([{"id": 2, "s": None}]),  # as delta-spark
    ):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            change()
        assert caught.value.code == "rows.null"
    assert structs(table) == [{"n": 1, "m": 5}]
