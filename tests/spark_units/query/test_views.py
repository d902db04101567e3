"""Statements that define views, by ``deltareplay.spark.sql``; without Spark."""

from __future__ import annotations

import pytest
from support.unknown_format import Session

import deltareplay as dr
from deltareplay.spark.query import queries


@pytest.mark.parametrize("scope", ["TEMPORARY", "OR REPLACE GLOBAL TEMP"])
def test_a_view_using_delta_requires_the_format(scope: str) -> None:
    """Spark's own error for a session without the format does not say what to do."""
    text = f"CREATE {scope} VIEW v (a INT) USING Delta OPTIONS (path '/t')"
    with pytest.raises(dr.UnsupportedFeatureError, match="register") as caught:
        queries.run_on_snapshots(Session(), text)  # type: ignore[arg-type]
    assert caught.value.code == "spark.no_delta"
