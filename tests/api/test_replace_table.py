"""``create_table`` if the table exists already."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.writing import bodies

import deltareplay as dr

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("note", pa.string())])
OTHER = pa.schema([("id", pa.int64()), ("note", pa.int32())])


def _with_rows(at: Path, **properties: str) -> dr.Table:
    configuration = {key.replace("__", "."): value for key, value in properties.items()}
    table = dr.create_table(at, SCHEMA, ["day"], configuration, name="n", description="d")
    table.append(pa.table({"id": [1, 2], "note": ["a", "b"]}))
    return table


def test_an_existing_table_is_kept(tmp_path: Path) -> None:
    table = _with_rows(tmp_path / "t")
    existing = dr.create_table(tmp_path / "t", OTHER, if_not_exists=True)
    assert existing == table
    assert existing.snapshot().version == 1
    assert existing.snapshot().schema.names == ["id", "day", "note"]


def test_a_missing_table_is_created(tmp_path: Path) -> None:
    for flags in ({"if_not_exists": True}, {"or_replace": True}):
        table = dr.create_table(tmp_path / "-".join(flags), OTHER, **flags)
        [info] = bodies(table, 0, "commitInfo")
        assert table.snapshot().version == 0
        assert info["operation"] == (
            "CREATE OR REPLACE TABLE" if "or_replace" in flags else "CREATE TABLE"
        )


def test_both_flags_contradict_each_other(tmp_path: Path) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.create_table(tmp_path / "t", OTHER, if_not_exists=True, or_replace=True)
    assert caught.value.code == "create.mode"
    assert not dr.is_table(tmp_path / "t")


def test_the_new_table_replaces_all_but_the_history(tmp_path: Path) -> None:
    table = _with_rows(tmp_path / "t", owner="me")
    before = table.snapshot()
    replaced = dr.create_table(tmp_path / "t", OTHER, properties={"k": "v"}, or_replace=True)
    after = replaced.snapshot()

    assert (after.version, after.num_files) == (2, 0)
    assert after.schema.names == ["id", "note"]
    assert after.partition_columns == []
    assert after.properties == {"k": "v"}
    assert after.metadata.id != before.metadata.id
    assert (after.metadata.name, after.metadata.description) == (None, None)
    assert after.protocol == before.protocol
    assert replaced.snapshot(1).scan().to_arrow().num_rows == 2
    [info] = bodies(table, 2, "commitInfo")
    assert info["operation"] == "CREATE OR REPLACE TABLE"
    assert info["readVersion"] == 1
    assert info["isBlindAppend"] is False
    assert info["operationParameters"] == {
        "partitionBy": "[]",
        "clusterBy": "[]",
        "description": None,
        "isManaged": "false",
        "properties": '{"k":"v"}',
    }
    [remove] = bodies(table, 2, "remove")
    assert remove["path"] == before.files().column("path")[0].as_py()
    assert remove["dataChange"] is True
    assert replaced.verify().ok


def test_protocols_are_only_upgraded(tmp_path: Path) -> None:
    at = tmp_path / "t"
    dr.create_table(at, SCHEMA, properties={"delta.columnMapping.mode": "name"})
    before = dr.Table(at).snapshot().protocol
    dr.create_table(at, OTHER, or_replace=True)
    assert dr.Table(at).snapshot().protocol == before
    dr.create_table(
        at, OTHER, properties={"delta.enableInCommitTimestamps": "true"}, or_replace=True
    )
    snapshot = dr.Table(at).snapshot()
    assert set(snapshot.protocol.writer_features or ()) == {
        "appendOnly",
        "columnMapping",
        "inCommitTimestamp",
        "invariants",
    }
    assert snapshot.properties["delta.inCommitTimestampEnablementVersion"] == "2"


def test_the_start_of_in_commit_timestamps_stays_known(tmp_path: Path) -> None:
    table = _with_rows(tmp_path / "t")
    enabled = {"delta.enableInCommitTimestamps": "true"}
    table.set_properties(enabled)
    start = {
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": str(table.snapshot().in_commit_timestamp),
    }
    dr.create_table(tmp_path / "t", OTHER, properties=enabled, or_replace=True)
    assert table.snapshot().properties == enabled | start
    with table.transaction() as transaction:
        metadata = table.snapshot().metadata
        transaction.set_metadata(dataclasses.replace(metadata, configuration=enabled))
    assert table.snapshot().properties == enabled | start
    dr.create_table(tmp_path / "t", OTHER, or_replace=True)
    assert table.snapshot().properties == {}


def test_vectors_and_tracking_stay_enabled(tmp_path: Path) -> None:
    at = tmp_path / "t"
    both = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}
    table = dr.create_table(at, SCHEMA, properties={**both, "k": "v"})
    table.append(pa.table({"id": [1, 2]}))
    names = {
        key: value
        for key, value in table.snapshot().properties.items()
        if key.startswith("delta.rowTracking.")
    }
    dr.create_table(at, OTHER, or_replace=True)
    assert table.snapshot().properties == {**both, **names}
    table.append(pa.table({"id": [3]}))
    ids = table.snapshot().scan(with_row_id=True).to_arrow().column("_row_id").to_pylist()
    assert ids == [2]

    off = {"delta.enableDeletionVectors": "false"}
    dr.create_table(at, OTHER, properties=off, or_replace=True)
    assert table.snapshot().properties["delta.enableDeletionVectors"] == "false"


def test_replacing_a_table_with_rows_may_enable_row_tracking(tmp_path: Path) -> None:
    table = _with_rows(tmp_path / "t")
    tracked = {"delta.enableRowTracking": "true"}
    dr.create_table(tmp_path / "t", OTHER, properties=tracked, or_replace=True)
    table.append(pa.table({"id": [3]}))
    ids = table.snapshot().scan(with_row_id=True).to_arrow().column("_row_id").to_pylist()
    assert ids == [0]


def _mapping(snapshot: dr.Snapshot) -> dict[str, Any]:
    fields = json.loads(snapshot.schema_json)["fields"]
    return {
        field["name"]: (
            field["metadata"]["delta.columnMapping.id"],
            field["metadata"]["delta.columnMapping.physicalName"],
        )
        for field in fields
    }


def test_columns_of_the_same_type_keep_their_ids(tmp_path: Path) -> None:
    at, named = tmp_path / "t", {"delta.columnMapping.mode": "name"}
    before = _mapping(dr.create_table(at, SCHEMA, properties=named).snapshot())
    after = dr.create_table(at, OTHER, properties=named, or_replace=True).snapshot()
    mapped = _mapping(after)
    assert mapped["id"] == before["id"]
    assert mapped["note"][0] == 4  # another type: another column
    assert mapped["note"][1] not in {name for _, name in before.values()}
    assert after.properties["delta.columnMapping.maxColumnId"] == "4"

    by_id = {"delta.columnMapping.mode": "id"}
    mapped = _mapping(dr.create_table(at, OTHER, properties=by_id, or_replace=True).snapshot())
    assert {number for number, _ in mapped.values()} == {5, 6}


def test_replacing_a_table_ends_its_clustering(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", OTHER)
    table.cluster_by(["id"])
    with pytest.raises(dr.InvalidArgumentError) as caught:  # as in delta-spark
        dr.create_table(tmp_path / "t", SCHEMA, ["day"], or_replace=True)
    assert caught.value.code == "transaction.partition_columns"
    dr.create_table(tmp_path / "t", SCHEMA, or_replace=True)
    domains = table.snapshot().domain_metadata
    assert json.loads(domains["delta.clustering"]) == {"clusteringColumns": []}


@pytest.mark.parametrize(
    ("new", "clustered"),
    [
        ({"other": [1]}, []),
        ({"id": [[1]]}, []),  # an array cannot cluster
        ({"id": [1], "other": [2]}, [["id"]]),
    ],
)
def test_other_columns_end_a_clustering_by_the_old_ones(
    tmp_path: Path, new: dict[str, list[Any]], clustered: list[list[str]]
) -> None:
    table = dr.create_table(tmp_path / "t", OTHER)
    table.cluster_by(["id"])
    table.overwrite(pa.table(new), schema_mode="overwrite")
    domain = json.loads(table.snapshot().domain_metadata["delta.clustering"])
    assert domain == {"clusteringColumns": clustered}
    table.optimize()


def test_rows_of_append_only_tables_stay(tmp_path: Path) -> None:
    table = _with_rows(tmp_path / "t", delta__appendOnly="true")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.create_table(tmp_path / "t", OTHER, or_replace=True)
    assert caught.value.code == "transaction.append_only"
    assert table.snapshot().version == 1

    other = _with_rows(tmp_path / "other")
    dr.create_table(
        tmp_path / "other", OTHER, properties={"delta.appendOnly": "true"}, or_replace=True
    )
    assert other.snapshot().num_files == 0


def test_a_bad_definition_changes_nothing(tmp_path: Path) -> None:
    table = _with_rows(tmp_path / "t")
    arguments: dict[str, Any]
    for arguments, code in (
        ({"partition_columns": ["nothing"]}, "transaction.partition_columns"),
        ({"properties": {"delta.appendOnly": "perhaps"}}, "properties.value"),
    ):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            dr.create_table(tmp_path / "t", OTHER, or_replace=True, **arguments)
        assert caught.value.code == code
    assert table.snapshot().version == 1


def test_replacing_a_table_conflicts_with_an_open_transaction(tmp_path: Path) -> None:
    table = _with_rows(tmp_path / "t")
    transaction = table.transaction()
    dr.create_table(tmp_path / "t", OTHER, or_replace=True)
    transaction.set_transaction("a", 1)
    with pytest.raises(dr.CommitConflictError) as caught:
        transaction.commit()
    assert caught.value.conflict == "MetadataChangedException"
