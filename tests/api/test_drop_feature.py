"""``Table.drop_feature`` of features that rewrite files, and row tracking of existing tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs
from support.writing import actions, bodies

import deltareplay as dr

PROTECTION = {"delta.requireCheckpointProtectionBeforeVersion"}


def filled(root: Path, properties: Mapping[str, str]) -> dr.Table:
    """A table of three commits of rows: ids 0 to 11, even ones in part a."""
    schema = pa.schema([("id", pa.int64()), ("part", pa.string())])
    table = dr.create_table(root / "t", schema, partition_columns=["part"], properties=properties)
    for first in (0, 4, 8):
        ids = range(first, first + 4)
        table.append({"id": list(ids), "part": ["ab"[number % 2] for number in ids]})
    return table


def ids(table: dr.Table, version: int | None = None) -> list[int]:
    return sorted(table.snapshot(version).scan(["id"]).to_arrow()["id"].to_pylist())


def operations(table: dr.Table, since: int) -> list[str]:
    versions = range(since, table.snapshot().version + 1)
    return [bodies(table, version, "commitInfo")[0]["operation"] for version in versions]


def data_changes(table: dr.Table, since: int) -> set[bool]:
    return {
        line[kind]["dataChange"]
        for version in range(since, table.snapshot().version + 1)
        for line in actions(table, version)
        for kind in ("add", "remove")
        if kind in line
    }


def dropped(table: dr.Table, feature: str) -> dr.Snapshot:
    """Drop a feature that readers must support; check that the rows of all versions stay."""
    before = table.snapshot()
    rows = {version: ids(table, version) for version in range(1, before.version + 1)}
    version = table.drop_feature(feature)
    after = table.snapshot()
    assert after.version == version
    assert feature not in (after.protocol.reader_features or ())
    assert feature not in (after.protocol.writer_features or ())
    assert "checkpointProtection" in (after.protocol.writer_features or ())
    assert after.properties["delta.requireCheckpointProtectionBeforeVersion"] == str(version)
    assert ids(table) == rows[before.version]
    assert {earlier: ids(table, earlier) for earlier in rows} == rows
    assert data_changes(table, before.version + 1) <= {False}
    steps = operations(table, before.version + 1)
    assert steps[-4:] == ["EMPTY COMMIT"] * 3 + ["DROP FEATURE"]
    log = logs.local_path(table.uri) / "_delta_log"
    for protected in range(version - 3, version + 1):
        assert (log / f"{protected:020}.checkpoint.parquet").exists()
    assert table.verify().findings == (), str(table.verify())
    table.append({"id": [99], "part": ["a"]})
    assert ids(table) == [*rows[before.version], 99]
    return after


def test_deletion_vectors(tmp_path: Path) -> None:
    table = filled(tmp_path, {"delta.enableDeletionVectors": "true"})
    table.delete("id IN (1, 5, 9)")
    vectors = table.snapshot().files(["deletionVector"])["deletionVector"]
    assert vectors.null_count < len(vectors)
    after = dropped(table, "deletionVectors")
    assert after.files(["deletionVector"])["deletionVector"].null_count == after.num_files
    assert "delta.enableDeletionVectors" not in after.properties
    named = {line["path"] for line in bodies(table, after.version, "remove")}
    on_disk = {path.name for path in (tmp_path / "t").rglob("deletion_vector_*")}
    assert named == on_disk, "so that vacuum of writers without the feature keeps them"


def test_column_mapping(tmp_path: Path) -> None:
    table = filled(tmp_path, {"delta.columnMapping.mode": "name"})
    table.rename_column("part", "section")
    table.rename_column("section", "part")
    after = dropped(table, "columnMapping")
    assert "columnMapping" not in after.schema_json
    assert set(after.properties) == PROTECTION
    values = after.files(["partitionValues"])["partitionValues"].to_pylist()
    assert {tuple(dict(value)) for value in values} == {("part",)}


def test_clustering_columns_of_a_table_without_column_mapping(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("s", pa.struct([("x", pa.int64())]))])
    mapped = {"delta.columnMapping.mode": "name"}
    table = dr.create_table(tmp_path / "t", schema, properties=mapped)
    table.append({"id": [1, 2], "s": [{"x": 3}, {"x": 4}]})
    table.cluster_by(["s.x", "id"])
    table.drop_feature("columnMapping")
    domain = json.loads(table.snapshot().domain_metadata["delta.clustering"])
    assert domain == {"clusteringColumns": [["s", "x"], ["id"]]}
    table.append({"id": [3], "s": [{"x": 5}]})
    table.optimize()
    assert ids(table) == [1, 2, 3]
    assert table.verify().findings == (), str(table.verify())


def test_column_mapping_of_nested_columns(tmp_path: Path) -> None:
    x = pa.struct([("x", pa.int64()), ("many", pa.list_(pa.struct([("y", pa.string())])))])
    schema = pa.schema([("s", x), ("l", pa.list_(x)), ("m", pa.map_(pa.string(), x))])
    value = {"x": 1, "many": [{"y": "a"}, None]}
    rows = [{"s": value, "l": [value, None], "m": [("k", value)]}, {"s": None, "l": [], "m": None}]
    mapped = {"delta.columnMapping.mode": "name"}
    table = dr.create_table(tmp_path / "t", schema, properties=mapped)
    table.append(pa.Table.from_pylist(rows, schema))
    table.drop_feature("columnMapping")
    assert table.snapshot().scan().to_arrow().to_pylist() == rows
    [path] = (tmp_path / "t").glob(table.snapshot().files(["path"])["path"][0].as_py())
    assert pq.read_table(path).to_pylist() == rows


def test_names_that_need_column_mapping_are_refused(tmp_path: Path) -> None:
    table = filled(tmp_path, {"delta.columnMapping.mode": "name"})
    table.rename_column("id", "the id")
    version, files = table.snapshot().version, sorted((tmp_path / "t").rglob("*.parquet"))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.drop_feature("columnMapping")
    assert caught.value.code == "transaction.column_name"
    assert table.snapshot().version == version
    assert sorted((tmp_path / "t").rglob("*.parquet")) == files


def test_type_widening(tmp_path: Path) -> None:
    table = dr.create_table(
        tmp_path / "t",
        pa.schema([("id", pa.int32()), ("part", pa.string())]),
        partition_columns=["part"],
        properties={"delta.enableTypeWidening": "true"},
    )
    table.append({"id": [0, 1], "part": ["a", "b"]})
    table.widen_column("id", pa.int64())
    table.append({"id": [2, 3], "part": ["a", "b"]})
    old = set(table.snapshot().files(["path"])["path"].to_pylist())
    after = dropped(table, "typeWidening")
    assert "typeChanges" not in after.schema_json
    kept = old & set(after.files(["path"])["path"].to_pylist())
    assert len(kept) == 2, "files of the new type stay as they are"


def test_v2_checkpoints(tmp_path: Path) -> None:
    table = filled(tmp_path, {"delta.checkpointPolicy": "v2"})
    table.checkpoint()
    assert "delta.checkpointPolicy" not in dropped(table, "v2Checkpoint").properties


def test_vacuum_protocol_check(tmp_path: Path) -> None:
    table = filled(tmp_path, {"delta.feature.vacuumProtocolCheck": "supported"})
    dropped(table, "vacuumProtocolCheck")


def test_row_tracking_is_enabled_and_dropped(tmp_path: Path) -> None:
    table = filled(tmp_path, {})
    rows, before = ids(table), table.snapshot().version
    version = table.set_properties({"delta.enableRowTracking": "true"})
    steps = operations(table, before + 1)
    assert steps == ["UPGRADE PROTOCOL", "ROW TRACKING BACKFILL", "SET TBLPROPERTIES"]
    assert data_changes(table, before + 1) == {False}
    tracked = table.snapshot().scan(["id"], with_row_id=True).to_arrow()
    assert sorted(tracked["_row_id"].to_pylist()) == list(range(12))
    assert set(tracked["_row_commit_version"].to_pylist()) == {version - 1}
    table.append({"id": [12], "part": ["a"]})
    tracked = table.snapshot().scan(["id"], with_row_id=True).to_arrow()
    assert sorted(tracked["_row_id"].to_pylist()) == list(range(13))
    assert table.verify().findings == ()

    before = table.snapshot().version
    table.drop_feature("rowTracking")
    after = table.snapshot()
    assert operations(table, before + 1) == [
        "SET TBLPROPERTIES",
        "ROW TRACKING UNBACKFILL",
        "DROP FEATURE",
    ]
    files = after.files(["baseRowId", "defaultRowCommitVersion"])
    assert files["baseRowId"].null_count == files.num_rows
    assert files["defaultRowCommitVersion"].null_count == files.num_rows
    assert not [key for key in after.properties if "rowtracking" in key.lower()]
    assert after.domain_metadata == {}
    assert ids(table) == [*rows, 12]
    assert table.verify().findings == ()
    # it is enabled again, with new ids
    table.drop_feature("domainMetadata")
    table.set_properties({"delta.enableRowTracking": "true"})
    tracked = table.snapshot().scan(["id"], with_row_id=True).to_arrow()
    assert len(set(tracked["_row_id"].to_pylist())) == 13


def test_row_tracking_that_is_suspended_is_enabled_once_it_is_resumed(tmp_path: Path) -> None:
    table = filled(tmp_path, {})
    table.set_properties({"delta.rowTrackingSuspended": "true"})
    before = table.snapshot().version
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.set_properties({"delta.enableRowTracking": "true"})
    assert caught.value.code == "properties.combination"
    assert table.snapshot().version == before
    resumed = {"delta.enableRowTracking": "true", "delta.rowTrackingSuspended": "false"}
    table.set_properties(resumed)
    assert operations(table, before + 1) == [
        "UNSET TBLPROPERTIES",
        "UPGRADE PROTOCOL",
        "ROW TRACKING BACKFILL",
        "SET TBLPROPERTIES",
    ]
    assert table.snapshot().properties.items() >= resumed.items()
    tracked = table.snapshot().scan(["id"], with_row_id=True).to_arrow()
    assert sorted(tracked["_row_id"].to_pylist()) == list(range(12))
    assert table.verify().findings == ()


def test_a_table_that_tracks_rows_and_suspends_it_takes_no_new_files(tmp_path: Path) -> None:
    table = filled(tmp_path, {"delta.enableRowTracking": "true"})
    before = table.snapshot()
    # the metadata of a writer that does not check its properties
    metadata = bodies(table, 0, "metaData")[0]
    metadata["configuration"]["delta.rowTrackingSuspended"] = "true"
    commit = tmp_path / f"t/_delta_log/{before.version + 1:020}.json"
    commit.write_text(json.dumps({"metaData": metadata}))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append(before.to_arrow())
    assert caught.value.code == "properties.combination"
    table.unset_properties(["delta.rowTrackingSuspended"])
    table.append(before.to_arrow())
    assert table.snapshot().files(["baseRowId"])["baseRowId"].null_count == 0


def test_row_tracking_is_enabled_for_a_vector_without_wide_bounds(tmp_path: Path) -> None:
    """Not all writers set ``tightBounds`` to false, as a commit must."""
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"), protocol_action=logs.features("deletionVectors"))
    vector = dr.DeletionVector.from_rows([0]).encode_inline()
    log.commit(logs.add("a", stats='{"numRecords":9}', deletion_vector=vector))
    table = dr.Table(log.uri)
    table.set_properties({"delta.enableRowTracking": "true"})
    (added,) = bodies(table, 3, "add")
    assert (added["baseRowId"], added["dataChange"]) == (0, False)
    assert json.loads(added["stats"]) == {"numRecords": 9, "tightBounds": False}


def test_a_feature_that_cannot_be_dropped_is_refused(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    protocol = logs.protocol(1, 7, writer_features=["redirectWriterOnly-preview"])
    log.create(logs.schema(id="long"), protocol_action=protocol)
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr.Table(log.uri).drop_feature("redirectWriterOnly-preview")
    assert caught.value.code == "alter.drop_feature"
    assert "delta-spark" in str(caught.value)
