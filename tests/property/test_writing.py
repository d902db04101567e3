"""Random appends and statements, compared with a model that applies them to rows in memory.

After every commit: the rows, their row ids, and the change feed.
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
Row = dict[str, Any]
Event = tuple[str, Any, Any, Any]

#: Conditions in SQL, and whether they are true for a row.
CONDITIONS: list[tuple[str, Callable[[Row], bool]]] = [
    ("v > 5", lambda row: row["v"] is not None and row["v"] > 5),
    ("v IS NULL", lambda row: row["v"] is None),
    ("p = 'a'", lambda row: row["p"] == "a"),
    ("p IS NULL OR v = 3", lambda row: row["p"] is None or row["v"] == 3),
    ("id % 2 = 0", lambda row: row["id"] % 2 == 0),
    ("id IN (1, 4, 9, 16)", lambda row: row["id"] in (1, 4, 9, 16)),
    (
        "NOT (p = 'b' AND v < 7)",  # true if one of the comparisons is false, not null
        lambda row: row["p"] not in ("b", None) or (row["v"] is not None and row["v"] >= 7),
    ),
    ("id < 5", lambda row: row["id"] < 5),
    ("true", lambda row: True),
]
#: Assignments in SQL, and the values that they give a row.
ASSIGNMENTS: list[tuple[dict[str, Any], Callable[[Row], Row]]] = [
    ({"v": "v + 1"}, lambda row: {"v": None if row["v"] is None else row["v"] + 1}),
    ({"v": None, "p": "'c'"}, lambda row: {"v": None, "p": "c"}),
    ({"p": "coalesce(p, 'a')"}, lambda row: {"p": "a" if row["p"] is None else row["p"]}),
    ({"v": 3}, lambda row: {"v": 3}),
]


@dataclass
class Model:
    """The rows by id, which is unique; changes of rows return the events of the change feed."""

    rows: dict[int, Row] = field(default_factory=dict)
    next_id: int = 0

    def new_rows(self, values: list[tuple[str | None, int | None]]) -> list[Row]:
        """Return rows of these values with new ids, without inserting them."""
        rows = []
        for p, v in values:
            rows.append({"id": self.next_id, "p": p, "v": v})
            self.next_id += 1
        return rows

    def insert(self, rows: list[Row]) -> list[Event]:
        self.rows.update({row["id"]: row for row in rows})
        return [event("insert", row) for row in rows]

    def delete(self, holds: Callable[[Row], bool]) -> list[Event]:
        deleted = [row for row in self.rows.values() if holds(row)]
        for row in deleted:
            del self.rows[row["id"]]
        return [event("delete", row) for row in deleted]

    def update(self, holds: Callable[[Row], bool], assign: Callable[[Row], Row]) -> list[Event]:
        events = []
        for number, row in list(self.rows.items()):
            if holds(row):
                self.rows[number] = {**row, **assign(row)}
                events.append(event("update_preimage", row))
                events.append(event("update_postimage", self.rows[number]))
        return events


def event(kind: str, row: Row) -> Event:
    return (kind, row["id"], row["p"], row["v"])


VALUES = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.none() | st.integers(0, 9)),
    min_size=1,
    max_size=8,
)
CONFIGS = st.fixed_dictionaries(
    {
        "deletion_vectors": st.booleans(),
        "row_tracking": st.booleans(),
        "change_feed": st.booleans(),
        "mapped": st.booleans(),
        "partitioned": st.booleans(),
        "converted": st.booleans(),
    }
)


def commit(data: st.DataObject, table: dr.Table, model: Model) -> tuple[dr.Written, list[Event]]:
    """Make one commit in the table and in the model."""
    kinds = ["append", "delete", "update", "merge", "replace"]
    kind = data.draw(st.sampled_from(kinds if model.rows else kinds[:1]), label="kind")
    if kind == "append":
        rows = model.new_rows(data.draw(VALUES))
        return table.append(rows), model.insert(rows)
    if kind == "delete":
        text, holds = data.draw(st.sampled_from(CONDITIONS))
        return table.delete(text), model.delete(holds)
    if kind == "update":
        text, holds = data.draw(st.sampled_from(CONDITIONS))
        assignments, assign = data.draw(st.sampled_from(ASSIGNMENTS))
        return table.update(text, assignments), model.update(holds, assign)
    if kind == "replace":
        rows = [{**row, "p": "a"} for row in model.new_rows(data.draw(VALUES))]
        done = table.overwrite(rows, where="p = 'a'")
        return done, [*model.delete(lambda row: row["p"] == "a"), *model.insert(rows)]
    return merge(data, table, model)


def merge(data: st.DataObject, table: dr.Table, model: Model) -> tuple[dr.Written, list[Event]]:
    """Merge random rows into the table and into the model."""
    ids = data.draw(st.sets(st.integers(0, model.next_id + 2), max_size=6), label="ids")
    source = {number: {"id": number, "p": "b", "v": number % 10} for number in ids}
    text, holds = data.draw(st.sampled_from(CONDITIONS), label="delete")
    by_source = data.draw(st.booleans(), label="not matched by source")
    batch = pa.Table.from_pylist(list(source.values()), schema=SCHEMA)
    statement = table.merge(batch, "id")
    qualified = re.sub(r"\b(id|p|v)\b", r"target.\1", text)
    statement.when_matched_delete(qualified).when_matched_update_all()
    statement.when_not_matched_insert_all("source.id % 3 > 0")
    if by_source:
        statement.when_not_matched_by_source_update({"v": 8}, "target.p = 'a'")
    done = statement.execute()
    matched = source.keys() & model.rows.keys()
    events = []
    if by_source:
        events += model.update(
            lambda row: row["id"] not in matched and row["p"] == "a", lambda row: {"v": 8}
        )
    events += model.delete(lambda row: row["id"] in matched and holds(row))
    events += model.update(lambda row: row["id"] in matched, lambda row: source[row["id"]])
    new = [row for number, row in source.items() if number not in matched and number % 3 > 0]
    events += model.insert(new)
    model.next_id = max([model.next_id, *(row["id"] + 1 for row in new)])
    return done, events


def create(data: st.DataObject, folder: Path, model: Model, config: dict[str, bool]) -> dr.Table:
    """Create the table: empty, or by ``convert`` from files of random rows."""
    partitions = ["p"] if config["partitioned"] else []
    properties = {
        "delta.enableDeletionVectors": str(config["deletion_vectors"]).lower(),
        "delta.enableRowTracking": str(config["row_tracking"]).lower(),
        "delta.enableChangeDataFeed": str(config["change_feed"]).lower(),
        "delta.columnMapping.mode": "name" if config["mapped"] else "none",
    }
    if not config["converted"]:
        return dr.create_table(folder, SCHEMA, partitions, properties, durable=False)
    values = data.draw(VALUES, label="converted") + data.draw(VALUES, label="converted")
    rows = model.new_rows(values)
    model.insert(rows)
    by_partition: dict[str | None, list[Row]] = {}
    for row in rows:
        by_partition.setdefault(row["p"] if partitions else None, []).append(row)
    for p, part in by_partition.items():
        directory = folder / f"p={p or '__HIVE_DEFAULT_PARTITION__'}" if partitions else folder
        directory.mkdir(parents=True)
        columns = [name for name in SCHEMA.names if name not in partitions]
        content = pa.Table.from_pylist(part, schema=SCHEMA).select(columns)
        size = data.draw(st.integers(1, 4), label="rows in a row group")
        pq.write_table(content, directory / "a.parquet", row_group_size=size)
    partition_schema = pa.schema([SCHEMA.field("p")]) if partitions else None
    return dr.convert(
        folder, partition_schema=partition_schema, properties=properties, durable=False
    )


def row_ids(table: dr.Table) -> dict[int, int]:
    """Return the row id of each row, by its ``id``."""
    rows = pa.table(table.snapshot().scan(with_row_id=True)).to_pylist()
    return {row["id"]: row["_row_id"] for row in rows}


@settings(
    max_examples=1000 if os.environ.get("DELTAREPLAY_SLOW") else 40,
    suppress_health_check=list(HealthCheck),
)
@given(config=CONFIGS, data=st.data())
def test_table_and_model_agree_after_every_commit(
    config: dict[str, bool], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Model()
        table = create(data, Path(folder) / "t", model, config)
        before = row_ids(table) if config["row_tracking"] else {}
        for _ in range(data.draw(st.integers(2, 7), label="commits")):
            done, events = commit(data, table, model)
            check(table, model, config, done, events)
            if config["row_tracking"]:
                result = row_ids(table)
                assert len(set(result.values())) == len(result)
                # an id that is inserted again belongs to another row
                inserted = {number for kind, number, *_ in events if kind == "insert"}
                kept = result.keys() - inserted
                assert {number: result[number] for number in kept} == {
                    number: before[number] for number in kept
                }
                before = result


def check(
    table: dr.Table,
    model: Model,
    config: dict[str, bool],
    done: dr.Written,
    events: list[Event],
) -> None:
    """Check the rows of the table, and the change feed of its last commit."""
    rows = pa.table(table.snapshot(strict=True)).to_pylist()
    assert {row["id"]: row for row in rows} == model.rows
    assert len(rows) == len(model.rows)
    assert table.snapshot().num_rows == len(rows)
    if done.version is None:
        assert events == []
    elif config["change_feed"]:
        reported = (
            table.changes(done.version, done.version, require_feed=True).to_arrow().to_pylist()
        )
        result = Counter((row["_change_type"], row["id"], row["p"], row["v"]) for row in reported)
        assert result == Counter(events)


@pytest.mark.parametrize("text", [text for text, _ in CONDITIONS])
def test_filters_agree_with_the_conditions(text: str, tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", SCHEMA)
    values = [(p, v) for p in ("a", "b", None) for v in (None, *range(10))]
    rows = Model().new_rows(values)
    table.append(rows)
    holds = dict(CONDITIONS)[text]
    result = {row["id"] for row in pa.table(table.snapshot().scan(filter=text)).to_pylist()}
    assert result == {row["id"] for row in rows if holds(row)}
