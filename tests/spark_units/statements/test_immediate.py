"""The values of ``EXECUTE IMMEDIATE``; a session that evaluates only the texts of these tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

import deltareplay as dr
from deltareplay.spark.statements.immediate import ExecuteImmediate
from deltareplay.spark.syntax.parser import Parser


class Session:
    """Evaluates string literals, and lists of integers in parentheses."""

    def sql(self, text: str) -> Any:
        if text.startswith("SELECT CAST(("):
            row: list[Any] = [text.split("'")[1]]
        else:
            row = [int(value.strip("()")) for value in text.removeprefix("SELECT ").split(", ")]
        return SimpleNamespace(collect=lambda: [row])


def substituted(statement: str, values: str) -> str:
    immediate = ExecuteImmediate.read(Parser(f"EXECUTE IMMEDIATE '{statement}' USING {values}"))
    assert immediate is not None
    return immediate.statement(cast(Any, Session()))


def test_values_are_passed_by_name_or_in_order() -> None:
    assert substituted("DELETE FROM t WHERE a = :b + :a", "1 AS a, 2 AS b").endswith("a = 2 + 1")
    assert substituted("DELETE FROM t WHERE a = ? + ?", "1, 2").endswith("a = 1 + 2")


@pytest.mark.parametrize(
    "values",
    ["(1 AS a, 2 AS b)", "(1) AS a, 2 AS b", "1 AS a, (2) AS b", "(1) AS a, (2) AS b;"],
)
def test_values_or_the_list_of_them_may_be_in_parentheses(values: str) -> None:
    """As in Spark's grammar."""
    assert substituted("DELETE FROM t WHERE a = :b + :a", values).endswith("a = 2 + 1")


@pytest.mark.parametrize("values", ["1 AS a, 2", "1 AS a, 2 AS b"])
def test_question_marks_take_values_in_order_even_if_they_have_names(values: str) -> None:
    """As in Spark 4.2."""
    assert substituted("DELETE FROM t WHERE a = ? + ?", values).endswith("a = 1 + 2")


@pytest.mark.parametrize("values", ["1 AS a, 2", "2, 1 AS a", "1 AS a, 2 AS a"])
def test_values_for_named_parameters_need_names_of_their_own(values: str) -> None:
    """Spark: ALL_PARAMETERS_MUST_BE_NAMED, EXEC_IMMEDIATE_DUPLICATE_ARGUMENT_ALIASES."""
    with pytest.raises(dr.InvalidArgumentError, match=r"USING 1 AS a, 2 AS b") as caught:
        substituted("DELETE FROM t WHERE a = :a", values)
    assert caught.value.code == "sql.arguments"
