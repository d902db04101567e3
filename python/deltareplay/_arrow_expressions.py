"""Filters of ``pyarrow.dataset`` as SQL: what of them selects files and rows in Rust."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deltareplay._lit import lit

_COMPARISONS = {
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class ArrowExpression:
    """An expression, taken apart.

    Attributes:
        columns: The top-level columns that it names.
        sql: A condition that is true wherever the expression is; None if nothing is known.
    """

    columns: frozenset[str]
    sql: str | None

    @classmethod
    def of(cls, expression: Any, schema: pa.Schema) -> ArrowExpression | None:
        """Reads the form in which expressions are pickled; None if Arrow cannot pickle this one.

        Args:
            expression: The expression.
            schema: The columns of the dataset.
        """
        try:
            _, (buffer,) = expression.__reduce__()
            with pa.ipc.open_file(buffer) as file:
                steps = _metadata(file.schema)
                values = file.get_batch(0).columns if file.num_record_batches else []
        except (pa.ArrowException, TypeError, ValueError):
            return None
        walk = _Walk(iter(steps), values, schema)
        try:
            sql = walk.condition(walk.node())
        except (AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError):
            return None  # a form of later releases, or too deep: Arrow alone evaluates it
        return cls(frozenset(walk.columns), sql)


class _CSchema(ctypes.Structure):
    """Of the Arrow C data interface."""

    _fields_ = [
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


def _metadata(schema: Any) -> list[tuple[str, str]]:
    """The metadata of a schema with keys that come more than once, which a dict cannot have."""
    exported = _CSchema()
    schema._export_to_c(ctypes.addressof(exported))
    try:
        place, found = exported.metadata, []

        def number() -> int:
            nonlocal place
            one = ctypes.c_int32.from_address(place).value
            place += 4
            return one

        def text() -> str:
            nonlocal place
            size = number()
            one = ctypes.string_at(place, size).decode()
            place += size
            return one

        if place:
            found = [(text(), text()) for _ in range(number())]
        return found
    finally:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(exported.release)(ctypes.addressof(exported))


@dataclass(frozen=True)
class _Column:
    path: tuple[str, ...]
    type: pa.DataType | None

    @property
    def sql(self) -> str:
        return ".".join("`" + name.replace("`", "``") + "`" for name in self.path)


@dataclass(frozen=True)
class _Call:
    name: str
    arguments: list[Any]
    options: Any = None


class _Walk:
    """Steps in the order in which Arrow writes them: a call, its arguments, its end."""

    def __init__(self, steps: Iterator[tuple[str, str]], values: Any, schema: pa.Schema) -> None:
        self.steps = steps
        self.values = values
        self.schema = schema
        self.columns: set[str] = set()

    def node(self) -> Any:
        return self._of(*next(self.steps))

    def _of(self, kind: str, text: str) -> Any:
        if kind == "literal":
            return self.values[int(text)][0]
        if kind == "field_ref":
            return self._column([text])
        if kind == "nested_field_ref":
            return self._column([next(self.steps)[1] for _ in range(int(text))])
        if kind != "call":
            raise ValueError(kind)
        arguments: list[Any] = []
        options = None
        while (step := next(self.steps))[0] != "end":
            if step[0] == "options":
                options = self.values[int(step[1])][0]
            else:
                arguments.append(self._of(*step))
        return _Call(text, arguments, options)

    def _column(self, path: list[str]) -> _Column:
        self.columns.add(path[0])
        found = [one for one in self.schema if one.name == path[0]]
        for name in path[1:]:
            inside = [one.type for one in found if pa.types.is_struct(one.type)]
            found = [one for type_ in inside for one in type_ if one.name == name]
        return _Column(tuple(path), found[0].type if len(found) == 1 else None)

    def condition(self, node: Any) -> str | None:
        """SQL that is true wherever the node is."""
        if isinstance(node, _Column):
            is_flag = node.type is not None and pa.types.is_boolean(node.type)
            return node.sql if is_flag else None
        if not isinstance(node, _Call):
            return None
        name, arguments = node.name, node.arguments
        if name in ("and", "and_kleene"):
            parts = [one for one in map(self.condition, arguments) if one is not None]
            return f"({' AND '.join(parts)})" if parts else None
        if name in ("or", "or_kleene"):
            either = [self.condition(one) for one in arguments]
            known = [one for one in either if one is not None]
            return f"({' OR '.join(known)})" if len(known) == len(either) else None
        column = arguments[0] if arguments else None
        if name in _COMPARISONS and len(arguments) == 2:
            return _comparison(_COMPARISONS[name], *arguments)
        if not isinstance(column, _Column):
            return None
        if name == "is_valid":
            return f"{column.sql} IS NOT NULL"
        if name == "is_null" and not node.options["nan_is_null"].as_py():
            return f"{column.sql} IS NULL"
        if name == "is_in":
            among = [_literal(column, one) for one in node.options["value_set"].values]
            texts = [one for one in among if one is not None]
            return f"{column.sql} IN ({', '.join(texts)})" if texts and None not in among else None
        return None


def _comparison(operator: str, left: Any, right: Any) -> str | None:
    if isinstance(right, _Column):
        left, right, operator = right, left, _TURNED.get(operator, operator)
    if not isinstance(left, _Column) or not isinstance(right, pa.Scalar):
        return None
    text = _literal(left, right)
    return None if text is None else f"{left.sql} {operator} {text}"


def _literal(column: _Column, value: Any) -> str | None:
    """A value that Arrow compares with the column as SQL does; None for others."""
    if not value.is_valid or column.type is None:
        return None
    of, with_ = column.type, value.type
    same = (
        of.equals(with_)
        or (pa.types.is_integer(of) and pa.types.is_integer(with_))
        or (pa.types.is_decimal(of) and pa.types.is_decimal(with_))
        or (pa.types.is_float64(of) and pa.types.is_integer(with_))
        or (_is_text(of) and _is_text(with_))
        or (pa.types.is_timestamp(of) and pa.types.is_timestamp(with_) and with_.unit != "ns")
    )
    if pa.types.is_timestamp(of) and pa.types.is_timestamp(with_):
        same = same and (of.tz is None) == (with_.tz is None)
    if not same or pa.types.is_float32(of) or pa.types.is_nested(of):
        return None
    plain = value.as_py()
    if isinstance(plain, float) and not math.isfinite(plain):
        return None  # Arrow orders NaN otherwise
    return lit(plain)


def _is_text(type_: pa.DataType) -> bool:
    return pa.types.is_string(type_) or pa.types.is_large_string(type_)
