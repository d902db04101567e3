"""Validation of values in a catalog's responses."""

from __future__ import annotations

from deltareplay._support.uris import CATALOG_SCHEMES

#: The largest integer of the core.
_MOST = 2**63 - 1


def number_of(value: object, least: int = 0) -> int:
    """Return an integer that is in range: a version, a size, a time.

    Raises:
        ValueError: The value is not an integer in range.

    >>> number_of("7"), number_of(-1, least=-1)
    (7, -1)
    """
    if isinstance(value, str) and value.isascii() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        raise ValueError(f"{str(value)[:40]} is not a version, size or time")
    return value


def place_of(value: object) -> str:
    """Return a location: a URI of a store, or an absolute path.

    Raises:
        ValueError: The value is not a location. A relative path would depend on the working
            directory, and a name would be looked up in another catalog.

    >>> place_of("s3://lake/orders")
    's3://lake/orders'
    """
    if isinstance(value, str) and "\0" not in value:
        is_uri = "://" in value or value.startswith("file:/")
        if (is_uri or value.startswith("/")) and not value.lower().startswith(CATALOG_SCHEMES):
            return value
    raise ValueError("the location is neither a URI of a store nor an absolute path")
