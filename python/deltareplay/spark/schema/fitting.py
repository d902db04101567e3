"""Types that can hold all values of another type."""

from __future__ import annotations

from typing import Any

from deltareplay.spark.schema.fields import PARTS

#: Types that hold every value of a type.
_WIDER = {
    "byte": ("short", "integer", "long"),
    "short": ("integer", "long"),
    "integer": ("long",),
    "float": ("double",),
}


def fits(source: Any, target: Any) -> bool:
    """Return whether every value of one type fits into another."""
    if isinstance(source, str) or isinstance(target, str):
        if not (isinstance(source, str) and isinstance(target, str)):
            return bool(source == "void")
        if source == "void" or source == target or target in _WIDER.get(source, ()):
            return True
        return _fits_decimal(source, target)
    if source["type"] != target["type"]:
        return False
    if source["type"] == "struct":
        fields, known = source["fields"], target["fields"]
        return len(fields) == len(known) and all(
            field["name"].lower() == other["name"].lower() and fits(field["type"], other["type"])
            for field, other in zip(fields, known, strict=True)
        )
    return all(fits(source[key], target[key]) for key in PARTS[source["type"]])


def _fits_decimal(source: str, target: str) -> bool:
    if not (source.startswith("decimal(") and target.startswith("decimal(")):
        return False
    (p, s), (q, t) = (map(int, name[8:-1].split(",")) for name in (source, target))
    return t >= s and q - t >= p - s
