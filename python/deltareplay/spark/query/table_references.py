"""The tables that a query reads, as its text names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.query import change_functions
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import QUERY_BEGINNINGS, ConstantExpression, Name, Parser
from deltareplay.spark.syntax.tokens import Token

#: The first words of statements that may contain a query.
_BEGINNINGS = (
    *QUERY_BEGINNINGS,
    *(("EXPLAIN",), ("CREATE",), ("REPLACE",), ("INSERT",), ("SET", "VAR"), ("SET", "VARIABLE")),
)

#: Keywords that end a list of tables.
_AFTER_TABLES = (
    *("SELECT", "VALUES", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "WINDOW", "VIEW"),
    *("CLUSTER", "DISTRIBUTE", "SORT", "UNION", "EXCEPT", "MINUS", "INTERSECT"),
)

#: Keywords that may follow a table, and are not an alias.
_AFTER_TABLE = (
    *_AFTER_TABLES,
    *("JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "ON", "USING"),
    *("LATERAL", "INSERT", "MAP", "REDUCE", "TABLESAMPLE", "WITH", "PIVOT", "UNPIVOT"),
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

#: Keywords that continue an expression, and are not an alias of VALUES.
_CONTINUE_VALUE = (
    *("AND", "OR", "NOT", "IS", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "DIV"),
    *("COLLATE", "WHEN", "THEN", "ELSE", "END"),
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


def references_in(parser: Parser) -> list[TableReference]:
    """Return the tables that a query or a statement with a query reads.

    Functions other than ``table_changes`` and ``table_changes_by_path``, and names that ``WITH``
    defines, are left out.

    >>> query = Parser("SELECT * FROM a JOIN b.c USING (id), range(3)")
    >>> [table.name for table in references_in(query)]
    [('a',), ('b', 'c')]
    """
    describes = parser.takes_any("DESCRIBE", "DESC")
    if describes and not parser.takes("QUERY") and parser.sees("TABLE"):
        return []
    if not parser.sees_any(QUERY_BEGINNINGS if describes else _BEGINNINGS):
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


def _tables(parser: Parser) -> list[TableReference]:
    references: list[TableReference] = []
    levels = [_Level()]  # of parentheses
    table_may_follow = False
    before = Token("end", "", 0, 0)
    while parser.token.kind != "end":
        token, level = parser.token, levels[-1]
        level.count(token, table_may_follow=table_may_follow)
        if level.in_values and _ends_values(before, token):
            level.in_table_list, level.in_values = True, False
        if table_may_follow and token.is_name and not token.is_word(*_NO_TABLE):
            table = _table(parser, may_have_alias=not _is_after_table_keyword(parser))
            if table is not None:
                if _has_column_aliases(parser):
                    table = replace(table, allows_metadata=False)
                else:
                    level.tables.append(len(references))
                references.append(table)
            before, table_may_follow = parser.tokens[parser.index - 1], False
            continue
        if token.text == "(":
            levels.append(_Level(table_may_follow, before.is_word(*_WITH_FROM)))
        elif token.text == ")":
            table_may_follow = False
            if len(levels) > 1:
                levels.pop()
        elif token.text == "|" and parser.tokens[parser.index + 1].text == ">":
            table_may_follow = level.in_table_list = False
        elif token.text == ",":
            table_may_follow = level.in_table_list
        elif token.kind != "word" or before.text == ".":
            table_may_follow = False
        elif token.is_word("FROM"):
            table_may_follow = not (level.is_arguments or before.is_word("DISTINCT"))
            if table_may_follow:
                level.begin_from()
        elif token.is_word("TABLE"):
            table_may_follow = not before.is_word(*_NAMES_TABLE)
        elif token.is_word(*_AFTER_TABLES):
            if token.is_word("WHERE") and level.is_inner:
                _add_condition(parser, references, level)
            level.in_values = table_may_follow and token.is_word("VALUES")
            table_may_follow = level.in_table_list = False
        else:
            table_may_follow = token.is_word("JOIN") or (
                table_may_follow and token.is_word("LATERAL")
            )
        before = token
        parser.index += 1
    return references


def _is_after_table_keyword(parser: Parser) -> bool:
    """Return whether a table follows the keyword TABLE, with a parenthesis between them or not."""
    index = parser.index - 1
    if index > 0 and parser.tokens[index].text == "(":
        index -= 1
    return parser.tokens[index].is_word("TABLE")


@dataclass
class _Level:
    """One level of parentheses in a query.

    Attributes:
        in_table_list: Whether a comma is followed by another table.
        is_arguments: Whether FROM separates arguments of a function.
        in_values: Whether a comma is followed by another row of VALUES in FROM.
        tables: Indexes of the tables in FROM.
        relations: The number of tables, queries and functions in FROM.
        is_inner: Whether rows that do not satisfy WHERE do not affect the result.
    """

    in_table_list: bool = False
    is_arguments: bool = False
    in_values: bool = False
    tables: list[int] = field(default_factory=list)
    relations: int = 0
    is_inner: bool = True

    def begin_from(self) -> None:
        """Begin a FROM clause."""
        self.in_table_list = self.is_inner = True
        self.in_values = False
        self.tables, self.relations = [], 0

    def count(self, token: Token, *, table_may_follow: bool) -> None:
        """Count relations, and detect outer joins and other operators that are not inner joins."""
        self.relations += table_may_follow or token.is_word("LATERAL")
        if token.is_word(*_NOT_INNER) or token.text == "|":
            self.is_inner = False


def _ends_values(before: Token, token: Token) -> bool:
    """Return whether the rows of VALUES end, because their alias or a join begins."""
    if not token.is_name or token.is_word(*_CONTINUE_VALUE):
        return False
    is_literal = before.kind == "string" or before.text[:1].isdigit()
    return is_literal or before.text == ")" or token.is_word("AS")


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
    if token.is_name and not token.is_word(*_AFTER_TABLE):
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
    while parser.takes_any("TABLESAMPLE", "REPEATABLE"):
        parser.skip_parentheses()


def _has_column_aliases(parser: Parser) -> bool:
    """Return whether an alias with column names follows."""
    end_index = parser.index
    _skip_sample(parser)
    index = parser.index + parser.sees("AS")
    parser.index = end_index
    alias = parser.tokens[index]
    is_alias = alias.is_name and not alias.is_word(*_AFTER_TABLE)
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
        if not token.is_name:
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
