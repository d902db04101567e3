"""Values of numpy, pandas and Arrow as values of Python, which Arrow takes by their type.

Arrow calls ``int(value)`` on many classes: a UUID would become a number, ``NaT`` a date.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from deltareplay.exceptions import InvalidArgumentError

#: Classes that Arrow takes by their type, or refuses.
_PLAIN = frozenset(
    {
        *(type(None), bool, int, float, str, bytes, decimal.Decimal),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
    }
)
_NUMBERS = frozenset(
    [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)] + ["float32", "float64"]
)
#: The attoseconds of numpy's units.
_ATTOSECONDS = {"h": 3600 * 10**18, "m": 60 * 10**18} | {
    unit: 1000 ** (6 - power)
    for power, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))
}
#: Classes whose subclasses are values of the same type, and how they become one.
_BASES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (bool, bool),
    (int, int),
    (float, float),
    (str, str.__str__),  # of a member of an Enum, its value
    (bytes, bytes),
    (bytearray, bytes),
    (memoryview, bytes),
    (decimal.Decimal, decimal.Decimal),
    (datetime.date, lambda value: value),
    (datetime.time, lambda value: value),
    (datetime.timedelta, lambda value: value),
)


def is_plain(kind: type) -> bool:
    """Return whether Arrow takes values of a class by their type, or refuses them.

    >>> is_plain(int), is_plain(complex)
    (True, False)
    """
    return kind in _PLAIN or (kind.__module__ == "numpy" and kind.__name__ in _NUMBERS)


def plain(value: Any, name: str) -> Any:
    """Return a value, or a list or dict of values, without classes that Arrow misreads.

    ``NaT`` and ``NA`` are None.

    Raises:
        InvalidArgumentError: ``rows.type``, with the name of the column.

    >>> plain([bytearray(b"a"), {"a": pa.scalar(1)}], "c")
    [b'a', {'a': 1}]
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, pa.Scalar):
        return plain(value.as_py(), name)
    if kind.__name__ in ("NaTType", "NAType") and kind.__module__.startswith("pandas"):
        return None
    if kind.__module__ == "numpy" and hasattr(value, "dtype"):
        return _of_numpy(value, name)
    if isinstance(value, datetime.datetime):
        # a Timestamp of pandas; its nanoseconds are cut off, as in rows of Arrow
        return value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
    for base, convert in _BASES:
        if isinstance(value, base):
            return convert(value)
    if isinstance(value, Mapping):
        return {part: plain(inner, f"{name}.{part}") for part, inner in value.items()}
    if isinstance(value, Iterable):
        return [plain(inner, name) for inner in value]
    raise _no_type(value, name)


def _of_numpy(value: Any, name: str) -> Any:
    """Convert a value or an array of numpy to values of Python."""
    if value.ndim:
        return [plain(inner, name) for inner in value]
    kind = value.dtype.kind
    if kind == "M":
        return _timestamp_of_numpy(value, name)
    if kind == "f" and not math.isnan(value):
        number = float(value)
        if number == value:  # a longdouble has more digits
            return number
        raise _no_type(value, name)
    if kind in "biufUSO":
        return plain(value.item(), name)
    raise _no_type(value, name)


def _timestamp_of_numpy(value: Any, name: str) -> datetime.date | None:
    """Convert a ``datetime64`` to a date, if its unit is a day or longer, or to a datetime."""
    import numpy  # the value is numpy's

    count = int(value.astype("int64"))
    if count == -(2**63):
        return None  # NaT
    unit, step = numpy.datetime_data(value.dtype)
    try:
        if unit in ("Y", "M"):
            months = count * step * (12 if unit == "Y" else 1)
            return datetime.date(1970 + months // 12, 1 + months % 12, 1)
        if unit in ("W", "D"):
            days = count * step * (7 if unit == "W" else 1)
            return datetime.date(1970, 1, 1) + datetime.timedelta(days)
        microseconds = count * step * _ATTOSECONDS[unit] // 10**12
        return datetime.datetime(1970, 1, 1) + datetime.timedelta(0, 0, microseconds)
    except (OverflowError, ValueError):
        message = f"the column {name!r} has {value!r}, which is beyond the years 1 to 9999"
        raise InvalidArgumentError(message, code="rows.type") from None


def _no_type(value: Any, name: str) -> InvalidArgumentError:
    message = (
        f"the column {name!r} has a value of the class {type(value).__name__}, which no "
        "table type can store: pass a number, a string, bytes, a date, a datetime, a dict or a "
        "list of these"
    )
    return InvalidArgumentError(message, code="rows.type")
