"""Types that can hold all values of another type."""

from __future__ import annotations

from deltareplay._protocol.schema import Struct, Type, parts

#: Types that hold every value of a type.
_WIDER = {
    "byte": ("short", "integer", "long"),
    "short": ("integer", "long"),
    "integer": ("long",),
    "float": ("double",),
}


def fits(source: Type, target: Type) -> bool:
    """Return whether every value of one type fits into another."""
    if isinstance(source, str) or isinstance(target, str):
        if not (isinstance(source, str) and isinstance(target, str)):
            return source == "void"
        if source == "void" or source == target or target in _WIDER.get(source, ()):
            return True
        return _fits_decimal(source, target)
    if type(source) is not type(target):
        return False
    if isinstance(source, Struct) and isinstance(target, Struct):
        return len(source.fields) == len(target.fields) and all(
            field.key == other.key and fits(field.type, other.type)
            for field, other in zip(source.fields, target.fields, strict=True)
        )
    return all(map(fits, parts(source).values(), parts(target).values()))


def _fits_decimal(source: str, target: str) -> bool:
    if not (source.startswith("decimal(") and target.startswith("decimal(")):
        return False
    (p, s), (q, t) = (map(int, name[8:-1].split(",")) for name in (source, target))
    return t >= s and q - t >= p - s
