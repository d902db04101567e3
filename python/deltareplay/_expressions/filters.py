"""The types of a filter, for type checkers."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Collection

Value = (
    bool | int | float | str | bytes | decimal.Decimal | datetime.date | datetime.datetime | None
)

#: ``(column, operator, value)``.
Comparison = tuple[str, str, Value | Collection[Value]]

#: SQL text, comparisons that must all be true, or a list of such lists, one of which must be true.
Filter = str | list[Comparison] | list[list[Comparison]]
