"""``min-delta`` of tracked rows: when both ends of a range determine it, and when not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support import feed, logs
from support.tracked import change_rows, create, file

import deltareplay as dr

ENOUGH = "the two ends of the range determine the result"
FOLLOWED = "are followed through every commit: "


def written_again(log: logs.LogBuilder) -> None:
    log.commit(file(log, 1, 0, "a b"))
    two = file(log, 2, 2, "x y")
    log.commit(two)
    log.commit(feed.removal(two))
    log.commit({"add": {**two["add"], "defaultRowCommitVersion": 4}})


def restored(log: logs.LogBuilder) -> None:
    first = file(log, 1, 0, "a b")
    log.commit(first)
    log.commit(feed.removal(first), file(log, 2, 2, "A:0 b:1:1"))
    log.commit(feed.removal(file(log, 2, 2, "A:0 b:1:1")), first)


def restored_rows(log: logs.LogBuilder) -> None:
    first = file(log, 1, 0, "a b c")
    log.commit(first)
    masked, other_masked = feed.with_vector(first, [0, 1]), feed.with_vector(first, [1, 2])
    log.commit(feed.removal(first), masked)
    log.commit(feed.removal(masked), other_masked)


def restored_rows_without_a_change(log: logs.LogBuilder) -> None:
    first = file(log, 1, 0, "a b")
    log.commit(first)
    masked = feed.with_vector(first, [1])
    log.commit(feed.removal(first), masked)
    unmasked = {"add": {**first["add"], "dataChange": False}}
    log.commit(feed.removal(masked, data_change=False), unmasked)


def ids_not_kept(log: logs.LogBuilder) -> None:
    first = file(log, 1, 0, "a b")
    log.commit(first)
    second = file(log, 2, 2, "a b", data_change=False)
    tags = {"delta.rowTracking.preserved": "false"}
    log.commit(logs.commit_info(tags=tags), feed.removal(first, data_change=False), second)
    second = {"add": {**second["add"], "dataChange": True}}
    log.commit(feed.removal(second), feed.with_vector(second, [1]))


def removed_without_a_target(log: logs.LogBuilder) -> None:
    first, second = file(log, 1, 0, "a b"), file(log, 2, 2, "c d")
    log.commit(first)
    log.commit(second)
    log.commit(feed.removal(first, data_change=False))
    log.commit(feed.removal(second), feed.with_vector(second, [0]))


def another_vector(log: logs.LogBuilder) -> None:
    first = file(log, 1, 0, "a b c")
    log.commit(first)
    log.commit(feed.removal(first), feed.with_vector(first, [0]))
    log.commit(feed.removal(feed.with_vector(first, [0, 1])))


def ids_before_others(log: logs.LogBuilder) -> None:
    first = file(log, 1, 10, "a b")
    log.commit(first)
    log.commit(feed.removal(first), feed.with_vector(first, [0]), file(log, 2, 0, "z"))


def row_of_an_existing_file(log: logs.LogBuilder) -> None:
    log.commit(file(log, 1, 0, "a b"))
    log.commit(file(log, 2, 2, "c:1"))


def version_behind_its_file(log: logs.LogBuilder) -> None:
    first = file(log, 1, 0, "a b")
    log.commit(first)
    log.commit(feed.removal(first), feed.with_vector(first, [0]), file(log, 2, 2, "A:0:3"))
    log.commit(file(log, 3, 3, "z"))


def high_id_before(log: logs.LogBuilder) -> None:
    first = file(log, 1, 0, "a:5 b")
    log.commit(first)
    log.commit(feed.removal(first), feed.with_vector(first, [0]), file(log, 2, 2, "A:5"))


CASES: dict[str, tuple[Callable[[logs.LogBuilder], None], int, str, list[tuple[str, str, int]]]] = {
    "a file is added again": (
        written_again,
        2,
        "a file was added or removed more than once",
        [("x", "insert", 4), ("y", "insert", 4)],
    ),
    "RESTORE": (restored, 2, "a file of an earlier commit again, as RESTORE does", []),
    "rows are restored": (
        restored_rows,
        2,
        "rows of a file were restored",
        [("b", "delete", 2), ("c", "delete", 3)],
    ),
    "rows are restored without a change": (
        restored_rows_without_a_change,
        2,
        "rows of a file were restored",
        [("b", "delete", 2)],
    ),
    "ids are not kept": (ids_not_kept, 2, "without keeping their ids", [("b", "delete", 3)]),
    "rows are removed but not added": (
        removed_without_a_target,
        3,
        "and added no file",
        [("c", "delete", 4)],
    ),
    "another vector": (
        another_vector,
        2,
        "a deletion vector other than its latest",
        [("a", "delete", 2), ("c", "delete", 3)],
    ),
    "ids before others": (
        ids_before_others,
        2,
        "not larger than those",
        [("a", "delete", 2), ("z", "insert", 2)],
    ),
    # the rows show these, the log does not
    "a row exists already": (row_of_an_existing_file, 2, ENOUGH, [("c", "insert", 2)]),
    "a version after its file": (
        version_behind_its_file,
        2,
        ENOUGH,
        [("A", "update_postimage", 2), ("a", "update_preimage", 2), ("z", "insert", 3)],
    ),
    "an id of the range before it": (
        high_id_before,
        2,
        ENOUGH,
        [("A", "update_postimage", 2), ("a", "update_preimage", 2)],
    ),
}


@pytest.mark.parametrize("most_rows", [None, 1])
@pytest.mark.parametrize("case", CASES)
def test_rows_are_followed(log: logs.LogBuilder, case: str, most_rows: int | None) -> None:
    write, start, reason, expected = CASES[case]
    create(log)
    write(log)
    changes = dr.Table(log.uri).changes(start, kind="min-delta", most_rows=most_rows)
    assert change_rows(changes) == expected
    assert sorted(row for split in changes.splits(1) for row in change_rows(split)) == expected
    [found] = {
        row["reason"] for row in changes.explain().to_pylist() if row["way"] == "row tracking"
    }
    assert reason in found
    assert (FOLLOWED in found) == (reason != ENOUGH)


@pytest.mark.parametrize(
    ("kind", "deleted", "enough", "expected"),
    [
        ("min-delta", None, True, [("c", "insert", 2)]),
        ("upsert", None, True, [("c", "insert", 2)]),
        ("append-only", "exclude", True, [("c", "insert", 2)]),
        ("append-only", "include", False, [("c", "insert", 2), ("d", "insert", 3)]),
    ],
)
def test_a_row_inserted_and_deleted_within_the_range(
    log: logs.LogBuilder, kind: Any, deleted: Any, enough: bool, expected: list[Any]
) -> None:
    create(log)
    log.commit(file(log, 1, 0, "a b"))
    log.commit(file(log, 2, 2, "c"))
    three = file(log, 3, 3, "d")
    log.commit(three)
    log.commit(feed.removal(three))
    changes = dr.Table(log.uri).changes(2, kind=kind, deleted=deleted)
    assert change_rows(changes) == expected
    [reason] = set(changes.explain()["reason"].to_pylist())
    assert (ENOUGH in reason) == enough
    assert ("at neither end" in reason) == (not enough)
