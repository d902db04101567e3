"""Statements run by deltareplay itself, where ``sql`` leaves them to delta-spark's jar."""

from __future__ import annotations

from typing import Any

from support.statements import parsed

from deltareplay.spark.catalog import lookup


def run_statement(spark: Any, text: str) -> Any:
    """Run a statement by deltareplay, and return its result."""
    statement = parsed(text)
    assert statement is not None
    return statement.run(spark, lookup.find(spark, statement.table))
