"""The values of table properties."""

from __future__ import annotations

from collections.abc import Mapping


def property_of(properties: Mapping[str, str], key: str) -> str | None:
    """Return the value of a table property; keys are case-insensitive, an exact one precedes.

    >>> property_of({"delta.appendonly": "true"}, "delta.appendOnly")
    'true'
    """
    if key in properties:
        return properties[key]
    others = (value for name, value in properties.items() if name.lower() == key.lower())
    return next(others, None)


def is_on(properties: Mapping[str, str], key: str) -> bool:
    """Return whether a table property is true."""
    return (property_of(properties, key) or "").lower() == "true"


def mapping_mode(properties: Mapping[str, str]) -> str:
    """Return the column mapping mode of a table: ``none``, ``name`` or ``id``."""
    return (property_of(properties, "delta.columnMapping.mode") or "none").lower()
