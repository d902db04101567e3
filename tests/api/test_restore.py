"""Restore: an older state as a new version."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs
from support.writing import actions, bodies, unpartitioned

import deltareplay as dr


def created(root: Path, **properties: str) -> dr.Table:
    return dr.create_table(root, pa.schema([("id", pa.int64())]), properties=properties)


def append(table: dr.Table, name: str, *ids: int) -> int:
    root = logs.local_path(table.uri)
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), root / name)
    stats = {"numRecords": len(ids), "tightBounds": True}
    with table.transaction() as transaction:
        transaction.add(name, size=(root / name).stat().st_size, stats=stats)
    assert transaction.version is not None
    return transaction.version


def ids(table: dr.Table) -> list[int]:
    return sorted(pa.table(table.snapshot(strict=True))["id"].to_pylist())


def test_files_and_vectors_are_restored(tmp_path: Path) -> None:
    table = created(tmp_path, **{"delta.enableDeletionVectors": "true"})
    append(table, "a", 1, 2, 3)
    second = append(table, "b", 4)
    vector = dr.DeletionVector.from_rows([0]).encode_inline()
    with table.transaction("DELETE") as transaction:
        transaction.update_vectors({"a": vector})
        transaction.remove("b")
    append(table, "c", 5)
    assert ids(table) == [2, 3, 5]

    done = table.restore(second)

    assert ids(table) == [1, 2, 3, 4]
    assert (done.version, done.restored_version) == (5, second)
    assert (done.num_restored_files, done.num_removed_files) == (2, 2)
    sizes = {row["path"]: row["size"] for row in table.snapshot().files().to_pylist()}
    assert done.restored_files_size == sizes["a"] + sizes["b"]
    (info,) = bodies(table, 5, "commitInfo")
    assert info["operation"] == "RESTORE"
    assert info["operationParameters"] == {"version": second, "timestamp": None}
    metrics = {key: int(value) for key, value in info["operationMetrics"].items()}
    assert metrics == {
        "numRestoredFiles": 2,
        "numRemovedFiles": 2,
        "restoredFilesSize": done.restored_files_size,
        "removedFilesSize": done.removed_files_size,
        "numOfFilesAfterRestore": 2,
        "tableSizeAfterRestore": sum(sizes.values()),
    }
    assert all(body["dataChange"] for body in bodies(table, 5, "add") + bodies(table, 5, "remove"))
    assert table.restore(4).num_restored_files == 2
    assert ids(table) == [2, 3, 5]


def test_restoring_the_newest_version_commits_nothing(tmp_path: Path) -> None:
    table = created(tmp_path)
    version = append(table, "a", 1)

    done = table.restore(version)

    assert (done.version, done.restored_version) == (version, version)
    assert (done.num_restored_files, done.num_removed_files) == (0, 0)
    assert table.snapshot().version == version


def test_schema_and_properties_are_restored(tmp_path: Path) -> None:
    table = created(tmp_path, k="old")
    append(table, "a", 1)
    before = table.snapshot()
    table.set_properties({"k": "new", "l": "x"})
    table.add_columns(pa.schema([("more", pa.string())]))
    table.restore(1)
    after = table.snapshot()
    assert after.metadata == before.metadata
    assert after.schema == before.schema


def test_protocol_timestamps_and_row_ids_are_not_reverted(tmp_path: Path) -> None:
    """The protocol keeps its features, in-commit timestamps stay on, and row ids are not reused."""
    table = created(tmp_path, **{"delta.enableRowTracking": "true"})
    append(table, "a", 1, 2)
    table.set_properties({"delta.enableInCommitTimestamps": "true"})
    table.set_properties({"delta.enableDeletionVectors": "true"})
    append(table, "b", 3)
    protocol = table.snapshot().protocol
    table.restore(1)
    snapshot = table.snapshot()
    assert set(snapshot.protocol.writer_features or ()) == set(protocol.writer_features or ())
    assert snapshot.properties["delta.enableInCommitTimestamps"] == "true"
    assert snapshot.in_commit_timestamp is not None
    mark = json.loads(snapshot.domain_metadata["delta.rowTracking"])["rowIdHighWaterMark"]
    assert mark == 2
    append(table, "c", 4)
    rows = {row["path"]: row["baseRowId"] for row in table.snapshot().files().to_pylist()}
    assert rows == {"a": 0, "c": 3}


def test_a_restored_table_whose_files_have_lost_their_row_ids_does_not_track_rows(
    tmp_path: Path,
) -> None:
    table = created(tmp_path, **{"delta.enableRowTracking": "true"})
    version = append(table, "a", 1, 2)
    table.drop_feature("rowTracking")
    append(table, "b", 3)
    table.restore(version)
    assert ids(table) == [1, 2]
    assert not [key for key in table.snapshot().properties if "rowTracking" in key]
    table.set_properties({"delta.enableRowTracking": "true"})
    append(table, "c", 4)
    rows = table.snapshot().scan(with_row_id=True).to_arrow()
    assert sorted(zip(rows["id"].to_pylist(), rows["_row_id"].to_pylist(), strict=True)) == [
        (1, 0),
        (2, 1),
        (4, 2),
    ]


def test_files_without_row_ids_are_removed_by_a_restore(tmp_path: Path) -> None:
    table = created(tmp_path, **{"delta.enableRowTracking": "true"})
    version = append(table, "a", 1, 2)
    table.set_properties({"delta.enableRowTracking": "false", "delta.rowTrackingSuspended": "true"})
    append(table, "b", 3)
    table.restore(version)
    rows = table.snapshot().scan(with_row_id=True).to_arrow()
    assert rows["_row_id"].to_pylist() == [0, 1]


def test_ids_of_columns_are_not_used_again_after_a_restore(tmp_path: Path) -> None:
    """Protocol, "Column Mapping": the property tracks the highest id, also of dropped columns."""
    columns = pa.schema([("id", pa.int64()), ("dropped", pa.int64())])
    table = dr.create_table(tmp_path, columns, properties={"delta.columnMapping.mode": "name"})
    table.drop_column("dropped")
    table.drop_feature("columnMapping")
    table.restore(1)
    assert table.snapshot().properties["delta.columnMapping.maxColumnId"] == "2"
    table.add_columns(pa.schema([("new", pa.int64())]))
    field = json.loads(table.snapshot().schema_json)["fields"][1]
    assert field["metadata"]["delta.columnMapping.id"] == 3


def test_kept_properties_have_keys_in_any_case(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"))
    kept = {"delta.requirecheckpointprotectionbeforeversion": "1"}
    log.commit(logs.metadata(logs.schema(id="long"), configuration={**kept, "k": "v"}))
    table = dr.Table(log.uri)
    table.restore(0)
    assert table.snapshot().properties == kept


def test_by_a_timestamp(tmp_path: Path) -> None:
    table = created(tmp_path)
    append(table, "a", 1)
    timestamp = table.snapshot().timestamp
    append(table, "b", 2)
    assert table.restore(timestamp=timestamp).restored_version == 1
    assert ids(table) == [1]
    after = datetime(2999, 1, 1, tzinfo=timezone.utc)  # as delta-spark
    restored = table.restore(timestamp=after)
    assert (restored.restored_version, restored.version) == (3, 3)
    with pytest.raises(dr.VersionNotFoundError) as caught:
        table.restore(timestamp=datetime(1999, 1, 1, tzinfo=timezone.utc))
    assert caught.value.code == "version.timestamp"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "argument.range"),
        ({"version": 1, "timestamp": "2026-01-01"}, "argument.version_and_timestamp"),
    ],
)
def test_exactly_one_of_version_and_timestamp_is_required(
    arguments: dict[str, Any], code: str, tmp_path: Path
) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        unpartitioned(tmp_path).restore(**arguments)
    assert caught.value.code == code


def test_missing_files_are_refused(tmp_path: Path) -> None:
    table = created(tmp_path)
    append(table, "a", 1)
    append(table, "b", 2)
    with table.transaction("DELETE") as transaction:
        transaction.remove(["a", "b"])
    (tmp_path / "a").unlink()
    with pytest.raises(dr.VersionNotFoundError, match="1 data files of version 2") as caught:
        table.restore(2)
    assert caught.value.code == "restore.missing_files"
    assert table.snapshot().version == 3, "nothing was committed"

    done = table.restore(2, ignore_missing_files=True)
    assert done.missing_files == ("a",)
    assert ids(table) == [2]


def test_a_missing_vector_is_a_missing_file(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"), protocol_action=logs.features("deletionVectors"))
    vector = logs.deletion_vector("^-aqEH.-t@S}K{vb[*k^")
    log.commit(logs.add("a", stats='{"numRecords":9,"tightBounds":false}', deletion_vector=vector))
    log.commit(logs.remove("a", deletion_vector=vector))
    (tmp_path / "a").write_bytes(b"x")
    table = dr.Table(log.uri)
    with pytest.raises(dr.VersionNotFoundError) as caught:
        table.restore(1)
    assert caught.value.code == "restore.missing_files"
    (tmp_path / "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin").write_bytes(b"x")
    assert table.restore(1).num_restored_files == 1
    assert len(actions(table, 3)) == 2


@pytest.mark.parametrize("stats", ['{"numRecords":9}', '{"numRecords":9,"tightBounds":true}'])
def test_a_restored_file_with_a_vector_has_wide_bounds(tmp_path: Path, stats: str) -> None:
    """Not all writers set ``tightBounds`` to false, as a commit must."""
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"), protocol_action=logs.features("deletionVectors"))
    vector = dr.DeletionVector.from_rows([0]).encode_inline()
    log.commit(logs.add("a", stats=stats, deletion_vector=vector))
    log.commit(logs.remove("a", deletion_vector=vector))
    (tmp_path / "a").write_bytes(b"x")
    table = dr.Table(log.uri)
    table.restore(1)
    (added,) = bodies(table, 3, "add")
    assert added["deletionVector"] == vector
    assert json.loads(added["stats"]) == {"numRecords": 9, "tightBounds": False}


def test_append_only_tables_refuse_to_remove_files(tmp_path: Path) -> None:
    table = created(tmp_path, **{"delta.appendOnly": "true"})
    append(table, "a", 1)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.restore(0)
    assert caught.value.code == "transaction.append_only"


def clustering(table: dr.Table) -> list[list[str]] | None:
    text = table.snapshot().domain_metadata.get("delta.clustering")
    if text is None:
        return None
    columns: list[list[str]] = json.loads(text)["clusteringColumns"]
    return columns


def test_clustering_columns_are_restored(tmp_path: Path) -> None:
    """Other domains are unchanged, as by RESTORE of delta-spark."""
    schema = pa.schema([("id", pa.int64()), ("v", pa.int64())])
    table = dr.create_table(
        tmp_path / "t", schema, properties={"delta.feature.domainMetadata": "supported"}
    )
    table.cluster_by(["id"])
    table.cluster_by(["v", "id"])
    with table.transaction() as transaction:
        transaction.set_domain_metadata("mine", "new")
    assert clustering(table) == [["v"], ["id"]]

    table.restore(1)
    assert clustering(table) == [["id"]]
    table.restore(0)
    assert clustering(table) == [], "clustered before, but not any more"
    table.restore(2)
    assert clustering(table) == [["v"], ["id"]]
    assert table.snapshot().domain_metadata["mine"] == "new"
    before = table.snapshot().version
    assert table.restore(before).version == before
