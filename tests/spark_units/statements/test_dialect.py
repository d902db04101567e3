"""What the settings of a session change in the text of a statement; without Spark."""

from __future__ import annotations

from collections import ChainMap
from types import SimpleNamespace
from typing import Any

import pytest

import deltareplay as dr
from deltareplay.spark.statements import arguments
from deltareplay.spark.statements.dialect import translated

#: The defaults of Spark 4.
DEFAULTS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.variable.substitute": "true",
}
QUOTING = {"spark.sql.ansi.doubleQuotedIdentifiers": "true"}


def session(settings: dict[str, str]) -> Any:
    return SimpleNamespace(conf=SimpleNamespace(get=ChainMap(settings, DEFAULTS).get))


def test_variables_have_the_values_of_settings() -> None:
    settings = {"lake": "${root}/a", "root": "/r", "t.id": "7"}
    spark = session(settings)
    text = "DELETE FROM delta.`${lake}` WHERE id = ${spark:t.id} -- ${nope}${hiveconf:root}"
    assert translated(spark, text) == "DELETE FROM delta.`/r/a` WHERE id = 7 -- /r"
    assert translated(spark, "SELECT '${env:HOME}', '$x'") == "SELECT '${env:HOME}', '$x'"
    settings["spark.sql.variable.substitute"] = "false"
    assert translated(spark, text) == text


def test_a_variable_that_refers_to_itself_is_refused() -> None:
    with pytest.raises(dr.InvalidArgumentError, match="itself") as caught:
        translated(session({"a": "${b}", "b": "${a}"}), "SELECT ${a}")
    assert caught.value.code == "sql.syntax"


def test_values_of_parameters_have_no_variables() -> None:
    text = arguments.substitute(session({"a": "b"}), "SELECT :x", {"x": "${a}"})
    assert text == r"SELECT '\u0024{a}'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('SELECT "a ""b" AS "c`d"', 'SELECT `a "b` AS `c``d`'),
        ('UPDATE delta."/t" SET a = \'"b"\'', "UPDATE delta.`/t` SET a = '\"b\"'"),
        ('SELECT r"a", `"b"` -- "c"', 'SELECT r"a", `"b"` -- "c"'),
    ],
)
def test_double_quotes_quote_names_in_some_sessions(text: str, expected: str) -> None:
    assert translated(session(QUOTING), text) == expected
    assert translated(session({}), text) == text
    assert translated(session({**QUOTING, "spark.sql.ansi.enabled": "false"}), text) == text
