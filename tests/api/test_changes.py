"""``Table.changes``: ranges, and all changes of all commits."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import data, feed, logs
from support.feed import EXAMPLE_CHANGES, changed_rows

import deltareplay as dr


@pytest.fixture(params=[False, True], ids=["cow", "mor"])
def fed(log: logs.LogBuilder, request: pytest.FixtureRequest) -> dr.Table:
    """A table with three inserts, an update and a delete, and its change data feed."""
    feed.write_example(log, vectors=request.param, feed=True)
    return dr.Table(log.uri)


def test_every_change_is_returned(fed: dr.Table) -> None:
    changes = fed.changes(0)
    assert changes.versions == (0, 3)
    assert changed_rows(changes) == EXAMPLE_CHANGES
    assert changed_rows(fed.changes(2, 2)) == {row for row in EXAMPLE_CHANGES if row[3] == 2}
    assert changes.schema.types == [
        pa.string(),
        pa.string(),
        pa.string(),
        pa.int64(),
        pa.timestamp("us", "UTC"),
    ]
    assert changes.to_arrow().schema == changes.schema


def test_columns_and_filters(fed: dr.Table) -> None:
    names = fed.changes(1, columns=["name"]).to_arrow()
    assert names.column_names == ["name", "_change_type", "_commit_version", "_commit_timestamp"]
    jack = {row for row in EXAMPLE_CHANGES if row[0] == "jack"}
    assert changed_rows(fed.changes(0, filter="name = 'jack'")) == jack
    assert changed_rows(fed.changes(0, filter=[("fruit", "=", "pineapple")])) == {
        row for row in EXAMPLE_CHANGES if row[1] == "pineapple"
    }
    result = fed.changes(0, columns=["name"], filter="_change_type = 'delete' OR fruit = 'banana'")
    assert changed_rows(result) == {("jack", "update_postimage", 2), ("john", "delete", 3)}
    late = fed.changes(0, filter="_commit_version > 2")
    assert changed_rows(late) == {row for row in EXAMPLE_CHANGES if row[3] == 3}
    with pytest.raises(dr.InvalidArgumentError) as caught:
        fed.changes(0, columns=["nothing"])
    assert caught.value.code == "columns.unknown"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        fed.changes(0, filter="nothing = 1")
    assert caught.value.code == "filter.column"


def appends(log: logs.LogBuilder) -> dr.Table:
    """Four versions, committed on the hour from 12:00."""
    noon = int(datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc).timestamp()) * 1000
    log.create(logs.schema(id="long"), modified=noon)
    for version in range(1, 4):
        add = data.write(log.table, f"{version}.parquet", {"id": [version]})
        log.commit(add, modified=noon + version * 3_600_000)
    return dr.Table(log.uri)


def at(hour: int, minute: int = 0) -> str:
    return f"2026-01-01T{hour}:{minute:02}:00Z"


@pytest.mark.parametrize(
    ("start", "end", "versions"),
    [
        (0, None, (0, 3)),
        (2, 2, (2, 2)),
        (2, 99, (2, 3)),
        (at(13), at(14), (1, 2)),
        (at(12, 1), at(14, 59), (1, 2)),
        (at(11), at(12), (0, 0)),
        (at(13, 10), at(13, 50), None),
        (at(15), None, (3, 3)),
        (1, at(13), (1, 1)),
    ],
)
def test_ranges_of_versions_and_timestamps(
    log: logs.LogBuilder, start: Any, end: Any, versions: Any
) -> None:
    changes = appends(log).changes(start, end)
    assert changes.versions == versions
    rows = [] if versions is None else [v for v in range(versions[0], versions[1] + 1) if v]
    assert changes.to_arrow()["id"].to_pylist() == rows


@pytest.mark.parametrize(
    ("start", "end", "kind", "code"),
    [
        (3, 2, dr.InvalidArgumentError, "changes.range"),
        (at(14), at(13), dr.InvalidArgumentError, "changes.range"),
        (2, at(13), dr.InvalidArgumentError, "changes.range"),
        (4, None, dr.VersionNotFoundError, "changes.start"),
        (4, 5, dr.VersionNotFoundError, "changes.start"),
        (at(16), None, dr.VersionNotFoundError, "version.timestamp"),
        (0, at(16), dr.VersionNotFoundError, "version.timestamp"),
        (0, at(11), dr.VersionNotFoundError, "version.timestamp"),
        (-1, None, dr.InvalidArgumentError, "argument.range"),
        ("noon", None, dr.InvalidArgumentError, "argument.timestamp"),
    ],
)
def test_invalid_ranges_are_refused(
    log: logs.LogBuilder, start: Any, end: Any, kind: type[dr.DeltaReplayError], code: str
) -> None:
    table = appends(log)
    with pytest.raises(kind) as caught:
        table.changes(start, end)
    assert caught.value.code == code


def test_out_of_range_is_empty_if_allowed(log: logs.LogBuilder) -> None:
    table = appends(log)
    for start, end in [(4, None), (7, 9), (at(16), None), (at(16), at(17))]:
        result = table.changes(start, end, allow_out_of_range=True)
        assert result.versions is None
        assert result.to_arrow().num_rows == 0
    assert table.changes(2, at(16), allow_out_of_range=True).versions == (2, 3)


def test_an_error_names_the_commits_that_are_left(log: logs.LogBuilder) -> None:
    table = appends(log)
    log.checkpoint(version=2)
    log.delete_commits(below=2)
    with pytest.raises(dr.VersionNotFoundError) as caught:
        table.changes(0)
    assert "2 to 3" in str(caught.value)
    assert table.changes(2).to_arrow()["id"].to_pylist() == [2, 3]


def test_require_feed_refuses_versions_without_a_feed(log: logs.LogBuilder) -> None:
    table = appends(log)
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        table.changes(1, require_feed=True).to_arrow()
    assert (caught.value.code, caught.value.version) == ("changes.feed_disabled", 1)
    schema = logs.schema(id="long")
    log.commit(logs.protocol(1, 4), logs.metadata(schema, configuration=feed.ON))
    log.commit(data.write(log.table, "5.parquet", {"id": [5]}))
    assert table.changes(4, require_feed=True).to_arrow()["id"].to_pylist() == [5]
    log.commit(logs.metadata(schema))
    log.commit(logs.metadata(schema, configuration=feed.ON))
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        table.changes(4, require_feed=True).to_arrow()
    assert caught.value.version == 6


def test_a_missing_file_is_named_with_its_version(fed: dr.Table, log: logs.LogBuilder) -> None:
    (log.table / "_change_data" / "3.parquet").unlink()
    with pytest.raises(dr.CorruptTableError) as caught:
        fed.changes(0).to_arrow()
    error = caught.value
    assert (error.code, error.version) == ("data.missing", 3)
    assert error.path == "_change_data/3.parquet"


def test_change_files_without_types_are_refused(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"), configuration=feed.ON)
    add = data.write(log.table, "_change_data/1.parquet", {"id": [1]})["add"]
    log.commit(logs.cdc(add["path"], size=add["size"]))
    with pytest.raises(dr.CorruptTableError) as caught:
        dr.Table(log.uri).changes(0).to_arrow()
    assert caught.value.code == "cdc.change_type"


def test_vectors_that_grow_and_shrink(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"), protocol_action=logs.features("deletionVectors"))
    add = data.write(log.table, "a.parquet", {"id": list(range(6))})
    log.commit(add)
    before = add
    for deleted in [(1, 2), (1, 2, 5), (5,), ()]:
        after = feed.with_vector(add, deleted)
        log.commit(feed.removal(before), after)
        before = after
    assert changed_rows(dr.Table(log.uri).changes(2)) == {
        (1, "delete", 2),
        (2, "delete", 2),
        (5, "delete", 3),
        (1, "insert", 4),
        (2, "insert", 4),
        (5, "insert", 5),
    }


def test_files_without_data_change_are_ignored(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    file = data.write(log.table, "1.parquet", {"id": [1, 2]})
    log.commit(file)
    log.commit(
        feed.removal(file, data_change=False),
        data.write(log.table, "2.parquet", {"id": [1, 2]}, data_change=False),
    )
    assert changed_rows(dr.Table(log.uri).changes(1)) == {(1, "insert", 1), (2, "insert", 1)}


def test_a_merge_that_changed_nothing(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"), protocol_action=logs.protocol(1, 4), configuration=feed.ON)
    file = data.write(log.table, "1.parquet", {"id": [1]})
    log.commit(file)
    none = dict.fromkeys(
        ["numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"], "0"
    )
    rewritten = data.write(log.table, "2.parquet", {"id": [1]})
    log.commit(logs.commit_info("MERGE", operationMetrics=none), feed.removal(file), rewritten)
    assert changed_rows(dr.Table(log.uri).changes(2)) == set()


def test_schemas_that_change_within_a_range(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="integer"))
    log.commit(data.write(log.table, "1.parquet", pa.table({"id": pa.array([1], pa.int32())})))
    log.commit(logs.metadata(logs.schema(id="long", more="string")))
    log.commit(data.write(log.table, "2.parquet", {"id": [2**40], "more": ["x"]}))
    table = dr.Table(log.uri)
    assert changed_rows(table.changes(0)) == {(1, None, "insert", 1), (2**40, "x", "insert", 3)}
    assert changed_rows(table.changes(0, 1)) == {(1, "insert", 1)}
    log.commit(logs.metadata(logs.schema(id="string")))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.changes(0).to_arrow()
    assert (caught.value.code, caught.value.version) == ("changes.schema", 0)


@pytest.mark.parametrize("kind", ["full-delta", "min-delta", "upsert", "append-only"])
def test_a_range_that_begins_with_another_type(tmp_path: Path, kind: Any) -> None:
    """The first commit removes rows of the type before."""
    table = dr.create_table(tmp_path, pa.schema([("a", pa.int32()), ("b", pa.int64())]))
    table.append(pa.table({"a": pa.array([1], pa.int32()), "b": [1]}))
    table.overwrite(pa.table({"a": ["x"], "b": [2]}), schema_mode="overwrite")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.changes(2, kind=kind, key=["b"]).to_arrow()
    assert (caught.value.code, caught.value.version) == ("changes.schema", 2)
    table.overwrite(pa.table({"a": ["y"], "b": [3]}))
    assert table.changes(3, kind=kind, key=["b"]).to_arrow().num_rows > 0


def test_partition_columns_are_those_of_each_commit(log: logs.LogBuilder) -> None:
    schema = logs.schema(id="long", day="date")
    log.create(schema, partition_columns=["day"])
    day = {"day": "2026-01-02"}
    first = data.write(log.table, "1.parquet", {"id": [1]}, partition_values=day)
    log.commit(first)
    two = pa.table({"id": [2], "day": [datetime.date(2026, 1, 3)]})
    log.commit(logs.metadata(schema), data.write(log.table, "2.parquet", two))
    log.commit(feed.removal(first))
    first_day, second_day = datetime.date(2026, 1, 2), datetime.date(2026, 1, 3)
    assert changed_rows(dr.Table(log.uri).changes(0)) == {
        (1, first_day, "insert", 1),
        (2, second_day, "insert", 2),
        (1, first_day, "delete", 3),
    }


@pytest.mark.parametrize("kind", ["full-delta", "min-delta"])
def test_removed_rows_keep_the_values_of_later_partition_columns(tmp_path: Path, kind: Any) -> None:
    def write(value: int, *partition_columns: str) -> None:
        rows = pa.table({"a": [value], "b": [value]})
        dr.write(
            tmp_path,
            rows,
            mode="overwrite",
            schema_mode="overwrite",
            partition_columns=partition_columns,
        )

    for value, columns in enumerate([(), ("a",), ("b",), ()]):
        write(value, *columns)
    table = dr.Table(tmp_path)
    for version in range(1, 4):
        before, after = version - 1, version
        assert changed_rows(table.changes(version, version, kind=kind)) == {
            (before, before, "delete", version),
            (after, after, "insert", version),
        }
    removed = {row for row in changed_rows(table.changes(0)) if row[2] == "delete"}
    assert removed == {(before, before, "delete", before + 1) for before in range(3)}


@pytest.mark.parametrize("values", [{}, None], ids=["empty", "null"])
def test_a_partition_value_without_its_key_is_null(
    log: logs.LogBuilder, values: dict[str, str] | None
) -> None:
    # delta-io/delta-kernel-rs issue 2859: writers that omit the keys of nulls; like ``scan``
    log.create(logs.schema(id="integer", p="integer"), partition_columns=["p"])
    rows = pa.table({"id": pa.array([1], pa.int32()), "p": pa.array([9], pa.int32())})
    file = data.write(log.table, "1.parquet", rows)
    file["add"]["partitionValues"] = values
    log.commit(file)
    table = dr.Table(log.uri)
    assert table.snapshot().scan().to_arrow().to_pylist() == [{"id": 1, "p": None}]
    assert changed_rows(table.changes(0)) == {(1, None, "insert", 1)}
    assert changed_rows(table.changes(0, kind="min-delta")) == {(1, None, "insert", 1)}
    for start in (None, 0):
        batches = table.follow(starting_version=start, available_now=True)
        assert [batch.data.to_pylist() for batch in batches] == [[{"id": 1, "p": None}]]
    findings = table.verify().findings
    assert {item.severity for item in findings if item.code == "commit.partition_values"} == {
        "warning"
    }


def test_removes_without_partition_values(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long", p="long"), partition_columns=["p"])
    values = {"p": "1"}
    log.commit(data.write(log.table, "1.parquet", {"id": [1]}, partition_values=values))
    log.commit(logs.remove("1.parquet", extended=None, size=None))
    with pytest.raises(dr.CorruptTableError) as caught:
        dr.Table(log.uri).changes(0).to_arrow()
    error = caught.value
    assert (error.code, error.path, error.version) == ("changes.partition_values", "1.parquet", 2)


def test_a_column_named_change_type_is_refused(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long", _change_type="string"))
    table = dr.Table(log.uri)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.changes(0)
    assert caught.value.code == "columns.reserved"
    assert table.changes(0, columns=["id"]).to_arrow().num_rows == 0


def test_change_columns_are_filtered_despite_a_column_named_change_type(
    log: logs.LogBuilder,
) -> None:
    log.create(logs.schema(id="long", _Change_Type="string"))
    for version in (1, 2):
        rows = {"id": [version], "_Change_Type": ["x"]}
        log.commit(data.write(log.table, f"{version}.parquet", rows))
    table = dr.Table(log.uri)

    later = table.changes(0, columns=["id"], filter="_commit_version > 1").to_arrow()
    assert later["id"].to_pylist() == [2]
    for condition, code in {
        "nothing = 1": "filter.column",
        "_commit_version > 1 AND _change_type = 'insert'": "columns.reserved",
    }.items():
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.changes(0, columns=["id"], filter=condition)
        assert caught.value.code == code


def test_in_commit_timestamps(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    info = logs.commit_info(inCommitTimestamp=1_700_000_000_123)
    log.commit(info, data.write(log.table, "1.parquet", {"id": [1]}))
    [time] = dr.Table(log.uri).changes(1).to_arrow()["_commit_timestamp"].to_pylist()
    assert time == datetime.datetime(2023, 11, 14, 22, 13, 20, 123000, datetime.timezone.utc)


def test_changes_are_exported_and_pickled(fed: dr.Table) -> None:
    changes = fed.changes(0, 2, columns=["name"])
    assert pickle.loads(pickle.dumps(fed.changes(1))).versions == (1, 3)
    assert pa.table(changes).num_rows == 5
    assert pa.schema(changes) == changes.schema
    unpickled = pickle.loads(pickle.dumps(changes))
    assert changed_rows(unpickled) == changed_rows(changes)
    assert "versions 0 to 2" in repr(unpickled)
    with pytest.raises(TypeError, match=r"Table\.changes\(\)"):
        dr.Changes()


def test_a_pickle_keeps_its_range(log: logs.LogBuilder) -> None:
    table = appends(log)
    sent = pickle.dumps(table.changes(at(13)))
    log.commit(data.write(log.table, "later.parquet", {"id": [9]}))
    assert pickle.loads(sent).versions == (1, 3)


def test_a_pickle_of_an_empty_range_stays_empty(log: logs.LogBuilder) -> None:
    table = appends(log)
    changes = table.changes(4, allow_out_of_range=True, columns=["id"])
    sent = pickle.dumps(changes)
    log.commit(data.write(log.table, "later.parquet", {"id": [9]}))
    for _ in range(2):
        unpickled = pickle.loads(sent)
        assert unpickled.versions is None
        assert unpickled.to_arrow() == changes.schema.empty_table()
        sent = pickle.dumps(unpickled)


def test_splits_contain_the_changes(fed: dr.Table) -> None:
    for kind in ("full-delta", "min-delta"):
        changes = fed.changes(0, kind=kind, key=["name"], columns=["name"])  # type: ignore[arg-type]
        for size in (1, 3000, 1 << 30):
            splits = [pickle.loads(pickle.dumps(split)) for split in changes.splits(size)]
            parts = [split.to_arrow() for split in splits]
            assert all(part.schema == changes.schema for part in parts)
            whole = pa.concat_tables(parts).to_pylist()
            rows = changes.to_arrow().to_pylist()
            if kind == "min-delta":  # in any order
                whole, rows = sorted(whole, key=repr), sorted(rows, key=repr)
            assert whole == rows
            assert all(split.paths and split.size_in_bytes > 0 for split in splits)
            assert pa.table(splits[0]).num_rows == parts[0].num_rows
    with pytest.raises(dr.InvalidArgumentError) as caught:
        fed.changes(0).splits(0)
    assert caught.value.code == "split.size"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr._native.ChangeSplit("{}")
    assert caught.value.code == "split.json"


def test_splits_contain_files_without_a_size(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    log.commit(data.write(log.table, "1.parquet", {"id": [1, 2]}))
    log.commit(logs.remove("1.parquet", size=None))
    for kind in ("full-delta", "min-delta"):
        changes = dr.Table(log.uri).changes(2, kind=kind)  # type: ignore[arg-type]
        [split] = changes.splits()
        assert split.to_arrow() == changes.to_arrow()
        assert split.to_arrow().num_rows == 2
        assert split.without_whole_files()[0] == []  # Spark takes a file without a size for empty


def test_split_without_whole_files_has_their_size_no_more(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    first = data.write(log.table, "1.parquet", {"id": [1, 2]})
    second = data.write(log.table, "2.parquet", {"id": [2, 3]})
    log.commit(first)
    log.commit(logs.remove("1.parquet", size=first["add"]["size"]), second)
    [split] = dr.Table(log.uri).changes(0).splits()
    files, rest = split.without_whole_files()
    sizes = [action["add"]["size"] for action in (first, second)]
    assert [size for _, size, *_ in files] == sizes[:1]
    assert rest is not None
    assert rest.size_in_bytes == sum(sizes)


def test_long_ranges_stream(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    add = data.write(log.table, "1.parquet", {"id": [1]})
    for _ in range(700):
        log.commit(add)
    broken = {"add": {**add["add"], "size": "many"}}
    log.commit(broken, logs.commit_info())
    log.commit(logs.commit_info())
    batches = dr.Table(log.uri).changes(0).to_batches()
    # rows are returned before later commits are read
    assert next(batches)["_commit_version"].to_pylist() == [1]
    with pytest.raises(dr.CorruptTableError) as caught:
        for _ in batches:
            pass
    assert (caught.value.code, caught.value.version) == ("commit.json", 701)
