"""Conversion of ``pyarrow.dataset`` filters to SQL, with which the core skips files and rows."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deltareplay._expressions.conditions import Call, Column, condition


@dataclass(frozen=True)
class ArrowExpression:
    """The parts of an Arrow expression.

    Attributes:
        columns: The top-level columns that it names.
        sql: A condition that is true wherever the expression is; None if nothing is known.
    """

    columns: frozenset[str]
    sql: str | None

    @classmethod
    def of(cls, expression: Any, schema: pa.Schema) -> ArrowExpression | None:
        """Parse the pickled form of an expression; return None if Arrow cannot pickle it."""
        try:
            _, (buffer,) = expression.__reduce__()
            with pa.ipc.open_file(buffer) as file:
                steps = _metadata(file.schema)
                values = file.get_batch(0).columns if file.num_record_batches else []
        except (pa.ArrowException, TypeError, ValueError):
            return None
        walk = _Walk(iter(steps), values, schema)
        try:
            sql = condition(walk.node())
        except (AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError):
            return None  # a form of later releases, or too deep: Arrow alone evaluates it
        return cls(frozenset(walk.columns), sql)


class _CSchema(ctypes.Structure):
    """The struct ``ArrowSchema`` of the Arrow C data interface."""

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
    """Return the metadata of a schema, including duplicate keys, which a dict cannot hold."""
    exported = _CSchema()
    schema._export_to_c(ctypes.addressof(exported))
    try:
        address, entries = exported.metadata, []

        def number() -> int:
            nonlocal address
            integer = ctypes.c_int32.from_address(address).value
            address += 4
            return integer

        def text() -> str:
            nonlocal address
            size = number()
            string = ctypes.string_at(address, size).decode()
            address += size
            return string

        if address:
            entries = [(text(), text()) for _ in range(number())]
        return entries
    finally:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(exported.release)(ctypes.addressof(exported))


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
        return Call(text, arguments, options)

    def _column(self, path: list[str]) -> Column:
        self.columns.add(path[0])
        return Column.of(path, self.schema)
