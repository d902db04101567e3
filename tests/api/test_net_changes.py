"""``Table.changes``: net changes, and rows that are matched by key, row id or values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import data, feed, logs, tracked
from support.feed import EXAMPLE_CHANGES, changed_rows

import deltareplay as dr


@pytest.mark.parametrize("vectors", [False, True], ids=["cow", "mor"])
def test_without_a_feed_rows_are_compared(log: logs.LogBuilder, vectors: bool) -> None:
    feed.write_example(log, vectors=vectors)
    table = dr.Table(log.uri)
    images = {
        ("jack", "apple", "update_preimage", 2),
        ("jack", "banana", "update_postimage", 2),
    }
    unmatched = {("jack", "apple", "delete", 2), ("jack", "banana", "insert", 2)}
    assert changed_rows(table.changes(0, key=["name"])) == EXAMPLE_CHANGES
    assert changed_rows(table.changes(0)) == (EXAMPLE_CHANGES - images) | unmatched
    assert changed_rows(table.changes(3)) == {("john", "pineapple", "delete", 3)}
    ways = table.changes(0, key=["name"]).explain()["way"].to_pylist()
    assert ways == ["nothing", "files", "key", "deletion vectors" if vectors else "key"]
    ways = table.changes(0).explain()["way"].to_pylist()
    assert ways == ["nothing", "files", "rows", "deletion vectors" if vectors else "rows"]


@pytest.mark.parametrize(
    ("kind", "deleted", "start", "rows"),
    [
        ("min-delta", None, 0, {("jack", "banana", "insert", 2), ("sarah", "orange", "insert", 1)}),
        (
            "min-delta",
            None,
            2,
            {
                ("jack", "apple", "update_preimage", 2),
                ("jack", "banana", "update_postimage", 2),
                ("john", "pineapple", "delete", 3),
            },
        ),
        ("upsert", None, 2, {("jack", "banana", "update_postimage", 2)}),
        (
            "upsert",
            "include",
            2,
            {("jack", "banana", "update_postimage", 2), ("john", "pineapple", "delete", 3)},
        ),
        (
            "append-only",
            "include",
            1,
            {
                ("jack", "banana", "insert", 2),
                ("sarah", "orange", "insert", 1),
                ("john", "pineapple", "insert", 1),
            },
        ),
        (
            "append-only",
            "exclude",
            1,
            {("jack", "banana", "insert", 2), ("sarah", "orange", "insert", 1)},
        ),
        ("append-only", None, 2, set()),
    ],
)
@pytest.mark.parametrize("fed", [True, False], ids=["feed", "no-feed"])
@pytest.mark.parametrize("vectors", [False, True], ids=["cow", "mor"])
def test_the_net_changes_of_a_range(
    log: logs.LogBuilder,
    vectors: bool,
    fed: bool,
    kind: Any,
    deleted: Any,
    start: int,
    rows: set[Any],
) -> None:
    feed.write_example(log, vectors=vectors, feed=fed)
    changes = dr.Table(log.uri).changes(start, kind=kind, deleted=deleted, key=["name"])
    assert changed_rows(changes) == rows
    assert set(changes.explain()["way"].to_pylist()) <= {"key", "nothing"}


def test_kinds_that_need_row_identity_name_a_remedy(log: logs.LogBuilder) -> None:
    feed.write_example(log, vectors=False)
    table = dr.Table(log.uri)
    for kind in ("upsert", "append-only"):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.changes(0, kind=kind).to_arrow()
        assert caught.value.code == "changes.identity"
        assert "delta.enableRowTracking" in str(caught.value)
        assert "key" in str(caught.value)
    net = table.changes(2, kind="min-delta")
    assert changed_rows(net) == {
        ("jack", "apple", "delete", 2),
        ("jack", "banana", "insert", 2),
        ("john", "pineapple", "delete", 3),
    }
    assert "enable row tracking or pass `key`" in net.explain()["reason"].to_pylist()[0]


def test_a_key_that_is_not_unique(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long", v="long"))
    first = data.write(log.table, "1.parquet", {"id": [1, 1, 2], "v": [1, 2, 3]})
    log.commit(first)
    second = data.write(log.table, "2.parquet", {"id": [1, 1, 2], "v": [1, 9, 3]})
    log.commit(feed.removal(first), second)
    table = dr.Table(log.uri)
    # one of the two rows was copied, so the other one was updated
    assert changed_rows(table.changes(2, key=["id"])) == {
        (1, 2, "update_preimage", 2),
        (1, 9, "update_postimage", 2),
    }
    third = data.write(log.table, "3.parquet", {"id": [1, 1, 2], "v": [7, 8, 3]})
    log.commit(feed.removal(second), third)
    for kind in ("full-delta", "min-delta"):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.changes(3, kind=kind, key=["id"]).to_arrow()  # type: ignore[arg-type]
        assert (caught.value.code, caught.value.version) == ("changes.key", 3)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.changes(2, key=["nothing"])
    assert caught.value.code == "columns.unknown"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"kind": "half-delta"}, "changes.kind"),
        ({"kind": "full-delta", "deleted": "include"}, "changes.deleted"),
        ({"kind": "min-delta", "deleted": "exclude"}, "changes.deleted"),
        ({"kind": "upsert", "deleted": "perhaps"}, "changes.deleted"),
    ],
)
def test_invalid_kinds_are_refused(table: dr.Table, arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.changes(0, **arguments)
    assert caught.value.code == code


def test_row_ids_that_are_duplicate_or_not_kept(log: logs.LogBuilder) -> None:
    features = logs.features(writer_only=["rowTracking", "domainMetadata"])
    log.create(logs.schema(v="long"), protocol_action=features, configuration=tracked.PROPERTIES)
    versions = {"default_row_commit_version": 1}
    first = data.write(log.table, "1.parquet", {"v": [1, 2]}, base_row_id=0, **versions)
    log.commit(first)
    twice = {"v": [1, 9], "_id": [1, 1], "_row_version": [2, 2]}
    second = data.write(log.table, "2.parquet", twice, base_row_id=2, **versions)
    log.commit(feed.removal(first), second)
    table = dr.Table(log.uri)
    with pytest.raises(dr.CorruptTableError) as caught:
        table.changes(2).to_arrow()
    assert (caught.value.code, caught.value.version) == ("changes.row_id", 2)
    not_kept = {"tags": {"delta.rowTracking.preserved": "false"}}
    log.commit(
        logs.commit_info(**not_kept),
        feed.removal(second),
        data.write(
            log.table, "3.parquet", {"v": [1, 8]}, base_row_id=4, default_row_commit_version=3
        ),
    )
    changes = table.changes(3)
    assert changed_rows(changes) == {(9, "delete", 3), (8, "insert", 3)}
    [explained] = changes.explain().to_pylist()
    assert explained["way"] == "rows"
    assert "did not keep row ids" in explained["reason"]


@pytest.mark.parametrize("most_rows", [None, 2])
def test_a_key_with_nulls_equals_no_other(tmp_path: Path, most_rows: int | None) -> None:
    """As in SQL. A row that was only copied is still recognised by its values."""
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("v", pa.int64())]))
    old = [(None, 1), (None, 1), (None, 5), (1, 1)]
    new = [(None, 1), (None, 2), (None, 3), (None, 3), (1, 2)]
    table.append([{"id": id, "v": v} for id, v in old])
    table.overwrite([{"id": id, "v": v} for id, v in new])

    def changed(kind: str) -> list[tuple[Any, ...]]:
        rows = table.changes(2, kind=kind, key=["id"], most_rows=most_rows)  # type: ignore[arg-type]
        named = rows.to_arrow().select(["id", "v", "_change_type"]).to_pylist()
        return sorted((tuple(row.values()) for row in named), key=str)

    images = [(1, 1, "update_preimage"), (1, 2, "update_postimage")]
    inserts = [(None, 2, "insert"), (None, 3, "insert"), (None, 3, "insert")]
    deletes = [(None, 1, "delete"), (None, 5, "delete")]
    everything = sorted([*images, *inserts, *deletes], key=str)
    assert changed("full-delta") == everything
    assert changed("min-delta") == everything
    assert changed("upsert") == sorted([images[1], *inserts], key=str)
    assert changed("append-only") == inserts


@pytest.mark.parametrize("most_rows", [None, 1])
def test_each_of_several_equal_rows_has_its_own_change(
    tmp_path: Path, most_rows: int | None
) -> None:
    """A row without an identity was changed once: when it was added or removed."""
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("v", pa.int64())]))

    def changed(start: int, kind: str, **arguments: Any) -> list[tuple[Any, ...]]:
        changes = table.changes(start, kind=kind, most_rows=most_rows, **arguments)  # type: ignore[arg-type]
        columns = ["id", "_change_type", "_commit_version"]
        rows = changes.to_arrow().select(columns).to_pylist()
        return sorted((tuple(row.values()) for row in rows), key=str)

    table.append([{"id": 1, "v": 1}] * 2 + [{"id": None, "v": 2}])
    table.append([{"id": 1, "v": 1}, {"id": None, "v": 2}, {"id": 5, "v": 5}])
    table.delete("id = 5")  # rewrites a file
    inserts = [(1, "insert", 1), (1, "insert", 1), (1, "insert", 2)]
    unknown = [(None, "insert", 1), (None, "insert", 2)]
    assert changed(1, "min-delta") == [*inserts, *unknown]
    table.overwrite([{"id": 1, "v": 1}, {"id": None, "v": 2}])
    table.overwrite([{"id": 7, "v": 7}])
    deletes = [(1, "delete", 4), (1, "delete", 4), (1, "delete", 5)]
    deletes += [(5, "delete", 3), (None, "delete", 4), (None, "delete", 5)]
    assert changed(3, "min-delta") == sorted([*deletes, (7, "insert", 5)], key=str)
    table.overwrite([{"id": 8, "v": 8}, {"id": None, "v": 2}])
    table.overwrite([{"id": 9, "v": 9}])
    table.append([{"id": None, "v": 2}] * 2)
    table.append([{"id": None, "v": 2}])
    table.delete("id IS NULL")
    gone = [(None, "insert", 6), (None, "insert", 8), (None, "insert", 8), (None, "insert", 9)]
    by_key = {"key": ["id"], "deleted": "include"}
    assert changed(6, "append-only", **by_key) == [
        (8, "insert", 6),
        (9, "insert", 7),
        *gone,
    ]


def test_a_key_has_columns(log: logs.LogBuilder) -> None:
    feed.write_example(log, vectors=False)
    table = dr.Table(log.uri)
    for call in (lambda: table.changes(0, key=[]), lambda: table.follow(key=[])):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            call()
        assert caught.value.code == "changes.key"
