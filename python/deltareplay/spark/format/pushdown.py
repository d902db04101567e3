"""Conversion of the filters that Spark pushes to the data source."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

from deltareplay._names import dotted

#: Spark's classes of filters that are comparisons with one value.
_OPERATORS = {
    "EqualTo": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}


def comparison(filter: Any) -> Any:
    """Return a filter as a tuple; None for other kinds of filters, and for timestamps."""
    kind = type(filter).__name__
    name = dotted(getattr(filter, "attribute", ()))
    if not name:
        return None
    if kind == "IsNull":
        return name, "=", None
    if kind == "IsNotNull":
        return name, "!=", None
    if kind == "In":
        values = list(filter.value)
        return (name, "in", values) if values and all(map(_plain, values)) else None
    operator = _OPERATORS.get(kind)
    if operator is None or not _plain(filter.value):
        return None
    return name, operator, filter.value


def _plain(value: Any) -> bool:
    if isinstance(value, datetime.datetime):
        return False
    return isinstance(value, bool | int | float | str | decimal.Decimal | datetime.date)
