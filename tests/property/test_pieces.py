"""Pieces and tail together are the live files, over random histories stored in random ways."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from property.histories import CHECKPOINTS, History, histories
from property.test_replay import (
    EXAMPLES,
    found_files,
    modelled_files,
    of_all_examples,
    repeat_until,
    thorough,
    written,
)

import deltareplay as dr

FILTERS = [None, "d = '1'", "d IS NULL", "id >= 9007199254740993", "id < 2 AND d <> 'x'"]
COLUMNS = [
    None,
    ["path"],
    ["numRecords", "path"],
    ["partitionValues_parsed", "stats_parsed", "deletionVector", "path"],
]

seen: Counter[str] = Counter()


def replayed(plan: dr.ReplayPlan) -> list[dict[str, Any]]:
    """Return the rows of a plan whose pieces and tail were pickled separately."""
    tail = pickle.loads(pickle.dumps(plan.tail))
    rows = plan.files.to_pylist()
    for piece in plan.pieces:
        rows += pickle.loads(pickle.dumps(piece)).to_arrow(tail).to_pylist()
    return rows


def reconciled(plan: dr.ReplayPlan) -> list[dict[str, Any]]:
    """Return the rows of a keyed plan: the newest of each key, if it is a file."""
    assert plan.files.num_rows == plan.tail.num_hidden == 0
    newest: dict[bytes, tuple[int, Any]] = {}
    for piece in plan.pieces:
        keys: set[bytes] = set()
        for row in piece.to_arrow(plan.tail).to_pylist():
            assert row["key"] not in keys, "a piece has at most one row per key"
            keys.add(row["key"])
            if row["key"] not in newest or newest[row["key"]][0] < row["version"]:
                newest[row["key"]] = row["version"], row["file"]
    return [file for _, file in newest.values() if file is not None]


def texts(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, rows))


@thorough()
@given(history=histories(), data=st.data())
def test_the_pieces_of_a_plan_are_the_files(history: History, data: st.DataObject) -> None:
    version = data.draw(st.integers(history.earliest, history.latest))
    options: dict[str, Any] = {
        "columns": data.draw(st.sampled_from(COLUMNS)),
        "filter": data.draw(st.sampled_from(FILTERS)),
    }
    size = data.draw(st.sampled_from([300, 2000, 32 << 20]))
    with written(history) as uri:
        table = dr.Table(uri)
        expected = texts(table.snapshot(version=version).files(**options).to_pylist())
        plan = table.snapshot(version=version).replay_plan(**options, piece_size=size)
        assert texts(replayed(plan)) == expected
        keyed = table.snapshot(version=version).replay_plan(**options, piece_size=size, keyed=True)
        assert texts(reconciled(keyed)) == expected
    before = [checkpoint for checkpoint in history.checkpoints if checkpoint.version <= version]
    if plan.pieces and before:
        newest = max(checkpoint.version for checkpoint in before)
        seen.update(checkpoint.kind for checkpoint in before if checkpoint.version == newest)
        seen["both"] += plan.files.num_rows > 0
        seen["hidden"] += plan.tail.num_hidden > 0
    seen["left out"] += options["filter"] is not None and len(expected) < len(
        history.model(version).files
    )


@thorough(EXAMPLES // 3)
@given(history=histories(), size=st.sampled_from([500, 32 << 20]))
def test_the_pieces_agree_with_the_model(history: History, size: int) -> None:
    """The test above compares with ``files()``; this one compares both with the model."""
    with written(history) as uri:
        plan = dr.Table(uri).snapshot().replay_plan(piece_size=size)
        paths = sorted(row["path"] for row in replayed(plan))
        model = history.model(history.latest)
        assert paths == sorted(body["path"] for body in model.files.values())
        assert found_files(dr.Table(uri).snapshot()) == modelled_files(model)


@of_all_examples
def test_the_plans_were_of_every_kind() -> None:
    """Runs after the properties and checks their coverage."""
    kinds = [*CHECKPOINTS, "both", "hidden", "left out"]
    repeat_until(lambda: all(seen[kind] for kind in kinds), test_the_pieces_of_a_plan_are_the_files)
