"""Changes of columns and nested fields: names, positions, comments, defaults, nullability."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.files import write_commit

import deltareplay as dr

PAIR = pa.struct([("a", pa.int32()), ("b", pa.string())])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("s", PAIR),
        ("items", pa.list_(PAIR)),
        ("m", pa.map_(pa.string(), PAIR)),
        ("x.y", pa.int32()),
    ]
)
ROW = {
    "id": 1,
    "s": {"a": 2, "b": "two"},
    "items": [{"a": 3, "b": "three"}],
    "m": [("k", {"a": 4, "b": "four"})],
    "x.y": 5,
}


def create(root: Path, **properties: str) -> dr.Table:
    properties = {"delta.columnMapping.mode": "name", **properties}
    table = dr.create_table(root / "t", SCHEMA, properties=properties)
    table.append(pa.Table.from_pylist([ROW], SCHEMA))
    return table


def only_row(table: dr.Table) -> Any:
    [row] = table.snapshot().scan().to_arrow().to_pylist()
    return row


def refused(code: str, call: Any) -> str:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        call()
    assert caught.value.code == code
    return str(caught.value)


def test_columns_and_nested_fields_are_renamed(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.rename_column("s.A", "z")
    table.rename_column(["items", "element", "b"], "text")
    table.rename_column("m.value.a", "n")
    table.rename_column("x.y", "xy")
    table.rename_column("id", "ID")
    assert only_row(table) == {
        "ID": 1,
        "s": {"z": 2, "b": "two"},
        "items": [{"a": 3, "text": "three"}],
        "m": [("k", {"n": 4, "b": "four"})],
        "xy": 5,
    }
    [info] = [row for row in table.history(limit=5).to_pylist() if row["version"] == 2]
    assert info["operation"] == "RENAME COLUMN"
    assert dict(info["operationParameters"]) == {"oldColumnPath": "s.A", "newColumnPath": "s.z"}
    assert table.snapshot().scan(filter="s.z = 2").count() == 1


def test_nested_fields_are_dropped_and_added(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.drop_column(["items", "element", "a"])
    table.drop_column("s.b")
    table.add_columns(pa.schema([("b", pa.int64())]), parent="s")
    table.add_columns(pa.schema([("c", pa.bool_())]), parent=["m", "value"])
    assert only_row(table) == {
        "id": 1,
        "s": {"a": 2, "b": None},  # a new column: older values of s.b are not read
        "items": [{"b": "three"}],
        "m": [("k", {"a": 4, "b": "four", "c": None})],
        "x.y": 5,
    }
    table.append([{"id": 2, "s": {"a": 9, "b": 10}}])
    assert table.snapshot().scan(filter="s.b = 10").to_arrow()["id"].to_pylist() == [2]


def test_nested_fields_have_comments(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.set_comment("a number", "s.a")
    table.set_comment("a text", ["items", "element", "b"])
    fields = json.loads(table.snapshot().schema_json)["fields"]
    assert fields[1]["type"]["fields"][0]["metadata"]["comment"] == "a number"
    element = fields[2]["type"]["elementType"]
    assert element["fields"][1]["metadata"]["comment"] == "a text"
    table.set_comment(None, "s.a")
    fields = json.loads(table.snapshot().schema_json)["fields"]
    assert "comment" not in fields[1]["type"]["fields"][0]["metadata"]


def test_invalid_changes_are_refused(tmp_path: Path) -> None:
    table = create(tmp_path)
    assert "did you mean a" in refused("alter.column", lambda: table.rename_column("s.aa", "z"))
    for path in ("s.a.c", ["items", "a"], ["m", "values", "a"], ["id", "x"], [], "items.element"):
        refused("alter.column", lambda path=path: table.drop_column(path))
    refused("alter.column", lambda: table.rename_column("s.a", "B"))
    refused("alter.column", lambda: table.rename_column("id", "S"))
    refused("alter.column", lambda: table.rename_column("id", ""))
    refused("alter.column", lambda: table.add_columns(pa.schema([("ID", pa.int32())])))
    refused("alter.column", lambda: table.add_columns(pa.schema([("A", pa.int32())]), parent="s"))
    refused("alter.column", lambda: table.add_columns(pa.schema([("q", pa.int32())]), parent="id"))
    table.drop_column("s.a")
    assert "struct" in refused("alter.column", lambda: table.drop_column("s.b"))
    table.add_constraint("texts", "s.b <> ''")
    refused("alter.column", lambda: table.rename_column("s.b", "z"))
    refused("alter.column", lambda: table.drop_column("s"))
    table.rename_column("m.value.b", "z")  # another b
    assert table.snapshot().version == 4


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_columns_do_not_have_the_names_of_materialized_row_ids(
    mapping: str, tmp_path: Path
) -> None:
    properties = {"delta.enableRowTracking": "true", "delta.columnMapping.mode": mapping}
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), properties=properties)
    names = {
        value.upper()
        for key, value in table.snapshot().properties.items()
        if key.startswith("delta.rowTracking.materialized")
    }
    assert len(names) == 2
    for name in names:
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.add_columns(pa.schema([(name, pa.int64())]))
        assert caught.value.code == "transaction.column_name"
        with pytest.raises(dr.InvalidArgumentError):
            table.append(pa.table({name: [1]}), schema_mode="merge")
    assert table.snapshot().version == 0


def test_clustering_and_statistics_columns_follow_their_columns(tmp_path: Path) -> None:
    key = "delta.dataSkippingStatsColumns"
    table = create(tmp_path, **{key: "id, S.a,s.b,`x.y`"})
    table.cluster_by(["s.a"])
    for name in ("s.a", "s"):
        assert "cluster_by" in refused(
            "alter.clustering", lambda name=name: table.drop_column(name)
        )
    before = table.snapshot().domain_metadata
    table.rename_column("s.a", "a.1")
    table.rename_column("s", "t")
    assert table.snapshot().properties[key] == "id,t.`a.1`,t.b,`x.y`"
    assert table.snapshot().domain_metadata == before  # clustering columns have physical names
    table.append([{"id": 7, "t": {"a.1": 70, "b": "x"}, "x.y": 700}])
    assert table.snapshot().min_max("t.`a.1`") == (2, 70)
    table.cluster_by([])
    table.drop_column("t")
    table.drop_column("x.y")
    assert table.snapshot().properties[key] == "id"


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ("id,nope", '"nope": the table has no such column'),
        ("s.nope", '"s.nope": the table has no such column'),
        ("id.a", '"id.a": the table has no such column'),
        ("m", '"m": its type has no minimum and maximum'),
        ("P", '"P": files have no statistics on partition columns'),
        ("id,ID", '"id": it is named twice'),
        ("s,s.a", '"s": it is named twice'),
    ],
)
def test_statistics_columns_must_exist(tmp_path: Path, columns: str, problem: str) -> None:
    """As in delta-spark 4.4, which refuses every later change of such metadata."""
    names = ["delta.dataSkippingStatsColumns", "delta.DATASKIPPINGSTATSCOLUMNS"]
    part = pa.struct([("a", pa.int64()), ("ok", pa.bool_())])
    rules = pa.map_(pa.string(), pa.int64())
    schema = pa.schema([("id", pa.int64()), ("s", part), ("m", rules), ("p", pa.int64())])
    table = dr.create_table(tmp_path / "t", schema, partition_columns=["p"])
    for name in names:
        text = refused("properties.value", lambda name=name: table.set_properties({name: columns}))
        assert problem in text
    with pytest.raises(dr.InvalidArgumentError, match="dataSkippingStatsColumns"):
        dr.create_table(
            tmp_path / "o", schema, partition_columns=["p"], properties={names[0]: columns}
        )
    for valid in ("", "id", "S, id", "s.ok"):
        table.set_properties({names[0]: valid})
    assert table.snapshot().version == 4


def test_statistics_columns_need_backticks_as_in_sql(tmp_path: Path) -> None:
    """Spark cannot parse the property otherwise."""
    table = dr.create_table(tmp_path, pa.schema([("c-4", pa.int64()), ("é_1", pa.int64())]))
    key = "delta.dataSkippingStatsColumns"
    text = refused("properties.value", lambda: table.set_properties({key: "c-4"}))
    assert "backticks" in text
    table.set_properties({key: "`c-4`, é_1"})


def test_overwriting_the_schema_keeps_the_statistics_columns(tmp_path: Path) -> None:
    """As in delta-spark 4.4: they are still columns, and still have an order."""
    properties = {"delta.dataSkippingStatsColumns": "id,p"}
    rows = pa.table({"id": [1], "p": ["a"], "q": [1]})
    table = dr.create_table(tmp_path / "t", rows.schema, properties=properties)
    for names, problem in (["id", "q"], '"p"'), (["q"], '"id"'):
        text = refused(
            "properties.value",
            lambda names=names: table.overwrite(rows.select(names), schema_mode="overwrite"),
        )
        assert f"{problem}: the table has no such column" in text
    text = refused(
        "properties.value",
        lambda: table.overwrite(rows, schema_mode="overwrite", partition_columns=["p"]),
    )
    assert '"p": files have no statistics on partition columns' in text
    other = pa.table({"P": [1], "Id": ["a"]})
    table.overwrite(other, schema_mode="overwrite")
    assert table.snapshot().scan().to_arrow().to_pylist() == other.to_pylist()


def test_clustering_columns_as_plain_names(tmp_path: Path) -> None:
    """The protocol's example has strings in place of lists; such columns are protected as well."""
    table = create(tmp_path)
    table.cluster_by(["id"])
    snapshot = table.snapshot()
    configuration = json.loads(snapshot.domain_metadata["delta.clustering"])
    [[name]] = configuration["clusteringColumns"]
    domain = {
        "domain": "delta.clustering",
        "configuration": json.dumps({"clusteringColumns": [name]}),
        "removed": False,
    }
    write_commit(tmp_path / "t", snapshot.version + 1, [{"domainMetadata": domain}])
    assert "cluster_by" in refused("alter.clustering", lambda: table.drop_column("id"))
    table.drop_column("s")


def test_columns_without_mapping(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("s", PAIR)]))
    table.append([{"s": {"a": 1, "b": "x"}}])
    refused("alter.column_mapping", lambda: table.rename_column("s.a", "z"))
    table.add_columns(pa.schema([("c", pa.int32())]), parent=["s"])
    assert only_row(table) == {"s": {"a": 1, "b": "x", "c": None}}


def test_column_mapping_ignores_names_that_it_did_not_give(tmp_path: Path) -> None:
    """Schemas of mapped tables are copied with their physical names to tables without mapping."""
    table = dr.create_table(tmp_path / "t", pa.schema([("s", PAIR)]))
    table.append([{"s": {"a": 1, "b": "x"}}])
    metadata = table.snapshot().metadata
    fields = json.loads(metadata.schema_string)
    (outer,) = fields["fields"]
    for number, field in enumerate([outer, *outer["type"]["fields"]]):
        names = {"id": number + 5, "physicalName": f"col-{number}"}
        field["metadata"] = {f"delta.columnMapping.{key}": value for key, value in names.items()}
    other = dataclasses.replace(metadata, schema_string=json.dumps(fields))
    with table.transaction("SET TBLPROPERTIES") as transaction:
        transaction.set_metadata(other)
    assert only_row(table) == {"s": {"a": 1, "b": "x"}}

    table.set_properties({"delta.columnMapping.mode": "name"})
    assert only_row(table) == {"s": {"a": 1, "b": "x"}}
    table.rename_column("s.a", "z")
    table.append([{"s": {"z": 2, "b": "y"}}])
    assert table.snapshot().scan(filter="s.z = 2").count() == 1
    assert table.snapshot().scan(filter="s.z = 1").count() == 1


def last_operation(table: dr.Table) -> tuple[str, dict[str, Any]]:
    [newest] = table.history(limit=1).to_pylist()
    parameters = dict(newest["operationParameters"])
    parsed = {
        key: json.loads(text) for key, text in parameters.items() if text.startswith(("{", "["))
    }
    return newest["operation"], parameters | parsed


def test_columns_are_moved(tmp_path: Path) -> None:
    table = create(tmp_path, **{"delta.columnMapping.mode": "none"})
    table.move_column("x.y", after=None)
    assert last_operation(table) == (
        "CHANGE COLUMN",
        {
            "column": {"name": "`x.y`", "type": "integer", "nullable": True, "metadata": {}},
            "position": "FIRST",
        },
    )
    table.move_column("ID", after="M")
    assert table.snapshot().schema.names == ["x.y", "s", "items", "m", "id"]
    assert last_operation(table)[1]["position"] == "AFTER m"
    table.move_column("s.a", after="b")
    table.move_column(["items", "element", "b"], after=None)
    assert list(only_row(table).items()) == [
        ("x.y", 5),
        ("s", {"b": "two", "a": 2}),
        ("items", [{"b": "three", "a": 3}]),
        ("m", [("k", {"a": 4, "b": "four"})]),
        ("id", 1),
    ]
    table.append([{"id": 2, "s": {"a": 9}}])
    assert table.snapshot().scan(filter="s.a = 9").to_arrow()["id"].to_pylist() == [2]
    for name, after in (("q", None), ("id", "q"), ("s.a", "id"), (["items", "element"], None)):
        refused("alter.column", lambda name=name, after=after: table.move_column(name, after=after))


def test_columns_have_defaults(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int32()), ("s", PAIR)]))
    error = refused("alter.column_default", lambda: table.set_default("id", "5"))
    assert "delta.feature.allowColumnDefaults" in error
    table.set_default("id", None)
    table.add_feature("allowColumnDefaults")
    table.set_default("id", "'5'")
    assert last_operation(table) == (
        "CHANGE COLUMN",
        {
            "column": {
                "name": "id",
                "type": "integer",
                "nullable": True,
                "metadata": {"CURRENT_DEFAULT": "'5'"},
            }
        },
    )
    table.append([{"s": {"a": 1, "b": "x"}}])
    assert only_row(table) == {"id": 5, "s": {"a": 1, "b": "x"}}
    for text in ("'x'", "id", "s.a", "5000000000", "false", "current_date()", "f(1)", "1 +", ""):
        refused("alter.column_default", lambda text=text: table.set_default("id", text))
    refused("alter.column", lambda: table.set_default("q", "5"))
    table.set_default("id", None)
    assert "CURRENT_DEFAULT" not in table.snapshot().schema_json


def test_not_null_is_dropped(tmp_path: Path) -> None:
    required = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("s", required)])
    table = dr.create_table(tmp_path / "t", schema)
    null = pa.table({"id": pa.array([None], pa.int64()), "s": pa.array([{"a": 1}], required)})
    refused("rows.null", lambda: table.append(null))
    table.drop_not_null("id")
    column = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    assert last_operation(table) == ("CHANGE COLUMN", {"column": column})
    table.drop_not_null(["s", "A"])
    table.append([{"id": None, "s": {"a": None}}])
    assert only_row(table) == {"id": None, "s": {"a": None}}
    refused("alter.column", lambda: table.drop_not_null("q"))


def test_no_columns_are_not_added(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.add_columns(pa.schema([]))
    assert caught.value.code == "alter.column"
    assert table.snapshot().version == 0


@pytest.mark.parametrize("mode", ["none", "name"])
def test_columns_that_would_nest_types_too_deep_are_not_added(tmp_path: Path, mode: str) -> None:
    nested: pa.DataType = pa.int64()
    for _ in range(150):
        nested = pa.struct([("f", nested)])
    properties = {"delta.columnMapping.mode": mode}
    table = dr.create_table(tmp_path, pa.schema([("s", nested)]), properties=properties)
    added = pa.schema([("g", nested)])
    refused("schema.depth", lambda: table.add_columns(added, parent=["s", *["f"] * 149]))
    assert table.snapshot().version == 0
    assert table.add_columns(added) == 1
