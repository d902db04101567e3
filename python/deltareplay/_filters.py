"""What a filter may be, for type checkers."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Collection
from typing import Union

Value = Union[
    None, bool, int, float, str, bytes, decimal.Decimal, datetime.date, datetime.datetime
]

#: ``(column, operator, value)``.
Comparison = tuple[str, str, Union[Value, Collection[Value]]]

#: SQL text, comparisons that all hold, or lists of those of which one holds.
Filter = Union[str, list[Comparison], list[list[Comparison]]]
