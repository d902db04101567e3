"""Substitution of values for ``{name}``, ``:name``, ``?`` and ``IDENTIFIER`` in statements."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import enum
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltareplay._arrow.plain_values import plain
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.session import capabilities, internals, strings
from deltareplay.spark.statements import dialect
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import Parser
from deltareplay.spark.syntax.tokens import Sql, Token, position

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Arguments = Mapping[str, Any] | Sequence[Any]

#: An edit of a statement: the start and the end of the replaced text, and the new text.
Edit = tuple[int, int, str]


@contextlib.contextmanager
def formatted(spark: SparkSession, text: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text with values for ``{name}``, as ``SparkSession.sql`` formats it.

    DataFrames become temporary views. They are dropped afterwards, except on Spark Connect, where
    the result of a query refers to them until it is run.
    """
    if not values:
        yield text
        return
    is_classic = capabilities.is_classic(spark)
    text, views = internals.format_sql(spark, text, values, is_classic=is_classic)
    try:
        yield text
    finally:
        for view in views if is_classic else ():
            spark.catalog.dropTempView(view)


def substitute(spark: SparkSession, text: str, arguments: Arguments | None) -> Sql:
    """Substitute the parameters of a statement, names for ``IDENTIFIER(...)``, and variables.

    Arguments are values by name, or in order, as ``SparkSession.sql`` takes them.
    """
    sql = dialect.translated(spark, text)
    if arguments:
        sql = sql.edited(_values(spark, sql, arguments))
    return sql.edited(_names(spark, sql)) if "identifier" in sql.lower() else sql


def _values(spark: SparkSession, sql: Sql, arguments: Arguments) -> Iterator[Edit]:
    """Yield the literals of the parameters."""
    by_name = dict(arguments) if isinstance(arguments, Mapping) else None
    positional, used = [] if by_name is not None else list(arguments), 0
    for index, token in enumerate(sql.tokens):
        if by_name is None and token.text == "?":
            if used == len(positional):
                raise InvalidArgumentError(
                    f"args has no value for ? at {position(sql, token.start)}",
                    code="sql.arguments",
                )
            yield token.start, token.end, literal(positional[used], spark)
            used += 1
        elif by_name is not None and _is_parameter(sql.tokens, index):
            name = sql.tokens[index + 1]
            if name.name in by_name:  # otherwise a field of a struct type, or Spark's error
                yield token.start, name.end, literal(by_name[name.name], spark)
    if used < len(positional):
        raise InvalidArgumentError(
            f"the statement has {used} parameters, and args has {len(positional)} values",
            code="sql.arguments",
        )


def _is_parameter(parsed: Sequence[Token], index: int) -> bool:
    """Return whether ``:name`` begins at a token, and not a cast ``::``."""
    token = parsed[index]
    if token.text != ":" or not parsed[index + 1].is_name:
        return False
    return index == 0 or parsed[index - 1].text != ":" or parsed[index - 1].end != token.start


def literal(value: Any, spark: SparkSession) -> str:
    """Return a value as an SQL literal for the session.

    Raises:
        UnsupportedFeatureError: ``sql.arguments``: there is no literal for its type.

    >>> [literal(value, None) for value in (7, -0.5, None, b"a")]
    ['7', '(-0.5D)', 'NULL', "X'61'"]
    """
    value = _plain(value)
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int) and abs(value) < 10**38:
        text = str(value) if abs(value) < 2**63 else f"{value}BD"
        return text if value >= 0 else f"({text})"
    if isinstance(value, float):
        return f"({value!r}D)" if math.isfinite(value) else f"DOUBLE('{value}')"
    if isinstance(value, decimal.Decimal) and value.is_finite() and abs(value.adjusted()) < 38:
        return f"({value:f}BD)"
    if isinstance(value, str) and _is_unicode(value):
        return strings.expression(spark, value)
    if isinstance(value, (bytes, bytearray)):
        return f"X'{value.hex()}'"
    if isinstance(value, datetime.datetime):  # if naive, in this process's zone, as in PySpark
        return f"TIMESTAMP '{_in_utc(value)}Z'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    raise _no_literal(value)


def _plain(value: Any) -> Any:
    """Return a value of Python; for a member of an ``Enum`` its value, as in PySpark."""
    value = value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        raise _no_literal(value)
    try:
        return plain(value, "args")
    except InvalidArgumentError:
        raise _no_literal(value) from None


def _is_unicode(text: str) -> bool:
    """Return whether a text has no surrogates of UTF-16."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def _in_utc(value: datetime.datetime) -> str:
    try:
        in_utc = value.astimezone(datetime.timezone.utc)
    except OverflowError:  # in UTC it is before the year 1 or after the year 9999
        raise _no_literal(value) from None
    return in_utc.replace(tzinfo=None).isoformat(" ", "microseconds")


def _no_literal(value: Any) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"args takes strings, numbers, booleans, bytes, dates, timestamps and None, not a "
        f"{type(value).__name__}: write other values into the statement",
        code="sql.arguments",
    )


def _names(spark: SparkSession, sql: Sql) -> Iterator[Edit]:
    """Yield the edits that replace ``IDENTIFIER(...)`` by the names that it returns."""
    parser = Parser(sql)
    while parser.token.kind != "end":
        token, start = parser.token, parser.index
        parser.index += 1
        if not token.is_word("IDENTIFIER") or not parser.sees("("):
            continue
        if start and parser.tokens[start - 1].text == ".":
            continue
        if not parser.skip_parentheses():
            continue  # Spark reports the error
        [row] = spark.sql(f"SELECT CAST({parser.since(start + 1)} AS STRING)").collect()
        if row[0] is None:
            raise InvalidArgumentError(
                f"IDENTIFIER at {position(sql, token.start)} is NULL, not a name",
                code="name.syntax",
            )
        name = names.dotted(names.table_parts(row[0]))
        yield token.start, parser.tokens[parser.index - 1].end, name
