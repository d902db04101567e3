"""Statements as parsed by ``deltareplay.spark.sql``; without Spark."""

from __future__ import annotations

from deltareplay.spark.statements.sql import read
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax.parser import Parser


def parsed(text: str) -> Statement | None:
    """Return the whole statement; None if Spark runs it."""
    parser = Parser(text)
    statement = read(parser)
    if statement is not None:
        statement.read_clauses(parser)
        parser.needs_end()
    return statement
