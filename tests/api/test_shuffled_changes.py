"""Net changes by a shuffle: the result, and inputs that a step refuses."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from support.shuffling import shuffled

import deltareplay as dr
from deltareplay import _native
from deltareplay._support.readers import reader


def planned(rows: dr.Table) -> Any:
    return rows.changes(0, kind="min-delta", key=["id"]).shuffle()


def row_events_of(rows: dr.Table) -> pa.Table:
    return pa.table(planned(rows).row_events(rows.native, (0, 2)))


def refused(step: Any) -> str:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        reader(step()).read_all()
    assert caught.value.code == "changes.shuffle"
    return str(caught.value)


@pytest.mark.parametrize("size", [1, 1 << 30])
def test_a_shuffle_has_the_same_result(rows: dr.Table, size: int) -> None:
    changes = rows.changes(0, kind="min-delta", key=["id"])
    result = shuffled(rows, changes, size).sort_by("id")
    assert result == changes.to_arrow().sort_by("id")
    assert result["id"].to_pylist() == [1, 3]


def test_full_delta_needs_no_shuffle(rows: dr.Table) -> None:
    assert rows.changes(0).shuffle() is None


def test_parts_have_a_size(rows: dr.Table) -> None:
    assert planned(rows).parts(1 << 30) == [(0, 2)]
    assert planned(rows).parts(1) == [(0, 1), (1, 2)]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        planned(rows).parts(0)
    assert caught.value.code == "split.size"


def test_unsorted_events_are_refused(rows: dr.Table) -> None:
    order = [("identity", "descending"), ("identity_low", "descending")]
    row_events = row_events_of(rows).sort_by(order)
    assert "not sorted" in refused(lambda: planned(rows).outcomes(row_events))


def test_events_without_the_columns_of_a_step_are_refused(rows: dr.Table) -> None:
    steps, row_events = planned(rows), row_events_of(rows)
    refused(lambda: steps.rows(rows.native, row_events))
    refused(lambda: steps.outcomes(row_events.drop_columns(["row"])))
    row = row_events["row"]
    at = row_events.schema.get_field_index("row")
    nulls = row_events.set_column(at, "row", pa.nulls(len(row), row.type))
    assert "a column is not" in refused(lambda: steps.outcomes(nulls))


@pytest.mark.parametrize("column", ["piece", "commit"])
def test_outcomes_outside_the_range_are_refused(rows: dr.Table, column: str) -> None:
    row_events = row_events_of(rows).sort_by(
        [("identity", "ascending"), ("identity_low", "ascending")]
    )
    outcomes = pa.table(planned(rows).outcomes(row_events))
    at = outcomes.schema.get_field_index(column)
    kind = outcomes.schema.field(at).type
    wrong = outcomes.set_column(at, column, pa.array([99] * len(outcomes), kind))
    assert "not in the range" in refused(lambda: planned(rows).rows(rows.native, wrong))


def test_invalid_json_is_refused() -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        _native.ChangeShuffle("{}")
    assert caught.value.code == "changes.shuffle"
