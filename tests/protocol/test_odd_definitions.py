"""Protocols and metadata that contradict themselves, as other writers have left them in logs."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import data, logs

import deltareplay as dr

SCHEMA = logs.schema(id="long", BIRTH="integer")


def log_of(path: Path, protocol: dict[str, Any], partition_columns: list[str]) -> logs.LogBuilder:
    log = logs.LogBuilder(path)
    values = dict.fromkeys(partition_columns, "1")
    add = data.write(path, "f.parquet", {"id": [0]}, partition_values=values)
    action = {"protocol": protocol}
    log.create(SCHEMA, add, protocol_action=action, partition_columns=partition_columns)
    return log


def table_of(path: Path, protocol: dict[str, Any], partition_columns: list[str]) -> dr.Table:
    return dr.Table(log_of(path, protocol, partition_columns).uri)


@pytest.mark.parametrize(
    ("versions", "lists"),
    [
        # deltalake 0.25 logs these when it restores (delta-io/delta-rs issue 3354)
        ((1, 2), ["readerFeatures", "writerFeatures"]),
        ((1, 7), ["readerFeatures", "writerFeatures"]),
        ((2, 5), ["writerFeatures"]),
    ],
    ids=str,
)
def test_empty_lists_with_old_versions_are_absent(
    tmp_path: Path, versions: tuple[int, int], lists: list[str]
) -> None:
    protocol = dict(zip(("minReaderVersion", "minWriterVersion"), versions, strict=True))
    table = table_of(tmp_path / "t", {**protocol, **{name: [] for name in lists}}, ["BIRTH"])
    snapshot = table.snapshot()
    read = snapshot.protocol
    assert (read.min_reader_version, read.min_writer_version) == versions
    assert read.reader_features is None
    assert read.writer_features == ([] if versions[1] == 7 else None)
    assert [warning.code for warning in snapshot.warnings] == ["protocol.empty_lists"]
    table.append({"id": [1], "BIRTH": [2]})
    table.checkpoint()
    assert dr.Table(table.uri).snapshot().scan().count() == 2
    result = dr.Table(table.uri).verify().findings
    assert {(item.severity, item.code) for item in result} == {("warning", "protocol.empty_lists")}
    with pytest.raises(dr.CorruptTableError, match="empty list"):
        dr.Table(table.uri).snapshot(0, strict=True)


EMPTY_LISTS = {"minReaderVersion": 1, "minWriterVersion": 2, "readerFeatures": []}


@pytest.mark.parametrize("fields", [{}, {"protocol": None}], ids=["protocol", "no protocol"])
def test_empty_lists_do_not_contradict_a_checksum(tmp_path: Path, fields: dict[str, None]) -> None:
    log = log_of(tmp_path / "t", EMPTY_LISTS, [])
    log.checksum(**fields)
    snapshot = dr.Table(log.uri).snapshot()
    assert snapshot.scan().count() == snapshot.files().num_rows == 1
    assert [warning.code for warning in snapshot.warnings] == ["protocol.empty_lists"]
    assert {item.code for item in dr.Table(log.uri).verify().findings} == {"protocol.empty_lists"}


def test_empty_lists_do_not_prevent_the_fallback_from_a_checkpoint(tmp_path: Path) -> None:
    log = log_of(tmp_path / "t", EMPTY_LISTS, [])
    log.commit(logs.add("g"))
    [checkpoint] = log.checkpoint(kind="v2-json", parts=1)
    snapshot = dr.Table(log.uri).snapshot()
    for sidecar in (checkpoint.parent / "_sidecars").iterdir():
        sidecar.unlink()
    assert snapshot.files().num_rows == 2
    codes = {warning.code for warning in snapshot.warnings}
    assert codes == {"protocol.empty_lists", "checkpoint.unreadable"}


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        (
            {"minReaderVersion": 3, "minWriterVersion": 7},
            "requires readerFeatures, which are missing",
        ),
        (
            {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": []},
            "requires writerFeatures, which are missing",
        ),
        (
            {"minReaderVersion": 1, "minWriterVersion": 2, "readerFeatures": ["deletionVectors"]},
            "readerFeatures are allowed only with reader version 3, not with version 1",
        ),
    ],
    ids=["no lists", "half a list", "a list too many"],
)
def test_other_contradictions_are_refused(
    tmp_path: Path, protocol: dict[str, Any], message: str
) -> None:
    table = table_of(tmp_path / "t", protocol, [])
    with pytest.raises(dr.CorruptTableError, match=message) as caught:
        table.snapshot()
    assert caught.value.code == "protocol.malformed"
    [finding] = [
        finding for finding in table.verify().findings if finding.code == "protocol.malformed"
    ]
    assert "knows the feature" not in str(finding)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        # ClickHouse/ClickHouse issue 114462; delta-spark and deltalake refuse both
        ("birth", '"birth", which the schema spells "BIRTH"'),
        ("p", '"p", which is not in the schema'),
    ],
)
def test_partition_columns_are_columns_of_the_schema(
    tmp_path: Path, column: str, message: str
) -> None:
    table = table_of(tmp_path / "t", {"minReaderVersion": 1, "minWriterVersion": 2}, [column])
    with pytest.raises(dr.CorruptTableError, match=message) as caught:
        table.snapshot()
    assert caught.value.code == "transaction.partition_columns"
    assert caught.value.path == "_delta_log/00000000000000000000.json"
    assert "transaction.partition_columns" in {finding.code for finding in table.verify().findings}


@pytest.mark.parametrize("feature", ["typeWidening", "typeWidening-preview", None])
@pytest.mark.parametrize(
    ("before", "after", "is_valid"),
    [
        ("byte", "double", True),
        ("decimal(6, 2)", "decimal(8,3)", True),
        ("varchar(4)", "string", True),
        ("integer", "date", False),
        ("long", "double", False),
        ("decimal(6,2)", "decimal(6,3)", False),
        ("later", "string", False),
    ],
)
def test_type_changes_are_those_of_the_protocol(
    log: logs.LogBuilder, before: str, after: str, is_valid: bool, feature: str | None
) -> None:
    """The protocol, "Reader Requirements for Type Widening": fail on an unsupported change."""
    change = {"fromType": before, "toType": after, "fieldPath": "element"}
    array = {"type": "array", "elementType": after}
    column = {"name": "a", "type": array | {"containsNull": True}, "nullable": True}
    fields = [column | {"metadata": {"delta.typeChanges": [change]}}]
    features = [feature] if feature else []
    versions = {"minReaderVersion": 3, "minWriterVersion": 7}
    action = {"protocol": versions | {"readerFeatures": features, "writerFeatures": features}}
    log.create(json.dumps({"type": "struct", "fields": fields}), protocol_action=action)
    table = dr.Table(log.uri)
    if is_valid or feature is None:
        assert table.snapshot().scan().to_arrow().column_names == ["a"]
        return
    with pytest.raises(
        dr.UnsupportedFeatureError, match=re.escape(f'"{before}" to "{after}"')
    ) as caught:
        table.snapshot()
    assert caught.value.code == "schema.type_change"


def test_a_partition_column_of_the_type_void_is_null(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long", p="void"), partition_columns=["p"])
    log.commit(data.write(log.table, "a.parquet", {"id": [1]}, partition_values={"p": None}))
    snapshot = dr.Table(log.uri).snapshot()
    for condition, num_rows in (("p IS NULL", 1), ("p <=> NULL", 1), ("p IS NOT NULL", 0)):
        assert snapshot.files(filter=condition).num_rows == num_rows
        assert snapshot.scan(filter=condition).to_arrow().num_rows == num_rows


@pytest.mark.parametrize(("ids", "names"), [((1, 2), ("p", "p")), ((1, 1), ("p", "q"))])
def test_rows_are_not_written_to_columns_that_cannot_be_told_apart(
    ids: tuple[int, int], names: tuple[str, str], tmp_path: Path
) -> None:
    """A file with two columns of one name or id is unreadable, and with it the version."""
    fields = [
        logs.field_json(column, "long", metadata=_mapping(number, name))
        for column, number, name in zip("ab", ids, names, strict=True)
    ]
    log = logs.LogBuilder(tmp_path)
    log.create(
        json.dumps({"type": "struct", "fields": fields}),
        protocol_action=logs.features("columnMapping"),
        configuration={"delta.columnMapping.mode": "id"},
    )
    with pytest.raises(dr.CorruptTableError) as caught:
        dr.Table(tmp_path).append({"a": [1], "b": [2]})
    assert caught.value.code == "schema.column_mapping"
    assert dr.Table(tmp_path).snapshot().version == 0


@pytest.mark.parametrize("greatest", [2**31 - 1, 2**63 - 1])
def test_a_new_column_gets_no_id_that_parquet_does_not_have(greatest: int, tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    field = logs.field_json("a", "long", metadata=_mapping(1, "p"))
    log.create(
        json.dumps({"type": "struct", "fields": [field]}),
        protocol_action=logs.features("columnMapping"),
        configuration={
            "delta.columnMapping.mode": "name",
            "delta.columnMapping.maxColumnId": str(greatest),
        },
    )
    table = dr.Table(tmp_path)
    with pytest.raises(dr.CorruptTableError, match=f"above {greatest}") as caught:
        table.add_columns(pa.schema({"b": pa.int64()}))
    assert caught.value.code == "schema.column_mapping"
    assert table.snapshot().version == 0
    assert table.set_properties({"owner": "me"}) == 1


def _mapping(number: int, name: str) -> dict[str, Any]:
    return {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": name}


def test_another_name_of_the_feature_timestamp_ntz(tmp_path: Path) -> None:
    """delta-io/delta-kernel-rs issue 2557: such tables exist; the name is not logged again."""
    log = logs.LogBuilder(tmp_path)
    log.create(
        logs.schema(at="timestamp_ntz"), protocol_action=logs.features("timestampWithoutTimezone")
    )
    table = dr.Table(tmp_path)
    table.append({"at": [dt.datetime(2024, 5, 6)]})
    assert table.snapshot().to_arrow().to_pylist() == [{"at": dt.datetime(2024, 5, 6)}]
    table.add_feature("deletionVectors")
    assert table.snapshot().protocol.reader_features == ["deletionVectors", "timestampNtz"]
