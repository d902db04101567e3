"""Conditions and assignments of statements, as SQL text or columns for Spark to evaluate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.syntax.tokens import tokens

if TYPE_CHECKING:
    from pyspark.sql import Column

    Expression = Union[str, Column]  # noqa: UP007 evaluated where pyspark may be missing


def condition(value: Any, argument: str = "condition") -> Expression | None:
    """Check the type of a condition, and return it; it may be None.

    Raises:
        TypeError: The condition is neither SQL text nor a column.
    """
    if value is None or _is_expression(value):
        return value
    raise TypeError(
        f"{argument} must be a Spark SQL Column or a string (an expression in SQL), not "
        f"{type(value).__name__}"
    )


def assignments(value: Any, argument: str) -> dict[str, Expression]:
    """Check the types of assignments, and return them.

    Raises:
        InvalidArgumentError: The assignments are None; also a ``ValueError``.
        TypeError: They are not a dict of strings to SQL text or columns.
    """
    if value is None:
        raise InvalidArgumentError(f"{argument} cannot be None", code="argument.type")
    if not isinstance(value, Mapping):
        raise TypeError(f"{argument} must be a dict, not {type(value).__name__}")
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeError(
                f"Keys of dict in {argument} must contain only strings with column names, not "
                f"{key!r} of type {type(key).__name__}"
            )
        if not _is_expression(item):
            raise TypeError(
                f"Values of dict in {argument} must contain only Spark SQL Columns or strings "
                f"(expressions in SQL), not {item!r} of type {type(item).__name__}"
            )
    return dict(value)


def of_table(values: Mapping[str, Expression], alias: str) -> dict[str, Expression]:
    """Remove the alias of the table from the columns of assignments, where it is redundant.

    >>> of_table({"t.a": "1", "`T`.`b c`": "2", "s.c": "3"}, "t")
    {'a': '1', '`b c`': '2', 's.c': '3'}
    """
    return {_without(alias, name): value for name, value in values.items()}


def _without(alias: str, name: str) -> str:
    if "." not in name:
        return name
    if len(every := tokens(name)) < 4:  # a name with dots in backticks
        return name
    first, dot, after, *_ = every
    is_alias = first.kind in ("word", "quoted") and first.name.lower() == alias.lower()
    return name[after.start :] if is_alias and dot.text == "." else name


def _is_expression(value: Any) -> bool:
    from pyspark.sql import Column

    return isinstance(value, (str, Column))
