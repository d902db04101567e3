"""``create_table`` and changes of a table's definition."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support import logs
from support.writing import bodies, unpartitioned

import deltareplay as dr

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("note", pa.string())])


def test_the_first_version(tmp_path: Path) -> None:
    comment = pa.field("id", pa.int64(), nullable=False, metadata={"comment": "a number"})
    table = dr.create_table(
        tmp_path / "t",
        pa.schema([comment, ("day", pa.date32())]),
        ["day"],
        {"delta.appendONLY": "true", "owner": "me", "delta.feature.domainMetadata": "supported"},
        name="n",
        description="d",
    )
    snapshot = table.snapshot()

    assert snapshot.version == 0
    assert snapshot.metadata.name == "n"
    assert snapshot.metadata.description == "d"
    assert snapshot.metadata.configuration == {"delta.appendOnly": "true", "owner": "me"}
    assert snapshot.partition_columns == ["day"]
    assert snapshot.protocol == dr.Protocol(
        1, 7, None, ["appendOnly", "domainMetadata", "invariants"]
    )
    assert json.loads(snapshot.schema_json)["fields"][0] == {
        "name": "id",
        "type": "long",
        "nullable": False,
        "metadata": {"comment": "a number"},
    }
    [info] = bodies(table, 0, "commitInfo")
    assert info["operation"] == "CREATE TABLE"
    assert "readVersion" not in info


def identity(**fields: str) -> pa.Schema:
    metadata = {f"delta.identity.{name}": value for name, value in fields.items()}
    return pa.schema([pa.field("id", pa.int64(), metadata=metadata), ("v", pa.int64())])


def test_metadata_of_fields_make_identity_columns(tmp_path: Path) -> None:
    columns = identity(start="10", step="-5", allowExplicitInsert="true", highWaterMark="7")
    table = dr.create_table(tmp_path / "t", columns)
    assert json.loads(table.snapshot().schema_json)["fields"][0]["metadata"] == {
        "delta.identity.start": 10,
        "delta.identity.step": -5,
        "delta.identity.allowExplicitInsert": True,
    }
    assert "identityColumns" in (table.snapshot().protocol.writer_features or ())
    table.append([{"v": 1}, {"v": 2}])
    table.append([{"id": 3, "v": 3}])
    assert table.snapshot().scan(filter="v < 3").to_arrow()["id"].to_pylist() == [10, 5]


@pytest.mark.parametrize(
    "columns",
    [
        identity(start="1", step="0"),
        identity(start="one", step="1"),
        identity(start="1", step="1", allowExplicitInsert="perhaps"),
        pa.schema([pa.field("id", pa.int32(), metadata={"delta.identity.start": "1"})]),
    ],
)
def test_invalid_identity_columns(columns: pa.Schema, tmp_path: Path) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.create_table(tmp_path / "t", columns)
    assert caught.value.code == "column.identity"


def test_protocol_versions_are_not_stored_as_properties(tmp_path: Path) -> None:
    versions = {"delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}
    table = dr.create_table(tmp_path / "t", SCHEMA, properties=versions)
    assert table.snapshot().protocol == dr.Protocol(2, 5)
    assert table.snapshot().properties == {}

    table.set_properties({"delta.minReaderVersion": "1", "delta.minWriterVersion": "6"})
    assert table.snapshot().protocol == dr.Protocol(2, 6)
    assert table.snapshot().properties == {}


def test_a_version_that_is_not_set_is_that_of_the_table(tmp_path: Path) -> None:
    first = {"delta.minReaderVersion": "1", "delta.minWriterVersion": "1"}
    table = dr.create_table(tmp_path / "t", SCHEMA, properties=first)
    table.set_properties({"delta.minReaderVersion": "2"})
    assert table.snapshot().protocol == dr.Protocol(1, 1)
    with pytest.raises(dr.InvalidArgumentError, match="minWriterVersion 7, not 1") as caught:
        table.set_properties({"delta.minReaderVersion": "3"})
    assert caught.value.code == "protocol.version"
    table.add_feature("domainMetadata")
    table.set_properties({"delta.minReaderVersion": "3"})
    assert table.snapshot().protocol == dr.Protocol(1, 7, None, ["domainMetadata"])


def test_a_lower_version_is_ignored(log: logs.LogBuilder) -> None:
    """As in delta-spark, column mapping is a feature of the versions (2, 5), but not of (1, 5)."""
    log.create(logs.schema(id="long"), protocol_action=logs.protocol(2, 2))
    table = dr.Table(log.uri)
    table.set_properties({"delta.minReaderVersion": "1", "delta.minWriterVersion": "5"})
    assert table.snapshot().protocol == dr.Protocol(2, 5)


Create = Callable[[Path], object]

REFUSED: dict[str, tuple[Create, str]] = {
    "a partition column that is not there": (
        lambda at: dr.create_table(at, SCHEMA, ["x"]),
        "transaction.partition_columns",
    ),
    "a partition column twice": (
        lambda at: dr.create_table(at, SCHEMA, ["day", "day"]),
        "transaction.partition_columns",
    ),
    "nothing but partition columns": (
        lambda at: dr.create_table(at, SCHEMA, ["day", "id", "note"]),
        "transaction.partition_columns",
    ),
    "a partition column that is an identity column": (
        lambda at: dr.create_table(at, identity(start="1", step="1"), ["id"]),
        "transaction.partition_columns",
    ),
    "a bad name": (
        lambda at: dr.create_table(at, pa.schema([("a b", pa.int64())])),
        "transaction.column_name",
    ),
    "a bad name of a field": (
        lambda at: dr.create_table(at, pa.schema([("a", pa.struct([("b,c", pa.int64())]))])),
        "transaction.column_name",
    ),
    "a column of the change data feed": (
        lambda at: dr.create_table(
            at,
            pa.schema([("_change_type", pa.string())]),
            properties={"delta.enableChangeDataFeed": "true"},
        ),
        "transaction.column_name",
    ),
    "a type that tables do not have": (
        lambda at: dr.create_table(at, pa.schema([("a", pa.time64("us"))])),
        "schema.arrow_type",
    ),
    "a column twice": (
        lambda at: dr.create_table(at, pa.schema([("a", pa.int64()), ("A", pa.int32())])),
        "schema.duplicate_column",
    ),
    "an unknown property": (
        lambda at: dr.create_table(at, SCHEMA, properties={"delta.foo": "1"}),
        "properties.unknown",
    ),
    "properties that disagree": (
        lambda at: dr.create_table(
            at, SCHEMA, properties={"delta.logRetentionDuration": "interval 1 day"}
        ),
        "properties.combination",
    ),
    "Iceberg without its rules": (
        lambda at: dr.create_table(
            at, SCHEMA, properties={"delta.universalFormat.enabledFormats": "iceberg"}
        ),
        "properties.combination",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_definitions_are_refused(case: str, tmp_path: Path) -> None:
    create, code = REFUSED[case]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        create(tmp_path / "t")
    assert caught.value.code == code
    assert not (tmp_path / "t").exists()


def test_a_feature_that_cannot_be_written(tmp_path: Path) -> None:
    properties = {"delta.enableIcebergCompatV2": "true", "delta.columnMapping.mode": "name"}
    with pytest.raises(dr.UnsupportedFeatureError, match="icebergCompatV2"):
        dr.create_table(tmp_path / "t", SCHEMA, properties=properties)
    assert not dr.is_table(tmp_path / "t")


def test_a_table_is_created_once(tmp_path: Path) -> None:
    dr.create_table(tmp_path / "t", SCHEMA)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.create_table(tmp_path / "t", SCHEMA)
    assert caught.value.code == "table.exists"


def fields(table: dr.Table) -> list[dict[str, object]]:
    result: list[dict[str, object]] = json.loads(table.snapshot().schema_json)["fields"]
    return result


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_of_a_new_table_are_mapped(tmp_path: Path, mode: str) -> None:
    nested = pa.schema([("id", pa.int64()), ("s", pa.list_(pa.struct([("x", pa.int32())])))])
    table = dr.create_table(tmp_path / "t", nested, properties={"delta.columnMapping.mode": mode})

    assert table.snapshot().properties["delta.columnMapping.maxColumnId"] == "3"
    first, second = fields(table)
    inner = second["type"]["elementType"]["fields"][0]  # type: ignore[index]
    mapped = [field["metadata"] for field in (first, second, inner)]
    assert [item["delta.columnMapping.id"] for item in mapped] == [1, 2, 3]
    names = {item["delta.columnMapping.physicalName"] for item in mapped}
    assert len(names) == 3
    assert all(len(name) == 40 and name.startswith("col-") for name in names)


def test_columns_are_added_and_dropped(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.rename_column("id", "number")
    assert caught.value.code == "alter.column_mapping"

    table.set_properties({"delta.columnMapping.mode": "name"})
    [only] = fields(table)
    assert only["metadata"] == {
        "delta.columnMapping.id": 1,
        "delta.columnMapping.physicalName": "id",
    }
    table.add_columns(pa.schema([("a b", pa.string()), ("c", pa.int64())]))
    table.rename_column("id", "number")
    table.drop_column("c")
    table.set_comment("a comment", "number")
    first, second = fields(table)

    assert first["name"] == "number"
    assert first["metadata"]["delta.columnMapping.physicalName"] == "id"  # type: ignore[index]
    assert first["metadata"]["comment"] == "a comment"  # type: ignore[index]
    assert second["metadata"]["delta.columnMapping.id"] == 2  # type: ignore[index]
    assert table.snapshot().properties["delta.columnMapping.maxColumnId"] == "3"
    table.add_columns(pa.schema([("c", pa.int64())]))
    assert fields(table)[2]["metadata"]["delta.columnMapping.id"] == 4  # type: ignore[index]


ALTERED: dict[str, tuple[Callable[[dr.Table], object], str]] = {
    "a column that is not there": (lambda table: table.set_comment("x", "y"), "alter.column"),
    "a column that may not be null": (
        lambda table: table.add_columns(pa.schema([pa.field("x", pa.int64(), nullable=False)])),
        "alter.column",
    ),
    "a generated column, which existing rows lack": (
        lambda table: table.add_columns(
            pa.schema([pa.field("x", pa.int64(), metadata={"delta.generationExpression": "1"})])
        ),
        "alter.column",
    ),
    "a mode that rewrites files": (
        lambda table: table.set_properties({"delta.columnMapping.mode": "id"}),
        "alter.column_mapping",
    ),
    "a property that is not set": (
        lambda table: table.unset_properties(["owner"]),
        "alter.property_absent",
    ),
    "a feature that does not exist": (
        lambda table: table.add_feature("x"),
        "protocol.unknown_feature",
    ),
}


@pytest.mark.parametrize("case", ALTERED)
def test_invalid_alterations_are_refused(case: str, tmp_path: Path) -> None:
    alter, code = ALTERED[case]
    table = unpartitioned(tmp_path / "t")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        alter(table)
    assert caught.value.code == code
    assert table.snapshot().version == 1


def test_partition_columns_and_columns_of_constraints_stay(tmp_path: Path) -> None:
    table = dr.create_table(
        tmp_path / "t",
        SCHEMA,
        ["day"],
        {"delta.columnMapping.mode": "name", "delta.constraints.c": "NOTE <> ''"},
    )
    for column in ("day", "note"):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.drop_column(column)
        assert caught.value.code == "alter.column"
    table.drop_column("id")
    with pytest.raises(dr.InvalidArgumentError, match="is referenced by") as caught:
        table.rename_column("note", "text")
    assert caught.value.code == "alter.column"


def test_columns_that_a_constraint_quotes_stay(tmp_path: Path) -> None:
    names = ("a b", "c-d", "e`f")
    schema = pa.schema([("id", pa.int64()), *((name, pa.int64()) for name in names)])
    properties = {
        "delta.columnMapping.mode": "name",
        "delta.constraints.c": "`A b` > 0 AND `c-d` > 0 AND `e``f` > 0",
    }
    table = dr.create_table(tmp_path / "t", schema, properties=properties)
    for name in names:
        for change in (table.drop_column, lambda name: table.rename_column(name, "x")):
            with pytest.raises(dr.InvalidArgumentError, match="is referenced by") as caught:
                change([name])
            assert caught.value.code == "alter.column"


def test_fields_in_arrays_that_a_constraint_references_stay(tmp_path: Path) -> None:
    items = pa.list_(pa.struct([("price", pa.int64()), ("element", pa.int64())]))
    properties = {
        "delta.columnMapping.mode": "name",
        "delta.constraints.c": "forall(items, i -> i.price > 0)",
    }
    schema = pa.schema([("items", items)])
    table = dr.create_table(tmp_path / "t", schema, properties=properties)
    with pytest.raises(dr.InvalidArgumentError, match="is referenced by"):
        table.rename_column(["items", "element", "price"], "cost")
    table.rename_column(["items", "element", "element"], "part")


def test_a_property_that_writers_maintain_stays(tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": "id"}
    table = dr.create_table(tmp_path / "t", SCHEMA, properties=properties)
    table.drop_column("id")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.unset_properties(["delta.columnmapping.maxColumnId"], if_exists=True)
    assert caught.value.code == "properties.internal"
    table.add_columns(pa.schema([("x", pa.int64())]))
    ids = [field["metadata"]["delta.columnMapping.id"] for field in fields(table)]  # type: ignore[index]
    assert ids == [2, 3, 4]


def test_properties_are_set_and_unset(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    table.set_properties({"DELTA.checkpointinterval": "20", "owner": "me"})
    assert table.snapshot().properties == {"delta.checkpointInterval": "20", "owner": "me"}
    table.unset_properties(["owner"])
    assert table.snapshot().properties == {"delta.checkpointInterval": "20"}
    table.set_comment("text")
    assert table.snapshot().metadata.description == "text"


def test_the_property_comment_is_the_description(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    table.set_properties({"comment": "one row per event", "owner": "me"})
    assert table.snapshot().metadata.description == "one row per event"
    assert table.snapshot().properties == {"owner": "me"}
    table.unset_properties(["comment", "owner"])
    assert table.snapshot().metadata.description is None
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.unset_properties(["comment"])
    assert caught.value.code == "alter.property_absent"


def test_in_commit_timestamps_start_where_they_are_enabled(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    before = table.snapshot().timestamp
    version = table.set_properties({"delta.enableInCommitTimestamps": "true"})
    snapshot = table.snapshot()

    assert snapshot.timestamp > before
    assert snapshot.properties["delta.inCommitTimestampEnablementVersion"] == str(version)
    reported = snapshot.properties["delta.inCommitTimestampEnablementTimestamp"]
    assert reported == str(snapshot.in_commit_timestamp)
    table.set_properties({"delta.enableInCommitTimestamps": "false"})
    assert table.snapshot().properties == {"delta.enableInCommitTimestamps": "false"}


def test_rows_that_have_no_ids_cannot_be_tracked(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    metadata = table.snapshot().metadata
    tracked = {**metadata.configuration, "delta.enableRowTracking": "true"}
    with pytest.raises(dr.UnsupportedFeatureError) as caught, table.transaction() as transaction:
        transaction.set_metadata(replace(metadata, configuration=tracked))
    assert caught.value.code == "alter.row_tracking"
    empty = logs.LogBuilder(tmp_path / "empty")
    empty.create(logs.schema(id="long"))
    table = dr.Table(empty.uri)
    table.set_properties({"delta.enableRowTracking": "true"})
    name = table.snapshot().properties["delta.rowTracking.materializedRowIdColumnName"]
    assert name.startswith("_row-id-col-")


@pytest.mark.parametrize("mode", ["none", "name"])
def test_partition_columns_in_another_case(mode: str, tmp_path: Path) -> None:
    """The schema's spelling is used, as in delta-spark 4.4."""
    types = pa.schema([("id", pa.int64()), ("Day", pa.string())])
    properties = {"delta.columnMapping.mode": mode}
    table = dr.create_table(tmp_path / "t", types, partition_columns=["DAY"], properties=properties)
    table.append([{"id": 1, "Day": "mon"}])
    written = {"id": [1], "Day": ["mon"]}
    dr.write(tmp_path / "w", written, partition_columns=["dAY"], properties=properties)
    dr.write(tmp_path / "r", written)
    replaced = dr.Table(tmp_path / "r")
    replaced.overwrite(written, schema_mode="overwrite", partition_columns=["day"])
    created = dr.create_table(tmp_path / "r", types, partition_columns=["day"], or_replace=True)
    assert created.snapshot().partition_columns == ["Day"]
    for version, name in ((None, "t"), (None, "w"), (1, "r")):
        snapshot = dr.Table(tmp_path / name).snapshot(version)
        assert snapshot.partition_columns == ["Day"]
        assert snapshot.scan(filter="day = 'mon'").to_arrow().to_pylist() == [
            {"id": 1, "Day": "mon"}
        ]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.create_table(tmp_path / "two", types, partition_columns=["Day", "day"])
    assert caught.value.code == "transaction.partition_columns"


def test_rows_need_a_column_in_the_files(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([]))
    with pytest.raises(dr.UnsupportedFeatureError, match="add one that is not a partition column"):
        table.append([{}])
