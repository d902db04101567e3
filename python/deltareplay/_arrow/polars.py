"""Rows as a lazy frame of Polars, which reads only what a query needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay._expressions.conditions import Call, Column, condition

if TYPE_CHECKING:
    import polars as pl

#: Arrow's names of Polars' operators.
_NAMES = {
    "Eq": "equal",
    "NotEq": "not_equal",
    "Lt": "less",
    "LtEq": "less_equal",
    "Gt": "greater",
    "GtEq": "greater_equal",
    "And": "and",
    "Or": "or",
}


class LazyFrames:
    """A mixin that converts a scan to a lazy frame of Polars."""

    __slots__ = ()

    if TYPE_CHECKING:
        _snapshot: Any
        _keywords: dict[str, Any]

        @property
        def schema(self) -> pa.Schema: ...

    def to_polars_lazy(self) -> pl.LazyFrame:
        """Return a lazy frame of Polars, whose queries read only the columns and rows they need.

        Columns and limits of a query are pushed down; so are conditions that compare a column with
        a number, a string, a date or a timestamp, joined by ``&`` and ``|``, which skip files, row
        groups and pages. Polars applies all conditions again, so the others need no counterpart
        here. If the scan has a filter of tuples, only columns and limits are pushed down.

        Nothing is read before ``collect``; each ``collect`` reads the same version.

        Raises:
            ImportError: Polars is not installed.

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
            pushed_filter = pushed(predicate, self._snapshot.schema) if n_rows is None else None
            left = n_rows
            for batch in self._narrowed(columns, pushed_filter).to_batches():
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

    def _narrowed(self, columns: list[str] | None, condition: str | None) -> Any:
        """Return the same scan with fewer columns and rows."""
        keywords = dict(self._keywords)
        if columns is not None:
            ours = {name.lower() for name in self._snapshot.schema.names}
            keywords["columns"] = [name for name in columns if name.lower() in ours]
        filter = keywords.get("filter")
        if condition is not None and not filter:
            keywords["filter"] = condition
        elif condition is not None and isinstance(filter, str):
            keywords["filter"] = f"({filter}\n) AND {condition}"
        return methodcaller("scan", **keywords)(self._snapshot)


def pushed(predicate: pl.Expr | None, schema: pa.Schema) -> str | None:
    """Return SQL that is true for every row that a Polars predicate keeps; None if unknown.

    The only public view of a Polars expression is its serialized form, which may change. Parts that
    are not recognized are left out; this costs time, not correctness.
    """
    if predicate is None:
        return None
    try:
        return condition(_node(json.loads(predicate.meta.serialize(format="json")), schema))
    except Exception:  # what does not serialize, such as a function in Python, or a new form
        return None


def _node(form: Any, schema: pa.Schema) -> Any:
    """Convert an expression to Arrow's function names; return None if there is no counterpart."""
    match form:
        case {"Column": str(name)} if name in schema.names:
            return Column.of([name], schema)
        case {"Literal": _}:
            return _scalar(form)
        case {"BinaryExpr": {"left": left, "op": op, "right": right}} if op in _NAMES:
            return Call(_NAMES[op], [_node(left, schema), _node(right, schema)])
        case {"Function": {"input": [first, *more], "function": {"Boolean": which}}}:
            return _called(
                which, _node(first, schema), [_node(argument, schema) for argument in more]
            )
    return None


def _called(which: Any, subject: Any, values: list[Any]) -> Any:
    match which, values:
        case "IsNotNull", []:
            return Call("is_valid", [subject])
        case "IsNull", []:
            return Call("is_null", [subject], {"nan_is_null": pa.scalar(False)})
        case {"IsBetween": {"closed": closed}}, [low, high]:
            above = "greater_equal" if closed in ("Both", "Left") else "greater"
            below = "less_equal" if closed in ("Both", "Right") else "less"
            return Call("and", [Call(above, [subject, low]), Call(below, [subject, high])])
        case {"IsIn": {"nulls_equal": False}}, [pa.LargeListScalar() as listed]:
            return Call("is_in", [subject], {"value_set": listed})
    return None


def _scalar(form: Any) -> Any:
    """Return the value of a literal, as an Arrow scalar."""
    import polars as pl

    plain = pl.Expr.deserialize(json.dumps(form).encode(), format="json")
    return pl.select(plain).to_series().to_arrow()[0]
