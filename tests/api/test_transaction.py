"""``Transaction``: the actions that are written, those that are refused, and idempotence."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest
from support import logs
from support.writing import actions, bodies, partitioned, unpartitioned

import deltareplay as dr

VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 40,
    "cardinality": 2,
}


@pytest.fixture
def files(tmp_path: Path) -> dr.Table:
    return unpartitioned(tmp_path / "t")


def test_every_kind_of_action_reaches_the_log(tmp_path: Path) -> None:
    table = partitioned(tmp_path / "t")
    table.add_feature("domainMetadata")
    with table.transaction(
        "MERGE",
        parameters={"predicate": "[]", "n": 1},
        metrics={"numTargetRowsInserted": 3},
        user_metadata="note",
        tags={"k": "v"},
        engine_info="tests/1",
    ) as transaction:
        transaction.add(
            "x%20y.parquet",
            size=10,
            partition_values={"day": None},
            modification_time=5,
            stats={"numRecords": 3},
            tags={"T": "1"},
        )
        transaction.remove("1a")
        transaction.add_change_data("_change_data/c", size=4, partition_values={"day": None})
        transaction.set_transaction("app", 7)
        transaction.set_domain_metadata("owner", "{}")
        transaction.set_metrics({"numFiles": 1})

    version = transaction.version
    assert version == 3
    first, *rest = actions(table, version)
    info = first["commitInfo"]
    assert info["operation"] == "MERGE"
    assert info["operationParameters"] == {"predicate": "[]", "n": 1}
    assert info["operationMetrics"] == {"numTargetRowsInserted": "3", "numFiles": "1"}
    assert info["userMetadata"] == "note"
    assert info["tags"] == {"k": "v"}
    assert info["engineInfo"] == "tests/1"
    assert info["txnId"] == transaction.id
    assert info["isBlindAppend"] is False
    assert info["isolationLevel"] == "Serializable"
    assert info["readVersion"] == 2
    assert [next(iter(action)) for action in rest] == [
        "txn",
        "domainMetadata",
        "remove",
        "add",
        "cdc",
    ]
    assert rest[3]["add"] == {
        "path": "x%20y.parquet",
        "partitionValues": {"day": None},
        "size": 10,
        "modificationTime": 5,
        "dataChange": True,
        "stats": '{"numRecords": 3}',
        "tags": {"T": "1"},
    }
    removed = rest[2]["remove"]
    assert removed["extendedFileMetadata"] is True
    assert removed["partitionValues"] == {"day": "2026-01-01"}
    assert removed["size"] == table.snapshot(version=2).files(columns=["size"])["size"][0].as_py()
    snapshot = table.snapshot()
    assert snapshot.transactions == {"app": 7}
    assert snapshot.domain_metadata == {"owner": "{}"}
    assert snapshot.num_files == 4


def test_arguments_may_be_any_mapping(files: dr.Table) -> None:
    one = MappingProxyType({"id": 1})
    stats = MappingProxyType({"numRecords": 3, "nullCount": one})
    with files.transaction("WRITE", parameters={"of": one}, metrics=one) as transaction:
        transaction.add("x", size=1, stats=stats, tags=MappingProxyType({"T": "1"}))

    info, added = actions(files, 2)
    assert info["commitInfo"]["operationParameters"] == {"of": '{"id":1}'}
    assert info["commitInfo"]["operationMetrics"] == {"id": "1"}
    assert added["add"]["stats"] == '{"numRecords": 3, "nullCount": {"id": 1}}'
    assert added["add"]["tags"] == {"T": "1"}


def test_a_block_that_raises_commits_nothing(files: dr.Table) -> None:
    with pytest.raises(KeyError), files.transaction() as transaction:
        transaction.add("x", size=1)
        raise KeyError
    assert files.snapshot().version == 1
    with pytest.raises(dr.InvalidArgumentError) as caught:
        transaction.commit()
    assert caught.value.code == "transaction.finished"


def test_files_of_a_snapshot_are_added_unchanged(files: dr.Table) -> None:
    before = files.snapshot().files().sort_by("path")
    with files.transaction("DELETE") as transaction:
        transaction.remove_files(transaction.snapshot.files())
    assert files.snapshot().num_files == 0
    with files.transaction("RESTORE") as transaction:
        transaction.add_files(before)
    after = files.snapshot().files().sort_by("path")
    assert after.equals(before)
    assert bodies(files, 3, "remove") == []
    assert len(bodies(files, 3, "add")) == 2


def test_a_new_vector_replaces_the_file(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    table.set_properties({"delta.enableDeletionVectors": "true"})
    with table.transaction("DELETE") as transaction:
        transaction.update_vectors({"a": VECTOR})

    [removed], [added] = bodies(table, 3, "remove"), bodies(table, 3, "add")
    assert removed["path"] == added["path"] == "a"
    assert "deletionVector" not in removed
    assert added["deletionVector"] == VECTOR
    assert '"tightBounds":false' in added["stats"]
    assert '"numRecords":3' in added["stats"].replace(" ", "")
    assert table.snapshot().num_files == 2


def test_refused_vectors_change_nothing(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    table.set_properties({"delta.enableDeletionVectors": "true"})
    with table.transaction() as transaction:
        transaction.add("without statistics", size=1)
    with table.transaction("DELETE") as transaction:
        with pytest.raises(dr.InvalidArgumentError) as caught:
            transaction.update_vectors({"a": VECTOR, "without statistics": VECTOR})
        transaction.add("x", size=1)
    assert caught.value.code == "transaction.deletion_vector"
    assert (len(bodies(table, 4, "add")), bodies(table, 4, "remove")) == (1, [])


def test_a_refused_version_of_an_application_is_not_committed(files: dr.Table) -> None:
    with files.transaction() as transaction:
        transaction.set_transaction("app", 1)
        with pytest.raises(dr.InvalidArgumentError):
            transaction.set_transaction("app", 2)
    assert files.snapshot().transactions == {"app": 1}


@pytest.mark.parametrize("version", [4, 3, 5])
def test_a_batch_is_committed_once(files: dr.Table, version: int) -> None:
    with files.transaction(txn=("app", 4)) as transaction:
        transaction.add("x", size=1)
    assert transaction.version == 2

    with files.transaction(txn=("app", version)) as repeated:
        repeated.add("y", size=1)

    assert repeated.version == (3 if version == 5 else None)
    assert files.snapshot().version == (3 if version == 5 else 2)
    assert files.snapshot().transactions == {"app": max(version, 4)}


def test_a_batch_of_a_concurrent_writer_is_not_committed_again(files: dr.Table) -> None:
    transaction = files.transaction(txn=("app", 4))
    transaction.add("x", size=1)
    with files.transaction(txn=("app", 4)) as concurrent:
        concurrent.add("x", size=1)

    assert transaction.commit() is None
    assert files.snapshot().version == concurrent.version == 2


def bad(**fields: Any) -> Callable[[dr.Transaction], object]:
    return lambda txn: txn.add(**{"path": "x", "size": 1, **fields})


def test_a_parameter_that_json_lacks_is_refused(files: dr.Table) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        files.transaction(parameters={"day": [date(2026, 1, 1)]})
    assert caught.value.code == "argument.type"


REFUSED: dict[str, tuple[Callable[[dr.Transaction], object], str]] = {
    "a negative size": (bad(size=-1), "transaction.file"),
    "a path outside the table": (bad(path="../x"), "transaction.file"),
    "a path of another store": (bad(path="s3://bucket/x"), "transaction.file"),
    "values of other columns": (bad(partition_values={"d": "1"}), "transaction.partition_values"),
    "a size that is text": (bad(size="1"), "argument.type"),
    "a statistic that JSON lacks": (
        bad(stats={"minValues": {"d": date(2026, 1, 1)}}),
        "argument.type",
    ),
    "a vector without the feature": (bad(deletion_vector=VECTOR), "transaction.deletion_vector"),
    "a file twice": (
        lambda txn: (txn.add("x", size=1), txn.add("x", size=1)),
        "transaction.duplicate",
    ),
    "a file in two spellings": (
        lambda txn: (txn.add("a%20b", size=1), txn.add("%61%20b", size=1)),
        "transaction.duplicate",
    ),
    "a file with its table's location": (
        lambda txn: (txn.add("x", size=1), txn.add("y/../x", size=1)),
        "transaction.duplicate",
    ),
    "statistics that are not JSON": (bad(stats="{"), "transaction.file"),
    "statistics that are a number": (bad(stats="1"), "transaction.file"),
    "statistics that are empty": (bad(stats=""), "transaction.file"),
    "a negative number of rows": (bad(stats={"numRecords": -1}), "transaction.file"),
    "a number of rows that is text": (bad(stats={"numRecords": "1"}), "transaction.file"),
    "a file removed twice": (lambda txn: txn.remove(["a", "a"]), "transaction.duplicate"),
    "a file added and removed": (
        lambda txn: (txn.remove("a"), txn.add("a", size=1)),
        "transaction.duplicate",
    ),
    "an application twice": (
        lambda txn: (txn.set_transaction("a", 1), txn.set_transaction("a", 2)),
        "transaction.duplicate",
    ),
    "a domain twice": (
        lambda txn: (txn.set_domain_metadata("a", ""), txn.set_domain_metadata("a", None)),
        "transaction.duplicate",
    ),
    "a domain of the system": (
        lambda txn: txn.set_domain_metadata("delta.x", ""),
        "transaction.domain",
    ),
    "a file that is not there": (lambda txn: txn.remove("z"), "transaction.not_live"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_actions_that_would_break_the_table_are_refused(case: str, tmp_path: Path) -> None:
    step, code = REFUSED[case]
    table = unpartitioned(
        tmp_path / "t", protocol_action=logs.features(writer_only=["domainMetadata"])
    )
    transaction = table.transaction()
    with pytest.raises(dr.InvalidArgumentError) as caught:
        step(transaction)
        transaction.commit()
    assert caught.value.code == code
    assert table.snapshot().version == 1


def test_domain_metadata_requires_its_feature(files: dr.Table) -> None:
    transaction = files.transaction()
    with pytest.raises(dr.InvalidArgumentError) as caught:
        transaction.set_domain_metadata("x", "")
        transaction.commit()
    assert caught.value.code == "transaction.domain"


def test_partition_values_are_strings(tmp_path: Path) -> None:
    transaction = partitioned(tmp_path / "t").transaction()
    with pytest.raises(dr.InvalidArgumentError) as caught:
        transaction.add("x", size=1, partition_values={"day": [1]})  # type: ignore[dict-item]
    assert caught.value.code == "transaction.action"


@pytest.mark.parametrize("kind", ["add", "add_change_data"])
def test_partition_values_that_no_reader_could_parse_are_refused(tmp_path: Path, kind: str) -> None:
    """One such value makes the whole table unreadable."""
    table = partitioned(tmp_path / "t", **{"delta.enableChangeDataFeed": "true"})
    transaction = table.transaction()
    for name, day in {"x": "2024-01-05", "y": None, "z": "2024-13-05"}.items():
        getattr(transaction, kind)(name, size=1, partition_values={"day": day})
    with pytest.raises(dr.InvalidArgumentError, match="2024-13-05") as caught:
        transaction.commit()
    assert (caught.value.code, caught.value.path) == ("transaction.partition_values", "z")
    assert table.snapshot().version == 1


def test_append_only_tables_refuse_to_remove_rows(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t", configuration={"delta.appendOnly": "true"})
    with table.transaction("OPTIMIZE") as transaction:
        transaction.remove("a", data_change=False)
        transaction.add("c", size=1, data_change=False)
    assert transaction.version == 2
    transaction = table.transaction("DELETE")
    transaction.remove("b")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        transaction.commit()
    assert caught.value.code == "transaction.append_only"


def test_tracked_rows_must_be_counted(tmp_path: Path) -> None:
    table = dr.create_table(
        tmp_path / "t",
        pa.schema([("id", pa.int64())]),
        properties={"delta.enableRowTracking": "true"},
    )
    transaction = table.transaction()
    transaction.add("x", size=1)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        transaction.commit()
    assert caught.value.code == "transaction.row_ids"


@pytest.mark.parametrize("feature", ["icebergCompatV2", "collations", "somethingNew"])
def test_a_feature_that_cannot_be_written_is_refused_at_the_start(
    feature: str, log: logs.LogBuilder
) -> None:
    log.commit(
        logs.protocol(1, 7, writer_features=[feature, "appendOnly"]),
        logs.metadata(logs.schema(id="long")),
    )
    with pytest.raises(dr.UnsupportedFeatureError, match=feature) as caught:
        dr.Table(log.uri).transaction()
    assert caught.value.code == "protocol.writer_features"


def test_options_are_checked(files: dr.Table) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        files.transaction(isolation_level="Chaos")
    assert caught.value.code == "transaction.isolation"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        files.transaction(timeout=-1)
    assert caught.value.code == "argument.range"


def test_a_commit_leaves_no_temporary_file(files: dr.Table) -> None:
    for durable in (True, False):
        with files.transaction(durable=durable) as transaction:
            transaction.add(f"{durable}", size=1)
    names = os.listdir(logs.local_path(files.uri) / "_delta_log")
    assert sorted(names) == [logs.commit_name(version) for version in range(4)]
