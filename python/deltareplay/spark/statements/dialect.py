"""Variables and double-quoted names in the text of a statement, by the settings of a session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.session import capabilities
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.tokens import Sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A variable of Spark for a setting; ``${env:name}`` and ``${system:name}`` are left to Spark.
_VARIABLE = re.compile(r"\$\{(?:(?:spark|sparkconf|hivevar|hiveconf):)?([^\s:}]+)\}")


def translated(spark: SparkSession, text: str) -> Sql:
    """Return a statement with the values of its variables, and with quoted names in backticks.

    Spark does both when it parses a text: it substitutes the setting for ``${name}``, and reads
    ``"name"`` as an identifier if both ``spark.sql.ansi.enabled`` and
    ``spark.sql.ansi.doubleQuotedIdentifiers`` are true.
    """
    if "${" in text and capabilities.is_on(spark, "spark.sql.variable.substitute"):
        text = _with_values(spark, text, ())
    sql = Sql.of(text)
    if '"' not in text or not _quotes_names(spark):
        return sql
    return sql.edited(
        (token.start, token.end, names.quoted(token.text[1:-1].replace('""', '"')))
        for token in sql.tokens
        if token.kind == "string" and token.text[0] == '"'
    )


def _with_values(spark: SparkSession, text: str, outer: tuple[str, ...]) -> str:
    """Substitute the values of settings, which may refer to others; an unset one is empty."""

    def value(match: re.Match[str]) -> str:
        if match[1] in outer:
            raise InvalidArgumentError(
                f"the variable {match[0]} refers to itself", code="sql.syntax"
            )
        setting = spark.conf.get(match[1], None) or ""
        return _with_values(spark, setting, (*outer, match[1]))

    return _VARIABLE.sub(value, text)


def _quotes_names(spark: SparkSession) -> bool:
    settings = ("spark.sql.ansi.enabled", "spark.sql.ansi.doubleQuotedIdentifiers")
    return all(capabilities.is_on(spark, setting) for setting in settings)
