"""Checks for writes with ``format("delta")``, whose Python workers compute in UTC.

If the session has another time zone, a generated date could differ from the date in that zone, and
a query that derives a condition on that column from a timestamp would miss the row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from deltareplay._protocol.schema import Field, Struct, Type, parts
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.scan import filters
from deltareplay.spark.schema.fields import spark_type
from deltareplay.spark.syntax.tokens import Token, tokens
from deltareplay.spark.writing.target_table import TargetTable

#: Functions, types and literals with which an expression depends on the time zone, whatever their
#: arguments.
_ZONE_DEPENDENT = frozenset(
    {
        "curdate",
        "current_date",
        "current_time",
        "current_timestamp",
        "date_format",
        "from_unixtime",
        "localtimestamp",
        "make_timestamp",
        "now",
        "timestamp",
        "timestamp_ltz",
        "to_timestamp",
        "to_unix_timestamp",
        "try_to_timestamp",
        "unix_timestamp",
    }
)


def check_expressions(fields: Sequence[Field], column_names: Collection[str], zone: str) -> None:
    """Check that generated columns and defaults have the same values in the time zone as in UTC.

    The rows have ``column_names``, whose defaults are not computed.
    """
    types = {field.key: field.type for field in fields}
    names = {name.lower() for name in column_names}
    for field in fields:
        text, columns = field.generation_expression, types
        if text is None and field.key not in names:
            text, columns = field.default, {}
        if text is None or not _depends_on_zone(text, field.type, columns):
            continue
        raise UnsupportedFeatureError(
            f"the column {field.name} is computed by {text}, which depends on the time zone, and "
            f"this format computes it in UTC, not in {zone}: call deltareplay.spark.write (in a "
            "stream, from foreachBatch), or set spark.sql.session.timeZone to UTC",
            code="write.feature",
        )


def check_casts(fields: Sequence[Field], rows: Sequence[Field], zone: str) -> None:
    """Check that no column has to be cast to a timestamp, or from one."""
    sources = {field.key: field.type for field in rows}
    for field in fields:
        source = sources.get(field.key, "void")
        if _casts_timestamps(source, field.type):
            expected, actual = (spark_type(type_).simpleString() for type_ in (field.type, source))
            raise InvalidArgumentError(
                f"the column {field.name} is {expected} in the table, and {actual} in the rows: "
                f"cast it, because this format casts in UTC, not in {zone}",
                code="write.columns",
            )


def check_condition(condition: str, target: TargetTable, zone: str) -> None:
    """Check that ``replaceWhere`` is true for the same rows in the time zone as in UTC."""
    schema_string = target.metadata.schema_string
    if filters.depends_on_zone(condition, schema_string, target.partition_columns):
        raise InvalidArgumentError(
            f"replaceWhere is {condition!r}, which depends on the time zone, and this format "
            f"evaluates it in UTC, not in {zone}: compare with timestamps that have a zone, "
            "such as '2026-01-31T00:00:00Z', or call deltareplay.spark.write with where=",
            code="write.replace_where",
        )


def _depends_on_zone(text: str, type_: Type, types: Mapping[str, Type]) -> bool:
    """Return whether an expression may have another value in another time zone.

    ``type_`` is that of the computed column; ``types`` are those of the columns that the expression
    may refer to, by key.
    """
    parsed = tokens(text)
    plain = [token for token in parsed if token.text not in ("(", ")", "")]
    if type_ == "timestamp":
        # casts of dates and strings depend on the zone; the current time is the same in all zones
        return not (len(plain) == 1 and plain[0].is_word("NOW", "CURRENT_TIMESTAMP", "NULL"))
    for index, token in enumerate(parsed):
        if not token.is_name:
            continue
        name = token.name.lower()
        if name in types and not _is_function_or_type(parsed, index):
            if _has_timestamp(types[name]):
                return True
        elif name in _ZONE_DEPENDENT:
            return True
    return False


def _is_function_or_type(parsed: Sequence[Token], index: int) -> bool:
    """Return whether a name is that of a function, a literal or a type, not of a column."""
    token, after = parsed[index], parsed[index + 1]
    if after.text == "(":
        return True
    before = parsed[index - 1] if index > 0 else after
    is_type = before.text == ":" or before.is_word("AS")
    return token.kind == "word" and (after.kind == "string" or is_type)


def _has_timestamp(type_: Type) -> bool:
    if isinstance(type_, str):
        return type_ == "timestamp"
    if isinstance(type_, Struct):
        return any(_has_timestamp(field.type) for field in type_.fields)
    return any(map(_has_timestamp, parts(type_).values()))


def _casts_timestamps(source: Type, target: Type) -> bool:
    if isinstance(source, str) or isinstance(target, str):
        return source != target and source != "void" and "timestamp" in (source, target)
    if isinstance(source, Struct) and isinstance(target, Struct):
        present = source.by_name
        return any(
            _casts_timestamps(present[field.key].type, field.type)
            for field in target.fields
            if field.key in present
        )
    if type(source) is not type(target):
        return False
    return any(map(_casts_timestamps, parts(source).values(), parts(target).values()))
