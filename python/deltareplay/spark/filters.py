"""A filter as Spark evaluates it, and whether Rust may choose files by it."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.session import is_utc

if TYPE_CHECKING:
    from pyspark.sql import Column

    from deltareplay._filters import Filter

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def condition(filter: Filter) -> Column:
    """The filter as a column: SQL as Spark parses it, tuples built one by one."""
    from pyspark.sql import functions as sf

    if isinstance(filter, str):
        return sf.expr(filter)
    groups: Any = filter if filter and isinstance(filter[0], list) else [filter]
    found = None
    for group in groups:
        every = None
        for name, operator, value in group:
            one = _comparison(name, " ".join(operator.lower().split()), value)
            every = one if every is None else every & one
        if every is not None:
            found = every if found is None else found | every
    if found is None:
        raise InvalidArgumentError(
            "a filter of no tuples says nothing: leave the filter out to get all",
            code="filter.empty",
        )
    return found


def _comparison(name: str, operator: str, value: Any) -> Column:
    from pyspark.sql import functions as sf

    column = sf.col(name)
    if operator in ("in", "not in"):
        listed = [_literal(one) for one in value if one is not None]
        has_null = len(listed) < len(value)
        among = column.isin(listed) if listed else sf.lit(False)
        if operator == "in":
            return among | column.isNull() if has_null else among
        # nulls are never there: nothing that is compared with null is true
        return ~among & column.isNotNull()
    if value is None:
        return column.isNull() if operator in ("=", "==", "is") else column.isNotNull()
    literal = _literal(value)
    if operator in ("=", "==", "is"):
        return column == literal
    if operator in ("!=", "<>", "is not"):
        return column != literal
    if operator == "<":
        return column < literal
    if operator == "<=":
        return column <= literal
    if operator == ">":
        return column > literal
    return column >= literal  # no other is left: Rust has judged the filter


def _literal(value: Any) -> Column:
    from pyspark.sql import functions as sf

    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return sf.lit(value.isoformat(sep=" ")).cast("timestamp_ntz")
        micros = (value - _EPOCH) // datetime.timedelta(microseconds=1)
        return sf.timestamp_micros(sf.lit(micros))
    return sf.lit(bytearray(value) if isinstance(value, bytes) else value)


def prunes(filter: Filter | None, schema_json: str, zone: str) -> bool:
    """Whether files may be chosen by the filter before Spark sees them.

    Not when it has moments: Rust reads one without a zone as UTC, Spark in the session's zone.

    >>> schema = '{"fields": [{"name": "at", "type": "timestamp"}, {"name": "x", "type": "long"}]}'
    >>> prunes("x > 1", schema, "Asia/Tokyo"), prunes("at > '2026-01-01'", schema, "Asia/Tokyo")
    (True, False)
    """
    if filter is None or is_utc(zone):
        return filter is not None
    text = repr(filter).lower().replace("``", "`")
    words = {"timestamp", *(name.lower() for name in _moments(json.loads(schema_json)))}
    return not any(word in text for word in words)


def _moments(type_: Any) -> list[str]:
    """The names of fields at any depth whose values are moments."""
    if isinstance(type_, str):
        return []
    found = []
    for one in type_.get("fields", []):
        if one["type"] == "timestamp":
            found.append(one["name"])
        found += _moments(one["type"])
    for inner in ("elementType", "keyType", "valueType"):
        found += _moments(type_.get(inner, ""))
    return found
