"""DELETE, UPDATE and MERGE on all kinds of files, compared with lists of Python values."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from property.test_filters import CONDITIONS
from property.test_replay import EXAMPLES, of_all_examples, repeat_until, thorough
from property.test_rows import COLUMNS, Row, Table, tables

import deltareplay as dr

#: Statements, and whether rows are left.
seen: Counter[tuple[str, bool]] = Counter()
NAMES = [*COLUMNS, "day"]
KINDS = ["delete", "update", "merge", "overwrite", "optimize"]
#: Ways to call ``Table.optimize``.
OPTIMIZE: list[dict[str, Any]] = [
    {},
    {"purge": True},
    {"z_order_by": ["id", "text"]},
    {"target_file_size": 2000},
]
#: Assignments, and their effect on a row.
CHANGES: list[tuple[dict[str, Any], Callable[[Row], Row]]] = [
    ({"real": "real + 1"}, lambda row: {"real": None if row["real"] is None else row["real"] + 1}),
    ({"TEXT": "'new'", "id": 1}, lambda row: {"Text": "new", "id": 1}),
    ({"day": dt.date(2001, 2, 3)}, lambda row: {"day": dt.date(2001, 2, 3)}),
    ({"inner": None, "list": None}, lambda row: {"inner": None, "list": None}),
]


def as_key(row: Row) -> str:
    values = [row[name] for name in NAMES]
    return repr([sorted(value.items()) if isinstance(value, dict) else value for value in values])


def changed(data: st.DataObject, table: dr.Table, rows: list[Row]) -> tuple[str, list[Row]]:
    """Run a statement on a table; return its kind and the rows the table must have then."""
    kind = data.draw(st.sampled_from(KINDS), label="statement")
    if kind == "optimize":
        table.optimize(**data.draw(st.sampled_from(OPTIMIZE), label="optimize"))
        return kind, rows
    condition = data.draw(CONDITIONS, label="condition")
    if kind == "overwrite":
        new_row = {**dict.fromkeys(NAMES), "id": 7}
        added = [new_row] if condition.holds(new_row) else []
        table.overwrite(
            pa.Table.from_pylist(added, schema=pa.schema([("id", pa.int64())])), condition.sql
        )
        return kind, [row for row in rows if not condition.holds(row)] + added
    if kind == "delete":
        table.delete(condition.sql)
        return kind, [row for row in rows if not condition.holds(row)]
    if kind == "update":
        assignments, new = data.draw(st.sampled_from(CHANGES), label="assignments")
        table.update(condition.sql, assignments)
        return kind, [{**row, **new(row)} if condition.holds(row) else row for row in rows]
    ids = {row["id"] for row in rows if row["id"] is not None}
    some = data.draw(st.sets(st.sampled_from([*sorted(ids), 10**6])), label="keys")
    source = pa.table({"id": pa.array(sorted(some), pa.int64()), "Text": ["s"] * len(some)})
    merge = table.merge(source, "id").when_matched_delete("target.real IS NULL")
    merge.when_matched_update({"Text": "source.Text"}).when_not_matched_insert_all().execute()
    left = []
    for row in rows:
        if row["id"] not in some:
            left.append(row)
        elif row["real"] is not None:
            left.append({**row, "Text": "s"})
    inserted = [{**dict.fromkeys(NAMES), "id": key, "Text": "s"} for key in some - ids]
    return kind, left + inserted


@given(tables(), st.booleans(), st.data())
@thorough(EXAMPLES)
def test_rows_are_those_of_the_model_after_each_statement(
    written: Table, deletion_vectors: bool, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as root:
        rows = [{name: row[name] for name in NAMES} for row in written.write(root)]
        table = dr.Table(Path(root))
        properties = {"delta.enableDeletionVectors": str(deletion_vectors).lower()}
        table.set_properties(properties)
        for _ in range(data.draw(st.integers(1, 2), label="statements")):
            kind, rows = changed(data, table, rows)
            seen[kind, bool(rows)] += 1
            result = table.snapshot(strict=True).scan(NAMES).to_arrow().to_pylist()
            assert sorted(map(as_key, result)) == sorted(map(as_key, rows))
            counted = table.snapshot().scan().count()
            assert counted == len(rows)


@of_all_examples
def test_the_statements_were_of_every_kind() -> None:
    """Runs after the property and checks its coverage."""
    kinds = [*((kind, True) for kind in KINDS), ("delete", False)]
    repeat_until(
        lambda: all(seen[kind] for kind in kinds),
        test_rows_are_those_of_the_model_after_each_statement,
    )
