"""SQL string literals for a session's parser.

With ``spark.sql.parser.escapedStringLiterals``, a backslash in a string is a backslash, and some
values have no string literal at all; they are written as a cast of binary literals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.session import capabilities
from deltareplay.spark.syntax.strings import binary_cast, escaped_literal, is_plain, without_escapes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTING = "spark.sql.parser.escapedStringLiterals"


def are_raw(spark: SparkSession) -> bool:
    """Return whether the session's parser takes backslashes in strings literally."""
    return capabilities.is_on(spark, SETTING)


def expression(spark: SparkSession, text: str) -> str:
    """Return a value as an SQL expression of type string."""
    return binary_cast(text) if not is_plain(text) and are_raw(spark) else escaped_literal(text)


def literal(spark: SparkSession, text: str) -> str:
    """Return a value as an SQL string literal, for positions that allow no other expression.

    Raises:
        UnsupportedFeatureError: ``sql.string``: the session has no string literal for it.
    """
    if is_plain(text) or not are_raw(spark):
        return escaped_literal(text)
    raise UnsupportedFeatureError(
        f"with {SETTING}, {text!r} cannot be written as a string literal: turn it off in this "
        "session",
        code="sql.string",
    )


def for_session(spark: SparkSession, sql: str) -> str:
    """Rewrite the string literals of an expression, in which backslashes escape, for this session.

    Strings with ``${`` are rewritten too, since Spark substitutes settings for ``${name}``.
    """
    is_misread = "${" in sql or ("\\" in sql and are_raw(spark))
    return without_escapes(sql) if is_misread else sql
