"""Every kind of changes of random histories, compared with the model, for random ranges.

Hypothesis generates histories freely, and few of them need, say, a key. So each way of identifying
rows also has its own histories, and its test states which kinds must have occurred.
"""

from __future__ import annotations

import pickle
import random
import tempfile
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property import change_model as model
from property.changing import OPERATIONS, Config, Writer
from property.test_replay import EXAMPLES, thorough
from support.shuffling import shuffled

import deltareplay as dr

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
#: Generators that choose ranges and sizes of reads.
generators = st.randoms(use_true_random=False)

History = tuple[Config, list[tuple[str, int]]]


def rows_of(changes: Any) -> model.RowCounts:
    return counted(changes.to_arrow())


def counted(rows: pa.Table) -> model.RowCounts:
    rows = rows.drop_columns(["_commit_timestamp"])
    return Counter(tuple(row.values()) for row in rows.to_pylist())


def write_steps(root: str, config: Config, steps: list[tuple[str, int]]) -> Writer:
    writer = Writer(Path(root) / "table", config)
    writer.step("insert", random.Random(len(steps)))
    for at, (operation, number) in enumerate(steps):
        writer.step(operation, random.Random(f"{number} {at}"))
    return writer


@given(histories, st.booleans(), generators)
@thorough(EXAMPLES // 2)
def test_changes_are_those_of_the_model(history: History, by_key: bool, rng: random.Random) -> None:
    assert_agree(history, by_key, rng)


@given(tracked_histories, st.booleans(), generators)
@thorough(EXAMPLES // 2)
def test_changes_of_tracked_rows_are_those_of_the_model(
    history: History, by_key: bool, rng: random.Random
) -> None:
    assert_agree(history, by_key, rng)


def assert_agree(history: History, by_key: bool, rng: random.Random) -> set[str]:
    """Check every kind over one range of a history; return what occurred."""
    config, steps = history
    seen: set[str] = set()
    with tempfile.TemporaryDirectory() as root:
        writer = write_steps(root, config, steps)
        table = dr.Table(writer.log.uri)
        latest = writer.version - 1
        start = rng.randint(0, latest)
        end = rng.randint(start, latest)
        key = ["k"] if by_key else None
        before = writer.states[start - 1] if start else {}
        after = Counter(row.values for row in writer.states[end].values())

        most_rows = rng.choice([None, None, 3])
        changes = table.changes(start, end, key=key, most_rows=most_rows)
        result = rows_of(changes)
        assert result == model.full(writer, start, end, by_key)
        assert model.applied(before, result) == after
        versions = changes.to_arrow()["_commit_version"].to_pylist()
        assert versions == sorted(versions)
        assert [row["version"] for row in changes.explain().to_pylist()] == [*range(start, end + 1)]

        for kind, deleted in KINDS:
            net = table.changes(
                start, end, kind=kind, deleted=deleted, key=key, most_rows=most_rows
            )
            expected = model.net(writer, start, end, by_key, kind, deleted == "include")
            if expected is None:
                with pytest.raises(dr.InvalidArgumentError) as caught:
                    net.to_arrow()
                assert caught.value.code == "changes.identity"
                seen.add("refused")
                continue
            assert rows_of(net) == expected, kind
            if kind == "min-delta":
                assert model.applied(before, expected) == after
            size = rng.choice([1, 2000, 10**6])
            splits = [pickle.loads(pickle.dumps(split)) for split in net.splits(size)]
            assert sum(map(rows_of, splits), Counter()) == expected
            assert counted(shuffled(table, net, size)) == expected
            if expected:
                seen.add(f"{kind}, {deleted}, by {model.way_of(writer, start, end, by_key)}")
        splits = [pickle.loads(pickle.dumps(split)) for split in changes.splits(1)]
        assert sum(map(rows_of, splits), Counter()) == result
        return seen | set(changes.explain()["way"].to_pylist())


@dataclass(frozen=True)
class Way:
    """Histories whose rows are identified in one way.

    Attributes:
        tracking: Whether rows have ids.
        feed: Whether commits have change data files.
        vectors: Whether rows are deleted in place; None is either.
        operations: The operations of the histories.
        by_key: Whether a key is given; None is either.
        seen: What must occur: ways of commits, as ``explain`` names them, and net changes.
    """

    tracking: bool
    feed: bool
    vectors: bool | None
    operations: Sequence[str]
    by_key: bool | None
    seen: Set[str]


def kinds(way: str) -> set[str]:
    """Return every kind of net changes, of rows identified in this way."""
    return {f"{kind}, {deleted}, by {way}" for kind, deleted in KINDS}


TRACKED, BY_KEY, BY_FILES = kinds("row tracking"), kinds("key"), kinds("files")
BY_ROWS = {"min-delta, None, by rows", "refused"}
IN_PLACE = ["insert", "delete"]
WAYS = {
    "row tracking": Way(True, False, None, OPERATIONS, None, {"row tracking", *TRACKED}),
    "key": Way(False, False, None, OPERATIONS, True, {"key", *BY_KEY}),
    "rows": Way(False, False, None, OPERATIONS, False, {"rows", *BY_ROWS}),
    "files": Way(False, False, True, IN_PLACE, False, {"files", "deletion vectors", *BY_FILES}),
    "change data files": Way(False, True, None, OPERATIONS, True, {"change data files", *BY_KEY}),
}
#: The number of histories for each way.
HISTORIES = max(8, EXAMPLES // 20)


@pytest.mark.parametrize("name", WAYS)
def test_every_kind_for_each_way_of_identifying_rows(name: str) -> None:
    way, seen = WAYS[name], Counter[str]()
    for number in range(HISTORIES):
        rng = random.Random(f"{name} {number}")
        vectors = number % 2 == 0 if way.vectors is None else way.vectors
        config = Config(vectors, way.tracking, way.feed, number % 4 > 1)
        steps = [
            (rng.choice(way.operations), rng.randrange(10**6)) for _ in range(rng.randint(3, 8))
        ]
        by_key = number % 3 == 0 if way.by_key is None else way.by_key
        seen.update(assert_agree((config, steps), by_key, rng))
    print(name, dict(seen))
    assert not way.seen - set(seen)
