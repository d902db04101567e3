"""Values as SQL expressions."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from deltareplay._expressions.lit import lit

#: A string is an SQL expression; anything else is a value. A list is an array of values.
Expression = (
    str
    | bool
    | int
    | float
    | bytes
    | Decimal
    | datetime.date
    | datetime.datetime
    | list[Any]
    | tuple[Any, ...]
    | None
)
_PLAIN = (bool, int, float, bytes, Decimal, datetime.date)


def assignments(values: Mapping[str, Expression]) -> list[tuple[str, str]]:
    """Return columns with their values as SQL text."""
    return [(name, _text(value)) for name, value in values.items()]


def _text(value: Expression) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        elements = (
            lit(element) if isinstance(element, str) else _text(element) for element in value
        )
        return f"array({', '.join(elements)})"
    library = type(value).__module__.split(".")[0]
    if value is None or isinstance(value, _PLAIN) or library in ("numpy", "pandas"):
        return lit(value)
    raise TypeError(
        f"the value of a column must be an SQL string or a plain value, not {type(value).__name__}"
    )
