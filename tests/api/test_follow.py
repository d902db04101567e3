"""``Table.follow``: rows and changes in batches, with offsets to resume from."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import data, feed, logs
from support.feed import EXAMPLE_CHANGES

import deltareplay as dr

JACK, SARAH, JOHN = ("jack", "apple"), ("sarah", "orange"), ("john", "pineapple")
UPDATED_JACK = ("jack", "banana")


def rows_of(batches: Any) -> list[tuple[Any, ...]]:
    """Return all rows of the batches, sorted."""
    result = [tuple(row.values()) for batch in batches for row in batch.data.to_pylist()]
    return sorted(result)


@pytest.fixture(params=[False, True], ids=["cow", "mor"])
def vectors(request: pytest.FixtureRequest) -> bool:
    """Whether to use merge-on-read instead of copy-on-write."""
    return bool(request.param)


@pytest.fixture
def changed(log: logs.LogBuilder, vectors: bool) -> dr.Table:
    """A table with three inserts, an update and a delete."""
    feed.write_example(log, vectors=vectors)
    return dr.Table(log.uri)


@pytest.fixture
def fed(log: logs.LogBuilder, vectors: bool) -> dr.Table:
    """The same table with a change data feed."""
    feed.write_example(log, vectors=vectors, feed=True)
    return dr.Table(log.uri)


def test_a_stream_begins_with_the_current_rows(changed: dr.Table) -> None:
    stream = changed.follow(ignore_changes=False, skip_change_commits=False, available_now=True)
    assert rows_of(stream) == sorted([UPDATED_JACK, SARAH])


def test_an_update_stops_the_stream(changed: dr.Table) -> None:
    stream = changed.follow(starting_version=0, available_now=True)
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        list(stream)
    assert (caught.value.code, caught.value.version) == ("follow.changes", 2)
    message = str(caught.value)
    assert 'UPDATE (predicate -> ["(name#56 = jack)"])' in message
    assert "skip_change_commits" in message


def test_ignore_changes_returns_rewritten_files(changed: dr.Table, vectors: bool) -> None:
    stream = changed.follow(starting_version=0, ignore_changes=True, available_now=True)
    inserted = [JACK, SARAH, JOHN]
    if vectors:
        after_update = [SARAH, JOHN, UPDATED_JACK]
        after_delete = [SARAH]
    else:
        after_update = [UPDATED_JACK, SARAH, JOHN]
        after_delete = [UPDATED_JACK, SARAH]
    assert rows_of(stream) == sorted(inserted + after_update + after_delete)


def test_skip_change_commits_skips_updates_and_deletes(changed: dr.Table) -> None:
    stream = changed.follow(starting_version=0, skip_change_commits=True, available_now=True)
    assert rows_of(stream) == sorted([JACK, SARAH, JOHN])


def changed_rows(stream: dr.Follow) -> set[tuple[Any, ...]]:
    """Return the changes without timestamps."""
    result = [row for batch in stream for row in batch.data.to_pylist()]
    return {tuple(value for key, value in row.items() if "timestamp" not in key) for row in result}


def test_the_feed_returns_every_change(fed: dr.Table) -> None:
    stream = fed.follow(starting_version=0, read_change_feed=True, available_now=True)
    assert changed_rows(stream) == EXAMPLE_CHANGES


def test_the_feed_begins_with_the_current_rows_as_inserts(fed: dr.Table) -> None:
    stream = fed.follow(read_change_feed=True, available_now=True)
    assert changed_rows(stream) == {(*UPDATED_JACK, "insert", 3), (*SARAH, "insert", 3)}


def test_changes_without_a_feed(changed: dr.Table) -> None:
    stream = changed.follow(starting_version=0, kind="full-delta", key=["name"], available_now=True)
    assert changed_rows(stream) == EXAMPLE_CHANGES


def test_a_missing_required_feed_is_refused(changed: dr.Table) -> None:
    stream = changed.follow(starting_version=0, read_change_feed=True, require_feed=True)
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        next(stream)
    assert caught.value.code == "changes.feed_disabled"


def test_net_changes_of_each_batch(fed: dr.Table) -> None:
    stream = fed.follow(starting_version=0, kind="min-delta", key=["name"], available_now=True)
    [batch] = stream
    assert sorted(batch.data["fruit"].to_pylist()) == ["banana", "orange"]
    small = fed.follow(
        starting_version=0,
        kind="upsert",
        deleted="include",
        key=["name"],
        max_files_per_batch=1,
        available_now=True,
    )
    types = [sorted(batch.data["_change_type"].to_pylist()) for batch in small]
    assert types == [["insert"] * 3, ["update_postimage"], ["delete"]]


def appends(log: logs.LogBuilder, versions: int = 3, **definition: Any) -> dr.Table:
    """Create a table, and append versions of two files each."""
    log.create(logs.schema(id="long"), **definition)
    for version in range(1, versions + 1):
        log.commit(
            logs.commit_info(),
            *(
                data.write(log.table, f"{version}-{n}.parquet", {"id": [version * 10 + n]})
                for n in range(2)
            ),
        )
    return dr.Table(log.uri)


ALL = [(10,), (11,), (20,), (21,), (30,), (31,)]


@pytest.mark.parametrize("start", [{}, {"starting_version": 0}], ids=["state", "commits"])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
def test_batches_resume_where_they_end(
    log: logs.LogBuilder, start: dict[str, Any], limit: int
) -> None:
    table = appends(log)
    options: dict[str, Any] = {"max_files_per_batch": limit, "available_now": True}
    batches = list(table.follow(**start, **options))
    assert rows_of(batches) == ALL
    assert len(batches) == -(-6 // limit)
    for batch in batches:
        assert batch.data.num_rows <= limit
    # after any batch, a stream that starts at its offset returns the rest
    for done in range(1, len(batches) + 1):
        rest = table.follow(offset=batches[done - 1].offset, **options)
        assert rows_of([*batches[:done], *rest]) == ALL
    changes = table.follow(starting_version=0, read_change_feed=True, **options)
    assert [batch.data.num_rows for batch in changes] == [
        min(limit, 6 - at) for at in range(0, 6, limit)
    ]


@pytest.mark.parametrize("start", [{}, {"starting_version": 0}], ids=["state", "commits"])
def test_a_stream_ends_at_an_offset(log: logs.LogBuilder, start: dict[str, Any]) -> None:
    table = appends(log)
    begin = table.follow(**start).offset
    batches = list(table.follow(**start, max_files_per_batch=1, available_now=True))
    offsets = [begin, *(batch.offset for batch in batches)]
    log.commit(data.write(log.table, "later.parquet", {"id": [99]}))
    for first in range(len(offsets)):
        for last in range(first, len(offsets)):
            stream = table.follow(offset=offsets[first], until=offsets[last], available_now=True)
            assert rows_of(stream) == rows_of(batches[first:last])
    other = begin.replace(logs.TABLE_ID, "another")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.follow(until=other)
    assert caught.value.code == "follow.offset"


@pytest.mark.parametrize("kind", ["full-delta", "upsert"])
def test_batches_are_split(fed: dr.Table, kind: Any) -> None:
    [batch] = fed.follow(starting_version=0, kind=kind, key=["name"], available_now=True)
    parts = batch.splits(1)
    assert len(parts) > 1
    result = [row for part in parts for row in part.to_arrow().to_pylist()]
    whole = batch.data.to_pylist()
    assert sorted(map(repr, result)) == sorted(map(repr, whole))
    assert len(batch.splits()) == 1
    with pytest.raises(dr.InvalidArgumentError) as caught:
        batch.splits(0)
    assert caught.value.code == "split.size"


def test_offsets_are_those_of_delta(log: logs.LogBuilder) -> None:
    table = appends(log)
    batches = list(table.follow(max_files_per_batch=4, available_now=True))
    head = f'{{"sourceVersion":1,"reservoirId":"{logs.TABLE_ID}",'
    assert [batch.offset for batch in batches] == [
        head + '"reservoirVersion":3,"index":3,"isStartingVersion":true}',
        head + '"reservoirVersion":4,"index":-1,"isStartingVersion":false}',
    ]
    batches = list(table.follow(starting_version=0, max_files_per_batch=3, available_now=True))
    assert [batch.offset for batch in batches] == [
        head + '"reservoirVersion":2,"index":0,"isStartingVersion":false}',
        head + '"reservoirVersion":4,"index":-1,"isStartingVersion":false}',
    ]


def test_max_bytes_per_batch(log: logs.LogBuilder) -> None:
    table = appends(log)
    size = (log.table / "1-0.parquet").stat().st_size
    batches = list(table.follow(max_bytes_per_batch=size + 1, available_now=True))
    assert [batch.data.num_rows for batch in batches] == [2, 2, 2]
    assert len(list(table.follow(max_bytes_per_batch=1, available_now=True))) == 6
    for limit in ("max_files_per_batch", "max_bytes_per_batch"):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.follow(**{limit: 0})
        assert caught.value.code == "follow.limit"


def test_changes_of_one_commit_stay_together(fed: dr.Table) -> None:
    stream = fed.follow(
        starting_version=0, read_change_feed=True, max_files_per_batch=1, available_now=True
    )
    versions = [set(batch.data["_commit_version"].to_pylist()) for batch in stream]
    assert versions == [{1}, {2}, {3}]


def test_a_stream_returns_later_commits(log: logs.LogBuilder) -> None:
    table = appends(log, versions=1)
    stream = table.follow(poll_interval=0.01)
    assert rows_of([next(stream)]) == [(10,), (11,)]
    log.commit(logs.commit_info("SET TBLPROPERTIES"))
    log.commit(data.write(log.table, "later.parquet", {"id": [7]}))
    batch = next(stream)
    assert rows_of([batch]) == [(7,)]
    assert json.loads(batch.offset)["reservoirVersion"] == 4
    assert stream.offset == batch.offset


@pytest.mark.parametrize("kind", [None, "full-delta"])
def test_a_stream_starts_with_a_version_that_can_be_read(log: logs.LogBuilder, kind: Any) -> None:
    """As in delta-spark: the feature is in no commit that is returned, but the files have it."""
    table = appends(log, versions=1)
    log.commit(logs.protocol(3, 7, reader_features=["new"], writer_features=["new"]))
    first = log.commit(data.write(log.table, "first.parquet", {"id": [5]}))
    readable = log.commit(logs.protocol())
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        list(table.follow(starting_version=first, kind=kind, available_now=True))
    assert caught.value.code == "protocol.reader_features"
    assert rows_of(table.follow(starting_version=readable, kind=kind, available_now=True)) == []


def test_a_stream_begins_after_the_latest_version(log: logs.LogBuilder) -> None:
    stream = appends(log).follow(starting_version="latest", poll_interval=0.01)
    log.commit(data.write(log.table, "later.parquet", {"id": [8]}))
    assert rows_of([next(stream)]) == [(8,)]


def test_available_now_excludes_later_commits(log: logs.LogBuilder) -> None:
    stream = appends(log).follow(available_now=True)
    log.commit(data.write(log.table, "later.parquet", {"id": [9]}))
    assert rows_of(stream) == ALL


@pytest.mark.parametrize(
    ("kind", "code"), [(None, "version.range"), ("full-delta", "version.not_found")]
)
def test_commits_missing_from_the_log_are_an_error_or_a_warning(
    tmp_path: Path, kind: Any, code: str
) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    for number in range(1, 8):
        table.append([{"id": number}])
        if number == 6:
            table.checkpoint()
    offset = table.follow(starting_version=2).offset
    expected = rows_of(table.follow(starting_version=6, available_now=True, kind=kind))
    until = table.follow(starting_version=5).offset
    for version in range(6):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()

    with pytest.raises(dr.VersionNotFoundError) as caught:
        list(table.follow(offset=offset, available_now=True, kind=kind))
    assert caught.value.code == code

    def following(**options: Any) -> dr.Follow:
        return table.follow(
            offset=offset, available_now=True, kind=kind, fail_on_data_loss=False, **options
        )

    stream = following(max_files_per_batch=1)
    with pytest.warns(dr.DeltaReplayWarning, match="versions 2 to 5 are no longer in the log"):
        first = next(stream)
    assert sorted([*rows_of([first]), *rows_of(stream)]) == expected
    with pytest.warns(dr.DeltaReplayWarning, match="versions 2 to 4 are"):
        ended = following(until=until)
        assert list(ended) == []
    assert ended.offset == until


@pytest.mark.parametrize("kind", [None, "full-delta", "append-only"])
def test_commits_missing_in_the_middle_are_skipped_on_request(tmp_path: Path, kind: Any) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    for number in range(1, 9):
        table.append([{"id": number}])
        if number in (4, 6, 8):
            table.checkpoint()
    start = table.follow(starting_version=1).offset
    for version in (3, 6):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()

    with pytest.raises(dr.DeltaReplayError):
        list(table.follow(offset=start, available_now=True, kind=kind))
    stream = table.follow(offset=start, available_now=True, kind=kind, fail_on_data_loss=False)
    with pytest.warns(dr.DeltaReplayWarning) as warned:
        batches = list(stream)
    assert [[row[0] for row in rows_of([batch])] for batch in batches] == [[1, 2], [4, 5], [7, 8]]
    skipped = [str(warning.message).partition(" are")[0] for warning in warned]
    assert skipped == ["versions 3 to 3", "versions 6 to 6"]


def test_a_log_of_which_only_the_checkpoint_is_left(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    table.append([{"id": 1}])
    running = table.follow(starting_version="latest", poll_interval=0.01)
    table.append([{"id": 2}])
    table.checkpoint()
    for version in range(3):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()

    for stream in (
        running,
        table.follow(starting_version=2, available_now=True),
        table.follow(starting_version=0, available_now=True),
    ):
        with pytest.raises(dr.VersionNotFoundError) as caught:
            next(stream)
        assert caught.value.code == "version.range"
    tolerant = table.follow(starting_version=1, available_now=True, fail_on_data_loss=False)
    with pytest.warns(dr.DeltaReplayWarning, match="versions 1 to 2 are no longer in the log"):
        assert list(tolerant) == []
    [batch] = table.follow(available_now=True)
    assert rows_of([batch]) == [(1,), (2,)]


def test_a_delete_stops_the_stream_unless_tolerated(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    file = data.write(log.table, "1.parquet", {"id": [1]})
    log.commit(file)
    log.commit(logs.commit_info("DELETE"), feed.removal(file))
    log.commit(data.write(log.table, "2.parquet", {"id": [2]}))
    table = dr.Table(log.uri)
    stream = table.follow(starting_version=0, available_now=True, max_files_per_batch=1)
    assert rows_of([next(stream)]) == [(1,)]
    for _ in range(2):  # the offset does not move
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            next(stream)
        assert (caught.value.code, caught.value.version) == ("follow.deletes", 2)
        assert json.loads(stream.offset)["reservoirVersion"] == 2
    for option in ("ignore_deletes", "ignore_changes", "skip_change_commits"):
        tolerant = table.follow(starting_version=0, available_now=True, **{option: True})  # type: ignore[arg-type]
        assert rows_of(tolerant) == [(1,), (2,)]


def test_columns_that_change_stop_the_stream(log: logs.LogBuilder) -> None:
    table = appends(log, versions=1)
    stream = table.follow(poll_interval=0.01)
    next(stream)
    log.commit(logs.metadata(logs.schema(id="long", more="string")))
    log.commit(data.write(log.table, "more.parquet", {"id": [5], "more": ["x"]}))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        next(stream)
    assert (caught.value.code, caught.value.version) == ("follow.schema", 2)
    resumed = table.follow(offset=stream.offset, available_now=True)
    assert rows_of(resumed) == [(5, "x")]
    assert rows_of(table.follow(starting_version=0, columns=["id"], available_now=True)) == [
        (5,),
        (10,),
        (11,),
    ]


def test_a_stream_may_start_at_the_time_of_a_commit_without_a_checkpoint(tmp_path: Path) -> None:
    """As in delta-spark: the version before it need not exist."""
    for number in range(3):
        dr.write(tmp_path, pa.table({"id": [number]}), mode="append")
    table = dr.Table(tmp_path)
    table.checkpoint(cleanup=False)
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    stream = table.follow(starting_timestamp="2020-01-01T00:00:00Z", available_now=True)
    assert rows_of(stream) == [(1,), (2,)]
    assert table.changes("2020-01-01T00:00:00Z").versions == (2, 2)


def test_a_stream_may_start_before_columns_are_mapped(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    table.set_properties({"delta.columnMapping.mode": "name"})
    table.add_columns(pa.schema([("v", pa.string())]))
    table.append(pa.table({"id": [2], "v": ["x"]}))
    stream = table.follow(starting_version=0, available_now=True)
    assert rows_of(stream) == [(1, None), (2, "x")]


@pytest.mark.parametrize("read_change_feed", [False, True])
def test_other_changes_of_columns_do_not_stop_the_stream(
    log: logs.LogBuilder, read_change_feed: bool
) -> None:
    """Writers of identity columns change the schema in each commit."""

    def columns(counter: int, **metadata: str) -> str:
        identity = {"delta.identity.start": 1, "delta.identity.highWaterMark": counter}
        fields = [
            logs.field_json("id", "long", metadata=identity),
            logs.field_json("v", "string", metadata=metadata),
        ]
        return json.dumps({"type": "struct", "fields": fields[:: -1 if counter > 2 else 1]})

    log.create(columns(0))
    table = dr.Table(log.uri)
    stream = table.follow(starting_version=0, poll_interval=0.01, read_change_feed=read_change_feed)
    for number, schema in enumerate(
        [
            columns(1),
            columns(2, comment="a note", CURRENT_DEFAULT="'x'"),
            columns(3, **{"delta.columnMapping.physicalName": "v"}),
        ]
    ):
        rows = data.write(log.table, f"{number}.parquet", {"id": [number], "v": ["a"]})
        log.commit(logs.metadata(schema), rows)
        [row] = next(stream).data.to_pylist()
        assert (row["id"], row["v"]) == (number, "a")
    log.commit(logs.metadata(logs.schema(id="long", w="string")))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        next(stream)
    assert (caught.value.code, caught.value.version) == ("follow.schema", 4)


def test_another_table_id_stops_the_stream(log: logs.LogBuilder) -> None:
    stream = appends(log, versions=1).follow(poll_interval=0.01)
    next(stream)
    other = {**logs.metadata(logs.schema(id="long"))["metaData"], "id": "another"}
    log.commit({"metaData": other})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        next(stream)
    assert (caught.value.code, caught.value.version) == ("follow.offset", 2)


@pytest.mark.parametrize("versions", [0, 3, 9])
@pytest.mark.parametrize("kind", [None, "full-delta"])
def test_a_table_created_anew_stops_the_stream(
    log: logs.LogBuilder, versions: int, kind: Any
) -> None:
    stream = appends(log, versions=3).follow(poll_interval=0.01, kind=kind)
    assert rows_of([next(stream)])
    shutil.rmtree(log.table)
    log.table.mkdir()
    anew = logs.LogBuilder(log.table)
    appends(anew, versions=versions, id="another")
    for _ in range(2):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            next(stream)
        assert caught.value.code == "follow.offset"
    assert "the table was replaced" in str(caught.value)


def test_a_dropped_table_stops_the_stream(log: logs.LogBuilder) -> None:
    stream = appends(log).follow(poll_interval=0.01)
    next(stream)
    shutil.rmtree(log.table)
    with pytest.raises(dr.TableNotFoundError):
        next(stream)


def test_a_log_that_was_copied_does_not_stop_the_stream(log: logs.LogBuilder) -> None:
    stream = appends(log).follow(poll_interval=0.01)
    next(stream)
    for file in logs.log_dir(log.table).iterdir():
        os.utime(file, (1, 1))
    log.commit(data.write(log.table, "later.parquet", {"id": [7]}))
    assert rows_of([next(stream)]) == [(7,)]


def test_invalid_arguments_are_refused(log: logs.LogBuilder) -> None:
    table = appends(log)
    offset = table.follow().offset
    cases: list[tuple[dict[str, Any], str]] = [
        ({"starting_version": 0, "starting_timestamp": "2026-01-01"}, "follow.start"),
        ({"starting_version": 0, "offset": offset}, "follow.start"),
        ({"starting_version": 9}, "changes.start"),
        ({"starting_version": -1}, "argument.range"),
        ({"starting_timestamp": "2999-01-01"}, "version.timestamp"),
        ({"offset": "{}"}, "follow.offset"),
        ({"offset": offset.replace(logs.TABLE_ID, "another")}, "follow.offset"),
        ({"offset": offset.replace('reservoirVersion":3', 'reservoirVersion":9')}, "follow.offset"),
        ({"kind": "half-delta"}, "changes.kind"),
        ({"read_change_feed": True, "deleted": "include"}, "changes.deleted"),
        ({"columns": ["nothing"]}, "columns.unknown"),
        ({"filter": "_change_type = 'insert'"}, "filter.column"),
    ]
    for arguments, code in cases:
        with pytest.raises(dr.DeltaReplayError) as caught:
            table.follow(**arguments)
        assert caught.value.code == code, arguments


def test_a_start_that_is_no_longer_in_the_log_is_refused(log: logs.LogBuilder) -> None:
    table = appends(log)
    log.checkpoint(version=2)
    log.delete_commits(below=2)
    with pytest.raises(dr.VersionNotFoundError) as caught:
        next(table.follow(starting_version=0))
    assert caught.value.code == "version.range"


def test_streams_begin_at_a_timestamp(log: logs.LogBuilder) -> None:
    hour = 3_600_000
    log.create(logs.schema(id="long"), modified=logs.T0)
    for version in range(1, 4):
        add = data.write(log.table, f"{version}.parquet", {"id": [version]})
        log.commit(add, modified=logs.T0 + version * hour)
    stream = dr.Table(log.uri).follow(starting_timestamp="2025-10-09T10:30:00Z", available_now=True)
    assert rows_of(stream) == [(2,), (3,)]  # version 1 was committed at 09:53:20


def test_a_table_may_have_a_column_named_change_type(log: logs.LogBuilder) -> None:
    log.create(logs.schema(_change_type="string"))
    log.commit(data.write(log.table, "1.parquet", {"_change_type": ["mine"]}))
    assert rows_of(dr.Table(log.uri).follow(available_now=True)) == [("mine",)]


def test_batches_can_be_pickled_and_exported(fed: dr.Table) -> None:
    [batch] = fed.follow(columns=["name"], filter="name <> 'sarah'", available_now=True)
    split = pickle.loads(pickle.dumps(batch.split))
    assert split.to_arrow().to_pylist() == [{"name": "jack"}]
    assert pa.table(batch) == batch.to_batches().read_all()
    assert pa.schema(batch) == batch.split.schema


def test_streams_and_batches_have_no_constructor() -> None:
    for cls in (dr.Follow, dr.MicroBatch, dr.ChangeSplit, dr.SnapshotDiff):
        with pytest.raises(TypeError, match="create"):
            cls()


def test_files_are_read_in_order_of_modification_time(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    times = {"b": 3, "c": 1, "a": 1}
    log.commit(
        *(
            data.write(log.table, f"{name}.parquet", {"id": [id]}, modification_time=time)
            for id, (name, time) in enumerate(times.items())
        )
    )
    stream = dr.Table(log.uri).follow(max_files_per_batch=1, available_now=True)
    assert [batch.data["id"].to_pylist() for batch in stream] == [[2], [1], [0]]


def test_missing_files_are_named(log: logs.LogBuilder) -> None:
    table = appends(log)
    (log.table / "2-0.parquet").unlink()
    [batch] = table.follow(starting_version=0, available_now=True)
    with pytest.raises(dr.CorruptTableError) as caught:
        _ = batch.data
    assert (caught.value.code, caught.value.version) == ("data.missing", 2)
    assert caught.value.path == "2-0.parquet"
