"""Columns of assignments, with and without the alias of the table."""

from __future__ import annotations

import pytest

import deltareplay as dr
from deltareplay.spark.dml.assignments import without_alias


@pytest.mark.parametrize(
    "values", [{"t.v": "1", "v": "2"}, {"v": "1", "T.v": "2"}, {"`t`.s.a": "1", "s.a": "2"}]
)
def test_a_column_is_not_set_twice(values: dict[str, str]) -> None:
    """As in delta-spark 4.4 (DELTA_CONFLICT_SET_COLUMN)."""
    with pytest.raises(dr.InvalidArgumentError, match="set twice") as caught:
        without_alias(values, "t", ["v"], str.lower)
    assert caught.value.code == "statement.column"


def test_an_alias_in_another_case_is_another_name_if_the_session_tells_them_apart() -> None:
    assert without_alias({"T.v": "1", "t.w": "2"}, "t", ["v", "w"], str) == {"T.v": "1", "w": "2"}
