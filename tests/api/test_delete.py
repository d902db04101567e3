"""``Table.delete`` and ``Table.overwrite``: remaining rows, files, the change data feed."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs
from support.writing import MODES, bodies

import deltareplay as dr

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.float64())])


def filled(path: Path, properties: dict[str, str], partitions: list[str]) -> dr.Table:
    """A table with ids 0 to 9 and 10 to 19 in two commits; p is "a" or "b"."""
    table = dr.create_table(path, SCHEMA, partitions, properties)
    for start in (0, 10):
        ids = range(start, start + 10)
        table.append([{"id": number, "p": "ab"[number % 2], "v": number / 2} for number in ids])
    return table


def ids(table: dr.Table) -> list[int]:
    rows = pa.table(table.snapshot(strict=True)).to_pylist()
    assert all(row["v"] == row["id"] / 2 for row in rows)
    return sorted(row["id"] for row in rows)


def files_below(table: Path) -> set[Path]:
    return {file for file in table.rglob("*") if file.is_file() and "_delta_log" not in file.parts}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("partitions", [[], ["p"]], ids=["plain", "partitioned"])
def test_delete_removes_the_rows_of_a_filter(
    mode: str, partitions: list[str], tmp_path: Path
) -> None:
    table = filled(tmp_path / "t", MODES[mode], partitions)
    tracked = "ids" in mode
    before = row_ids(table) if tracked else {}

    done = table.delete("id = 3 OR id >= 15")
    left = [number for number in range(15) if number != 3]
    assert done.version == 3
    assert done.metrics["numDeletedRows"] == 6
    assert ids(table) == left
    if "vectors" in mode:
        assert done.metrics["numDeletionVectorsAdded"] > 0
        assert done.metrics["numCopiedRows"] == 0
    else:
        assert done.metrics["numCopiedRows"] == (9 if partitions else 14)
        files = (done.metrics["numRemovedFiles"], done.metrics["numAddedFiles"])
        assert files == ((3, 2) if partitions else (2, 1))
    second = table.delete([("id", "=", 4)])
    assert second.metrics["numDeletedRows"] == 1
    assert ids(table) == [item for item in left if item != 4]
    if tracked:
        assert row_ids(table) == {item: before[item] for item in left if item != 4}
        [info] = bodies(table, 4, "commitInfo")
        assert info["tags"] == {"delta.rowTracking.preserved": "true"}
    assert table.delete("id = 3").version is None
    assert table.snapshot().num_rows == len(left) - 1


@pytest.mark.parametrize("mode", MODES)
def test_rows_of_a_computed_filter_are_deleted(mode: str, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", MODES[mode], ["p"])
    done = table.delete("id % 4 = 1 AND id * 2 > 8")
    assert done.metrics["numDeletedRows"] == 4
    assert ids(table) == [number for number in range(20) if number % 4 != 1 or number * 2 <= 8]


def row_ids(table: dr.Table) -> dict[int, tuple[int, int]]:
    rows = pa.table(table.snapshot().scan(with_row_id=True)).to_pylist()
    return {row["id"]: (row["_row_id"], row["_row_commit_version"]) for row in rows}


@pytest.mark.parametrize("mode", MODES)
def test_files_without_remaining_rows_are_not_rewritten(mode: str, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", MODES[mode], ["p"])
    before = files_below(tmp_path / "t")
    for filter in ("p = 'a'", "id < 10 AND id >= 0", "v IS NOT NULL"):
        done = table.delete(filter)
        assert done.metrics["numAddedFiles"] == done.metrics["numDeletionVectorsAdded"] == 0
        assert done.metrics["numRemovedFiles"] > 0
    assert ids(table) == []
    assert files_below(tmp_path / "t") == before, "nothing had to be written"
    assert table.delete().version is None


def test_a_file_is_removed_with_its_last_row(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", MODES["vectors"], [])
    for number in range(10):
        done = table.delete(f"id = {number}")
    names = ("Added", "Updated", "Removed")
    assert [done.metrics[f"numDeletionVectors{name}"] for name in names] == [0, 0, 1]
    assert ids(table) == list(range(10, 20))
    assert table.snapshot().num_files == 1
    [remove] = bodies(table, 12, "remove")
    assert remove["deletionVector"]["cardinality"] == 9
    assert bodies(table, 12, "add") == []


def test_delete_without_a_filter(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", MODES["copies"], [])
    done = table.delete(user_metadata="why")
    assert done.metrics["numDeletedRows"] == 20
    [info] = table.history(limit=1).to_pylist()
    assert info["operation"] == "DELETE"
    assert info["userMetadata"] == "why"
    assert dict(info["operationParameters"])["predicate"] == '["true"]'
    metrics = {name: int(value) for name, value in info["operationMetrics"]}
    times = [metrics.pop(name) for name in ("scanTimeMs", "rewriteTimeMs", "executionTimeMs")]
    assert 0 <= min(times) <= max(times) == times[2]
    assert metrics == done.metrics
    assert ids(table) == []


@pytest.mark.parametrize("mode", ["copies", "vectors"])
def test_delete_writes_the_change_data_feed(mode: str, tmp_path: Path) -> None:
    properties = {**MODES[mode], "delta.enableChangeDataFeed": "true"}
    table = filled(tmp_path / "t", properties, ["p"])
    version = table.delete("(p = 'a' AND id < 10) OR id = 11").version
    assert version == 3
    changes = table.changes(version, require_feed=True).to_arrow().to_pylist()
    result = sorted((row["_change_type"], row["id"]) for row in changes)
    assert result == [("delete", item) for item in (0, 2, 4, 6, 8, 11)]
    assert bool(bodies(table, version, "cdc")) == (mode == "copies")
    # whole files need no change data
    version = table.delete("p = 'b' AND id < 10").version
    assert version is not None
    assert bodies(table, version, "cdc") == []


@pytest.mark.parametrize("replaces", [False, True], ids=["delete", "overwrite"])
def test_the_feed_has_the_deletes_of_files_without_a_row_count(
    replaces: bool, tmp_path: Path
) -> None:
    """Such a file cannot get a deletion vector: its other rows are copied, which is no change."""
    properties = {**MODES["vectors"], "delta.enableChangeDataFeed": "true"}
    table = filled(tmp_path / "t", properties, [])
    file = tmp_path / "t" / "a.parquet"
    pq.write_table(pa.table({"id": [20, 21], "p": ["a", "b"], "v": [10.0, 10.5]}), file)
    with table.transaction() as transaction:
        transaction.add(file.name, size=file.stat().st_size)
    where = "id IN (3, 20)"
    rows = [{"id": 20, "p": "a", "v": 10.0}] if replaces else []
    done = table.overwrite(rows, where=where) if replaces else table.delete(where)
    assert ids(table) == [0, 1, 2, *range(4, 20), *([20] if replaces else []), 21]
    version = done.version
    assert version is not None
    changes = table.changes(version, version, require_feed=True).to_arrow().to_pylist()
    inserts = [("insert", row["id"]) for row in rows]
    result = sorted((row["_change_type"], row["id"]) for row in changes)
    assert result == [("delete", 3), ("delete", 20), *inserts]
    assert bodies(table, version, "cdc") != []


def test_append_only_tables_refuse_deletes(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {"delta.appendOnly": "true"}, [])
    before = files_below(tmp_path / "t")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.delete("id = 1")
    assert caught.value.code == "transaction.append_only"
    assert files_below(tmp_path / "t") == before


def test_overwrite_replaces_all_rows(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {}, ["p"])
    done = table.overwrite([{"id": 40, "p": "a", "v": 20.0}])
    assert done.metrics["numRemovedFiles"] == 4
    assert done.metrics["numOutputRows"] == 1
    assert ids(table) == [40]
    [info] = table.history(limit=1).to_pylist()
    assert dict(info["operationParameters"])["mode"] == "Overwrite"
    assert info["isBlindAppend"] is False


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("feed", [False, True], ids=["no feed", "feed"])
def test_overwrite_replaces_the_rows_of_a_filter(mode: str, feed: bool, tmp_path: Path) -> None:
    properties = {**MODES[mode], "delta.enableChangeDataFeed": str(feed).lower()}
    table = filled(tmp_path / "t", properties, ["p"])
    rows = [{"id": item, "p": "ab"[item % 2], "v": item / 2} for item in (6, 7, 30)]
    done = table.overwrite(rows, where="id >= 6")
    assert ids(table) == [0, 1, 2, 3, 4, 5, 6, 7, 30]
    assert done.metrics["numDeletedRows"] == 14
    # 6 rows stay in changed files; delta-spark counts them even if they stay in place
    assert done.metrics["numCopiedRows"] == 6
    assert done.metrics["numOutputRows"] == 3 + 6
    version = done.version
    assert version is not None
    if feed:
        changes = table.changes(version, require_feed=True).to_arrow().to_pylist()
        deletes = [("delete", number) for number in range(6, 20)]
        inserts = [("insert", number) for number in (6, 7, 30)]
        assert sorted((row["_change_type"], row["id"]) for row in changes) == deletes + inserts
    with pytest.raises(dr.InvalidArgumentError, match="row 1 of the data") as caught:
        table.overwrite([{"id": 9}, {"id": 5}], where="id >= 6")
    assert caught.value.code == "rows.where"
    assert table.snapshot().version == version


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_dynamic_partition_overwrite(mapping: str, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {"delta.columnMapping.mode": mapping}, ["p"])
    done = table.overwrite([{"id": 50, "p": "b", "v": 25.0}], partition_overwrite="dynamic")
    assert ids(table) == [*range(0, 20, 2), 50]
    assert done.metrics["numRemovedFiles"] == 2
    [info] = table.history(1).to_pylist()
    assert dict(info["operationParameters"]) == {
        "mode": "Overwrite",
        "partitionBy": '["p"]',
        "isDynamicPartitionOverwrite": "true",  # as delta-spark names it
    }
    table.overwrite(pa.table({"id": [60], "v": [30.0]}), partition_overwrite="dynamic")
    assert ids(table) == [*range(0, 20, 2), 50, 60]
    nothing = SCHEMA.empty_table()
    assert table.overwrite(nothing, partition_overwrite="dynamic").metrics["numRemovedFiles"] == 0


def test_partitions_of_timestamps_are_the_same_in_every_spelling(tmp_path: Path) -> None:
    """Another writer may spell the same timestamp differently."""
    schema = pa.schema([("id", pa.int64()), ("t", pa.timestamp("us", "UTC"))])
    table = dr.create_table(tmp_path / "t", schema, ["t"])
    timestamp = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    table.append([{"id": 1, "t": timestamp}])
    with table.transaction() as transaction:
        [old] = table.snapshot().files().to_pylist()
        transaction.remove([old["path"]])
        transaction.add(
            old["path"] + "2",
            size=1,
            partition_values={"t": "2026-01-02 03:04:05"},
            modification_time=1,
            stats={"numRecords": 1},
        )
    done = table.overwrite([{"id": 2, "t": timestamp}], partition_overwrite="dynamic")
    assert done.metrics["numRemovedFiles"] == 1
    assert table.snapshot().num_files == 1


def test_overwrite_replaces_the_schema(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {}, [])
    data = pa.table({"new": ["x"], "id": pa.array([1], pa.int64())})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.overwrite(data)
    assert caught.value.code == "rows.column"
    table.overwrite(data, schema_mode="overwrite")
    assert pa.table(table.snapshot()).to_pylist() == [{"new": "x", "id": 1}]
    for call in (
        lambda: table.overwrite(data, where="id = 1", schema_mode="overwrite"),
        lambda: table.append(data, schema_mode="overwrite"),  # type: ignore[arg-type]
    ):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            call()
        assert caught.value.code == "rows.schema_mode"


def test_replaced_columns_keep_their_ids(tmp_path: Path) -> None:
    # as in delta-spark 4.4: a field that stays, in any case and at any depth, keeps its id
    part = pa.struct([("a", pa.int32()), ("b", pa.string())])
    schema = pa.schema([("id", pa.int64()), ("st", part)])
    properties = {"delta.columnMapping.mode": "name"}
    table = dr.create_table(tmp_path / "t", schema, properties=properties)
    more = pa.struct([("b", pa.string()), ("c", pa.int32())])
    new = pa.schema([("new", pa.string()), ("ID", pa.int64()), ("st", more)])
    table.overwrite(new.empty_table(), schema_mode="overwrite")
    fields = json.loads(table.snapshot().schema_json)["fields"]
    fields += fields[2]["type"]["fields"]
    ids = {field["name"]: field["metadata"]["delta.columnMapping.id"] for field in fields}
    # 1 to 4 were id, st, st.a and st.b
    assert (ids["ID"], ids["b"]) == (1, 4)
    assert sorted(ids[name] for name in ("new", "st", "c")) == [5, 6, 7]


def test_dynamic_partition_overwrites_need_partitions_and_no_filter(tmp_path: Path) -> None:
    plain, partitioned = filled(tmp_path / "t", {}, []), filled(tmp_path / "u", {}, ["p"])
    for table, condition in ((plain, None), (partitioned, "p = 'a'")):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.overwrite([{"id": 1, "p": "a"}], condition, partition_overwrite="dynamic")
        assert caught.value.code == "rows.partitions"


def test_overwrite_conflicts_with_a_concurrent_append(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {}, [])

    def batches() -> Any:
        yield pa.record_batch([[1], ["a"], [0.5]], schema=SCHEMA)
        table.append([{"id": 100, "p": "a", "v": 50.0}])

    before = files_below(tmp_path / "t")
    with pytest.raises(dr.CommitConflictError) as caught:
        table.overwrite(pa.RecordBatchReader.from_batches(SCHEMA, batches()))
    assert caught.value.conflict == "ConcurrentAppendException"
    assert len(files_below(tmp_path / "t") - before) == 1, "only the append leaves a file"


def test_a_missing_row_id_column_is_an_error(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", MODES["copies with ids"], [])
    with logs.edited_commit(tmp_path / "t", 0) as actions:
        [metadata] = [action["metaData"] for action in actions if "metaData" in action]
        del metadata["configuration"]["delta.rowTracking.materializedRowIdColumnName"]
    with pytest.raises(dr.CorruptTableError) as caught:
        table.delete("id = 1")
    assert caught.value.code == "rows.row_ids"


def test_whole_files_without_columns_are_deleted(tmp_path: Path) -> None:
    """A table of another writer, which has only partition columns."""
    log = logs.LogBuilder(tmp_path / "t")
    metadata = logs.metadata(logs.schema(p="string"), partition_columns=["p"])
    values = [{"p": p} for p in "ab"]
    files = [logs.add(f"p={it['p']}/a", partition_values=it, stats=logs.stats(2)) for it in values]
    log.commit(logs.protocol(), metadata, *files)
    table = dr.Table(log.uri)
    assert table.delete("p = 'a'").metrics["numRemovedFiles"] == 1
    assert table.snapshot().files(["path"]).to_pylist() == [{"path": "p=b/a"}]
    table.delete()
    assert table.snapshot().num_files == 0


def test_rows_are_deleted_from_columns_that_cannot_be_written(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("st", pa.struct([("x", pa.null())]))])
    properties = {"delta.enableDeletionVectors": "true"}
    table = dr.create_table(tmp_path / "t", schema, properties=properties)
    pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / "t" / "a.parquet")
    with table.transaction() as transaction:
        transaction.add("a.parquet", size=1, stats={"numRecords": 3})
    table.delete("id = 2")
    assert table.snapshot().scan(["id"]).to_arrow()["id"].to_pylist() == [1, 3]
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        table.update("id = 1", {"id": 7})
    assert caught.value.code == "rows.unsupported"
    table.delete()
    assert table.snapshot().num_files == 0
