"""``snapshot(verify=True)``: every field of a checksum is checked, and every file."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from faults import flips
from support import logs, vectors

import deltareplay as dr

CHECKSUM = logs.checksum_name(flips.LATEST)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    flips.build(tmp_path / "t", "commits")
    return tmp_path / "t"


def verified(table: Path) -> dr.Snapshot:
    return dr.Table(str(table)).snapshot(verify=True)


def refused(table: Path) -> dr.CorruptTableError:
    with pytest.raises(dr.CorruptTableError) as caught:
        verified(table)
    return caught.value


def test_a_valid_table(table: Path) -> None:
    snapshot = verified(table)
    assert (snapshot.version, snapshot.num_files) == (flips.LATEST, 3)
    assert snapshot.warnings == []
    assert pickle.loads(pickle.dumps(snapshot)).version == flips.LATEST


#: A wrong value of each field of the checksum, and a part of the message.
WRONG_FIELDS: dict[str, tuple[Any, str]] = {
    "txnId": ("id-9", "transaction's id"),
    "tableSizeBytes": (1, "total size"),
    "numFiles": (4, "number of files"),
    "inCommitTimestampOpt": (5, "in-commit timestamp"),
    "setTransactions": ([{"appId": "app", "version": 2}], "transactions"),
    "domainMetadata": ([], "domains"),
    "numDeletedRecordsOpt": (4, "number of deleted rows"),
    "numDeletionVectorsOpt": (2, "number of deletion vectors"),
    "deletedRecordCountsHistogramOpt": (
        {"deletedRecordCounts": [1, 2, 0, 0, 0, 0, 0, 0, 0, 0]},
        "files by their deleted rows",
    ),
    "fileSizeHistogram": (
        {"sortedBinBoundaries": [0], "fileCounts": [2], "totalBytes": [9]},
        "files by size",
    ),
    "metadata": (logs.metadata(logs.schema(id="long"))["metaData"], "metadata"),
    "protocol": ({"minReaderVersion": 1, "minWriterVersion": 2}, "protocol"),
    "numMetadata": (2, "numMetadata"),
    "allFiles": ([], "the live files"),
}


def write_wrong(table: Path, **fields: Any) -> None:
    body = json.loads((table / "_delta_log" / CHECKSUM).read_bytes())
    assert fields.keys() <= body.keys()
    logs.write_checksum(table, flips.LATEST, {**body, **fields})


@pytest.mark.parametrize("field", WRONG_FIELDS)
def test_every_field_of_the_checksum_is_compared(table: Path, field: str) -> None:
    value, output = WRONG_FIELDS[field]
    write_wrong(table, **{field: value})
    error = refused(table)
    assert output in str(error)
    assert error.code in ("checksum.mismatch", "checksum.unreadable")
    assert (error.path or "").endswith(CHECKSUM)
    assert error.version == flips.LATEST


def test_every_field_of_the_checksum_is_tested(table: Path) -> None:
    body = json.loads((table / "_delta_log" / CHECKSUM).read_bytes())
    assert body.keys() - {"numProtocol"} == WRONG_FIELDS.keys()


#: A wrong value of each field of a file in the checksum's list.
WRONG_FILE_FIELDS: dict[str, Any] = {
    "path": "x.parquet",
    "partitionValues": {"d": "x"},
    "size": 7,
    "modificationTime": 7,
    "stats": '{"numRecords":4}',
    "tags": {"k": "x"},
    "deletionVector": {**vectors.inline([0]), "cardinality": 2},
}


@pytest.mark.parametrize("field", WRONG_FILE_FIELDS)
def test_every_field_of_every_file_is_compared(table: Path, field: str) -> None:
    body = json.loads((table / "_delta_log" / CHECKSUM).read_bytes())
    files = copy.deepcopy(body["allFiles"])
    files[0][field] = WRONG_FILE_FIELDS[field]
    write_wrong(table, allFiles=files)
    error = refused(table)
    assert error.code == "checksum.mismatch"
    assert ("live" if field == "path" else field) in str(error)


@pytest.mark.parametrize("field", ["stats", "tags"])
def test_fields_of_a_file_omitted_by_the_checksum_are_not_compared(table: Path, field: str) -> None:
    body = json.loads((table / "_delta_log" / CHECKSUM).read_bytes())
    write_wrong(
        table, allFiles=[{k: v for k, v in f.items() if k != field} for f in body["allFiles"]]
    )
    assert verified(table).num_files == 3


@pytest.mark.parametrize("field", ["allFiles", "numFiles", "protocol", "txnId"])
def test_fields_omitted_by_the_checksum_are_not_compared(table: Path, field: str) -> None:
    body = json.loads((table / "_delta_log" / CHECKSUM).read_bytes())
    del body[field]
    logs.write_checksum(table, flips.LATEST, body)
    assert verified(table).num_files == 3


def test_a_checkpoint_may_lack_transactions_that_have_expired(log: logs.LogBuilder) -> None:
    log.create(
        logs.schema(id="long"),
        logs.txn("expired", 2),
        configuration={"delta.setTransactionRetentionDuration": "interval 10 days"},
    )
    rows = log.state().actions()
    logs.write_checkpoint(log.table, 0, [row for row in rows if "txn" not in row])
    logs.write_hint(log.table, 0, len(rows) - 1)
    log.commit(logs.commit_info())
    log.checksum()
    log.delete_commits(1)

    table = dr.Table(log.uri)
    assert table.snapshot(verify=True).version == log.version
    assert [str(finding) for finding in table.verify().findings] == []


def test_a_number_out_of_range_does_not_hide_the_rest_of_the_commit_info(table: Path) -> None:
    commit = table / "_delta_log" / logs.commit_name(flips.LATEST)
    text = commit.read_text()
    assert text.count('"txnId"') == 1
    commit.write_text(text.replace('"txnId"', '"rate":1e999,"txnId"'))
    assert verified(table).num_files == 3
    write_wrong(table, txnId="id-9")
    assert "transaction's id" in str(refused(table))


def planted(table: Path, *actions: logs.Action) -> dr.CorruptTableError:
    """Add a version without a checksum, which is read without verification; return the error."""
    info = logs.commit_info()
    info["commitInfo"] = {"inCommitTimestamp": flips.T0 + 100, **info["commitInfo"]}
    logs.write_commit(table, flips.LATEST + 1, [info, *actions])
    assert dr.Table(str(table)).snapshot().version == flips.LATEST + 1
    return refused(table)


def test_statistics_that_are_not_json(table: Path) -> None:
    error = planted(table, logs.add("x", partition_values={"d": "x"}, stats="{"))
    assert (error.code, error.path) == ("stats.json", "x")


def test_partition_values_of_another_type(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long", n="integer"), partition_columns=["n"])
    log.commit(logs.add("x", partition_values={"n": "1"}))
    log.commit(logs.add("y", partition_values={"n": "one"}))
    error = refused(tmp_path)
    assert (error.code, error.path) == ("partition_value.parse", "y")


def test_a_file_that_is_live_twice(table: Path) -> None:
    twice = logs.add("c.parquet", partition_values={"d": "c"}, deletion_vector=vectors.inline([1]))
    error = planted(table, twice)
    assert (error.code, error.path) == ("log.duplicate_file", "c.parquet")


def test_a_duplicate_row_of_a_checkpoint(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"))
    log.commit(logs.add("x"))
    rows = log.state().actions()
    logs.write_checkpoint(tmp_path, 1, [*rows, rows[-1]])
    logs.write_hint(tmp_path, 1)
    assert refused(tmp_path).code == "log.duplicate_file"


def test_a_path_outside_the_table(table: Path) -> None:
    error = planted(table, logs.add("../x", partition_values={"d": "x"}))
    assert (error.code, error.path) == ("path.escapes_root", "../x")


def test_an_unknown_storage_type_of_a_vector(table: Path) -> None:
    vector = {**vectors.inline([0]), "storageType": "q"}
    error = planted(table, logs.add("x", partition_values={"d": "x"}, deletion_vector=vector))
    assert (error.code, error.path) == ("dv.storage_type", "x")


def test_verify_implies_strict(table: Path) -> None:
    (table / "_delta_log" / "_last_checkpoint").write_text("{")
    with pytest.warns(dr.DeltaReplayWarning):
        assert dr.Table(str(table)).snapshot().warnings
    assert refused(table).code == "hint.corrupt"


def test_update_verifies_the_new_version(table: Path) -> None:
    old = verified(table)
    plain = dr.Table(str(table)).snapshot()
    planted(table, logs.add("x", partition_values={"d": "x"}, stats="{"))
    assert plain.update().version == flips.LATEST + 1
    with pytest.raises(dr.CorruptTableError) as caught:
        old.update()
    assert caught.value.code == "stats.json"


@pytest.mark.parametrize("key", ["writeStatsAsJson", "WRITESTATSASJSON"])
def test_statistics_that_checkpoints_have_as_a_struct_only(tmp_path: Path, key: str) -> None:
    """The text of their JSON is not that of the checksum; keys of properties have any case."""
    log = logs.LogBuilder(tmp_path)
    properties = {f"delta.checkpoint.{key}": "false", "delta.checkpoint.writeStatsAsStruct": "true"}
    log.create(logs.schema(id="long"), configuration=properties)
    added = logs.add("a", stats='{ "numRecords" : 3 }')
    log.commit(added)
    dr.Table(log.uri).checkpoint()
    log.delete_commits(below=1)
    log.checksum(allFiles=[added["add"]])
    assert verified(tmp_path).num_files == 1
