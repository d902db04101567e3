"""Predicates of Polars as SQL, for the filter of a scan."""

from __future__ import annotations

import json
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


def predicate_sql(predicate: pl.Expr | None, schema: pa.Schema) -> str | None:
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
        case {"Function": {"input": [first, *more], "function": {"Boolean": function}}}:
            return _called(
                function, _node(first, schema), [_node(argument, schema) for argument in more]
            )
    return None


def _called(function: Any, subject: Any, values: list[Any]) -> Any:
    match function, values:
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
