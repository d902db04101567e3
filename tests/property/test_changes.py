"""Every kind of changes of random histories against the model, at random ranges."""

from __future__ import annotations

import pickle
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, seed
from hypothesis import strategies as st
from property import change_model as model
from property.changing import OPERATIONS, Config, Writer
from property.test_replay import EXAMPLES, thorough
from support.shuffling import shuffled

import deltareplay as dr

seen: Counter[str] = Counter()

KINDS = [
    ("min-delta", None),
    ("upsert", None),
    ("upsert", "include"),
    ("append-only", "exclude"),
    ("append-only", "include"),
]

steps = st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 10**6))
histories = st.tuples(
    st.builds(Config, *[st.booleans()] * 4), st.lists(steps, min_size=2, max_size=8)
)
tracked = st.builds(Config, st.booleans(), st.just(True), st.booleans(), st.booleans())
tracked_histories = st.tuples(tracked, st.lists(steps, min_size=4, max_size=14))


def rows_of(changes: Any) -> model.Told:
    return told(changes.to_arrow())


def told(rows: pa.Table) -> model.Told:
    rows = rows.drop_columns(["_commit_timestamp"])
    return Counter(tuple(row.values()) for row in rows.to_pylist())


def written(root: str, config: Config, steps: list[tuple[str, int]]) -> Writer:
    writer = Writer(Path(root) / "table", config)
    writer.step("insert", random.Random(len(steps)))
    for at, (operation, number) in enumerate(steps):
        writer.step(operation, random.Random(f"{number} {at}"))
    return writer


@given(histories, st.data())
@thorough(EXAMPLES // 2)
def test_changes_are_those_of_the_model(
    history: tuple[Config, list[tuple[str, int]]], draw: st.DataObject
) -> None:
    agree(history, draw)


@given(tracked_histories, st.data())
@thorough(EXAMPLES // 2)
def test_changes_of_tracked_rows_are_those_of_the_model(
    history: tuple[Config, list[tuple[str, int]]], draw: st.DataObject
) -> None:
    agree(history, draw)


def agree(history: tuple[Config, list[tuple[str, int]]], draw: st.DataObject) -> None:
    """Every kind over one range of a history."""
    config, steps = history
    with tempfile.TemporaryDirectory() as root:
        writer = written(root, config, steps)
        table = dr.Table(writer.log.uri)
        latest = writer.version - 1
        start = draw.draw(st.integers(0, latest))
        end = latest - draw.draw(st.integers(0, latest - start))
        by_key = draw.draw(st.booleans())
        key = ["k"] if by_key else None
        before = writer.states[start - 1] if start else {}
        after = Counter(row.values for row in writer.states[end].values())

        few = draw.draw(st.sampled_from([None, None, 3]))
        changes = table.changes(start, end, key=key, most_rows=few)
        found = rows_of(changes)
        assert found == model.full(writer, start, end, by_key)
        assert model.applied(before, found) == after
        versions = changes.to_arrow()["_commit_version"].to_pylist()
        assert versions == sorted(versions)
        assert [row["version"] for row in changes.explain().to_pylist()] == [*range(start, end + 1)]

        for kind, deleted in KINDS:
            net = table.changes(start, end, kind=kind, deleted=deleted, key=key, most_rows=few)
            expected = model.net(writer, start, end, by_key, kind, deleted == "include")
            if expected is None:
                with pytest.raises(dr.InvalidArgumentError) as caught:
                    net.to_arrow()
                assert caught.value.code == "changes.identity"
                seen["refused"] += 1
                continue
            assert rows_of(net) == expected, kind
            if kind == "min-delta":
                assert model.applied(before, expected) == after
            size = draw.draw(st.sampled_from([1, 2000, 10**6]))
            splits = [pickle.loads(pickle.dumps(split)) for split in net.splits(size)]
            assert sum(map(rows_of, splits), Counter()) == expected
            assert told(shuffled(table, net, size)) == expected
            seen[f"{kind} {model.way_of(writer, start, end, by_key)}"] += bool(expected)
        splits = [pickle.loads(pickle.dumps(split)) for split in changes.splits(1)]
        assert sum(map(rows_of, splits), Counter()) == found
        for way in set(changes.explain()["way"].to_pylist()):
            seen[way] += 1


def test_the_histories_were_of_every_kind() -> None:
    ways = ["change data files", "files", "deletion vectors", "row tracking", "key", "rows"]
    nets = [f"{kind} {way}" for kind, _ in KINDS for way in ("row tracking", "key", "files")]
    wanted = [*ways, *nets, "min-delta rows", "refused"]
    for number in range(20):  # chance may have left one out, and in CI it is always the same
        if not all(seen[way] for way in wanted):
            seed(number)(test_changes_are_those_of_the_model)()
    assert not [way for way in wanted if not seen[way]]
