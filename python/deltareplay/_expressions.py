"""Values as SQL expressions."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal

#: A string is an SQL expression; anything else is a value.
Expression = str | bool | int | float | Decimal | datetime.date | datetime.datetime | None


def expression(value: Expression) -> str:
    """The SQL text of a value."""
    if isinstance(value, str):
        return value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value) if abs(value) < 2**63 else f"CAST('{value}' AS DECIMAL(38, 0))"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text if "." in text else f"CAST('{text}' AS DECIMAL(38, 0))"
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return f"CAST('{value.isoformat(' ')}' AS TIMESTAMP_NTZ)"
        instant = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return f"CAST('{instant.isoformat(' ')}' AS TIMESTAMP)"
    if isinstance(value, datetime.date):
        return f"CAST('{value.isoformat()}' AS DATE)"
    raise TypeError(f"a column takes an SQL string or a plain value, not {type(value).__name__}")


def assignments(values: Mapping[str, Expression]) -> list[tuple[str, str]]:
    """Columns with the SQL text of their values."""
    return [(name, expression(value)) for name, value in values.items()]
