"""Parsing of Delta's SQL statements; expressions remain text, which Spark parses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.definition.definition import Mode
from deltareplay.spark.statements.before_statements import Before
from deltareplay.spark.statements.create_forms import head
from deltareplay.spark.syntax.names import name_at
from deltareplay.spark.syntax.parser import Expression, Name, Reader


@dataclass(frozen=True)
class Clause:
    """A clause of a merge.

    Attributes:
        method: The method of ``Merge`` that adds it.
        condition: The condition under which it applies.
        values: Columns and values; None if the action has none.
    """

    method: str
    condition: str | None
    values: dict[str, str] | None


@dataclass(frozen=True)
class Source:
    """The source of a merge.

    Attributes:
        text: The source text, for ``FROM``.
        alias: The qualifier in clauses.
    """

    text: str
    alias: str | None


@dataclass(frozen=True)
class Merge:
    """A statement ``MERGE INTO``."""

    table: Name
    alias: str | None
    source: Source
    on: str
    clauses: tuple[Clause, ...]
    evolves: bool
    before: Before = field(default=Before(), repr=False)


@dataclass(frozen=True)
class Update:
    """A statement ``UPDATE``."""

    table: Name
    alias: str | None
    values: dict[str, str]
    where: str | None


@dataclass(frozen=True)
class Delete:
    """A statement ``DELETE FROM``."""

    table: Name
    alias: str | None
    where: str | None


@dataclass(frozen=True)
class Truncate:
    """A statement ``TRUNCATE TABLE``.

    Attributes:
        table: The name.
        text: The whole statement, which may have partitions for tables of other formats.
    """

    table: Name
    text: str


@dataclass(frozen=True)
class Optimize:
    """A statement ``OPTIMIZE``, or ``REORG TABLE ... APPLY (PURGE)``."""

    table: Name
    where: str | None
    z_order_by: tuple[str, ...] = ()
    full: bool = False
    purge: bool = False


@dataclass(frozen=True)
class Vacuum:
    """A statement ``VACUUM``."""

    table: Name
    hours: float | None
    dry_run: bool
    lite: bool


@dataclass(frozen=True)
class Describe:
    """A statement ``DESCRIBE HISTORY`` or ``DESCRIBE DETAIL``."""

    table: Name
    history: bool
    limit: int | None = None


@dataclass(frozen=True)
class Restore:
    """A statement ``RESTORE``."""

    table: Name
    version: int | None
    timestamp: str | Expression | None


@dataclass(frozen=True)
class Convert:
    """A statement ``CONVERT TO DELTA``."""

    table: Name
    partition_schema: str | None


@dataclass(frozen=True)
class Generate:
    """A statement ``GENERATE ... FOR TABLE``."""

    table: Name
    mode: str


@dataclass(frozen=True)
class Clone:
    """A statement ``CREATE TABLE ... SHALLOW CLONE``."""

    table: Name
    source: Name
    mode: Mode
    version: int | None
    timestamp: str | Expression | None
    properties: dict[str, str]
    location: str | None


@dataclass(frozen=True)
class Create:
    """A statement ``CREATE TABLE`` or ``REPLACE TABLE``, other than clones.

    Attributes:
        table: The name.
        provider: The format, if the statement names it.
        text: The whole statement: what follows the name has other forms for other formats, and
            ``create_forms`` splits it for Delta tables.
    """

    table: Name
    provider: str | None
    text: str


@dataclass(frozen=True)
class Alter:
    """A statement ``ALTER TABLE``.

    Attributes:
        table: The name.
        text: The whole statement: what follows the name has other forms for other formats, and
            ``alter_forms`` splits it for Delta tables.
    """

    table: Name
    text: str


@dataclass(frozen=True)
class Insert:
    """A statement ``INSERT INTO`` or ``INSERT OVERWRITE``.

    Attributes:
        table: The name.
        text: The whole statement: what follows the name has other forms for other formats, and
            ``insert`` splits it for Delta tables.
        before: The text before it.
    """

    table: Name
    text: str
    before: Before = field(default=Before(), repr=False)


@dataclass(frozen=True)
class Comment:
    """A statement ``COMMENT ON TABLE``."""

    table: Name
    comment: str


@dataclass(frozen=True)
class Show:
    """A statement that describes a table: ``DESCRIBE TABLE``, ``SHOW TBLPROPERTIES`` and others.

    Attributes:
        table: The name.
        text: The whole statement.
    """

    table: Name
    text: str


Statement = (
    Merge
    | Update
    | Delete
    | Truncate
    | Optimize
    | Vacuum
    | Describe
    | Restore
    | Convert
    | Generate
    | Clone
    | Create
    | Insert
    | Alter
    | Comment
    | Show
)


def parse(text: str) -> Statement | None:
    """Parse a statement; return None if it is not a statement for Delta tables.

    Raises:
        InvalidArgumentError: ``sql.syntax``: the text begins as such a statement and is invalid;
            the message has the position.

    >>> parse("DELETE FROM t WHERE id = 7")
    Delete(table=('t',), alias=None, where='id = 7')
    >>> parse("SELECT 1") is None
    True
    """
    reader = Reader(text)
    for words, reads in _STATEMENTS:
        if reader.takes(*words):
            statement: Statement | None = reads(reader)
            if statement is not None:
                reader.ends()
            return statement
    return None


def _merge(reader: Reader) -> Merge:
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


def _source(reader: Reader) -> Source:
    start = reader.at
    if reader.token.kind in ("word", "quoted"):
        name = reader.name()
        reader.moment()
        alias = reader.alias("ON")
        if reader.sees("ON"):
            text = reader.text[reader.tokens[start].start : reader.tokens[reader.at - 1].end]
            return Source(text, alias or name[-1])
        reader.at = start
    text = reader.until(("ON",))
    last, before = reader.tokens[reader.at - 1], reader.tokens[reader.at - 2]
    named = last.kind in ("word", "quoted") and (before.text == ")" or before.is_word("AS"))
    return Source(text, last.name if named else None)


def _clause(reader: Reader) -> Clause:
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
            raise reader.invalid(f"INSERT needs {len(columns)} values, not {len(values)}")
        twice = next((name for name in columns if columns.count(name) > 1), None)
        if twice is not None:
            raise InvalidArgumentError(
                f"{twice} is set twice by an INSERT of the merge: leave one of the values out",
                code="statement.column",
            )
        return Clause(f"{when}_insert", condition, dict(zip(columns, values, strict=True)))
    if reader.takes("DELETE"):
        return Clause(f"{when}_delete", condition, None)
    reader.needs("UPDATE", "SET")
    if when == "when_matched" and reader.takes("*"):
        return Clause(f"{when}_update_all", condition, None)
    return Clause(f"{when}_update", condition, reader.assignments(("WHEN",)))


def _insert(reader: Reader) -> Insert | None:
    """Parse an ``INSERT`` into a table; return None for one into a directory, which Spark runs."""
    reader.takes("WITH", "SCHEMA", "EVOLUTION")
    if not (reader.takes("INTO") or reader.takes("OVERWRITE")):
        return None
    reader.takes("TABLE")
    table, after = name_at(reader.tokens, reader.at)
    if not table or reader.sees("LOCAL", "DIRECTORY") or reader.tokens[after].kind == "string":
        return None
    reader.rest()
    return Insert(table, reader.text)


def _update(reader: Reader) -> Update:
    table = reader.name()
    alias = reader.alias("SET")
    reader.needs("SET")
    values = reader.assignments(("WHERE",))
    where = reader.until() if reader.takes("WHERE") else None
    return Update(table, alias, values, where)


def _delete(reader: Reader) -> Delete:
    table = reader.name()
    alias = reader.alias("WHERE")
    return Delete(table, alias, reader.until() if reader.takes("WHERE") else None)


def _optimize(reader: Reader) -> Optimize:
    table = reader.table()
    full = reader.takes("FULL")
    where = reader.logged(("ZORDER", "BY")) if reader.takes("WHERE") else None
    columns: tuple[str, ...] = ()
    if reader.takes("ZORDER", "BY"):
        closes = reader.takes("(")
        columns = (".".join(reader.name()),)
        while reader.takes(","):
            columns += (".".join(reader.name()),)
        if closes:
            reader.needs(")")
    return Optimize(table, where, columns, full)


def _reorg(reader: Reader) -> Optimize:
    table = reader.name()
    where = reader.logged(("APPLY", "(")) if reader.takes("WHERE") else None
    reader.needs("APPLY", "(", "PURGE", ")")
    return Optimize(table, where, purge=True)


def _vacuum(reader: Reader) -> Vacuum:
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


def _history(reader: Reader) -> Describe:
    table = reader.table()
    return Describe(table, True, reader.whole() if reader.takes("LIMIT") else None)


def _detail(reader: Reader) -> Describe:
    return Describe(reader.table(), False)


def _restore(reader: Reader) -> Restore:
    reader.takes("TABLE")
    table = reader.name()
    reader.takes("TO")
    version, timestamp = reader.moment()
    if version is None and timestamp is None:
        raise reader.wrong("VERSION AS OF or TIMESTAMP AS OF")
    return Restore(table, version, timestamp)


def _convert(reader: Reader) -> Convert:
    table = reader.name()
    reader.takes("NO", "STATISTICS")
    columns = None
    if reader.takes("PARTITIONED", "BY"):
        columns = ", ".join(reader.in_parentheses())
    return Convert(table, columns)


def _generate(reader: Reader) -> Generate:
    mode = reader.identifier()
    reader.needs("FOR", "TABLE")
    return Generate(reader.name(), mode)


def _create(reader: Reader) -> Clone | Create | None:
    begun = head(reader)
    if begun is None:
        return None
    mode, table = begun
    if not reader.takes("SHALLOW", "CLONE"):
        return Create(table, _provider(reader), reader.text)
    source = reader.name()
    version, timestamp = reader.moment()
    properties = reader.properties() if reader.takes("TBLPROPERTIES") else {}
    location = reader.string() if reader.takes("LOCATION") else None
    return Clone(table, source, mode, version, timestamp, properties, location)


def _provider(reader: Reader) -> str | None:
    """Return the format of a new table, and move to the end."""
    provider: str | None = None
    depth = 0
    while reader.token.kind != "end":
        depth += reader.sees("(") - reader.sees(")")
        if depth == 0 and reader.token.is_word("STORED", "ROW"):  # Hive's clauses
            provider = "hive"
            break
        if depth == 0 and reader.token.is_word("AS", "SELECT", "WITH"):
            break
        if depth == 0 and reader.sees("USING"):
            provider = ".".join(name_at(reader.tokens, reader.at + 1)[0])
        reader.at += 1
    reader.rest()
    return provider


def _truncate(reader: Reader) -> Truncate | None:
    table, _ = name_at(reader.tokens, reader.at)
    reader.rest()
    return Truncate(table, reader.text) if table else None


def _alter(reader: Reader) -> Alter | None:
    table, _ = name_at(reader.tokens, reader.at)
    reader.rest()
    return Alter(table, reader.text) if table else None


def _comment(reader: Reader) -> Comment:
    table = reader.name()
    reader.needs("IS")
    return Comment(table, "" if reader.takes("NULL") else reader.string())


def _describe(reader: Reader) -> Show | None:
    reader.takes("TABLE")
    if not reader.takes("EXTENDED"):
        reader.takes("FORMATTED")
    return _show(reader)


def _columns(reader: Reader) -> Show | None:
    if not reader.takes("IN"):
        reader.takes("FROM")
    return _show(reader)


def _show(reader: Reader) -> Show | None:
    table, after = name_at(reader.tokens, reader.at)
    reader.at = after
    if table and (reader.takes("IN") or reader.takes("FROM")):  # the schema of SHOW COLUMNS
        schema, _ = name_at(reader.tokens, reader.at)
        table = (*schema, table[-1])
    reader.rest()
    return Show(table, reader.text) if table else None


_Reads = Callable[[Reader], Any]

#: The first words of statements, and the parsers of the rest.
_STATEMENTS: tuple[tuple[tuple[str, ...], _Reads], ...] = (
    (("MERGE",), _merge),
    (("INSERT",), _insert),
    (("UPDATE",), _update),
    (("DELETE", "FROM"), _delete),
    (("TRUNCATE", "TABLE"), _truncate),
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
    (("ALTER", "TABLE"), _alter),
    (("COMMENT", "ON", "TABLE"), _comment),
    (("SHOW", "TBLPROPERTIES"), _show),
    (("SHOW", "CREATE", "TABLE"), _show),
    (("SHOW", "COLUMNS"), _columns),
    (("DESCRIBE",), _describe),
    (("DESC",), _describe),
)
