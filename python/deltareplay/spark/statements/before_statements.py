"""The clauses ``WITH`` and ``FROM`` before statements that change rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltareplay.spark.syntax.names import quoted
from deltareplay.spark.syntax.parser import Reader

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

    def query(self, text: str) -> str:
        """Add the text before the statement to a query of the statement."""
        if not self.text:
            return text
        reader = Reader(text)
        return f"{self.text} ({text})" if reader.sees("WITH") else f"{self.text} {text}"


def split(reader: Reader) -> list[tuple[Before, str]] | None:
    """Split a text into statements, each with the text before it.

    The result is None if there is no such text, or if only a query follows it.

    >>> [(before, insert)] = split(Reader("FROM a INSERT INTO t SELECT b"))
    >>> before.text, insert
    ('FROM a', 'INSERT INTO t SELECT b')
    """
    text = reader.text
    before = _with(reader)
    start = reader.token.start
    if reader.token.is_word(*_CHANGES):
        return [(before, text[start:])] if before.text else None
    if not reader.sees("FROM"):
        return None
    begins = _inserts(reader)
    if not begins:
        return None
    shared = Before(text[: begins[0]].rstrip(), before.queries)
    ends = [*begins[1:], len(text)]
    return [(shared, text[at:end]) for at, end in zip(begins, ends, strict=True)]


def _with(reader: Reader) -> Before:
    """Parse ``WITH``, if the statement begins with it and all of its queries are complete."""
    if not reader.takes("WITH"):
        return Before()
    reader.takes("RECURSIVE")
    defined = []
    while True:
        if reader.token.kind not in ("word", "quoted"):
            return Before()
        defined.append(reader.identifier())
        while not reader.takes("AS"):  # names of columns, and the limit of a recursion
            if reader.sees("("):
                reader.past_parentheses()
            elif reader.token.kind == "end":
                return Before()
            else:
                reader.at += 1
        if not reader.sees("("):
            return Before()
        reader.past_parentheses()
        if not reader.takes(","):
            break
    text = reader.text[: reader.tokens[reader.at - 1].end]
    return Before(text, {name.lower(): f"{text} SELECT * FROM {quoted(name)}" for name in defined})


def _inserts(reader: Reader) -> list[int]:
    """Return the positions of the ``INSERT`` clauses after a ``FROM``."""
    inserts = []
    while reader.token.kind != "end":
        if reader.sees("("):
            reader.past_parentheses()
            continue
        following = reader.tokens[reader.at + 1 : reader.at + 2]
        if (
            reader.sees("INSERT")
            and following
            and following[0].is_word("INTO", "OVERWRITE", "WITH")
        ):
            inserts.append(reader.token.start)
        reader.at += 1
    return inserts
