"""Types that hold every value of another type of the same kind."""

from __future__ import annotations

from deltareplay._protocol.schema import Struct, Type, parts

#: The wider types of the same kind.
_WIDER = {
    "byte": ("short", "integer", "long"),
    "short": ("integer", "long"),
    "integer": ("long",),
    "float": ("double",),
    "interval year": ("interval year to month",),
    "interval month": ("interval year to month",),
    **dict.fromkeys(
        (
            *("interval day", "interval day to hour", "interval day to minute"),
            *("interval hour", "interval hour to minute", "interval hour to second"),
            *("interval minute", "interval minute to second", "interval second"),
        ),
        ("interval day to second",),
    ),
}


def fits(source: Type, target: Type) -> bool:
    """Return whether the target is the source type, or a wider type of the same kind.

    Integers fit into wider integers, float into double, decimals into decimals with at least as
    many digits on both sides of the point, intervals into the widest of their kind, and void into
    every type. The fields of structs must have the same names, in the same order.

    >>> fits("integer", "long"), fits("decimal(5,2)", "decimal(6,2)"), fits("integer", "double")
    (True, True, False)
    >>> fits("interval day", "interval day to second"), fits("interval year", "interval day")
    (True, False)
    """
    if source == "void":
        return True
    if isinstance(source, str) and isinstance(target, str):
        is_wider = target in _WIDER.get(source, ())
        return source == target or is_wider or _fits_decimal(source, target)
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
    (precision, scale), (new_precision, new_scale) = (
        map(int, name.removeprefix("decimal(").removesuffix(")").split(","))
        for name in (source, target)
    )
    return new_scale >= scale and new_precision - new_scale >= precision - scale
