"""``Snapshot``: the attributes of a version."""

from __future__ import annotations

import datetime
import gc
import json
from typing import Any

import pyarrow as pa
import pytest
from support import logs, samples

import deltareplay as dr

FILE_COLUMNS = {
    "path": pa.string(),
    "partitionValues": pa.map_(pa.string(), pa.string()),
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "dataChange": pa.bool_(),
    "stats": pa.string(),
    "tags": pa.map_(pa.string(), pa.string()),
    "deletionVector": pa.struct(
        [
            ("storageType", pa.string()),
            ("pathOrInlineDv", pa.string()),
            ("offset", pa.int32()),
            ("sizeInBytes", pa.int32()),
            ("cardinality", pa.int64()),
        ]
    ),
    "baseRowId": pa.int64(),
    "defaultRowCommitVersion": pa.int64(),
    "clusteringProvider": pa.string(),
}

KINDS = ["none", "classic", "multipart", "v2-json", "v2-parquet", "v2-classic"]


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows, sorted by path, with maps as dicts."""
    result = table.to_pylist()
    for row in result:
        for name in ("partitionValues", "tags"):
            if row.get(name) is not None:
                row[name] = dict(row[name])
    return sorted(result, key=lambda row: str(row["path"]))


@pytest.fixture(params=KINDS)
def rich(log: logs.LogBuilder, request: pytest.FixtureRequest) -> logs.LogBuilder:
    """A table with all optional features, checkpointed in one of several ways."""
    log.create(
        logs.schema(id="long", day="date"),
        logs.txn("app", 7),
        logs.domain("me.mine", '{"a":1}'),
        logs.domain("me.gone", "{}"),
        protocol_action=logs.features(
            "deletionVectors", "v2Checkpoint", writer_only=["domainMetadata", "rowTracking"]
        ),
        partition_columns=["day"],
        name="rich",
        description="all of it",
        configuration={"delta.enableDeletionVectors": "true"},
    )
    log.commit(
        *(
            logs.add(
                f"day=2026-01-0{n}/{n}.parquet",
                partition_values={"day": f"2026-01-0{n}" if n % 2 else None},
                size=n,
                modification_time=n,
                stats=logs.stats(n, id=(n, n + 1, 0)),
                tags={"INSERTION_TIME": str(n), "none": None} if n % 3 else None,
                deletion_vector=logs.deletion_vector(cardinality=n) if n > 2 else None,
                base_row_id=n * 10,
                default_row_commit_version=1,
                clustering_provider="liquid",
            )
            for n in range(1, 7)
        )
    )
    log.commit(logs.remove("day=2026-01-01/1.parquet", size=1), logs.txn("app", 8))
    if request.param != "none":
        log.checkpoint(kind=request.param)
    log.commit(
        logs.remove(
            "day=2026-01-03/3.parquet", deletion_vector=logs.deletion_vector(cardinality=3)
        ),
        logs.domain("me.gone", "{}", removed=True),
        logs.txn("other", 1),
    )
    return log


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-classic"])
def test_log_segment(events: logs.LogBuilder, kind: str) -> None:
    """Log files written by hand: a checkpoint, and commits, two of which are compacted."""

    def size(*names: str) -> int:
        return sum((events.table / "_delta_log" / name).stat().st_size for name in names)

    commits = [f"{version:020}.json" for version in range(6)]
    segment = dr.Table(events.uri).snapshot().log_segment
    assert segment == dr.LogSegment(None, [], 0, 3, size(*commits[:3]))
    new = sorted(path.name for path in events.checkpoint(kind=kind))
    for number in range(3):
        events.commit(logs.txn("app", number))
    events.compact(3, 4)
    segment = dr.Table(events.uri).snapshot().log_segment
    assert segment.checkpoint_version == 2
    assert segment.checkpoint_paths == [f"_delta_log/{name}" for name in new]
    assert segment.checkpoint_size_in_bytes == size(*new)
    assert segment.num_commits == 3
    compacted = f"{3:020}.{4:020}.compacted.json"
    assert segment.tail_size_in_bytes == size(compacted, commits[5])


def test_attributes_have_the_values_of_the_log(rich: logs.LogBuilder) -> None:
    state = rich.state()
    snapshot = dr.Table(rich.uri).snapshot()
    assert state.metadata is not None
    assert state.protocol is not None

    assert snapshot.version == rich.version
    assert snapshot.metadata == dr.Metadata(
        id=state.metadata["id"],
        name="rich",
        description="all of it",
        schema_string=state.metadata["schemaString"],
        partition_columns=["day"],
        configuration={"delta.enableDeletionVectors": "true"},
        created_time=logs.T0,
    )
    assert snapshot.schema_json == state.metadata["schemaString"]
    assert snapshot.partition_columns == ["day"]
    assert snapshot.properties == {"delta.enableDeletionVectors": "true"}
    assert snapshot.protocol == dr.Protocol(
        3, 7, state.protocol["readerFeatures"], state.protocol["writerFeatures"]
    )
    assert snapshot.transactions == {"app": 8, "other": 1}
    assert snapshot.domain_metadata == {"me.mine": '{"a":1}'}
    assert snapshot.num_files == len(state.adds)
    assert snapshot.size_in_bytes == sum(add["size"] for add in state.adds.values())
    assert snapshot.in_commit_timestamp is None
    assert snapshot.warnings == []


def test_files_are_the_live_adds(rich: logs.LogBuilder) -> None:
    files = dr.Table(rich.uri).snapshot().files()

    assert {f.name: f.type for f in files.schema} == FILE_COLUMNS
    assert files.column_names == list(FILE_COLUMNS)
    expected = [{**dict.fromkeys(FILE_COLUMNS), **add} for add in rich.state().adds.values()]
    for row in expected:
        row["stats"] = json.loads(row["stats"])
        row["dataChange"] = False  # part of the commit, not of the state
    result = rows(files)
    for row in result:
        row["stats"] = json.loads(row["stats"])
    assert result == sorted(expected, key=lambda row: row["path"])


@pytest.mark.parametrize(
    "columns",
    [["path"], ["size", "path"], ["deletionVector", "path"], ["path", "stats"], ["tags", "path"]],
    ids=",".join,
)
def test_returns_the_requested_columns(rich: logs.LogBuilder, columns: list[str]) -> None:
    snapshot = dr.Table(rich.uri).snapshot()
    all_rows = rows(snapshot.files())

    for result in (
        snapshot.files(columns=columns),
        snapshot.file_batches(tuple(columns)).read_all(),
    ):
        assert result.column_names == columns
        assert rows(result) == [{name: row[name] for name in columns} for row in all_rows]


def test_columns_on_demand(rich: logs.LogBuilder) -> None:
    files = (
        dr.Table(rich.uri)
        .snapshot()
        .files(columns=["path", "numRecords", "partitionValues_parsed", "stats_parsed"])
    )

    for row in files.to_pylist():
        n = int(row["path"].rpartition("/")[2].partition(".")[0])
        assert row["numRecords"] == n
        day = datetime.date(2026, 1, n) if n % 2 else None
        assert row["partitionValues_parsed"] == {"day": day}
        assert row["stats_parsed"]["numRecords"] == n
        assert row["stats_parsed"]["minValues"]["id"] == n
        assert row["stats_parsed"]["maxValues"]["id"] == n + 1
        assert row["stats_parsed"]["nullCount"]["id"] == 0


def test_batches_are_the_same_files(rich: logs.LogBuilder) -> None:
    snapshot = dr.Table(rich.uri).snapshot()
    reader = snapshot.file_batches()

    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema == snapshot.files().schema
    assert rows(reader.read_all()) == rows(snapshot.files())


def test_files_without_columns(table: dr.Table) -> None:
    assert table.snapshot().files(columns=[]).num_columns == 0


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        (["nothing"], "columns.unknown"),
        (["path", "PATH"], "columns.unknown"),
        (["add.path"], "columns.unknown"),
        (["path", "path"], "columns.twice"),
    ],
)
def test_refuses_invalid_columns(table: dr.Table, columns: list[str], code: str) -> None:
    snapshot = table.snapshot()
    for read in (snapshot.files, snapshot.file_batches):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            read(columns=columns)
        assert caught.value.code == code


@pytest.mark.parametrize("columns", [b"path", 5, [1]])
def test_columns_are_a_sequence_of_text(table: dr.Table, columns: Any) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="columns needs to be a name"):
        table.snapshot().files(columns=columns)
    with pytest.raises(dr.InvalidArgumentError, match="columns needs to be a name"):
        table.snapshot().file_batches(columns=columns)


def test_tombstones_are_the_live_removes(rich: logs.LogBuilder) -> None:
    tombstones = dr.Table(rich.uri).snapshot().tombstones()

    expected = rich.state().removes.values()
    assert sorted(tombstones["path"].to_pylist()) == sorted(row["path"] for row in expected)
    assert set(tombstones["deletionTimestamp"].to_pylist()) == {logs.NEVER_EXPIRES}


def test_schema_is_logical_and_has_the_partition_columns(table: dr.Table) -> None:
    assert table.snapshot().schema == pa.schema([("id", pa.int64()), ("day", pa.date32())])


def test_timestamp_is_the_time_of_the_commit_in_utc(table: dr.Table) -> None:
    timestamp = table.snapshot(version=1).timestamp

    assert timestamp == datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
    assert timestamp.utcoffset() == datetime.timedelta(0)


def test_in_commit_timestamps_take_precedence(log: logs.LogBuilder) -> None:
    log.create(
        logs.schema(id="long"),
        protocol_action=logs.protocol(1, 7, writer_features=["inCommitTimestamp"]),
        configuration={"delta.enableInCommitTimestamps": "true"},
    )
    log.commits[0][0] = logs.commit_info("CREATE TABLE", inCommitTimestamp=samples.JANUARY + 1)
    logs.write_commit(log.table, 0, log.commits[0])
    snapshot = dr.Table(log.uri).snapshot()

    assert snapshot.in_commit_timestamp == samples.JANUARY + 1
    assert snapshot.timestamp.isoformat() == "2026-01-01T00:00:00.001000+00:00"


def test_a_timestamp_out_of_range(log: logs.LogBuilder) -> None:
    log.create(
        logs.schema(id="long"),
        protocol_action=logs.protocol(1, 7, writer_features=["inCommitTimestamp"]),
        configuration={"delta.enableInCommitTimestamps": "true"},
    )
    log.commits[0][0] = logs.commit_info("CREATE TABLE", inCommitTimestamp=2**62)
    logs.write_commit(log.table, 0, log.commits[0])
    snapshot = dr.Table(log.uri).snapshot()

    with pytest.raises(dr.CorruptTableError) as caught:
        _ = snapshot.timestamp
    assert caught.value.code == "timestamp.range"
    assert caught.value.version == 0
    assert f"{2**62} ms" in repr(snapshot)


def test_update_gives_the_newest_version_and_leaves_the_old_one(events: logs.LogBuilder) -> None:
    old = dr.Table(events.uri).snapshot()
    before = rows(old.files())
    assert old.update().version == old.version

    events.commit(
        logs.remove("day=2026-01-03/c.parquet", partition_values={"day": "2026-01-03"}, size=300),
        logs.add("day=2026-01-04/d.parquet", partition_values={"day": "2026-01-04"}),
    )
    new = old.update()

    assert new.version == events.version
    result = sorted(new.files(columns=["path"])["path"].to_pylist())
    assert result == sorted(events.state().live_paths())
    assert old.version == events.version - 1
    assert rows(old.files()) == before


def test_outlives_its_table_and_its_readers(events: logs.LogBuilder) -> None:
    snapshot = dr.Table(events.uri).snapshot()
    files, reader = snapshot.files(), snapshot.file_batches()
    del snapshot
    gc.collect()

    assert files.num_rows == reader.read_all().num_rows == 2


def test_repr_has_location_and_timestamp(table: dr.Table) -> None:
    assert repr(table.snapshot()) == (
        f"<Snapshot of {table!r}: version 2 of 2026-01-03 00:00:00.000+00:00, columns id, day>"
    )


def test_is_opened_by_a_table_only() -> None:
    with pytest.raises(TypeError, match=r"Table\.snapshot"):
        dr.Snapshot()


def test_a_table_without_files(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    snapshot = dr.Table(log.uri).snapshot()

    assert snapshot.num_files == 0
    assert snapshot.size_in_bytes == 0
    assert snapshot.files().num_rows == 0
    assert {f.name: f.type for f in snapshot.files().schema} == FILE_COLUMNS
    assert snapshot.file_batches().read_all().num_rows == 0
    assert snapshot.tombstones().num_rows == 0
    assert snapshot.transactions == {}
    assert snapshot.domain_metadata == {}
