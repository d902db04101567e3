"""The clauses ``WITH`` and ``FROM`` before statements that change rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltareplay.spark.syntax.names import quoted
from deltareplay.spark.syntax.parser import Parser
from deltareplay.spark.syntax.tokens import Sql

#: Statements that ``WITH`` may precede, other than queries.
_CHANGES = ("INSERT", "MERGE", "UPDATE", "DELETE")


@dataclass(frozen=True)
class Before:
    """The text before a statement.

    Attributes:
        text: The text, which is valid before ``SELECT``.
        queries: A query for each name that ``WITH`` defines, by the name in lower case.
    """

    text: str = ""
    queries: Mapping[str, str] = field(default_factory=dict)

    def query(self, *texts: str) -> str:
        """Join texts to a query of the statement, and add the text before the statement."""
        query = Sql.joined(*texts)
        if not self.text:
            return query
        if Parser(query).sees("WITH"):
            return Sql.joined(self.text, " (", query, ")")
        return Sql.joined(self.text, " ", query)


def split(parser: Parser) -> list[tuple[Before, Parser]] | None:
    """Split a text into statements, each with the text before it.

    The result is None if there is no such text, or if only a query follows it.

    >>> [(before, insert)] = split(Parser("FROM a INSERT INTO t SELECT b"))
    >>> before.text, insert.text
    ('FROM a', 'INSERT INTO t SELECT b')
    """
    text = parser.text
    before = _with(parser)
    start = parser.token.start
    if parser.token.is_word(*_CHANGES):
        return [(before, Parser(text.part(start)))] if before.text else None
    if not parser.sees("FROM"):
        return None
    begins = _inserts(parser)
    if not begins:
        return None
    shared = Before(text.part(0, len(text[: begins[0]].rstrip())), before.queries)
    ends = [*begins[1:], len(text)]
    return [(shared, Parser(text.part(at, end))) for at, end in zip(begins, ends, strict=True)]


def _with(parser: Parser) -> Before:
    """Parse ``WITH``, if the statement begins with it and all of its queries are complete."""
    if not parser.takes("WITH"):
        return Before()
    parser.takes("RECURSIVE")
    defined = []
    while True:
        if parser.token.kind not in ("word", "quoted"):
            return Before()
        defined.append(parser.identifier())
        while not parser.takes("AS"):  # names of columns, and the limit of a recursion
            if parser.sees("("):
                parser.past_parentheses()
            elif parser.token.kind == "end":
                return Before()
            else:
                parser.at += 1
        if not parser.sees("("):
            return Before()
        parser.past_parentheses()
        if not parser.takes(","):
            break
    text = parser.since(0)
    selects = {name.lower(): f" SELECT * FROM {quoted(name)}" for name in defined}
    return Before(text, {name: Sql.joined(text, select) for name, select in selects.items()})


def _inserts(parser: Parser) -> list[int]:
    """Return the positions of the ``INSERT`` clauses after a ``FROM``."""
    inserts = []
    while parser.token.kind != "end":
        if parser.sees("("):
            parser.past_parentheses()
            continue
        following = parser.tokens[parser.at + 1 : parser.at + 2]
        if (
            parser.sees("INSERT")
            and following
            and following[0].is_word("INTO", "OVERWRITE", "WITH")
        ):
            inserts.append(parser.token.start)
        parser.at += 1
    return inserts
