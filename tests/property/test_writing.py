"""Random histories written by the table itself, compared with a list of rows.

After every commit: the rows, their ids, and the change feed.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deltareplay as dr

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.int64())])
Values = dict[str, Any]
Event = tuple[str, Any, Any, Any]

CONDITIONS: list[tuple[str, Callable[[Values], bool]]] = [
    ("v > 5", lambda row: row["v"] is not None and row["v"] > 5),
    ("v IS NULL", lambda row: row["v"] is None),
    ("p = 'a'", lambda row: row["p"] == "a"),
    ("p IS NULL OR v = 3", lambda row: row["p"] is None or row["v"] == 3),
    ("id % 2 = 0", lambda row: row["id"] % 2 == 0),
    ("id IN (1, 4, 9, 16)", lambda row: row["id"] in (1, 4, 9, 16)),
    ("NOT (p = 'b' AND v < 7)", lambda row: _not(_and(_eq(row["p"], "b"), _lt(row["v"], 7)))),
    ("id < 5", lambda row: row["id"] < 5),
    ("true", lambda row: True),
]
SETS: list[tuple[dict[str, Any], Callable[[Values], Values]]] = [
    ({"v": "v + 1"}, lambda row: {"v": None if row["v"] is None else row["v"] + 1}),
    ({"v": None, "p": "'c'"}, lambda row: {"v": None, "p": "c"}),
    ({"p": "coalesce(p, 'a')"}, lambda row: {"p": "a" if row["p"] is None else row["p"]}),
    ({"v": 3}, lambda row: {"v": 3}),
]


def _eq(left: Any, right: Any) -> bool | None:
    return None if left is None else left == right


def _lt(left: Any, right: Any) -> bool | None:
    return None if left is None else left < right


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _not(left: bool | None) -> bool:
    return left is False


@dataclass
class Model:
    """The rows, each id once."""

    rows: dict[int, Values] = field(default_factory=dict)
    next_id: int = 0

    def new(self, parts: list[tuple[str | None, int | None]]) -> list[Values]:
        rows = []
        for p, v in parts:
            rows.append({"id": self.next_id, "p": p, "v": v})
            self.next_id += 1
        return rows

    def put(self, rows: list[Values]) -> list[Event]:
        self.rows.update({row["id"]: row for row in rows})
        return [event("insert", row) for row in rows]

    def take(self, holds: Callable[[Values], bool]) -> list[Event]:
        gone = [row for row in self.rows.values() if holds(row)]
        for row in gone:
            del self.rows[row["id"]]
        return [event("delete", row) for row in gone]

    def change(
        self, holds: Callable[[Values], bool], new: Callable[[Values], Values]
    ) -> list[Event]:
        events = []
        for key, row in list(self.rows.items()):
            if holds(row):
                self.rows[key] = {**row, **new(row)}
                events.append(event("update_preimage", row))
                events.append(event("update_postimage", self.rows[key]))
        return events


def event(kind: str, row: Values) -> Event:
    return (kind, row["id"], row["p"], row["v"])


PARTS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.none() | st.integers(0, 9)),
    min_size=1,
    max_size=8,
)
CONFIGS = st.fixed_dictionaries(
    {
        "vectors": st.booleans(),
        "ids": st.booleans(),
        "feed": st.booleans(),
        "mapped": st.booleans(),
        "partitioned": st.booleans(),
        "converted": st.booleans(),
    }
)


def step(data: st.DataObject, table: dr.Table, model: Model) -> tuple[dr.Written, list[Event]]:
    """Make one commit in the table and in the model."""
    kinds = ["append", "delete", "update", "merge", "replace"]
    kind = data.draw(st.sampled_from(kinds if model.rows else kinds[:1]), label="kind")
    if kind == "append":
        rows = model.new(data.draw(PARTS))
        return table.append(rows), model.put(rows)
    if kind == "delete":
        text, holds = data.draw(st.sampled_from(CONDITIONS))
        return table.delete(text), model.take(holds)
    if kind == "update":
        text, holds = data.draw(st.sampled_from(CONDITIONS))
        values, new = data.draw(st.sampled_from(SETS))
        return table.update(text, values), model.change(holds, new)
    if kind == "replace":
        rows = [{**row, "p": "a"} for row in model.new(data.draw(PARTS))]
        done = table.overwrite(rows, where="p = 'a'")
        return done, [*model.take(lambda row: row["p"] == "a"), *model.put(rows)]
    return merged(data, table, model)


def merged(data: st.DataObject, table: dr.Table, model: Model) -> tuple[dr.Written, list[Event]]:
    ids = data.draw(st.sets(st.integers(0, model.next_id + 2), max_size=6), label="ids")
    source = {number: {"id": number, "p": "b", "v": number % 10} for number in ids}
    delete, holds = data.draw(st.sampled_from(CONDITIONS), label="delete")
    by_source = data.draw(st.booleans(), label="not matched by source")
    batch = pa.Table.from_pylist(list(source.values()), schema=SCHEMA)
    merge = table.merge(batch, "id")
    qualified = re.sub(r"\b(id|p|v)\b(?!')", r"target.\1", delete)
    merge.when_matched_delete(qualified).when_matched_update_all()
    merge.when_not_matched_insert_all("source.id % 3 > 0")
    if by_source:
        merge.when_not_matched_by_source_update({"v": 8}, "target.p = 'a'")
    done = merge.execute()
    pairs = {item for item in source if item in model.rows}
    events = []
    if by_source:
        events += model.change(
            lambda row: row["id"] not in pairs and row["p"] == "a", lambda row: {"v": 8}
        )
    events += model.take(lambda row: row["id"] in pairs and holds(row))
    events += model.change(lambda row: row["id"] in pairs, lambda row: source[row["id"]])
    new = [row for item, row in source.items() if item not in pairs and item % 3 > 0]
    events += model.put(new)
    model.next_id = max([model.next_id, *(row["id"] + 1 for row in new)])
    return done, events


def create(data: st.DataObject, folder: Path, model: Model, config: dict[str, bool]) -> dr.Table:
    """Create the table: empty, or by ``convert`` from files of several row groups."""
    partitions = ["p"] if config["partitioned"] else []
    properties = {
        "delta.enableDeletionVectors": str(config["vectors"]).lower(),
        "delta.enableRowTracking": str(config["ids"]).lower(),
        "delta.enableChangeDataFeed": str(config["feed"]).lower(),
        "delta.columnMapping.mode": "name" if config["mapped"] else "none",
    }
    if not config["converted"]:
        return dr.create_table(folder, SCHEMA, partitions, properties, durable=False)
    rows = model.new(data.draw(PARTS, label="converted") + data.draw(PARTS, label="converted"))
    model.put(rows)
    by_partition: dict[str | None, list[Values]] = {}
    for row in rows:
        by_partition.setdefault(row["p"] if partitions else None, []).append(row)
    for p, part in by_partition.items():
        directory = folder / f"p={p or '__HIVE_DEFAULT_PARTITION__'}" if partitions else folder
        directory.mkdir(parents=True)
        columns = [name for name in SCHEMA.names if name not in partitions]
        content = pa.Table.from_pylist(part, schema=SCHEMA).select(columns)
        groups = data.draw(st.integers(1, 4), label="rows in a row group")
        pq.write_table(content, directory / "a.parquet", row_group_size=groups)
    columns_of_paths = pa.schema([SCHEMA.field("p")]) if partitions else None
    return dr.convert(
        folder, partition_schema=columns_of_paths, properties=properties, durable=False
    )


def row_ids(table: dr.Table) -> dict[int, int]:
    rows = pa.table(table.snapshot().scan(with_row_id=True)).to_pylist()
    return {row["id"]: row["_row_id"] for row in rows}


@settings(
    max_examples=1000 if os.environ.get("DELTAREPLAY_SLOW") else 40,
    suppress_health_check=list(HealthCheck),
)
@given(config=CONFIGS, data=st.data())
def test_histories(config: dict[str, bool], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Model()
        table = create(data, Path(folder) / "t", model, config)
        ids_before = row_ids(table) if config["ids"] else {}
        for _ in range(data.draw(st.integers(2, 7), label="steps")):
            done, events = step(data, table, model)
            check(table, model, config, done, events)
            if config["ids"]:
                result = row_ids(table)
                assert len(set(result.values())) == len(result)
                # an id that is inserted again belongs to another row
                new = {event[1] for event in events if event[0] == "insert"}
                assert {key: result[key] for key in result if key not in new} == {
                    key: ids_before[key] for key in result if key not in new
                }
                ids_before = result


def check(
    table: dr.Table,
    model: Model,
    config: dict[str, bool],
    done: dr.Written,
    events: list[Event],
) -> None:
    rows = pa.table(table.snapshot(strict=True)).to_pylist()
    assert {row["id"]: row for row in rows} == model.rows
    assert len(rows) == len(model.rows)
    assert table.snapshot().num_rows == len(rows)
    if done.version is None:
        assert events == []
    elif config["feed"]:
        reported = (
            table.changes(done.version, done.version, require_feed=True).to_arrow().to_pylist()
        )
        result = Counter((row["_change_type"], row["id"], row["p"], row["v"]) for row in reported)
        assert result == Counter(events)


@pytest.mark.parametrize("text", [text for text, _ in CONDITIONS])
def test_filters_agree_with_the_conditions(text: str, tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", SCHEMA)
    kinds = [(p, v) for p in ("a", "b", None) for v in (None, *range(10))]
    rows = [{"id": number, "p": p, "v": v} for number, (p, v) in enumerate(kinds)]
    table.append(rows)
    holds = dict(CONDITIONS)[text]
    result = {row["id"] for row in pa.table(table.snapshot().scan(filter=text)).to_pylist()}
    assert result == {row["id"] for row in rows if holds(row)}
