"""Delta's SQL statements, split into their parts; expressions stay text, which Spark parses."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.definitions import Mode
from deltareplay.spark.identifiers import name_at
from deltareplay.spark.tokens import Token, position, tokens

Name = tuple[str, ...]


@dataclass(frozen=True)
class Clause:
    """A clause of a merge.

    Attributes:
        method: The method of the merge that adds it.
        condition: When it applies.
        values: Columns and values; None where the action has none.
    """

    method: str
    condition: str | None
    values: dict[str, str] | None


@dataclass(frozen=True)
class Source:
    """The source of a merge.

    Attributes:
        name: The name of the table; None for a query.
        text: The whole text, for ``FROM``.
        alias: What clauses call it.
        version: The version of the table.
        timestamp: The time of the version.
    """

    name: Name | None
    text: str
    alias: str | None
    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True)
class Merge:
    """``MERGE INTO``."""

    table: Name
    alias: str | None
    source: Source
    on: str
    clauses: tuple[Clause, ...]
    evolves: bool


@dataclass(frozen=True)
class Update:
    """``UPDATE``."""

    table: Name
    alias: str | None
    values: dict[str, str]
    where: str | None


@dataclass(frozen=True)
class Delete:
    """``DELETE FROM``."""

    table: Name
    alias: str | None
    where: str | None


@dataclass(frozen=True)
class Optimize:
    """``OPTIMIZE``, and ``REORG TABLE ... APPLY (PURGE)``."""

    table: Name
    where: str | None
    z_order_by: tuple[str, ...] = ()
    full: bool = False
    purge: bool = False


@dataclass(frozen=True)
class Vacuum:
    """``VACUUM``."""

    table: Name
    hours: float | None
    dry_run: bool
    lite: bool


@dataclass(frozen=True)
class Describe:
    """``DESCRIBE HISTORY`` and ``DESCRIBE DETAIL``."""

    table: Name
    history: bool
    limit: int | None = None


@dataclass(frozen=True)
class Restore:
    """``RESTORE``."""

    table: Name
    version: int | None
    timestamp: str | None


@dataclass(frozen=True)
class Convert:
    """``CONVERT TO DELTA``."""

    table: Name
    partition_schema: str | None


@dataclass(frozen=True)
class Generate:
    """``GENERATE ... FOR TABLE``."""

    table: Name
    mode: str


@dataclass(frozen=True)
class Clone:
    """``CREATE TABLE ... SHALLOW CLONE``."""

    table: Name
    source: Name
    mode: Mode
    version: int | None
    timestamp: str | None
    properties: dict[str, str]
    location: str | None


Statement = (
    Merge | Update | Delete | Optimize | Vacuum | Describe | Restore | Convert | Generate | Clone
)


def parse(text: str) -> Statement | None:
    """The statement of a text; None if it is none of Delta's.

    Raises:
        InvalidArgumentError: ``sql.syntax``: it begins as one of Delta's statements, and does not
            go on as one; the message names the position.

    >>> parse("DELETE FROM t WHERE id = 7")
    Delete(table=('t',), alias=None, where='id = 7')
    >>> parse("SELECT 1") is None
    True
    """
    found = tokens(text)
    for words, reads in _STATEMENTS:
        reader = _Reader(text, found)
        if reader.takes(*words):
            statement: Statement | None = reads(reader)
            if statement is not None:
                while reader.takes(";"):
                    pass
                reader.ends()
            return statement
    return None


class _Reader:
    """Goes through the tokens of one statement."""

    def __init__(self, text: str, found: Sequence[Token]) -> None:
        self.text = text
        self.found = found
        self.at = 0

    @property
    def token(self) -> Token:
        return self.found[self.at]

    def sees(self, *words: str) -> bool:
        """Whether these keywords and symbols follow."""
        some = self.found[self.at : self.at + len(words)]
        return len(some) == len(words) and all(
            token.is_word(word) or (token.kind == "symbol" and token.text == word)
            for token, word in zip(some, words, strict=True)
        )

    def takes(self, *words: str) -> bool:
        """Goes past these, if they follow."""
        if not self.sees(*words):
            return False
        self.at += len(words)
        return True

    def needs(self, *words: str) -> None:
        """Goes past these, which must follow."""
        for word in words:
            if not self.takes(word):
                raise self.wrong(word)

    def ends(self) -> None:
        """Nothing may follow."""
        if self.token.kind != "end":
            raise self.wrong("the end of the statement")

    def wrong(self, wanted: str) -> InvalidArgumentError:
        """What is at the current token is not what a statement has there."""
        seen = self.token.text or "the end"
        return InvalidArgumentError(
            f"expected {wanted}, not {seen!r}, at {position(self.text, self.token.start)}",
            code="sql.syntax",
        )

    def name(self) -> Name:
        """A name, with its parts."""
        parts, after = name_at(self.found, self.at)
        if not parts:
            raise self.wrong("a name")
        self.at = after
        return parts

    def table(self) -> Name:
        """A name, or a path as a string."""
        if self.token.kind == "string":
            return ("delta", self.string())
        return self.name()

    def identifier(self) -> str:
        """One word, or a name in backticks."""
        if self.token.kind not in ("word", "quoted"):
            raise self.wrong("a name")
        self.at += 1
        return self.found[self.at - 1].name

    def string(self) -> str:
        """The value of a string."""
        if self.token.kind != "string":
            raise self.wrong("a string")
        self.at += 1
        return self.found[self.at - 1].value

    def number(self) -> float:
        """A number."""
        text, start = "", self.token.start
        while self.token.start == start + len(text) and re.fullmatch(r"[\w.-]+", self.token.text):
            text += self.token.text
            self.at += 1
        try:
            return float(text)
        except ValueError:
            self.at -= bool(text)
            raise self.wrong("a number") from None

    def whole(self) -> int:
        """A whole number."""
        given = self.string() if self.token.kind == "string" else self.token.text
        if not given.isdecimal():
            raise self.wrong("a whole number")
        if self.token.text == given:
            self.at += 1
        return int(given)

    def alias(self, *keywords: str) -> str | None:
        """The alias of a table, unless one of the keywords follows."""
        if self.takes("AS"):
            return self.identifier()
        if self.token.kind == "quoted" or (
            self.token.kind == "word" and not self.token.is_word(*keywords)
        ):
            return self.identifier()
        return None

    def until(self, *stops: tuple[str, ...]) -> str:
        """An expression: the text up to one of these, outside of parentheses and ``CASE``."""
        start, depth, cases = self.at, 0, 0
        while self.token.kind != "end" and not self.sees(";"):
            after_dot = self.at > start and self.found[self.at - 1].text == "."
            if depth == 0 and cases == 0 and not after_dot and any(self.sees(*s) for s in stops):
                break
            depth += (self.token.text in "([") - (self.token.text in ")]")
            if depth < 0:
                break
            if not after_dot:
                cases += self.token.is_word("CASE")
                cases -= cases > 0 and self.token.is_word("END")
            self.at += 1
        if self.at == start:
            raise self.wrong("an expression")
        return self.text[self.found[start].start : self.found[self.at - 1].end]

    def assignments(self, *stops: tuple[str, ...]) -> dict[str, str]:
        """``SET`` columns and their values."""
        values: dict[str, str] = {}
        while True:
            start = self.token
            self.name()
            column = self.text[start.start : self.found[self.at - 1].end]
            self.needs("=")
            if column in values:
                raise self.wrong(f"no second value of {column}")
            values[column] = self.until((",",), *stops)
            if not self.takes(","):
                return values

    def in_parentheses(self) -> list[str]:
        """A list of expressions in parentheses."""
        self.needs("(")
        found = [self.until((",",))]
        while self.takes(","):
            found.append(self.until((",",)))
        self.needs(")")
        return found

    def moment(self) -> tuple[int | None, str | None]:
        """``VERSION AS OF`` or ``TIMESTAMP AS OF``, if it follows."""
        start = self.at
        self.takes("FOR")
        if self.takes("VERSION", "AS", "OF") or self.takes("SYSTEM_VERSION", "AS", "OF"):
            return self.whole(), None
        if self.takes("TIMESTAMP", "AS", "OF") or self.takes("SYSTEM_TIME", "AS", "OF"):
            return None, self.string()
        self.at = start
        return None, None


def _merge(reader: _Reader) -> Merge:
    evolves = reader.takes("WITH", "SCHEMA", "EVOLUTION")
    reader.needs("INTO")
    table = reader.name()
    alias = reader.alias("USING")
    reader.needs("USING")
    source = _source(reader)
    reader.needs("ON")
    on = reader.until(("WHEN",))
    clauses = []
    while reader.takes("WHEN"):
        clauses.append(_clause(reader))
    if not clauses:
        raise reader.wrong("WHEN")
    return Merge(table, alias, source, on, tuple(clauses), evolves)


def _source(reader: _Reader) -> Source:
    start = reader.at
    if reader.token.kind in ("word", "quoted"):
        name = reader.name()
        version, timestamp = reader.moment()
        alias = reader.alias("ON")
        if reader.sees("ON"):
            text = reader.text[reader.found[start].start : reader.found[reader.at - 1].end]
            return Source(name, text, alias or name[-1], version, timestamp)
        reader.at = start
    text = reader.until(("ON",))
    last, before = reader.found[reader.at - 1], reader.found[reader.at - 2]
    named = last.kind in ("word", "quoted") and (before.text == ")" or before.is_word("AS"))
    return Source(None, text, last.name if named else None)


def _clause(reader: _Reader) -> Clause:
    if reader.takes("MATCHED"):
        when = "when_matched"
    else:
        reader.needs("NOT", "MATCHED")
        by_source = reader.takes("BY", "SOURCE")
        if not by_source:
            reader.takes("BY", "TARGET")
        when = "when_not_matched_by_source" if by_source else "when_not_matched"
    condition = reader.until(("THEN",)) if reader.takes("AND") else None
    reader.needs("THEN")
    if when == "when_not_matched":
        reader.needs("INSERT")
        if reader.takes("*"):
            return Clause(f"{when}_insert_all", condition, None)
        columns = reader.in_parentheses()
        reader.needs("VALUES")
        values = reader.in_parentheses()
        if len(columns) != len(values):
            raise reader.wrong(f"{len(columns)} values before this")
        return Clause(f"{when}_insert", condition, dict(zip(columns, values, strict=True)))
    if reader.takes("DELETE"):
        return Clause(f"{when}_delete", condition, None)
    reader.needs("UPDATE", "SET")
    if when == "when_matched" and reader.takes("*"):
        return Clause(f"{when}_update_all", condition, None)
    return Clause(f"{when}_update", condition, reader.assignments(("WHEN",)))


def _update(reader: _Reader) -> Update:
    table = reader.name()
    alias = reader.alias("SET")
    reader.needs("SET")
    values = reader.assignments(("WHERE",))
    where = reader.until() if reader.takes("WHERE") else None
    return Update(table, alias, values, where)


def _delete(reader: _Reader) -> Delete:
    table = reader.name()
    alias = reader.alias("WHERE")
    return Delete(table, alias, reader.until() if reader.takes("WHERE") else None)


def _optimize(reader: _Reader) -> Optimize:
    table = reader.table()
    full = reader.takes("FULL")
    where = reader.until(("ZORDER", "BY")) if reader.takes("WHERE") else None
    columns: tuple[str, ...] = ()
    if reader.takes("ZORDER", "BY"):
        closes = reader.takes("(")
        columns = (".".join(reader.name()),)
        while reader.takes(","):
            columns += (".".join(reader.name()),)
        if closes:
            reader.needs(")")
    return Optimize(table, where, columns, full)


def _reorg(reader: _Reader) -> Optimize:
    table = reader.name()
    where = reader.until(("APPLY", "(")) if reader.takes("WHERE") else None
    reader.needs("APPLY", "(", "PURGE", ")")
    return Optimize(table, where, purge=True)


def _vacuum(reader: _Reader) -> Vacuum:
    table = reader.table()
    hours: float | None = None
    dry_run = lite = False
    while reader.token.kind == "word":
        if reader.takes("RETAIN"):
            hours = reader.number()
            reader.needs("HOURS")
        elif reader.takes("DRY", "RUN"):
            dry_run = True
        elif reader.takes("LITE"):
            lite = True
        elif not reader.takes("FULL"):
            raise reader.wrong("RETAIN, DRY RUN, LITE or FULL")
    return Vacuum(table, hours, dry_run, lite)


def _history(reader: _Reader) -> Describe:
    table = reader.table()
    return Describe(table, True, reader.whole() if reader.takes("LIMIT") else None)


def _detail(reader: _Reader) -> Describe:
    return Describe(reader.table(), False)


def _restore(reader: _Reader) -> Restore:
    reader.takes("TABLE")
    table = reader.name()
    reader.takes("TO")
    version, timestamp = reader.moment()
    if version is None and timestamp is None:
        raise reader.wrong("VERSION AS OF or TIMESTAMP AS OF")
    return Restore(table, version, timestamp)


def _convert(reader: _Reader) -> Convert:
    table = reader.name()
    reader.takes("NO", "STATISTICS")
    columns = None
    if reader.takes("PARTITIONED", "BY"):
        columns = ", ".join(reader.in_parentheses())
    return Convert(table, columns)


def _generate(reader: _Reader) -> Generate:
    mode = reader.identifier()
    reader.needs("FOR", "TABLE")
    return Generate(reader.name(), mode)


def _create(reader: _Reader) -> Clone | None:
    """A clone; other statements that create or replace a table are Spark's."""
    mode: Mode = "replace" if reader.found[0].is_word("REPLACE") else "create"
    if reader.takes("OR", "REPLACE"):
        mode = "create_or_replace"
    if not reader.takes("TABLE"):
        return None
    if reader.takes("IF", "NOT", "EXISTS"):
        mode = "create_if_not_exists"
    table, after = name_at(reader.found, reader.at)
    reader.at = after
    if not table or not reader.takes("SHALLOW", "CLONE"):
        return None
    source = reader.name()
    version, timestamp = reader.moment()
    properties: dict[str, str] = {}
    if reader.takes("TBLPROPERTIES"):
        reader.needs("(")
        while not reader.takes(")"):
            is_string = reader.token.kind == "string"
            key = reader.string() if is_string else ".".join(reader.name())
            reader.takes("=")
            is_string = reader.token.kind == "string"
            properties[key] = reader.string() if is_string else reader.until((",",))
            if not reader.takes(",") and not reader.sees(")"):
                raise reader.wrong(")")
    location = reader.string() if reader.takes("LOCATION") else None
    return Clone(table, source, mode, version, timestamp, properties, location)


_Reads = Callable[[_Reader], Any]

#: What statements begin with, and what reads the rest.
_STATEMENTS: tuple[tuple[tuple[str, ...], _Reads], ...] = (
    (("MERGE",), _merge),
    (("UPDATE",), _update),
    (("DELETE", "FROM"), _delete),
    (("OPTIMIZE",), _optimize),
    (("REORG", "TABLE"), _reorg),
    (("VACUUM",), _vacuum),
    (("DESCRIBE", "HISTORY"), _history),
    (("DESC", "HISTORY"), _history),
    (("DESCRIBE", "DETAIL"), _detail),
    (("DESC", "DETAIL"), _detail),
    (("RESTORE",), _restore),
    (("CONVERT", "TO", "DELTA"), _convert),
    (("GENERATE",), _generate),
    (("CREATE",), _create),
    (("REPLACE",), _create),
)
