"""Filters as Spark columns, and the part of a filter that the core uses to skip files."""

from __future__ import annotations

import datetime
import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay._arrow.plain_values import plain
from deltareplay._expressions.lit import SqlLiteral
from deltareplay._names import dotted, parts_of
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.schema.frames import from_arrow
from deltareplay.spark.session.capabilities import is_on, is_utc, time_zone, version

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._snapshot.snapshot import Snapshot

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def condition(filter: Filter) -> Column:
    """Convert a filter to a column: Spark parses SQL, and tuples become comparisons."""
    from pyspark.sql import functions as sf

    if isinstance(filter, str):
        return sf.expr(filter)
    groups: Any = filter if filter and isinstance(filter[0], list) else [filter]
    conjunctions = [
        functools.reduce(operator.and_, (_comparison(*comparison) for comparison in group))
        for group in groups
        if group
    ]
    if not conjunctions:
        raise InvalidArgumentError(
            "the filter has no tuples: leave it out to get all rows",
            code="filter.empty",
        )
    return functools.reduce(operator.or_, conjunctions)


#: Python's functions of comparisons. Rust has checked that a filter has no other operators.
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("=", "==", "is"), operator.eq),
    **dict.fromkeys(("!=", "<>", "is not"), operator.ne),
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _comparison(name: str, symbol: str, value: Any) -> Column:
    from pyspark.sql import functions as sf

    symbol = " ".join(symbol.lower().split())
    # without backticks, Spark reads a star as all columns
    column = sf.col(dotted(parts_of(name)) if "*" in name else name)
    value = _python_value(value)
    if symbol in ("in", "not in"):
        listed = [_literal(item) for item in value if item is not None]
        is_listed = column.isin(listed) if listed else sf.lit(False)
        if len(listed) < len(value):
            is_listed |= column.isNull()
        return is_listed if symbol == "in" else ~is_listed
    compare = _COMPARISONS[symbol]
    if value is None:
        return column.isNull() if compare is operator.eq else column.isNotNull()
    result: Column = compare(column, _literal(value))
    return result


def _python_value(value: Any) -> Any:
    """Return a value, or a list of values, without the classes of ``lit``, numpy and pandas."""
    if isinstance(value, SqlLiteral):
        value = value.value
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_python_value(item) for item in value]
    return plain(value, "filter")


def _literal(value: Any) -> Column:
    from pyspark.sql import functions as sf

    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return sf.lit(value.isoformat(sep=" ")).cast("timestamp_ntz")
        micros = (value - _EPOCH) // datetime.timedelta(microseconds=1)
        return sf.timestamp_micros(sf.lit(micros))
    return sf.lit(bytearray(value) if isinstance(value, bytes) else value)


def pruning(spark: SparkSession, filter: Filter | None, snapshot: Snapshot) -> Filter | None:
    """Return a condition for the core to skip files, which is true wherever the filter is.

    Timestamp literals without a zone are in the session's time zone; Spark converts them.
    Conditions that depend on the zone in another way do not skip files, and neither does SQL that
    the session may parse differently, or whose value may differ because ANSI mode is off.
    """
    if isinstance(filter, str) and may_parse_differently(spark, filter):
        return None
    if filter is not None and not is_on(spark, "spark.sql.ansi.enabled"):
        if is_on(spark, "spark.sql.legacy.typeCoercion.datetimeToString.enabled"):
            return None
        filter = _native.without_ansi(filter, snapshot.schema_json)
    if filter is None or is_utc(time_zone(spark)):
        return filter
    table = snapshot.schema_json, snapshot.partition_columns
    texts = sorted(_native.local_times(filter, *table))
    timestamps: dict[str, int] = {}
    if texts:
        local_times = from_arrow(spark, pa.table({"text": texts}))
        micros = local_times.selectExpr(
            "text", "unix_micros(try_cast(text AS TIMESTAMP_LTZ)) AS micros"
        )
        timestamps = {row.text: row.micros for row in micros.collect() if row.micros is not None}
    return _native.with_timestamps(filter, *table, timestamps)


def depends_on_zone(filter: str, schema_string: str, partition_columns: Sequence[str]) -> bool:
    """Return whether a condition may be true for other rows in another time zone.

    It may be if it has timestamps without a zone, or compares a partition column of timestamps.
    """
    independent = _native.with_timestamps(filter, schema_string, partition_columns, {})
    return independent != _native.filter_at(filter, _EPOCH)


def needs_collation(filter: Filter, snapshot: Snapshot) -> bool:
    """Return whether a filter compares strings with a collation, which only Spark supports.

    Raises:
        InvalidArgumentError: The filter does not fit the table.
    """
    try:
        # ``Snapshot.scan`` would warn about double quotes, in which the session may quote names
        snapshot.native.scan(None, filter)
    except UnsupportedFeatureError as error:
        if error.code != "expression.collation":
            raise
        return True
    return False


#: Settings that change the meaning of SQL with a character.
_DIALECT = {
    "\\": "spark.sql.parser.escapedStringLiterals",  # it escapes nothing
    '"': "spark.sql.ansi.doubleQuotedIdentifiers",  # it quotes names
}


def may_parse_differently(spark: SparkSession, sql: str) -> bool:
    """Return whether the session may parse SQL differently from the core."""
    has_doubled_quote = "''" in sql or '""' in sql
    if has_doubled_quote and version(spark) < (4, 1):  # which reads two strings
        return True
    settings = [setting for character, setting in _DIALECT.items() if character in sql]
    if has_doubled_quote:
        settings.append("spark.sql.legacy.consecutiveStringLiterals.enabled")
    return any(is_on(spark, setting, default="false") for setting in settings)
