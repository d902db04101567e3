"""Statements run by deltareplay in sessions where ``sql`` leaves them to delta-spark's jar."""

from __future__ import annotations

from typing import Any

from deltareplay.spark.catalog import lookup
from deltareplay.spark.statements.sql import read
from deltareplay.spark.syntax.parser import Parser


def run_here(spark: Any, text: str) -> Any:
    """Run a statement, and return its result."""
    parser = Parser(text)
    statement = read(parser)
    assert statement is not None
    statement.read_clauses(parser)
    parser.ends()
    return statement.run(spark, lookup.find(spark, statement.table))
