"""The clauses ``WITH`` and ``FROM`` before statements that change rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltareplay.spark.syntax.names import quoted
from deltareplay.spark.syntax.parser import Parser
from deltareplay.spark.syntax.tokens import Sql

#: Statements other than queries that ``WITH`` may precede.
_ROW_STATEMENTS = ("INSERT", "MERGE", "UPDATE", "DELETE")


@dataclass(frozen=True)
class Prefix:
    """The clauses before a statement.

    Attributes:
        text: The text, which is valid before ``SELECT``.
        queries: A query of the rows of each name that ``WITH`` defines, by name in lower case.
    """

    text: str = ""
    queries: Mapping[str, str] = field(default_factory=dict)

    def query(self, *texts: str) -> str:
        """Concatenate the texts of a query of the statement, and add the prefix."""
        query = Sql.joined(*texts)
        if not self.text:
            return query
        if Parser(query).sees("WITH"):
            return Sql.joined(self.text, " (", query, ")")
        return Sql.joined(self.text, " ", query)


def split(parser: Parser) -> list[tuple[Prefix, Parser]] | None:
    """Split a text into statements, each with its prefix.

    The result is None if there is no prefix, or if only a query follows it.

    >>> [(prefix, insert)] = split(Parser("FROM a INSERT INTO t SELECT b"))
    >>> prefix.text, insert.text
    ('FROM a', 'INSERT INTO t SELECT b')
    """
    text = parser.text
    prefix = _with(parser)
    if parser.token.is_word(*_ROW_STATEMENTS):
        return [(prefix, Parser(text.part(parser.token.start)))] if prefix.text else None
    if not parser.sees("FROM"):
        return None
    starts = _inserts(parser)
    if not starts:
        return None
    prefix = Prefix(text.part(0, len(text[: starts[0]].rstrip())), prefix.queries)
    ends = [*starts[1:], len(text)]
    return [
        (prefix, Parser(text.part(start, end))) for start, end in zip(starts, ends, strict=True)
    ]


def _with(parser: Parser) -> Prefix:
    """Parse ``WITH``, if the statement begins with it and each of its names has a query."""
    if not parser.takes("WITH"):
        return Prefix()
    parser.takes("RECURSIVE")
    names = []
    while True:
        if not parser.token.is_name:
            return Prefix()
        names.append(parser.identifier())
        if not _skip_query(parser):
            return Prefix()
        if not parser.takes(","):
            break
    text = parser.since(0)
    queries = {name.lower(): Sql.joined(text, f" SELECT * FROM {quoted(name)}") for name in names}
    return Prefix(text, queries)


def _skip_query(parser: Parser) -> bool:
    """Move past what follows a name that ``WITH`` defines; return whether it has a query.

    The names of columns, the limit of a recursion and ``AS`` may be left out.
    """
    if parser.sees("("):
        parser.skip_parentheses()
        if not (parser.sees("(") or parser.sees("AS") or parser.sees("MAX")):
            return True
    while parser.token.kind != "end" and not parser.sees("("):
        parser.index += 1
    if parser.token.kind == "end":
        return False
    parser.skip_parentheses()
    return True


def _inserts(parser: Parser) -> list[int]:
    """Return the positions of the ``INSERT`` clauses after a ``FROM``."""
    inserts = []
    while parser.token.kind != "end":
        if parser.sees("("):
            parser.skip_parentheses()
            continue
        if parser.sees_any(("INSERT", word) for word in ("INTO", "OVERWRITE", "WITH")):
            inserts.append(parser.token.start)
        parser.index += 1
    return inserts
