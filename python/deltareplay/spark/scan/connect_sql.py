"""Translates columns of Spark Connect to SQL for the core; for classic columns, the JVM does."""

from __future__ import annotations

import datetime
import decimal
from typing import TYPE_CHECKING, Any

from deltareplay._expressions.lit import lit
from deltareplay._names import dotted, parts_of
from deltareplay.spark.scan import filters
from deltareplay.spark.session import internals

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_EPOCH = datetime.datetime(1970, 1, 1)

#: Functions that are operators in SQL.
_SYMBOLS = {
    "==": "({} = {})",
    "<=>": "({} <=> {})",
    "<": "({} < {})",
    "<=": "({} <= {})",
    ">": "({} > {})",
    ">=": "({} >= {})",
    "and": "({} AND {})",
    "or": "({} OR {})",
    "+": "({} + {})",
    "-": "({} - {})",
    "*": "({} * {})",
    "/": "({} / {})",
    "%": "({} % {})",
    "like": "({} LIKE {})",
    "rlike": "({} RLIKE {})",
    "ilike": "({} ILIKE {})",
    "not": "(NOT {})",
    "negative": "(- {})",
    "isnull": "({} IS NULL)",
    "isnotnull": "({} IS NOT NULL)",
}


def sql(column: Column, spark: SparkSession) -> str | None:
    """Translate a column to SQL; return None if a part is not translated, such as a UDF."""
    any_column: Any = column
    try:
        return _sql(any_column.to_plan(spark.client), spark)
    except _UnknownError:
        return None


def is_literal(column: Column) -> bool:
    """Return whether a column is a literal of Spark Connect, whose text could also be a name."""
    return type(internals.connect_expression(column)).__name__ == "LiteralExpression"


class _UnknownError(Exception):
    """A part of a column that is not translated."""


def _sql(expression: Any, spark: SparkSession) -> str:
    kind = expression.WhichOneof("expr_type")
    part = getattr(expression, kind)
    if kind == "literal":
        return _literal(part)
    if kind == "unresolved_attribute" and not part.HasField("plan_id"):
        return _name(part.unparsed_identifier)
    if kind == "unresolved_function" and not (part.is_distinct or part.is_user_defined_function):
        return _function(part.function_name, [_sql(argument, spark) for argument in part.arguments])
    if kind == "cast" and part.HasField("type_str") and part.eval_mode == 0:
        return f"CAST({_sql(part.expr, spark)} AS {part.type_str})"
    if kind == "alias":
        return _sql(part.expr, spark)
    if kind == "expression_string" and not filters.may_parse_differently(spark, part.expression):
        return f"({part.expression})"
    raise _UnknownError


def _function(name: str, arguments: list[str]) -> str:
    if name == "in":
        return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
    symbol = _SYMBOLS.get(name.lower())
    if symbol is not None and symbol.count("{}") == len(arguments):
        return symbol.format(*arguments)
    if not name.isidentifier():
        raise _UnknownError
    return f"{name}({', '.join(arguments)})"


def _name(text: str) -> str:
    parts = parts_of(text)
    if not parts:
        raise _UnknownError
    return dotted(parts)


def _literal(literal: Any) -> str:
    kind = literal.WhichOneof("literal_type")
    value = getattr(literal, kind)
    if kind in ("boolean", "byte", "short", "integer", "long", "string"):
        return lit(value)
    if kind == "null":
        return lit(None)
    if kind == "decimal":
        return lit(decimal.Decimal(value.value))
    if kind == "date":
        return lit(_EPOCH.date() + datetime.timedelta(days=value))
    if kind in ("timestamp", "timestamp_ntz"):
        zone = datetime.timezone.utc if kind == "timestamp" else None
        return lit(_EPOCH.replace(tzinfo=zone) + datetime.timedelta(microseconds=value))
    raise _UnknownError
