"""Expressions that have other values in other time zones, which the formats do not compute."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay._protocol.schema import Array, Field, Struct, Type
from deltareplay.spark.scan.filters import depends_on_zone
from deltareplay.spark.writing.time_zones import check_casts, check_expressions

COLUMNS = (
    Field("ts", "timestamp"),
    Field("d", "date"),
    Field("s", Struct((Field("at", "timestamp"), Field("n", "long")))),
    Field("time_stamp", "long"),
)


def is_refused(field: Field, rows: tuple[str, ...] = ("ts",)) -> bool:
    try:
        check_expressions([*COLUMNS, field], rows, "Asia/Kolkata")
    except dr.UnsupportedFeatureError as error:
        return error.code == "write.feature" and field.name in str(error)
    return False


@pytest.mark.parametrize(
    ("text", "depends"),
    [
        ("CAST(ts AS DATE)", True),
        ("year(`TS`)", True),
        ("to_timestamp('2026-01-31')", True),
        ("hour(s.at)", True),
        ("year(d)", False),
        ("time_stamp + 1", False),
        ("concat('ts', 'timestamp')", False),
    ],
)
def test_generated_columns(text: str, depends: bool) -> None:
    """Spark's functions of local times depend on the zone, those of dates and numbers do not."""
    field = Field("g", "date", metadata={"delta.generationExpression": text})
    assert is_refused(field) == depends
    assert is_refused(field, rows=("ts", "G")) == depends  # the value is checked


@pytest.mark.parametrize(
    ("column", "text", "depends"),
    [
        ("now", "CAST(now() AS DATE)", True),
        ("now", "CAST(`now` + 1 AS DATE)", False),
        ("current_timestamp", "CAST(current_timestamp() AS DATE)", True),
        ("current_timestamp", "current_timestamp + 1", False),  # Spark prefers the column
        ("timestamp", "CAST(CAST(timestamp AS TIMESTAMP) AS DATE)", True),
        ("timestamp", "CAST(d::timestamp AS DATE)", True),
        ("timestamp", "date(TIMESTAMP '2026-01-31')", True),
        ("timestamp", "timestamp % 7", False),
    ],
)
def test_columns_with_the_name_of_a_function(column: str, text: str, depends: bool) -> None:
    generated = Field("g", "date", metadata={"delta.generationExpression": text})
    fields = [Field(column, "long"), *COLUMNS, generated]
    if depends:
        with pytest.raises(dr.UnsupportedFeatureError):
            check_expressions(fields, (column,), "Asia/Kolkata")
    else:
        check_expressions(fields, (column,), "Asia/Kolkata")


@pytest.mark.parametrize(
    ("type_", "text", "depends"),
    [
        ("timestamp", "date_trunc('MONTH', d)", True),
        ("timestamp", "d + INTERVAL 1 HOUR", True),
        ("timestamp", "NULL", False),
        ("date", "CAST(CAST(time_stamp AS TIMESTAMP_LTZ) AS DATE)", True),
        ("date", "CAST(date_trunc('MONTH', d) AS DATE)", False),
    ],
)
def test_timestamps_of_dates(type_: str, text: str, depends: bool) -> None:
    """A date begins at another time in each zone, on which the same date does not depend."""
    assert is_refused(Field("g", type_, metadata={"delta.generationExpression": text})) == depends


def test_defaults_refer_to_no_column() -> None:
    field = Field("c", "date", metadata={"CURRENT_DEFAULT": "current_timestamp"})
    with pytest.raises(dr.UnsupportedFeatureError):
        fields = [Field("current_timestamp", "long"), field]
        check_expressions(fields, ("current_timestamp",), "Asia/Kolkata")


def test_defaults() -> None:
    """A default is only computed for rows without the column."""
    field = Field("c", "date", metadata={"CURRENT_DEFAULT": "current_date()"})
    assert is_refused(field)
    assert not is_refused(field, rows=("C",))


@pytest.mark.parametrize(
    ("type_", "text", "depends"),
    [
        ("timestamp", "now()", False),
        ("timestamp", "(CURRENT_TIMESTAMP)", False),
        ("timestamp", "date_trunc('day', now())", True),
        ("timestamp", "now() - INTERVAL 1 DAY", True),
        ("date", "now()", True),
        ("date", "CAST(current_timestamp() AS DATE)", True),
        ("integer", "hour(now())", True),
        ("string", "concat('now', 'current_timestamp')", False),
    ],
)
def test_defaults_of_the_current_time(type_: str, text: str, depends: bool) -> None:
    """The current time is the same in all zones; dates, hours and texts of it are not."""
    assert is_refused(Field("c", type_, metadata={"CURRENT_DEFAULT": text})) == depends


@pytest.mark.parametrize(
    ("source", "target", "is_cast"),
    [
        ("timestamp", "timestamp", False),
        ("void", "timestamp", False),
        ("string", "long", False),
        ("string", "timestamp", True),
        ("timestamp", "date", True),
        ("timestamp_ntz", "timestamp", True),
        (Struct((Field("b", "date"),)), Struct((Field("b", "date"), Field("a", "date"))), False),
        (Struct((Field("a", "date"),)), Struct((Field("a", "timestamp"),)), True),
        (Array("timestamp", True), Array("string", True), True),
    ],
)
def test_casts(source: Type, target: Type, is_cast: bool) -> None:
    """A stream casts its rows; Spark casts timestamps by the time zone of the session."""
    if not is_cast:
        check_casts([Field("c", target)], [Field("C", source)], "Asia/Kolkata")
        return
    with pytest.raises(dr.InvalidArgumentError) as caught:
        check_casts([Field("c", target)], [Field("C", source)], "Asia/Kolkata")
    assert caught.value.code == "write.columns"


@pytest.mark.parametrize(
    ("condition", "depends"),
    [
        ("k = 1 AND x IN ('a', 'it''s') OR NOT (k > 5)", False),
        ("day >= '2026-01-31' AND x LIKE 'a%'", False),
        ("ts >= '2026-01-31T00:00:00Z' OR ts IS NULL", False),
        ("k = 1 AND ts >= '2026-01-31'", True),
        ("NOT (ts < TIMESTAMP '2026-01-31 12:00:00')", True),
        ("CAST(ts AS DATE) = '2026-01-31'", True),
        ("hour = '2026-01-31T00:00:00Z'", True),
    ],
)
def test_conditions(tmp_path: Path, condition: str, depends: bool) -> None:
    """A timestamp without a zone is in that of the session; so may be a partition value."""
    instant = pa.timestamp("us", "UTC")
    schema = {"k": pa.int64(), "x": pa.string(), "day": pa.date32(), "ts": instant, "hour": instant}
    table = dr.create_table(tmp_path, pa.schema(schema), partition_columns=["hour"])
    snapshot = table.snapshot()
    actual = depends_on_zone(condition, snapshot.schema_json, snapshot.partition_columns)
    assert actual == depends
