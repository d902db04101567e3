"""Queries that Spark runs, with Delta tables that deltareplay reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog import lookup
from deltareplay.spark.catalog.timestamps import evaluate_timestamp
from deltareplay.spark.query import change_functions, metadata_column, target_views
from deltareplay.spark.scan import file_metadata
from deltareplay.spark.scan.projection import ExtraColumns
from deltareplay.spark.scan.read import rows_of
from deltareplay.spark.scan.skipping import skipping_filter
from deltareplay.spark.schema.fields import columns_of
from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.session import capabilities
from deltareplay.spark.syntax import names, qualifiers
from deltareplay.spark.syntax.parser import QUERY, ConstantExpression, Name, Parser
from deltareplay.spark.syntax.tokens import Token

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay.spark.catalog.lookup import CatalogEntry

#: The first words of statements that may contain a query.
_BEGINNINGS = (
    *QUERY,
    *(("EXPLAIN",), ("CREATE",), ("REPLACE",), ("INSERT",), ("SET", "VAR"), ("SET", "VARIABLE")),
)

#: Keywords that end a list of tables.
_AFTER_TABLES = (
    *("SELECT", "VALUES", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "WINDOW", "VIEW"),
    *("PIVOT", "UNPIVOT", "CLUSTER", "DISTRIBUTE", "SORT", "UNION", "EXCEPT", "MINUS", "INTERSECT"),
)

#: Keywords that may follow a table, and are not an alias.
_AFTER_TABLE = (
    *_AFTER_TABLES,
    *("JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "ON", "USING"),
    *("LATERAL", "INSERT", "MAP", "REDUCE", "TABLESAMPLE", "WITH"),
)

#: Keywords that may follow FROM instead of a table.
_NO_TABLE = ("SELECT", "VALUES", "LATERAL", "FROM", "TABLE", "WITH")

#: Keywords before TABLE where it does not begin a query.
_NAMES_TABLE = ("CREATE", "EXTERNAL", "REPLACE", "INTO", "OVERWRITE")

#: Keywords that end a condition.
_AFTER_WHERE = (
    *("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "WINDOW", "CLUSTER", "DISTRIBUTE", "SORT"),
    *("UNION", "EXCEPT", "MINUS", "INTERSECT", "LATERAL", "PIVOT", "SELECT", "INSERT"),
)

#: Operators whose result may depend on rows that do not satisfy WHERE.
_NOT_INNER = (
    *("LEFT", "RIGHT", "FULL", "OUTER", "SEMI", "ANTI", "PIVOT", "UNPIVOT"),
    *("TABLESAMPLE", "INSERT"),
)

#: Functions that have FROM between their arguments.
_WITH_FROM = ("EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY")


@dataclass(frozen=True)
class TableReference:
    """A table in a query.

    Attributes:
        name: Its name or path.
        version: The requested version.
        timestamp: The requested time.
        start: The position of its first character.
        end: The position after it and its version.
        alias: The qualifier of its columns.
        alias_position: The position where an alias may be inserted; None if it has one, or cannot
            have one.
        where: A condition that all rows used by the query satisfy; None if none is known.
        is_joined: Whether the condition may refer to other tables as well.
        allows_metadata: Whether ``_metadata`` may be added to its columns.
        changes: The arguments, if the name is ``table_changes`` or ``table_changes_by_path``.
    """

    name: Name
    version: int | None
    timestamp: str | ConstantExpression | None
    start: int
    end: int
    alias: str | None
    alias_position: int | None
    where: str | None = None
    is_joined: bool = False
    allows_metadata: bool = True
    changes: tuple[str, ...] | None = None


def run(spark: SparkSession, text: str) -> DataFrame:
    """Run a query or statement by Spark, with Delta tables by path and by name.

    With delta-spark's jar, Spark reads them; otherwise as by ``run_on_snapshots``.

    Raises:
        UnsupportedFeatureError: ``sql.view``: a view of the catalog keeps the text of its query; or
            as by ``metadata_column.exclusions``.
        DeltaReplayError: As by ``snapshot`` and ``change_functions.rows``.
    """
    return spark.sql(text) if capabilities.has_delta(spark) else run_on_snapshots(spark, text)


def run_on_snapshots(spark: SparkSession, text: str) -> DataFrame:
    """Run a query whose Delta tables are replaced by snapshots that deltareplay reads."""
    view = _view(text)
    query = text if view is None or view.query is None else view.query
    query, frames = _with_frames(spark, query)
    if not frames:
        return spark.sql(text)
    if view is None:
        return spark.sql(query, **frames)
    if view.method is None or view.query is None or len(view.name) != 1:
        raise UnsupportedFeatureError(
            "without delta-spark's jar, Spark cannot open the Delta tables of a view in the "
            "catalog: use CREATE TEMPORARY VIEW name [(columns)] AS query, which stays at the "
            "current versions of the tables",
            code="sql.view",
        )
    rows = spark.sql(query, **frames)
    if view.columns:
        rows = _renamed(rows, view.columns)
    getattr(rows, view.method)(names.quoted(view.name[0]))
    if "Global" not in view.method and not view.columns:
        target_views.remember(spark, view.name[0], view.query, rows)
    return empty_frame(spark)


def _renamed(rows: DataFrame, columns: list[tuple[str, str | None]]) -> DataFrame:
    """Rename all columns, and set the comments of those that have one."""
    from pyspark.sql import functions as sf

    rows = rows.toDF(*[name for name, _ in columns])
    if all(comment is None for _, comment in columns):
        return rows
    selected = []
    for name, comment in columns:
        column = sf.col(names.quoted(name))
        metadata = {"comment": comment}
        selected.append(column if comment is None else column.alias(name, metadata=metadata))
    return rows.select(*selected)


def _with_frames(spark: SparkSession, text: str) -> tuple[str, dict[str, DataFrame]]:
    """Replace the Delta tables of a query by names in braces; return it with their rows."""
    frames: dict[str, DataFrame] = {}
    snapshots: dict[tuple[Any, ...], Snapshot | None] = {}  # shared by all uses of a table
    parser = Parser(text)
    names_metadata = metadata_column.is_named(parser.tokens)
    with_metadata: dict[int, str] = {}
    references, column_edits = with_aliases(spark, parser.tokens, _references(parser))
    edits = [(start, end, _escaped_braces(alias)) for start, end, alias in column_edits]
    for reference in references:
        name, alias = f"deltareplay_{len(frames)}", reference.alias
        if reference.changes is not None:
            changes = change_functions.rows(spark, reference.name[0], reference.changes)
            if changes is not None:
                frames[name] = changes
                edits += _replacement(reference, name, alias)
            continue
        key = (reference.name, reference.version, reference.timestamp)
        if key not in snapshots:
            snapshots[key] = _snapshot(spark, reference)
        snapshot = snapshots[key]
        if snapshot is None:
            continue
        metadata = names_metadata and reference.allows_metadata and _lacks_metadata(snapshot)
        if metadata:
            alias = alias or name
            with_metadata[reference.start] = alias
        frames[name] = _frame(spark, snapshot, reference, metadata=metadata)
        edits += _replacement(reference, name, alias)
    if with_metadata:
        exclusions = metadata_column.exclusions(text, parser.tokens, with_metadata)
        edits += [(index, index, _escaped_braces(clause)) for index, clause in exclusions]
    result, index = "", 0
    for start, end, replacement in sorted(edits):
        result += _escaped_braces(text[index:start]) + replacement
        index = end
    return result + _escaped_braces(text[index:]), frames


def _replacement(
    reference: TableReference, name: str, alias: str | None
) -> list[tuple[int, int, str]]:
    """Return the edits that replace a table by a frame."""
    edits = [(reference.start, reference.end, f"{{{name}}}")]
    if (index := reference.alias_position) is not None and alias is not None:
        edits.append((index, index, _escaped_braces(f" AS {names.quoted(alias)}")))
    return edits


def _lacks_metadata(snapshot: Snapshot) -> bool:
    """Return whether the table has no column of its own named ``_metadata``."""
    return all(column.name.lower() != file_metadata.NAME for column in columns_of(snapshot))


def with_aliases(
    spark: SparkSession, tokens: Sequence[Token], references: list[TableReference]
) -> tuple[list[TableReference], list[tuple[int, int, str]]]:
    """Give Delta tables aliases for columns such as ``sales.orders.id``.

    Returns:
        The tables, and the edits of the query that replace their names before columns.
    """
    aliases: dict[Name, str] = {}
    entries = {
        reference.start: _entry(spark, reference)
        for reference in references
        if reference.alias_position is not None and reference.changes is None
    }
    result = []
    for reference in references:
        entry = entries.get(reference.start)
        if entry is not None and entry.is_delta:
            table = entry.qualified_parts
            alias = reference.name[-1]
            if any(
                other is not None
                and other.parts[-1].lower() == alias.lower()
                and other.qualified_parts != table
                for other in entries.values()
            ):
                alias = ".".join(table)
            table_aliases = qualifiers.aliases(table, alias)
            if qualifiers.edits(tokens, table_aliases):
                aliases |= table_aliases
                reference = replace(reference, alias=alias)
        result.append(reference)
    if not aliases:
        return references, []
    result = [
        replace(reference, where=qualifiers.with_aliases(reference.where, aliases))
        for reference in result
    ]
    starts = {reference.start for reference in references}
    edits = [edit for edit in qualifiers.edits(tokens, aliases) if edit[0] not in starts]
    return result, edits


def _entry(spark: SparkSession, reference: TableReference) -> CatalogEntry | None:
    """Look up a table of a query; return None for files of another format."""
    is_path = names.path_of(reference.name) is not None
    if not is_path and len(reference.name) > 1 and names.is_absolute(reference.name[-1]):
        return None
    return lookup.find(spark, reference.name)


def _snapshot(spark: SparkSession, reference: TableReference) -> Snapshot | None:
    """Return the snapshot that a query refers to; None if it is not of a Delta table."""
    entry = _entry(spark, reference)
    if entry is None or not entry.is_delta:
        return None
    return snapshot(spark, entry, reference.version, reference.timestamp)


def snapshot(
    spark: SparkSession,
    entry: CatalogEntry,
    version: int | None,
    timestamp: str | ConstantExpression | None,
) -> Snapshot:
    """Return the version that SQL names, also at the end of a path; by default the latest.

    Raises:
        InvalidArgumentError: ``argument.version``: a path has a version, and another is passed;
            ``argument.moment``: the timestamp is invalid.
        TableNotFoundError: ``name.not_delta``: it is not a Delta table; or there is none.
        VersionNotFoundError: The table does not have the version.
    """
    table = entry.table()
    split_path = lookup.split_time_travel(entry.parts[-1]) if entry.is_path else None
    if split_path is not None and not table.native.exists():
        if version is not None or timestamp is not None:
            raise InvalidArgumentError(
                f"{entry.parts[-1]} names a version, and so does the statement: leave out one of "
                "them",
                code="argument.version",
            )
        path, version, timestamp = split_path
        table = lookup.at_path(path)
    return table.snapshot(
        version, None if timestamp is None else evaluate_timestamp(spark, timestamp)
    )


def _frame(
    spark: SparkSession, snapshot: Snapshot, reference: TableReference, *, metadata: bool = False
) -> DataFrame:
    filter = skipping_filter(
        reference.where, spark, snapshot, reference.alias, joined=reference.is_joined
    )
    tracks_rows = snapshot.properties.get("delta.enableRowTracking", "").lower() == "true"
    extra_columns = ExtraColumns(
        row_id=False,
        file_path=False,
        row_index=False,
        metadata=metadata,
        metadata_ids=metadata and tracks_rows,
    )
    return rows_of(spark, snapshot, filter, None, extra_columns, None)


def _escaped_braces(text: str) -> str:
    """Escape braces, in which ``spark.sql`` looks for the names of frames."""
    return text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True)
class _View:
    """A ``CREATE VIEW`` statement.

    Attributes:
        method: The DataFrame method that creates the view; None for a view in the catalog.
        columns: The names of its columns, each with its comment, if the statement has them.
        query: The query of the view; None if the statement has other clauses.
    """

    method: str | None
    name: Name
    columns: list[tuple[str, str | None]]
    query: str | None


def _view(text: str) -> _View | None:
    parser = Parser(text)
    if not parser.takes("CREATE"):
        return None
    replaces = parser.takes("OR", "REPLACE")
    is_global = parser.takes("GLOBAL")
    is_temporary = parser.takes("TEMPORARY") or parser.takes("TEMP")
    if not parser.takes("VIEW"):
        return None
    verb = "createOrReplace" if replaces else "create"
    method = f"{verb}{'Global' if is_global else ''}TempView" if is_temporary else None
    name = parser.optional_name()

    def column() -> tuple[str, str | None]:
        return parser.identifier(), parser.string() if parser.takes("COMMENT") else None

    columns = parser.in_parentheses(column) if parser.sees("(") else []
    return _View(method, name, columns, parser.query() if parser.takes("AS") else None)


def references(text: str) -> list[TableReference]:
    """Return the tables that a query reads.

    Functions other than ``table_changes`` and ``table_changes_by_path``, and names that ``WITH``
    defines, are left out.

    >>> [table.name for table in references("SELECT * FROM a JOIN b.c USING (id), range(3)")]
    [('a',), ('b', 'c')]
    """
    return _references(Parser(text))


def _references(parser: Parser) -> list[TableReference]:
    describes = parser.takes("DESCRIBE") or parser.takes("DESC")
    if describes and not parser.takes("QUERY") and parser.sees("TABLE"):
        return []
    if not parser.sees_any(QUERY if describes else _BEGINNINGS):
        return []
    return tables_in(parser)


def tables_in(parser: Parser) -> list[TableReference]:
    """Return the tables in the queries of a text, such as an expression with subqueries."""
    named = _named_queries(parser.tokens)
    return [
        table
        for table in _tables(parser)
        if len(table.name) > 1
        or not any(query.hides(table) for query in named.get(table.name[0].lower(), ()))
    ]


def rows_of_table(spark: SparkSession, reference: TableReference) -> DataFrame | None:
    """Return all rows of a Delta table, or its changes; None if it is not a Delta table."""
    if reference.changes is not None:
        return change_functions.rows(spark, reference.name[0], reference.changes)
    snapshot = _snapshot(spark, reference)
    return None if snapshot is None else _frame(spark, snapshot, replace(reference, where=None))


def _tables(parser: Parser) -> list[TableReference]:
    references: list[TableReference] = []
    levels = [_Level()]  # of parentheses
    may_follow = False  # whether a table may follow
    before = Token("end", "", 0, 0)
    while parser.token.kind != "end":
        token, level = parser.token, levels[-1]
        level.count(token, may_follow=may_follow)
        if may_follow and token.kind in ("word", "quoted") and not token.is_word(*_NO_TABLE):
            table = _table(parser, may_have_alias=not before.is_word("TABLE"))
            if table is not None:
                if _has_column_aliases(parser):
                    table = replace(table, allows_metadata=False)
                else:
                    level.tables.append(len(references))
                references.append(table)
            before, may_follow = parser.tokens[parser.index - 1], False
            continue
        if token.text == "(":
            levels.append(_Level(may_follow, before.is_word(*_WITH_FROM)))
        elif token.text == ")":
            may_follow = False
            if len(levels) > 1:
                levels.pop()
        elif token.text == "|" and parser.tokens[parser.index + 1].text == ">":
            may_follow = level.in_table_list = False
        elif token.text == ",":
            may_follow = level.in_table_list
        elif token.kind != "word" or before.text == ".":
            may_follow = False
        elif token.is_word("FROM"):
            may_follow = not (level.is_arguments or before.is_word("DISTINCT"))
            if may_follow:
                level.begin_from()
        elif token.is_word("TABLE"):
            may_follow = (
                not before.is_word(*_NAMES_TABLE) and parser.tokens[parser.index + 1].text != "("
            )
        elif token.is_word(*_AFTER_TABLES):
            if token.is_word("WHERE") and level.is_inner:
                _add_condition(parser, references, level)
            may_follow = level.in_table_list = False
        else:
            may_follow = token.is_word("JOIN") or (may_follow and token.is_word("LATERAL"))
        before = token
        parser.index += 1
    return references


@dataclass
class _Level:
    """One level of parentheses in a query.

    Attributes:
        in_table_list: Whether a comma is followed by another table.
        is_arguments: Whether FROM separates arguments of a function.
        tables: Indexes of the tables in FROM.
        relations: The number of tables, queries and functions in FROM.
        is_inner: Whether rows that do not satisfy WHERE do not affect the result.
    """

    in_table_list: bool = False
    is_arguments: bool = False
    tables: list[int] = field(default_factory=list)
    relations: int = 0
    is_inner: bool = True

    def begin_from(self) -> None:
        """Begin a FROM clause."""
        self.in_table_list = self.is_inner = True
        self.tables, self.relations = [], 0

    def count(self, token: Token, *, may_follow: bool) -> None:
        """Count relations, and detect outer joins and other operators that are not inner joins."""
        self.relations += may_follow or token.is_word("LATERAL")
        if token.is_word(*_NOT_INNER) or token.text == "|":
            self.is_inner = False


def _add_condition(parser: Parser, references: list[TableReference], level: _Level) -> None:
    """Record the WHERE condition of a FROM clause for its tables."""
    start = parser.index
    parser.index += 1
    try:
        where = parser.until(*((word,) for word in _AFTER_WHERE))
    except InvalidArgumentError:  # Spark reports the error
        return
    finally:
        parser.index = start
    for index in level.tables:
        references[index] = replace(references[index], where=where, is_joined=level.relations > 1)


def _table(parser: Parser, *, may_have_alias: bool) -> TableReference | None:
    """Parse a table up to its alias; return None if something else comes next."""
    start = parser.token.start
    name = parser.name()
    changes = None
    try:
        if parser.sees("("):
            if len(name) > 1 or name[0].lower() not in change_functions.NAMES:
                return None
            changes = tuple(parser.in_parentheses(parser.expression))
        version, timestamp = (None, None) if changes else parser.time_travel()
    except InvalidArgumentError:  # an expression, which other formats may have there
        return None
    end_index = parser.index
    _skip_sample(parser)
    alias_position = parser.tokens[parser.index - 1].end if may_have_alias else None
    alias = None if names.path_of(name) is not None else name[-1]
    parser.takes("AS")
    token = parser.token
    if token.kind == "quoted" or (token.kind == "word" and not token.is_word(*_AFTER_TABLE)):
        alias, alias_position = token.name, None
    parser.index = end_index
    return TableReference(
        name,
        version,
        timestamp,
        start,
        parser.tokens[end_index - 1].end,
        alias,
        alias_position,
        allows_metadata=may_have_alias and changes is None,
        changes=changes,
    )


def _skip_sample(parser: Parser) -> None:
    """Move past ``TABLESAMPLE``, which may come before an alias."""
    while parser.takes("TABLESAMPLE") or parser.takes("REPEATABLE"):
        parser.skip_parentheses()


def _has_column_aliases(parser: Parser) -> bool:
    """Return whether an alias with column names follows."""
    end_index = parser.index
    _skip_sample(parser)
    index = parser.index + parser.sees("AS")
    parser.index = end_index
    alias = parser.tokens[index]
    is_alias = alias.kind in ("word", "quoted") and not alias.is_word(*_AFTER_TABLE)
    return is_alias and parser.tokens[index + 1].text == "("


@dataclass(frozen=True)
class _NamedQuery:
    """A query that ``WITH`` defines.

    Attributes:
        start: The position from which its name hides a table.
        end: The position up to which it does.
    """

    start: int
    end: int

    def hides(self, table: TableReference) -> bool:
        """Return whether a table of the same name is this query."""
        return self.start <= table.start < self.end


def _named_queries(parsed: Sequence[Token]) -> dict[str, list[_NamedQuery]]:
    """Return the queries that ``WITH`` defines, by their names in lower case.

    A name is visible after its own definition, and to the end of the query that ``WITH`` begins;
    after ``WITH RECURSIVE``, also in its definition.
    """
    named: dict[str, list[_NamedQuery]] = {}
    outer, ends = _parentheses(parsed)
    definitions: dict[int, bool] = {}  # the last token of each, and whether it may be recursive
    for index, token in enumerate(parsed[1:], 1):
        before, opening = parsed[index - 1], outer[index]
        if token.kind not in ("word", "quoted"):
            continue
        if before.is_word("WITH", "RECURSIVE"):
            is_recursive = before.is_word("RECURSIVE")
        elif before.text == "," and index - 2 in definitions:
            is_recursive = definitions[index - 2]
        else:
            continue
        body = _body(parsed, ends, index + 1)
        if body is None:
            continue
        definitions[ends[body]] = is_recursive
        start = token.start if is_recursive else parsed[ends[body]].end
        query = _NamedQuery(start, parsed[ends[opening]].start)
        named.setdefault(token.name.lower(), []).append(query)
    return named


def _parentheses(parsed: Sequence[Token]) -> tuple[list[int], dict[int, int]]:
    """Match parentheses, by the indexes of their tokens.

    Returns:
        The parenthesis that each token is inside of, -1 for none; and the end of each parenthesis.
    """
    outer, opened = [], [-1]
    ends: dict[int, int] = {}
    for index, token in enumerate(parsed):
        if token.text == ")" and len(opened) > 1:
            ends[opened.pop()] = index
        outer.append(opened[-1])
        if token.text == "(":
            opened.append(index)
    return outer, {**dict.fromkeys(opened, len(parsed) - 1), **ends}


def _body(parsed: Sequence[Token], ends: Mapping[int, int], index: int) -> int | None:
    """Return the index of the parenthesis of a query after its name; None if there is none.

    The names of columns and a limit of recursion may come before it; ``AS`` may be left out.
    """
    if parsed[index].text == "(":
        after = min(ends[index] + 1, len(parsed) - 1)
        if not (parsed[after].is_word("AS", "MAX") or parsed[after].text == "("):
            return index
        index = after
    if parsed[index].is_word("MAX"):  # RECURSION LEVEL and a number
        index = min(index + 4, len(parsed) - 1)
    index += parsed[index].is_word("AS")
    return index if parsed[index].text == "(" else None
