"""The minimum and the maximum of a column, as far as they follow from the log."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support import logs, vectors

import deltareplay as dr

SCHEMA = [
    ("n", "long"),
    ("day", "date"),
    ("price", "decimal(10,2)"),
    ("text", "string"),
    ("x", "double"),
    ("s", {"type": "struct", "fields": [logs.field_json("n", "integer")]}),
    ("p", "date"),
]


def add(path: str, low: dict[str, Any], high: dict[str, Any], **more: Any) -> logs.Action:
    stats = {"numRecords": 4, "minValues": low, "maxValues": high, "nullCount": {}}
    for name in ("n", "day", "price"):
        stats["nullCount"][name] = 0 if name in low else 4
    stats["nullCount"]["s"] = {"n": 0}
    stats.update(more.pop("stats", {}))
    partition = {"p": more.pop("p", "2026-01-01")}
    return logs.add(path, stats=logs.dumps(stats), partition_values=partition, **more)


@pytest.fixture
def log(tmp_path: Path) -> logs.LogBuilder:
    log = logs.LogBuilder(tmp_path)
    schema = {"type": "struct", "fields": [logs.field_json(*column) for column in SCHEMA]}
    log.create(
        logs.dumps(schema),
        protocol_action=logs.features("deletionVectors"),
        partition_columns=["p"],
    )
    first = {"n": -3, "day": "2026-01-31", "price": 1.5, "text": "a", "x": 1.0, "s": {"n": 7}}
    second = {
        "n": 5,
        "day": "2026-02-01",
        "price": 12345678.9,
        "text": "b",
        "x": 2.0,
        "s": {"n": 9},
    }
    log.commit(
        add("a", first, {**second, "n": 4}),
        add("b", {**first, "n": 2, "s": {"n": -1}}, second, p="2025-12-31"),
        add("only nulls", {"s": {"n": 8}}, {"s": {"n": 8}}),
    )
    return log


def test_values_in_every_file(log: logs.LogBuilder) -> None:
    snapshot = dr.Table(log.table).snapshot()
    assert snapshot.min_max("n") == (-3, 5)
    assert snapshot.min_max("DAY") == (dt.date(2026, 1, 31), dt.date(2026, 2, 1))
    assert snapshot.min_max("price") == (Decimal("1.50"), Decimal("12345678.90"))
    assert snapshot.min_max("s.n") == (-1, 9)
    assert snapshot.min_max("p") == (dt.date(2025, 12, 31), dt.date(2026, 1, 1))
    assert snapshot.warnings == []


def test_a_table_without_rows_has_no_values(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(logs.dumps({"type": "struct", "fields": [logs.field_json("n", "long")]}))
    assert dr.Table(tmp_path).snapshot().min_max("n") == (None, None)


@pytest.mark.parametrize(("column", "type"), [("text", "string"), ("x", "double")])
def test_bounds_are_not_values(log: logs.LogBuilder, column: str, type: str) -> None:
    snapshot = dr.Table(log.table).snapshot()
    with pytest.warns(dr.DeltaReplayWarning, match=f"{type} columns are bounds, not values"):
        assert snapshot.min_max(column) is None


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"stats": {"tightBounds": False}}, "were deleted"),
        ({"deletion_vector": vectors.inline([0])}, "were deleted"),
        ({"stats": {"maxValues": {}}}, "no valid statistics of the column"),
        ({"stats": {"nullCount": {}, "minValues": {}}}, "no valid statistics of the column"),
        ({"stats": {"nullCount": {"n": 5}}}, "no valid statistics of the column"),
        ({"stats": {"numRecords": None}}, "number of rows"),
    ],
)
def test_a_file_without_the_value_is_named(
    log: logs.LogBuilder, more: dict[str, Any], why: str
) -> None:
    log.commit(add("c", {"n": 1}, {"n": 2}, **more))
    snapshot = dr.Table(log.table).snapshot()
    with pytest.warns(dr.DeltaReplayWarning, match=why):
        assert snapshot.min_max("n") is None
    (warning,) = snapshot.warnings
    assert (warning.code, warning.path) == ("stats.min_max", "c")


def test_an_unknown_column_is_refused(log: logs.LogBuilder) -> None:
    with pytest.raises(dr.InvalidArgumentError, match=r"no column prize.* price") as caught:
        dr.Table(log.table).snapshot().min_max("prize")
    assert caught.value.code == "filter.column"


@pytest.mark.parametrize("day", ["10000-01-01", "0000-12-31"])
def test_dates_that_python_lacks(log: logs.LogBuilder, day: str) -> None:
    log.commit(add("c", {"day": day}, {"day": day}, p=day))
    snapshot = dr.Table(log.table).snapshot()
    for column in ("day", "p"):
        with pytest.warns(dr.DeltaReplayWarning, match="years 1 to 9999"):
            assert snapshot.min_max(column) is None


def test_the_first_and_the_last_date_of_python(log: logs.LogBuilder) -> None:
    log.commit(add("c", {"day": "0001-01-01"}, {"day": "9999-12-31"}))
    assert dr.Table(log.table).snapshot().min_max("day") == (dt.date.min, dt.date.max)


def test_a_decimal_that_java_wrote_as_a_double_may_be_rounded(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(price="decimal(38,17)"))
    # Double.toString(12345678901.2345); the column may have 12345678901.23450000000001234
    bounds = '{"price": 1.23456789012345E10}'
    stats = f'"minValues": {bounds}, "maxValues": {bounds}, "nullCount": {{"price": 0}}'
    log.commit(logs.add("a", stats=f'{{"numRecords": 1, {stats}}}'))
    with pytest.warns(dr.DeltaReplayWarning, match="may be rounded"):
        assert dr.Table(tmp_path).snapshot().min_max("price") is None
