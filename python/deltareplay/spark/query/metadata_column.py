"""``_metadata`` in queries: a column of each table, which ``*`` does not include.

Queries read their tables through views, above which Spark hides its own ``_metadata``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.scan.file_metadata import NAME
from deltareplay.spark.syntax.names import quoted
from deltareplay.spark.syntax.tokens import Token, position

#: Set operators, which combine selects.
_SET_OPERATORS = ("UNION", "EXCEPT", "MINUS", "INTERSECT")

#: Keywords that apply to all columns of a table.
_USES_ALL = ("NATURAL", "PIVOT", "UNPIVOT")


def is_named(tokens: Sequence[Token]) -> bool:
    """Return whether a query names the column."""
    return any(token.is_name and token.name.lower() == NAME for token in tokens)


@dataclass
class _Select:
    """One level of parentheses in a query.

    Attributes:
        tables: The aliases of the tables that have the column.
        stars: The index of the token of each ``*``, and its qualifier, if it has one.
        uses_all: A keyword that applies to all columns, and cannot exclude ``_metadata``.
    """

    tables: list[str] = field(default_factory=list)
    stars: list[tuple[int, str | None]] = field(default_factory=list)
    uses_all: Token | None = None


def exclusions(text: str, tokens: Sequence[Token], tables: dict[int, str]) -> list[tuple[int, str]]:
    """Return the insertions, by position, that exclude the column from each ``*``.

    Args:
        text: The query.
        tokens: Its tokens.
        tables: The aliases of the tables that have the column, by the position of the table.

    Raises:
        UnsupportedFeatureError: ``sql.metadata``: something else uses all columns of a table.
    """
    insertions: list[tuple[int, str]] = []
    levels = [_Select()]
    for index, token in enumerate(tokens):
        level, before = levels[-1], tokens[index - 1]
        if token.start in tables:
            level.tables.append(tables[token.start])
        if token.text == "(":
            levels.append(_Select())
        elif token.text == ")":
            insertions += _exclusions(text, tokens, level)
            if len(levels) > 1:
                levels.pop()
            else:
                levels[0] = _Select()
        elif token.is_word(*_SET_OPERATORS) and before.text != "*":
            insertions += _exclusions(text, tokens, level)
            levels[-1] = _Select()
        elif token.is_word(*_USES_ALL):
            level.uses_all = token
        elif token.text == "*" and index:
            if before.is_word("SELECT", "DISTINCT", "ALL") or before.text == ",":
                level.stars.append((index, None))
            elif before.text == ".":
                level.stars.append((index, tokens[index - 2].name))
            elif before.text == "(" and not tokens[index - 2].is_word("COUNT"):
                raise _unsupported(text, token)
    for level in levels:
        insertions += _exclusions(text, tokens, level)
    return sorted(insertions)


def _exclusions(text: str, tokens: Sequence[Token], level: _Select) -> list[tuple[int, str]]:
    if level.tables and level.uses_all is not None:
        raise _unsupported(text, level.uses_all)
    insertions = []
    for index, qualifier in level.stars:
        tables = [
            table
            for table in level.tables
            if qualifier is None or table.lower() == qualifier.lower()
        ]
        if not tables:
            continue
        columns = ", ".join(f"{quoted(table)}.{NAME}" for table in tables)
        if tokens[index + 1].is_word("EXCEPT") and tokens[index + 2].text == "(":
            insertions.append((tokens[index + 2].end, f"{columns}, "))
        else:
            insertions.append((tokens[index].end, f" EXCEPT ({columns})"))
    return insertions


def _unsupported(text: str, token: Token) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"a query that names {NAME} cannot have {token.text} at {position(text, token.start)}, "
        f"which would treat {NAME} as an ordinary column: list the columns, or select {NAME} in a "
        "subquery",
        code="sql.metadata",
    )
