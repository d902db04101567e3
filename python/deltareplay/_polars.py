"""``LazyFrames``: rows as a lazy frame of Polars, which asks only for what a query needs."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay._filters import Comparison

if TYPE_CHECKING:
    import polars as pl

#: Comparisons, by the names that Polars gives them.
_OPERATORS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_MIRRORED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}


class LazyFrames:
    """What has rows of a snapshot has them as a lazy frame, too."""

    __slots__ = ()

    if TYPE_CHECKING:
        _snapshot: Any
        _keywords: dict[str, Any]

        @property
        def schema(self) -> pa.Schema: ...

    def to_polars_lazy(self) -> pl.LazyFrame:
        """Return a lazy frame of Polars, whose queries read only the columns and rows they need.

        Columns and limits of a query are pushed down; so are conditions that compare a column with
        a number, a string, a date or a timestamp, which skip files, row groups and
        pages. Polars applies all conditions again, so the others need no counterpart here. If the
        scan has a filter as text already, only columns and limits are pushed down.

        Nothing is read before ``collect``; each ``collect`` reads the same version.

        Raises:
            ImportError: There is no Polars.

        >>> lazy = rows.snapshot().scan().to_polars_lazy()  # doctest: +SKIP
        >>> lazy.filter(pl.col("id") > 1).select("name").collect().to_dicts()  # doctest: +SKIP
        [{'name': 'three'}]
        """
        import polars as pl
        from polars.io.plugins import register_io_source

        schema = self.schema
        empty = pl.DataFrame(schema.empty_table())

        def read(
            columns: list[str] | None,
            predicate: pl.Expr | None,
            n_rows: int | None,
            _batch_size: int | None,
        ) -> Iterator[pl.DataFrame]:
            # rows are counted before they are filtered
            pushed = comparisons(predicate, schema) if n_rows is None else []
            left = n_rows
            for batch in self._narrowed(columns, pushed).to_batches():
                if left is not None and left <= 0:
                    return
                frame = pl.DataFrame(batch)
                if left is not None:
                    frame = frame.head(left)
                    left -= frame.height
                if predicate is not None:
                    frame = frame.filter(predicate)
                yield frame if columns is None else frame.select(columns)

        return register_io_source(read, schema=empty.schema)

    def _narrowed(self, columns: list[str] | None, pushed: list[Comparison]) -> Any:
        """The same scan with fewer columns and rows."""
        keywords = dict(self._keywords)
        if columns is not None:
            ours = {name.lower() for name in self._snapshot.schema.names}
            keywords["columns"] = [name for name in columns if name.lower() in ours]
        filter = keywords.get("filter")
        if filter is None or filter == []:
            keywords["filter"] = pushed or None
        elif isinstance(filter, list) and pushed:
            groups = filter if isinstance(filter[0], list) else [filter]
            keywords["filter"] = [[*group, *pushed] for group in groups]
        return methodcaller("scan", **keywords)(self._snapshot)


def comparisons(predicate: pl.Expr | None, schema: pa.Schema) -> list[Comparison]:
    """Comparisons that hold in every row that a predicate of Polars keeps, as far as known.

    Polars has no public way to look into an expression but its serialized form, which may change:
    what is not recognised is left out, and costs time, not rows.
    """
    if predicate is None:
        return []
    try:
        waiting = [json.loads(predicate.meta.serialize(format="json"))]
    except Exception:  # what does not serialize, such as a function in Python
        return []
    columns = {field.name: field for field in schema if _means_the_same(field)}
    found: list[Comparison] = []
    while waiting:
        match waiting.pop():
            case {"BinaryExpr": {"left": left, "op": "And", "right": right}}:
                waiting += [right, left]
            case {"BinaryExpr": {"left": left, "op": op, "right": right}} if op in _OPERATORS:
                if "Column" in right:
                    left, op, right = right, _MIRRORED[op], left
                found += _compared(columns, left, _OPERATORS[op], right)
            case {
                "Function": {
                    "input": [{"Column": _} as column, *values],
                    "function": {"Boolean": which},
                }
            }:
                found += _called(columns, which, column, values)
            case _:
                pass
    return found


Columns = dict[str, "pa.Field[Any]"]


def _means_the_same(field: pa.Field[Any]) -> bool:
    """Whether a filter names this column, and compares its values as Polars does."""
    padded = (field.metadata or {}).get(b"__CHAR_VARCHAR_TYPE_STRING", b"").startswith(b"char")
    return field.name.isidentifier() and not field.name.startswith("_") and not padded


def _called(columns: Columns, which: Any, column: Any, values: list[Any]) -> list[Comparison]:
    name = column.get("Column")
    match which, values:
        case (("IsNull" | "IsNotNull"), []) if name in columns:
            return [(name, "is" if which == "IsNull" else "is not", None)]
        case {"IsBetween": {"closed": closed}}, [low, high]:
            above = ">=" if closed in ("Both", "Left") else ">"
            below = "<=" if closed in ("Both", "Right") else "<"
            return [
                *_compared(columns, column, above, low),
                *_compared(columns, column, below, high),
            ]
        case {"IsIn": {"nulls_equal": False}}, [listed]:
            return _compared(columns, column, "in", listed)
    return []


def _compared(columns: Columns, column: Any, op: str, literal: Any) -> list[Comparison]:
    match column, literal:
        case {"Column": name}, {"Literal": _} if name in columns:
            pass
        case _:
            return []
    import polars as pl

    plain = pl.Expr.deserialize(json.dumps(literal).encode(), format="json")
    value = pl.select(plain).item()
    values = list(value) if op == "in" else [value]
    if not values or not all(_fits(one, columns[name].type) for one in values):
        return []
    return [(name, op, values if op == "in" else value)]


def _fits(value: Any, kind: pa.DataType) -> bool:
    """Whether neither side has to convert the other one, which both do by rules of their own."""
    match value:
        case bool():
            return pa.types.is_boolean(kind)
        case int():
            return pa.types.is_integer(kind) and -(2**63) <= value < 2**63
        case float():
            return pa.types.is_float64(kind) and value == value
        case str():
            return pa.types.is_string(kind)
        case datetime.datetime():
            return pa.types.is_timestamp(kind) and kind.tz is not None and value.tzinfo is not None
        case datetime.date():
            return pa.types.is_date32(kind)
    return False
