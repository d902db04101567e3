"""Warnings about names in double quotes, which are strings in Spark's SQL, and so here."""

from __future__ import annotations

from collections.abc import Callable

from deltareplay import _native
from deltareplay._expressions.filters import Filter
from deltareplay._support.warnings import warn
from deltareplay.exceptions import InvalidArgumentError


def check(condition: Filter | None, schema_json: Callable[[], str]) -> None:
    """Warn if a string in double quotes is the name of a column.

    ``schema_json`` returns the schema of the table; only called if there are double quotes.

    Raises:
        InvalidArgumentError: ``filter.double_quotes``: there is such a string, and the condition
            uses no column, so it has the same result for all rows.
    """
    if not isinstance(condition, str) or '"' not in condition:
        return
    names, uses_columns = _native.quoted_columns(condition, schema_json())
    if not names:
        return
    name = names[0]
    message = (
        f'in {condition}, "{name}" is a string, as in Spark, and there is a column of that name: '
        f"write `{name}` for the column, and '{name}' for the string"
    )
    if not uses_columns:
        raise InvalidArgumentError(message, code="filter.double_quotes")
    warn(message)
