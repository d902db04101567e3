"""Conversion of other engines' conditions to SQL, with which the core skips files and rows.

An engine's module converts its expression to ``Call``, ``Column`` and Arrow scalars, with Arrow's
function names. The engine applies the whole condition again to the rows that it gets, so parts that
are not known here are left out; this costs time, not correctness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from deltareplay._expressions.lit import lit
from deltareplay._names import dotted

_COMPARISONS = {
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Column:
    """A column, or a field of a struct.

    The type is None if it is not known, or if SQL compares its values differently.
    """

    path: tuple[str, ...]
    type: pa.DataType | None

    @classmethod
    def of(cls, path: list[str], schema: pa.Schema) -> Column:
        """Return the column of a schema with this path."""
        matches = [field for field in schema if field.name == path[0]]
        for name in path[1:]:
            inside = [field.type for field in matches if pa.types.is_struct(field.type)]
            matches = [field for type_ in inside for field in type_ if field.name == name]
        is_comparable = len(matches) == 1 and not _has_own_order(matches[0])
        return cls(tuple(path), matches[0].type if is_comparable else None)

    @property
    def sql(self) -> str:
        """The name in SQL."""
        return dotted(self.path)


@dataclass(frozen=True)
class Call:
    """A function call; ``options`` are those of Arrow's function."""

    name: str
    arguments: list[Any]
    options: Any = field(default_factory=dict)


def condition(node: Any) -> str | None:
    """Return SQL that is true wherever the node is; None if nothing is known."""
    if isinstance(node, Column):
        is_flag = node.type is not None and pa.types.is_boolean(node.type)
        return node.sql if is_flag else None
    if not isinstance(node, Call):
        return None
    name, arguments = node.name, node.arguments
    if name in ("and", "and_kleene"):
        parts = [argument for argument in map(condition, arguments) if argument is not None]
        return f"({' AND '.join(parts)})" if parts else None
    if name in ("or", "or_kleene"):
        either = [condition(argument) for argument in arguments]
        alternatives = [part for part in either if part is not None]
        return f"({' OR '.join(alternatives)})" if len(alternatives) == len(either) else None
    column = arguments[0] if arguments else None
    if name in _COMPARISONS and len(arguments) == 2:
        return _comparison(_COMPARISONS[name], *arguments)
    if not isinstance(column, Column):
        return None
    if name == "is_valid":
        return f"{column.sql} IS NOT NULL"
    if name == "is_null" and not node.options["nan_is_null"].as_py():
        return f"{column.sql} IS NULL"
    if name == "is_in":
        literals = [_literal(column, value) for value in node.options["value_set"].values]
        supported = [text for text in literals if text is not None]
        return (
            f"{column.sql} IN ({', '.join(supported)})"
            if supported and None not in literals
            else None
        )
    return None


def _comparison(operator: str, left: Any, right: Any) -> str | None:
    if isinstance(right, Column):
        left, right, operator = right, left, _MIRRORED.get(operator, operator)
    if not isinstance(left, Column) or not isinstance(right, pa.Scalar):
        return None
    text = _literal(left, right)
    return None if text is None else f"{left.sql} {operator} {text}"


def _literal(column: Column, value: Any) -> str | None:
    """Return a value as SQL if Arrow and SQL compare it alike with the column; None otherwise."""
    if not value.is_valid or column.type is None:
        return None
    column_type, value_type = column.type, value.type
    is_alike = (
        column_type.equals(value_type)
        or (pa.types.is_integer(column_type) and pa.types.is_integer(value_type))
        or (pa.types.is_decimal(column_type) and pa.types.is_decimal(value_type))
        or (pa.types.is_float64(column_type) and pa.types.is_integer(value_type))
        or (_is_text(column_type) and _is_text(value_type))
        or (
            pa.types.is_timestamp(column_type)
            and pa.types.is_timestamp(value_type)
            and value_type.unit != "ns"
        )
    )
    if pa.types.is_timestamp(column_type) and pa.types.is_timestamp(value_type):
        is_alike = is_alike and (column_type.tz is None) == (value_type.tz is None)
    if not is_alike or pa.types.is_float32(column_type) or pa.types.is_nested(column_type):
        return None
    try:
        constant = value.as_py()
    except OverflowError:
        return None  # a date in a year that Python lacks
    if isinstance(constant, float) and not math.isfinite(constant):
        return None  # Arrow orders NaN differently
    return lit(constant)


def _is_text(type_: pa.DataType) -> bool:
    return pa.types.is_string(type_) or pa.types.is_large_string(type_)


def _has_own_order(field: pa.Field[Any]) -> bool:
    """Return whether SQL compares a column differently: padded ``char(n)``, or collated."""
    metadata = field.metadata or {}
    declared = metadata.get(b"__CHAR_VARCHAR_TYPE_STRING", b"")
    return b"__COLLATIONS" in metadata or declared.startswith(b"char")
