"""Net changes of tables that track rows: from both ends of a range, or through all commits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import feed, logs
from support.tracked import change_rows, create, file

import deltareplay as dr


@pytest.fixture
def rewritten(log: logs.LogBuilder) -> dr.Table:
    """Two commits rewrite four rows and update one each; the file between them is deleted."""
    create(log)
    first = file(log, 1, 0, "a b c d")
    log.commit(first)
    second = file(log, 2, 4, "a:0:1 B:1 c:2:1 d:3:1")
    log.commit(feed.removal(first), second)
    third = file(log, 3, 8, "a:0:1 B:1:2 C:2 d:3:1 e")
    log.commit(feed.removal(second), third)
    Path(log.table, "2.parquet").unlink()
    return dr.Table(log.uri)


PAIRS = [
    ("B", "update_postimage", 2),
    ("C", "update_postimage", 3),
    ("b", "update_preimage", 2),
    ("c", "update_preimage", 3),
    ("e", "insert", 3),
]


@pytest.mark.parametrize("most_rows", [None, 1])
def test_a_file_added_and_removed_within_the_range_is_not_read(
    rewritten: dr.Table, most_rows: int | None
) -> None:
    def net(kind: Any, deleted: Any = None) -> list[tuple[Any, ...]]:
        return change_rows(rewritten.changes(2, kind=kind, deleted=deleted, most_rows=most_rows))

    assert net("min-delta") == PAIRS
    without_preimages = [row for row in PAIRS if row[1] != "update_preimage"]
    assert net("upsert") == net("upsert", "include") == without_preimages
    assert net("append-only") == [("e", "insert", 3)]
    assert {row["way"] for row in rewritten.changes(2, kind="upsert").explain().to_pylist()} == {
        "row tracking"
    }
    with pytest.raises(dr.CorruptTableError) as caught:
        net("append-only", "include")
    assert (caught.value.code, caught.value.path) == ("data.missing", "2.parquet")


def test_columns_and_filter(rewritten: dr.Table) -> None:
    late = "_change_type = 'update_postimage' AND v < 'C'"
    assert change_rows(rewritten.changes(2, kind="min-delta", filter=late)) == PAIRS[:1]
    assert change_rows(rewritten.changes(2, kind="min-delta", filter="v >= 'b'")) == PAIRS[2:]
    none = rewritten.changes(2, kind="min-delta", columns=[])
    assert change_rows(none) == sorted(row[1:] for row in PAIRS)


def test_a_row_is_deleted_when_its_last_file_loses_it(log: logs.LogBuilder) -> None:
    create(log)
    first = file(log, 1, 0, "a b c d")
    log.commit(first)
    second = file(log, 2, 4, "a:0:1 B:1 c:2:1")
    log.commit(feed.removal(first), second)  # b is updated, d is deleted
    third = file(log, 3, 7, "a:0:1 B:1:2 c:2:1", data_change=False)
    log.commit(feed.removal(second, data_change=False), third)
    third = {"add": {**third["add"], "dataChange": True}}
    log.commit(feed.removal(third), feed.with_vector(third, [1]))  # and so is b
    table = dr.Table(log.uri)
    deletes = [("b", "delete", 4), ("d", "delete", 2)]
    assert change_rows(table.changes(2, kind="min-delta")) == deletes
    assert change_rows(table.changes(2, kind="upsert", deleted="include")) == deletes
    assert change_rows(table.changes(2, kind="upsert")) == []
    assert change_rows(table.changes(3, kind="min-delta")) == [("B", "delete", 4)]


def test_rows_leave_a_file_in_several_commits(log: logs.LogBuilder) -> None:
    create(log)
    first = file(log, 1, 0, "a b c d e")
    log.commit(first)
    states = [first, feed.with_vector(first, [3]), feed.with_vector(first, [1, 3])]
    log.commit(feed.removal(states[0]), states[1])
    log.commit(feed.removal(states[1]), states[2], file(log, 3, 5, "B:1"))
    log.commit(feed.removal(states[2]), file(log, 4, 6, "a:0:1 e:4:1"))
    table = dr.Table(log.uri)
    pair = [("B", "update_postimage", 3), ("b", "update_preimage", 3)]
    deletes = [("c", "delete", 4), ("d", "delete", 2)]
    assert change_rows(table.changes(2, kind="min-delta")) == [*pair, *deletes]
    assert change_rows(table.changes(3, kind="min-delta")) == [*pair, deletes[0]]
    assert change_rows(table.changes(2, kind="upsert", deleted="include")) == [pair[0], *deletes]
    by_parts = table.changes(2, kind="min-delta", most_rows=1)
    assert change_rows(by_parts) == [*pair, *deletes]


@pytest.mark.parametrize("whole", [False, True], ids=["vector", "file"])
def test_rows_that_are_restored_are_followed(log: logs.LogBuilder, whole: bool) -> None:
    create(log)
    first = file(log, 1, 0, "a b")
    log.commit(first)
    masked = feed.with_vector(first, [1])
    log.commit(feed.removal(first), *([] if whole else [masked]))
    log.commit(*([] if whole else [feed.removal(masked)]), first)
    table = dr.Table(log.uri)
    restored = ("b", "update_postimage", 3)
    expected = [("a", "update_postimage", 3), restored] if whole else [restored]
    assert change_rows(table.changes(2, kind="min-delta")) == []
    assert change_rows(table.changes(2, kind="upsert")) == expected
    inserts = [(row[0], "insert", 3) for row in expected]
    assert change_rows(table.changes(3, kind="min-delta")) == inserts
    assert change_rows(table.changes(3, kind="append-only")) == inserts


def test_a_row_that_is_updated_back_has_no_net_change(log: logs.LogBuilder) -> None:
    create(log)
    first = file(log, 1, 0, "a b")
    log.commit(first)
    second = file(log, 2, 2, "x:0 b:1:1")
    log.commit(feed.removal(first), second)
    log.commit(feed.removal(second), file(log, 3, 4, "a:0 b:1:1"))
    table = dr.Table(log.uri)
    assert change_rows(table.changes(2, kind="min-delta")) == []
    assert change_rows(table.changes(2, kind="upsert")) == [("a", "update_postimage", 3)]


@pytest.mark.parametrize("most_rows", [None, 4, 3, 1], ids=["kept", "some", "few", "parts"])
def test_rows_are_compared_within_and_beyond_most_rows(
    log: logs.LogBuilder, most_rows: int | None
) -> None:
    create(log)
    first = file(log, 1, 0, "a b c d")
    log.commit(first)
    log.commit(feed.removal(first), feed.with_vector(first, [0, 1]), file(log, 2, 4, "A:0 b:1 z"))
    changes = dr.Table(log.uri).changes(2, kind="min-delta", most_rows=most_rows)
    pair = [("A", "update_postimage", 2), ("a", "update_preimage", 2)]
    assert change_rows(changes) == [*pair, ("z", "insert", 2)]
    rows = changes.to_arrow()
    assert rows["v"].to_pylist() == ["a", "A", "z"] or most_rows == 1
    assert rows["_commit_timestamp"].null_count == 0


def test_duplicate_row_ids_are_an_error(log: logs.LogBuilder) -> None:
    create(log)
    log.commit(file(log, 1, 0, "a b"))
    log.commit(file(log, 2, 2, "c:1 d"))  # no writer does that
    with pytest.raises(dr.CorruptTableError) as caught:
        dr.Table(log.uri).changes(1, kind="min-delta").to_arrow()
    assert (caught.value.code, caught.value.version) == ("changes.row_id", 2)


def test_a_range_of_many_commits_is_split_by_commits(log: logs.LogBuilder) -> None:
    """A split has the rows of one commit: its task reads no files of other commits."""
    create(log)
    first = file(log, 1, 0, "a b c")
    log.commit(first)
    commits = 100
    for version in range(2, 2 + commits):
        second = file(log, version, 3 * version, f"a{version}:0 b:1:1 c:2:1")
        log.commit(feed.removal(first), second)
        first = second
    changes = dr.Table(log.uri).changes(2)
    explained = changes.explain().to_pylist()
    assert {row["way"] for row in explained} == {"row tracking"}
    splits = changes.splits(max(row["bytes"] for row in explained))
    assert len(splits) == commits
    for version, split in enumerate(splits, 2):
        assert split.paths == [
            f"{number}.parquet" for number in sorted({version - 1, version}, key=str)
        ]
        images = [(f"a{version - 1}" if version > 2 else "a", "update_preimage", version)]
        assert change_rows(split) == sorted([*images, (f"a{version}", "update_postimage", version)])
    splits = changes.splits(sum(row["bytes"] for row in explained) // 7)
    assert 7 <= len(splits) <= 9
    assert sorted(row for split in splits for row in change_rows(split)) == change_rows(changes)
