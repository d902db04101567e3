"""Columns of new tables, as fields of the log's schema."""

from __future__ import annotations

import pytest

import deltareplay as dr
from deltareplay.spark.definition.definition import column


@pytest.mark.parametrize(("start", "step"), [(1, 0), (2**63, 1), (1, -(2**63) - 1)])
def test_an_identity_column_counts_in_64_bits(start: int, step: int) -> None:
    """Both are ``long`` in delta-spark; it refuses a step of 0, too."""
    types = pytest.importorskip("pyspark.sql.types")
    with pytest.raises(
        dr.InvalidArgumentError, match=f"at {start} with a step of {step}"
    ) as caught:
        column(
            "id",
            types.LongType(),
            nullable=True,
            computed=None,
            identity=(start, step, False),
            comment=None,
        )
    assert caught.value.code == "column.generated"
