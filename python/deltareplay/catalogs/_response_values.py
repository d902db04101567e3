"""Validation of values in a catalog's responses."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

from deltareplay._support.uris import CATALOG_SCHEMES

T = TypeVar("T")

#: The largest integer that the core accepts.
_MAX_INTEGER = 2**63 - 1
#: The beginning of a URI or of an absolute path.
_LOCATION = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|file:/|/")


def number_of(value: object, least: int = 0) -> int:
    """Return an integer that is in range: a version, a size, a time.

    Raises:
        ValueError: The value is not an integer in range.

    >>> number_of("7"), number_of(-1, least=-1)
    (7, -1)
    """
    if isinstance(value, str) and value.isascii() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MAX_INTEGER:
        raise ValueError(f"{str(value)[:40]} is not a version, size or time")
    return value


def location_of(value: object) -> str:
    """Return a location: a URI of a store, or an absolute path.

    Raises:
        ValueError: The value is not a location. A relative path would depend on the working
            directory, and a name would be looked up in another catalog.

    >>> location_of("s3://lake/orders")
    's3://lake/orders'
    """
    if isinstance(value, str) and "\0" not in value:
        is_name = value.lower().startswith(CATALOG_SCHEMES)
        if _LOCATION.match(value) and not is_name:
            return value
    raise ValueError("the location is neither a URI of a store nor an absolute path")


def field_of(struct: Mapping[Any, Any], name: Hashable, kind: type[T]) -> T:
    """Return a field of a struct; an empty value if it is missing or null.

    Raises:
        TypeError: The field has another type.

    >>> field_of({"a": {"b": 1}}, "a", dict), field_of({}, "c", str)
    ({'b': 1}, '')
    """
    value = struct.get(name)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise TypeError(f"its field {name} is not of the type {kind.__name__}")
    return value


def string_map_of(struct: Mapping[Any, Any], name: Hashable) -> dict[str, str]:
    """Return a field of a struct that is a map of strings; values that are null are left out.

    Raises:
        TypeError: The field has another type.

    >>> string_map_of({"a": {"b": "c", "d": None}}, "a")
    {'b': 'c'}
    """
    texts = {key: text for key, text in field_of(struct, name, dict).items() if text is not None}
    if not all(isinstance(text, str) for pair in texts.items() for text in pair):
        raise TypeError(f"its field {name} is not a map of strings")
    return texts
