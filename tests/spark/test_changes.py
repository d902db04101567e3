"""Changes: delta-spark's ``table_changes`` and ours, for ranges of versions."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from spark.support import delta_spark_changes

import deltareplay as dr

pytestmark = pytest.mark.spark

CHANGE_COLUMNS = ["_change_type", "_commit_version", "_commit_timestamp"]


def rows(table: pa.Table) -> Counter[str]:
    """Return the rows as text, timestamps in microseconds."""
    time = table["_commit_timestamp"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    index = table.column_names.index("_commit_timestamp")
    plain = table.set_column(index, "_commit_timestamp", time)
    return Counter(repr(row) for row in plain.to_pylist())


@pytest.mark.slow  # reads dozens of ranges
@pytest.mark.parametrize("name", delta_spark_changes.NAMES)
def test_ranges_agree_with_spark(spark: Any, changed: Any, name: str) -> None:
    path = changed(name)
    table = dr.Table(path)
    latest = table.snapshot().version
    first = delta_spark_changes.FIRST.get(name, 0)
    # one read of all versions, filtered for each range
    everything = (
        spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", first)
        .load(str(path))
        .toArrow()
    )
    names = [name for name in everything.column_names if name not in CHANGE_COLUMNS]
    versions = everything["_commit_version"].to_pylist()
    total = 0
    ranges = [
        (start, end) for start in range(first, latest + 1) for end in range(start, latest + 1)
    ]
    if not os.environ.get("DELTAREPLAY_SLOW"):
        ranges = ranges[:1] + ranges[1:-1:3] + [(first, latest)]
    for start, end in ranges:
        ours = table.changes(start, end, require_feed=True)
        indexes = [i for i, version in enumerate(versions) if start <= version <= end]
        own = ours.schema.names[:-3]
        assert set(own) <= set(names)
        expected = everything.take(pa.array(indexes, pa.int64())).select([*own, *CHANGE_COLUMNS])
        result = ours.to_arrow()
        assert rows(result) == rows(expected.cast(_as_wide(expected.schema, result.schema)))
        total += result.num_rows
    assert total >= everything.num_rows > 5


def _as_wide(theirs: pa.Schema, ours: pa.Schema) -> pa.Schema:
    """Return Spark's schema with our integer types, which are those at the end of the range."""
    integer = pa.types.is_integer
    fields = [
        ours.field(field.name).with_nullable(True)
        if integer(field.type) and integer(ours.field(field.name).type)
        else field
        for field in theirs
    ]
    return pa.schema(fields)


@pytest.mark.parametrize(("start", "end"), [(0, 3), (2, 4), (4, 8), (9, 10)])
@pytest.mark.parametrize("name", ["cow", "mor_partitioned_mapped", "mor_tracked_in_commit"])
def test_ranges_equal_those_of_table_changes(
    spark: Any, changed: Any, name: str, start: int, end: int
) -> None:
    path = changed(name)
    theirs = spark.sql(f"SELECT * FROM table_changes_by_path('{path}', {start}, {end})").toArrow()
    ours = dr.Table(path).changes(start, end).to_arrow()
    assert ours.column_names == theirs.column_names
    assert rows(ours) == rows(theirs)


@pytest.mark.parametrize("name", ["mor_tracked_in_commit", "cow_tracked"])
def test_net_changes_turn_the_first_state_into_the_last(changed: Any, name: str) -> None:
    table = dr.Table(changed(name))
    latest = table.snapshot().version
    for start in range(1, latest + 1):
        for end in range(start, latest + 1):
            before = table.snapshot(version=start - 1).scan().to_arrow()
            state = Counter(map(repr, before.to_pylist()))
            net = table.changes(start, end, kind="min-delta")
            assert set(net.explain()["way"].to_pylist()) <= {"row tracking", "nothing"}
            for row in net.to_arrow().to_pylist():
                change = row["_change_type"]
                image = repr({key: row[key] for key in row if key not in CHANGE_COLUMNS})
                state[image] += 1 if change in ("insert", "update_postimage") else -1
            after = table.snapshot(version=end).scan().to_arrow()
            assert {row: n for row, n in state.items() if n} == Counter(
                map(repr, after.to_pylist())
            )
