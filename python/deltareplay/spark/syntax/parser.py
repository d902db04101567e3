"""A parser of SQL statements, token by token."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from deltareplay._names import column_path
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.syntax.strings import escaped_literal
from deltareplay.spark.syntax.tokens import Sql, Token, position

_T = TypeVar("_T")

#: The parts of the name of a table, or of the path to a column.
Name = tuple[str, ...]

#: The first words of queries.
QUERY_BEGINNINGS = (("SELECT",), ("VALUES",), ("WITH",), ("TABLE",), ("FROM",), ("(",))

#: Keys that Spark reserves for separate clauses.
_RESERVED = ("provider", "location", "owner", "external", "is_managed_location")

#: Words and symbols that may follow the type of a column.
_AFTER_TYPE = (
    *(",", ")", ";", "NOT", "DEFAULT", "COMMENT", "GENERATED", "FIRST", "AFTER"),
    *("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "REFERENCES", "CHECK"),
)

#: Binary operators.
_OPERATORS = ("+", "-", "*", "/", "%", "|", "&", "^")

#: Words of conditions that may have a subquery after them.
_BEFORE_SUBQUERIES = (
    *("IN", "EXISTS", "AND", "OR", "NOT", "ANY", "SOME", "ALL", "BETWEEN", "WHEN", "THEN", "ELSE"),
    *("LIKE", "ILIKE", "RLIKE", "REGEXP", "IS", "FROM", "DIV"),
)

#: Units of intervals.
_UNITS = tuple(
    f"{unit}{plural}"
    for unit in (
        *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"),
        "MICROSECOND",
    )
    for plural in ("", "S")
)

#: A number, which may have a suffix for its type in Spark.
_NUMBER = re.compile(
    r"(-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?:bd|[lsydf])?", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True)
class ConstantExpression:
    """An SQL expression without columns."""

    text: str


class Parser:
    """The parser of one statement, which moves past what it parses.

    >>> parser = Parser("SET TBLPROPERTIES ('a' = 1)")
    >>> parser.takes("SET", "TBLPROPERTIES"), parser.properties()
    (True, {'a': '1'})
    """

    def __init__(self, text: str) -> None:
        self.text = Sql.of(text)
        self.tokens = self.text.tokens
        self.index = 0

    @property
    def token(self) -> Token:
        """The current token."""
        return self.tokens[self.index]

    def sees(self, *words: str) -> bool:
        """Return whether these keywords and symbols come next."""
        ahead = self.tokens[self.index : self.index + len(words)]
        return len(ahead) == len(words) and all(
            token.is_word(word) or (token.kind == "symbol" and token.text == word)
            for token, word in zip(ahead, words, strict=True)
        )

    def sees_any(self, alternatives: Iterable[tuple[str, ...]]) -> bool:
        """Return whether one of several sequences of keywords and symbols comes next."""
        return any(self.sees(*words) for words in alternatives)

    def takes(self, *words: str) -> bool:
        """Move past these keywords and symbols if they come next; return whether they did."""
        if not self.sees(*words):
            return False
        self.index += len(words)
        return True

    def takes_any(self, *words: str) -> bool:
        """Move past one of these keywords if it comes next; return whether it did."""
        return any(map(self.takes, words))

    def needs(self, *words: str) -> None:
        """Move past these keywords and symbols, which are required."""
        for word in words:
            if not self.takes(word):
                raise self.expected(word)

    def needs_end(self) -> None:
        """Check that only semicolons remain."""
        while self.takes(";"):
            pass
        if self.token.kind != "end":
            raise self.expected("the end of the statement")

    def expected(self, what: str) -> InvalidArgumentError:
        """Return the error that ``what`` is expected, not the current token."""
        return self.invalid(f"expected {what}, not {self.token.text or 'the end'!r}")

    def invalid(self, message: str) -> InvalidArgumentError:
        """Return an error with the position of the current token."""
        return InvalidArgumentError(
            f"{message}, at {position(self.text, self.token.start)}", code="sql.syntax"
        )

    def since(self, start: int) -> Sql:
        """Return the text from the token with this index to the one before the current token."""
        return self.text.part(self.tokens[start].start, self.tokens[self.index - 1].end)

    def name(self) -> Name:
        """Parse a name into its parts."""
        name = self.optional_name()
        if not name:
            raise self.expected("a name")
        return name

    def optional_name(self) -> Name:
        """Parse a name into its parts; return an empty tuple if something else comes next."""
        parts: Name = ()
        while self.token.is_name:
            parts += (self.token.name,)
            self.index += 1
            if self.token.text != "." or not self.tokens[self.index + 1].is_name:
                break
            self.index += 1
        return parts

    def names(self) -> tuple[Name, ...]:
        """Parse names with commas between them."""
        return tuple(self.list_of(self.name))

    def list_of(self, parse: Callable[[], _T]) -> list[_T]:
        """Parse elements with commas between them."""
        elements = [parse()]
        while self.takes(","):
            elements.append(parse())
        return elements

    def in_parentheses(self, parse: Callable[[], _T], *, optional: bool = False) -> list[_T]:
        """Parse elements with commas between them, in parentheses; these may be ``optional``."""
        is_open = self.takes("(")
        if not (is_open or optional):
            raise self.expected("(")
        elements = self.list_of(parse)
        if is_open:
            self.needs(")")
        return elements

    def table(self) -> Name:
        """Parse the name of a table, or a path as a string."""
        if self.token.kind == "string":
            return ("delta", self.string())
        return self.name()

    def identifier(self) -> str:
        """Parse an identifier: a word, or a name in backticks."""
        if not self.token.is_name:
            raise self.expected("a name")
        self.index += 1
        return self.tokens[self.index - 1].name

    def string(self) -> str:
        """Parse a string; several in a row are concatenated."""
        if self.token.kind != "string":
            raise self.expected("a string")
        value = ""
        while self.token.kind == "string":
            value += self.token.value
            self.index += 1
        return value

    def number(self) -> float:
        """Parse a number."""
        text, start = "", self.token.start
        while self.token.start == start + len(text) and re.fullmatch(r"[\w.-]+", self.token.text):
            text += self.token.text
            self.index += 1
        number = _NUMBER.fullmatch(text)
        if number is None:
            if text:
                self.index -= 1  # the error names the last token of the text
            raise self.expected("a number")
        return float(number[1])

    def constant(self) -> Sql:
        """Return the SQL of a constant: a string, number, date, timestamp, boolean or NULL."""
        start = self.index
        has_type = self.takes_any("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
        if has_type or self.token.kind == "string":
            self.string()
        elif self.takes("CAST"):  # a string, as ``binary_cast`` writes it
            self.skip_parentheses()
        elif not self.takes_any("NULL", "TRUE", "FALSE"):
            self.takes("-")
            self.number()
        return self.since(start)

    def integer(self) -> int:
        """Parse a non-negative integer, which may be in quotes."""
        text = self.token.value if self.token.kind == "string" else self.token.text
        if not (text.isascii() and text.isdecimal() and len(text) < 20):
            raise self.expected("an integer")
        self.index += 1
        return int(text)

    def alias(self, *keywords: str) -> str | None:
        """Parse the alias of a table, if there is one; these keywords are not aliases."""
        is_name = self.token.is_name and not self.token.is_word(*keywords)
        return self.identifier() if self.takes("AS") or is_name else None

    def until(self, *stops: tuple[str, ...]) -> Sql:
        """Return the expression before one of these words, outside of parentheses and ``CASE``."""
        return self._until(lambda _: self.sees_any(stops), "an expression")

    def expression(self) -> Sql:
        """Return the expression before a comma."""
        return self.until((",",))

    def _until(self, stops: Callable[[Token], bool], expected: str) -> Sql:
        """Return the text before the first token at which ``stops(previous token)`` is true."""
        start, depth, cases = self.index, 0, 0
        last = Token("end", "", 0, 0)
        while self.token.kind != "end" and not self.sees(";"):
            after_dot = last.text == "."
            if depth == 0 and cases == 0 and not after_dot and stops(last):
                break
            depth += (self.token.text in "([") - (self.token.text in ")]")
            if depth < 0:
                break
            if not after_dot:
                cases += self.token.is_word("CASE")
                cases -= cases > 0 and self.token.is_word("END")
            last = self.token
            self.index += 1
        if self.index == start:
            raise self.expected(expected)
        return self.since(start)

    def expression_for_log(self, *stops: tuple[str, ...]) -> Sql:
        """Return the expression as ``until`` does, with escaped strings, for the log."""
        expression = self.until(*stops)
        return expression.edited(
            (token.start, token.end, escaped_literal(token.value))
            for token in expression.tokens
            if token.kind == "string" and token.value != token.unescaped
        )

    def condition_before_query(self) -> Sql:
        """Return the condition before a query, which may be in parentheses.

        >>> parser = Parser("a IN (SELECT 1) AND f(b) (SELECT 2)")
        >>> parser.condition_before_query(), parser.query()
        ('a IN (SELECT 1) AND f(b)', '(SELECT 2)')
        """
        return self._until(self._begins_query, "a condition")

    def _begins_query(self, last: Token) -> bool:
        """Return whether a query or ``BY NAME`` follows a complete condition."""
        if last.kind == "end" or last.is_word("DISTINCT"):  # nothing yet, or IS DISTINCT FROM
            return False
        if not self.sees("("):
            return self.sees("BY", "NAME") or self.sees_any(QUERY_BEGINNINGS)
        is_complete = last.kind in ("quoted", "string") or last.text == ")"
        is_complete |= last.kind == "word" and not last.is_word(*_BEFORE_SUBQUERIES)
        return is_complete and self.sees_any(("(", *words) for words in QUERY_BEGINNINGS)

    def skip_parentheses(self) -> bool:
        """Move past the parentheses that begin here; return whether they are closed."""
        depth = 0
        while self.token.kind != "end":
            depth += self.sees("(") - self.sees(")")
            self.index += 1
            if depth <= 0:
                return True
        return False

    def assignments(self, *stops: tuple[str, ...]) -> dict[str, Sql]:
        """Parse the assignments of ``SET``: columns and the SQL of their values."""
        values: dict[str, Sql] = {}
        while True:
            start = self.index
            self.name()
            column = self.since(start)
            if column in values:
                self.index = start
                raise self.invalid(f"duplicate assignment to {column}")
            self.needs("=")
            values[column] = self.until((",",), *stops)
            if not self.takes(","):
                return values

    def data_type(self) -> str:
        """Return the type of a column: the text up to the next clause of the column."""
        start, depth = self.index, 0
        while self.token.kind != "end" and (depth or not any(map(self.sees, _AFTER_TYPE))):
            depth += (self.token.text in "(<") - (self.token.text in ")>")
            self.index += 1
        if self.index == start:
            raise self.expected("a type")
        return self.since(start)

    def properties(self) -> dict[str, str]:
        """Parse properties and their values, in parentheses."""
        self.needs("(")
        values: dict[str, str] = {}
        while True:
            start = self.index
            key = self.key()
            if key in values:
                self.index = start
                raise self.invalid(f"duplicate property {key}")
            self.takes("=")
            values[key] = self._value()
            if not self.takes(","):
                self.needs(")")
                return values

    def table_properties(self) -> dict[str, str]:
        """Parse table properties; those that Spark reserves are an error."""
        start = self.index
        values = self.properties()
        for key in values:
            if key in _RESERVED:
                self.index = start
                raise self.invalid(f"the property {key} is reserved by Spark")
        return values

    def key(self) -> str:
        """Parse the name of a property: a string, or words separated by dots."""
        if self.token.kind != "string":
            return ".".join(self.name())
        self.index += 1
        return self.tokens[self.index - 1].value

    def _value(self) -> str:
        if self.token.kind != "string":
            start = self.index
            text = "" if self.sees(")") or self.sees(",") else self.expression().lower()
            if not re.fullmatch(r"\d+|\d+\.\d*|\.\d+|true|false", text):
                self.index = start
                raise self.expected("a string, a number, true or false")
            return text
        return self.string()

    def column_list(self, *, optional: bool = False) -> tuple[str, ...]:
        """Return the column names in parentheses, with dots between their parts."""
        return tuple(map(column_path, self.in_parentheses(self.name, optional=optional)))

    def query(self) -> Sql:
        """Return the text of a query, which extends to the end of the statement."""
        if not self.sees_any(QUERY_BEGINNINGS):
            raise self.expected("a query")
        start, self.index = self.index, len(self.tokens) - 1
        while self.tokens[self.index - 1].text == ";":
            self.index -= 1
        return self.since(start)

    def time_travel(self) -> tuple[int | None, str | ConstantExpression | None]:
        """Parse ``VERSION AS OF`` or ``TIMESTAMP AS OF``, if it comes next."""
        start = self.index
        self.takes("FOR")
        if self.takes("VERSION", "AS", "OF") or self.takes("SYSTEM_VERSION", "AS", "OF"):
            return self.integer(), None
        if self.takes("TIMESTAMP", "AS", "OF") or self.takes("SYSTEM_TIME", "AS", "OF"):
            return None, self._time()
        self.index = start
        return None, None

    def _time(self) -> str | ConstantExpression:
        """Parse a timestamp: a string, or an expression."""
        start = self.index
        if self.token.kind == "string":
            value = self.string()
            if self.token.text not in (*_OPERATORS, ":"):
                return value
            self.index = start
        self._term()
        while self.token.text in _OPERATORS or self.token.is_word("DIV"):
            while self.token.text in _OPERATORS or self.token.is_word("DIV"):
                self.index += 1
            self._term()
        return ConstantExpression(self.since(start))

    def _term(self) -> None:
        """Move past one operand of an expression without columns."""
        while self.token.text in ("+", "-"):
            self.index += 1
        if self.sees("("):
            self.skip_parentheses()
        elif self.takes("INTERVAL"):
            self._term()
            while self.token.is_word(*_UNITS):
                self.index += 1
                if self.takes("TO"):
                    self.identifier()
                elif self.token.kind == "string" or self.token.text.isdecimal():
                    self.index += 1
        elif self.takes("CASE"):
            depth = 1
            while depth and self.token.kind != "end":
                depth += self.sees("CASE") - self.sees("END")
                self.index += 1
        elif self.token.kind == "string":
            while self.token.kind == "string":
                self.index += 1
        elif self.token.text[:1].isdigit():
            self.number()
        else:
            self.name()
            if self.token.kind == "string":  # TIMESTAMP '...', DATE '...'
                self.index += 1
            elif self.sees("("):
                self.skip_parentheses()
        while self.takes(":", ":"):
            self.name()
            if self.sees("("):
                self.skip_parentheses()
