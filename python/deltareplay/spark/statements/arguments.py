"""Substitution of the parameters ``:name`` and ``?``, and of ``IDENTIFIER``, in statements."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltareplay._arrow.plain_values import plain
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.session import strings
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.tokens import Token, position, tokens

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Arguments = Mapping[str, Any] | Sequence[Any]


def filled(spark: SparkSession, text: str, arguments: Arguments | None) -> str:
    """Substitute the parameters of a statement, and names for ``IDENTIFIER(...)``.

    Args:
        spark: The session.
        text: The statement.
        arguments: Values by name, or in order, as ``SparkSession.sql`` takes them.

    Raises:
        InvalidArgumentError: ``sql.arguments``: a parameter has no value, or there are more values
            than parameters. ``name.syntax``: the value of ``IDENTIFIER`` is not a name.
        UnsupportedFeatureError: ``sql.arguments``: there is no literal for the type of a value.
    """
    if arguments:
        text = _with_values(spark, text, arguments)
    return _with_names(spark, text) if "identifier" in text.lower() else text


def _with_values(spark: SparkSession, text: str, arguments: Arguments) -> str:
    parsed = tokens(text)
    by_name = dict(arguments) if isinstance(arguments, Mapping) else None
    in_order = [] if by_name is not None else list(arguments)
    pieces, after, used = "", 0, 0
    for index, token in enumerate(parsed):
        if by_name is None and token.text == "?":
            if used == len(in_order):
                raise _without_value(text, token, "?")
            pieces += text[after : token.start] + literal(in_order[used], spark)
            after, used = token.end, used + 1
        elif by_name is not None and _is_parameter(parsed, index):
            name = parsed[index + 1].text
            if name not in by_name:
                continue  # the field of a struct type; or Spark reports that it has no value
            pieces += text[after : token.start] + literal(by_name[name], spark)
            after = parsed[index + 1].end
    if used < len(in_order):
        raise InvalidArgumentError(
            f"the statement has {used} parameters, and args has {len(in_order)} values",
            code="sql.arguments",
        )
    return pieces + text[after:]


def _is_parameter(parsed: Sequence[Token], index: int) -> bool:
    """Return whether ``:name`` begins at a token, and not a cast ``::``."""
    token, following = parsed[index], parsed[index + 1 : index + 2]
    return (
        token.text == ":"
        and bool(following)
        and following[0].kind == "word"
        and (index == 0 or parsed[index - 1].text != ":" or parsed[index - 1].end != token.start)
    )


def _without_value(text: str, token: Token, name: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"args has no value for {name} at {position(text, token.start)}", code="sql.arguments"
    )


def literal(value: Any, spark: SparkSession) -> str:
    """Return a value as a SQL literal for the session.

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
    if isinstance(value, datetime.datetime):  # a naive one is in this process's zone, as in PySpark
        return f"TIMESTAMP '{_in_utc(value)}Z'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    raise _no_literal(value)


def _plain(value: Any) -> Any:
    """Return a value of Python; for a member of an ``Enum`` its value, as in PySpark."""
    single = value.value if isinstance(value, enum.Enum) else value
    if isinstance(single, (Mapping, list, tuple, set, frozenset)):
        raise _no_literal(single)
    try:
        return plain(single, "args")
    except InvalidArgumentError:
        raise _no_literal(single) from None


def _is_unicode(text: str) -> bool:
    """Return whether a text has no surrogates of UTF-16."""
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def _in_utc(moment: datetime.datetime) -> str:
    try:
        there = moment.astimezone(datetime.timezone.utc)
    except OverflowError:  # in the first or the last hours of Python's years
        raise _no_literal(moment) from None
    return there.replace(tzinfo=None).isoformat(" ", "microseconds")


def _no_literal(value: Any) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"args has a {type(value).__name__}, and takes strings, numbers, booleans, bytes, dates, "
        "timestamps and None: write other values into the statement",
        code="sql.arguments",
    )


def _with_names(spark: SparkSession, text: str) -> str:
    """Substitute names for ``IDENTIFIER`` of constants."""
    parsed = tokens(text)
    pieces, after = "", 0
    for index, token in enumerate(parsed):
        if not token.is_word("IDENTIFIER") or token.start < after or parsed[index + 1].text != "(":
            continue
        if index and parsed[index - 1].text == ".":
            continue
        end, depth = index + 1, 0
        while parsed[end].kind != "end":
            depth += (parsed[end].text == "(") - (parsed[end].text == ")")
            if depth == 0:
                break
            end += 1
        if parsed[end].kind == "end":
            continue  # Spark reports that it is not complete
        value = text[parsed[index + 1].end : parsed[end].start]
        [row] = spark.sql(f"SELECT CAST(({value}) AS STRING)").collect()
        if row[0] is None:
            raise InvalidArgumentError(
                f"IDENTIFIER at {position(text, token.start)} is NULL, not a name",
                code="name.syntax",
            )
        name = names.dotted(names.parts_of(row[0]))
        pieces += text[after : token.start] + name
        after = parsed[end].end
    return pieces + text[after:]
