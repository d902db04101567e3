"""``lit``: a Python value as an SQL literal."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay._expressions.filters import Value

if TYPE_CHECKING:
    from typing_extensions import Self


class SqlLiteral(str):
    """The SQL text of a value, from ``lit``.

    >>> lit("O'Brien").value
    "O'Brien"
    """

    __slots__ = ("value",)

    #: The Python value.
    value: Value | Collection[Value]

    def __new__(cls, value: Value | uuid.UUID | Collection[Value]) -> Self:
        literal = str(value) if isinstance(value, uuid.UUID) else value
        self = super().__new__(cls, _native.literal_text(literal))
        self.value = literal
        return self

    def __reduce__(self) -> tuple[type[SqlLiteral], tuple[Value | Collection[Value]]]:
        return type(self), (self.value,)


def lit(value: Value | uuid.UUID | Collection[Value]) -> SqlLiteral:
    r"""Write a value as an SQL literal, with the quoting that it needs.

    The literal keeps the type of the value wherever SQL is accepted: in a filter, in a condition,
    as the value of a column, in Spark.

    Args:
        value: None, a bool, int, float (with NaN and infinity), Decimal, str, bytes, date or
            datetime (naive: without a time zone); a UUID, which is a string in Delta; or a list, a
            tuple or a set of these, for ``IN``.

    Returns:
        A ``str``.

    Raises:
        InvalidArgumentError: No type of a table has the value (``filter.literal``), e.g. a number
            of more than 38 digits, or a list is empty.
        TypeError: The value has another type.

    >>> import datetime
    >>> name, day = "O'Brien", datetime.date(2026, 1, 31)
    >>> print(f"name = {lit(name)} AND day >= {lit(day)} AND id IN {lit([1, 2])}")
    name = 'O\'Brien' AND day >= DATE '2026-01-31' AND id IN (1, 2)
    >>> rows.snapshot().scan(["id"], filter=f"name = {lit('one')}").to_arrow().to_pylist()
    [{'id': 1}]
    """
    return SqlLiteral(value)
