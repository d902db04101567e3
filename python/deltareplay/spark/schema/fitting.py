"""Which types hold every value of another."""

from __future__ import annotations

from typing import Any

#: Types that hold every value of a type.
_WIDER = {
    "byte": ("short", "integer", "long"),
    "short": ("integer", "long"),
    "integer": ("long",),
    "float": ("double",),
}


def fits(found: Any, wanted: Any) -> bool:
    """Whether every value of one type fits into another."""
    if isinstance(found, str) or isinstance(wanted, str):
        if not (isinstance(found, str) and isinstance(wanted, str)):
            return bool(found == "void")
        if found == "void" or found == wanted or wanted in _WIDER.get(found, ()):
            return True
        return _fits_decimal(found, wanted)
    if found["type"] != wanted["type"]:
        return False
    if found["type"] == "struct":
        ours, theirs = found["fields"], wanted["fields"]
        return len(ours) == len(theirs) and all(
            one["name"].lower() == other["name"].lower() and fits(one["type"], other["type"])
            for one, other in zip(ours, theirs, strict=True)
        )
    inner = ("elementType",) if found["type"] == "array" else ("keyType", "valueType")
    return all(fits(found[key], wanted[key]) for key in inner)


def _fits_decimal(found: str, wanted: str) -> bool:
    if not (found.startswith("decimal(") and wanted.startswith("decimal(")):
        return False
    (p, s), (q, t) = (map(int, one[8:-1].split(",")) for one in (found, wanted))
    return t >= s and q - t >= p - s
