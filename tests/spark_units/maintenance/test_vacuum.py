"""Retention periods in hours, as VACUUM and ``DeltaTable.vacuum`` take them."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

import deltareplay as dr
from deltareplay._table.vacuum import retention_of


def test_a_period_may_be_a_fraction_of_an_hour() -> None:
    assert retention_of(0.25) == timedelta(minutes=15)


@pytest.mark.parametrize(("hours", "longest"), [(1e300, timedelta.max), (-1e308, timedelta.min)])
def test_a_longer_period_than_python_has_is_the_longest(hours: float, longest: timedelta) -> None:
    """As in delta-spark, which deletes nothing then."""
    assert retention_of(hours) == longest


@pytest.mark.parametrize("hours", [math.nan, math.inf, -math.inf])
def test_other_numbers_are_refused(hours: float) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="the retention is") as caught:
        retention_of(hours)
    assert caught.value.code == "vacuum.retention"
