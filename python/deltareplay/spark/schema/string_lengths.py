"""Strings of limited length: ``char(n)`` and ``varchar(n)``, also inside structs, arrays and maps.

The log's schema has strings only. The metadata of a column has its type as it was declared, such as
``struct<code:char(3),tags:array<varchar(5)>>``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deltareplay._names import QUOTED, unquoted
from deltareplay._protocol.schema import Array, Field, Map, Struct, Type, parts, with_parts

if TYPE_CHECKING:
    from pyspark.sql import Column

#: The metadata of a column with its type as it was declared.
DECLARED_TYPE = "__CHAR_VARCHAR_TYPE_STRING"

#: A type of strings of limited length, and its limit.
LIMITED_STRING = re.compile(r"(?:var)?char\(([0-9]{1,9})\)")

#: The longest ``char(n)`` that is padded, as in the core.
_LONGEST_PADDED = 4096

_NESTED = re.compile("(struct|array|map)<")
_LEAF = re.compile(r"[^<>,:()]+(?:\([^()<>]*\))?")
_NAME = re.compile(f"({QUOTED}|[^:]*):")


def declared_type(field: Field) -> Type:
    """Return the type of a column with ``char(n)`` and ``varchar(n)`` where these were declared.

    Fields are matched by name, because some writers do not change the declared type when they add,
    rename or drop a field.

    Raises:
        ValueError: The metadata has no type.

    >>> key = "__CHAR_VARCHAR_TYPE_STRING"
    >>> declared_type(Field("c", Array("string"), metadata={key: "array<char(3)>"}))
    Array(element='char(3)', contains_null=True)
    """
    text = field.type_with_lengths
    if "char(" not in text:
        return field.type
    try:
        declared, end = _parsed(text, 0)
    except RecursionError:
        raise ValueError(text) from None
    if end != len(text):
        raise ValueError(text)
    return _limited(field.type, declared)


def _parsed(text: str, start: int) -> tuple[Type, int]:
    """Parse a type; return it, and the position after it."""
    opening = _NESTED.match(text, start)
    if opening is None:
        leaf = _LEAF.match(text, start)
        if leaf is None:
            raise ValueError(text)
        return leaf[0], leaf.end()
    kind, position = opening[1], opening.end()
    inner: list[Field] = []
    while not inner or text.startswith(",", position):
        position += bool(inner)
        name = ""
        if kind == "struct":
            label = _NAME.match(text, position)
            if label is None:
                raise ValueError(text)
            name, position = unquoted(label[1].strip()), label.end()
        type_, position = _parsed(text, position)
        inner.append(Field(name, type_))
    if not text.startswith(">", position):
        raise ValueError(text)
    if kind == "struct":
        return Struct(tuple(inner)), position + 1
    types = [field.type for field in inner]
    if len(types) != (1 if kind == "array" else 2):
        raise ValueError(text)
    return Array(types[0]) if kind == "array" else Map(types[0], types[1]), position + 1


def _limited(type_: Type, declared: Type) -> Type:
    """Return a type with the limits of another one where both have strings."""
    if isinstance(type_, Struct) and isinstance(declared, Struct):
        by_name = declared.by_name
        return Struct(
            tuple(
                replace(field, type=_limited(field.type, by_name[field.key].type))
                if field.key in by_name
                else field
                for field in type_.fields
            )
        )
    if isinstance(type_, str):
        is_limited = isinstance(declared, str) and LIMITED_STRING.fullmatch(declared)
        return declared if type_ == "string" and is_limited else type_
    if isinstance(type_, Struct) or type(type_) is not type(declared):
        return type_
    others = parts(declared)
    return with_parts(type_, lambda step, part: _limited(part, others[step]))


def is_wider(old: str, new: str) -> bool:
    """Return whether every string of a type, such as ``varchar(3)``, fits in another one.

    Only ``char(n)`` takes ``char(n)``, because its values are padded.

    >>> is_wider("char(3)", "varchar(4)"), is_wider("char(3)", "char(4)")
    (True, False)
    """
    limits = [LIMITED_STRING.fullmatch(type_) for type_ in (old, new)]
    before, after = (limit and int(limit[1]) for limit in limits)
    if new.startswith("char("):
        return old == new
    return after is None or (before is not None and before <= after)


def char_length(metadata: Mapping[str, Any]) -> int | None:
    """Return the length to which Spark pads the strings of a ``char(n)`` column.

    The result is None for other columns, and for lengths that could exhaust the memory.

    >>> char_length({"__CHAR_VARCHAR_TYPE_STRING": "char(3)"})
    3
    """
    limit = LIMITED_STRING.fullmatch(str(metadata.get(DECLARED_TYPE, "")))
    if limit is None or not limit[0].startswith("char"):
        return None
    length = int(limit[1])
    return length if length <= _LONGEST_PADDED else None


def has_char(type_: Type) -> bool:
    """Return whether a declared type has ``char(n)``, whose values are padded."""
    if isinstance(type_, str):
        return type_.startswith("char(")
    if isinstance(type_, Struct):
        return any(has_char(field.type) for field in type_.fields)
    return any(map(has_char, parts(type_).values()))


def padded(value: Column, type_: Type) -> Column:
    """Pad values of ``char(n)`` with blanks; a longer value is not cut, and breaks the limit.

    Args:
        value: The value.
        type_: Its declared type.
    """
    from pyspark.sql import functions as sf

    if not has_char(type_):
        return value
    if isinstance(type_, Struct):
        fields = [
            padded(value.getField(field.name), field.type).alias(field.name)
            for field in type_.fields
        ]
        return sf.when(value.isNotNull(), sf.struct(*fields))
    if isinstance(type_, Array):
        return sf.transform(value, lambda part: padded(part, type_.element))
    if isinstance(type_, Map):
        if has_char(type_.key):
            value = sf.transform_keys(value, lambda part, _: padded(part, type_.key))
        if has_char(type_.value):
            value = sf.transform_values(value, lambda _, part: padded(part, type_.value))
        return value
    length = int(type_[5:-1])
    return sf.when(sf.char_length(value) < length, sf.rpad(value, length, " ")).otherwise(value)


def is_short(value: Column, type_: Type) -> Column | None:
    """Return the condition that no string is longer than declared; None if there is no limit.

    Args:
        value: The value.
        type_: Its declared type.
    """
    from pyspark.sql import functions as sf

    if isinstance(type_, str):
        limit = LIMITED_STRING.fullmatch(type_)
        conditions = [] if limit is None else [sf.char_length(value) <= int(limit[1])]
    elif isinstance(type_, Struct):
        inside = [is_short(value.getField(field.name), field.type) for field in type_.fields]
        conditions = [condition for condition in inside if condition is not None]
    elif isinstance(type_, Map):
        keys, values = sf.map_keys(value), sf.map_values(value)
        conditions = [*_in_each(keys, type_.key), *_in_each(values, type_.value)]
    else:
        conditions = _in_each(value, type_.element)
    if not conditions:
        return None
    return value.isNull() | functools.reduce(lambda left, right: left & right, conditions)


def _in_each(values: Column, type_: Type) -> list[Column]:
    """Return the condition that ``is_short`` holds for all elements of an array, if any."""
    from pyspark.sql import functions as sf

    if is_short(values, type_) is None:
        return []
    return [sf.forall(values, lambda part: is_short(part, type_))]
