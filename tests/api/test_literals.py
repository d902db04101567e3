"""``lit`` and ``filter_at``: values and timestamps as SQL, with their types."""

from __future__ import annotations

import contextlib
import datetime
import enum
import math
import pickle
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pyarrow as pa
import pytest

import deltareplay as dr

UTC = datetime.timezone.utc
BERLIN = datetime.timezone(datetime.timedelta(hours=1))
NOON = datetime.datetime(2026, 1, 31, 12, tzinfo=UTC)


class Number(int, enum.Enum):
    """Numbers whose text is their name."""

    SEVEN = 7


#: A value, the type of its column, and its text.
VALUES: dict[str, tuple[Any, pa.DataType, str]] = {
    "text": ("O'Brien", pa.string(), r"'O\'Brien'"),
    "awkward text": ("a\\b\n''\"\u00e4\0%_", pa.string(), "'a\\\\b\n\\'\\'\"\u00e4\0%_'"),
    "empty text": ("", pa.string(), "''"),
    "true": (True, pa.bool_(), "TRUE"),
    "number": (-7, pa.int64(), "-7"),
    "member of an enum": (Number.SEVEN, pa.int64(), "7"),
    "least number": (-(2**63), pa.int64(), "-9223372036854775808"),
    "long number": (2**70, pa.decimal128(38, 0), "1180591620717411303424"),
    "double": (0.1, pa.float64(), "1e-1"),
    "whole double": (5.0, pa.float64(), "5e0"),
    "large double": (1e300, pa.float64(), "1e300"),
    "NaN": (math.nan, pa.float64(), "CAST('NaN' AS DOUBLE)"),
    "infinity": (-math.inf, pa.float64(), "CAST('-Infinity' AS DOUBLE)"),
    "decimal": (Decimal("12.50"), pa.decimal128(9, 2), "12.50"),
    "whole decimal": (Decimal("12"), pa.decimal128(9, 2), "CAST(12 AS DECIMAL(19,0))"),
    "bytes": (b"\x00\xff'", pa.binary(), "X'00FF27'"),
    "date": (datetime.date(2026, 1, 31), pa.date32(), "DATE '2026-01-31'"),
    "old date": (datetime.date(1, 1, 1), pa.date32(), "DATE '0001-01-01'"),
    "timestamp": (NOON, pa.timestamp("us", "UTC"), "TIMESTAMP '2026-01-31T12:00:00.000000Z'"),
    "timestamp of another zone": (
        datetime.datetime(2026, 1, 31, 0, 30, 0, 5, BERLIN),
        pa.timestamp("us", "UTC"),
        "TIMESTAMP '2026-01-30T23:30:00.000005Z'",
    ),
    "timestamp without a zone": (
        datetime.datetime(2026, 1, 31, 12),
        pa.timestamp("us"),
        "TIMESTAMP_NTZ '2026-01-31T12:00:00.000000'",
    ),
    "uuid": (uuid.UUID(int=5), pa.string(), "'00000000-0000-0000-0000-000000000005'"),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_literal_has_the_same_value_in_filters_and_expressions(name: str) -> None:
    value, type_, text = VALUES[name]
    literal = dr.lit(value)
    assert (literal, f"{literal}", str(literal)) == (text, text, text)
    assert pickle.loads(pickle.dumps(literal)) == literal
    plain = str(value) if isinstance(value, uuid.UUID) else value
    table = dr.create_table(
        f"memory://literals-{uuid.uuid4()}", pa.schema([("id", pa.int64()), ("v", type_)])
    )
    table.append(pa.table({"id": [1, 2], "v": pa.array([plain, None], type_)}))
    table.append([{"id": 3}])
    snapshot = table.snapshot()

    def ids(filter: Any) -> list[int]:
        return snapshot.scan(["id"], filter).to_arrow()["id"].to_pylist()

    for filter in (f"v = {literal}", f"v <=> {literal}", f"v IN ({literal}, NULL)"):
        assert ids(filter) == [1], filter
    assert ids([("v", "=", literal)]) == ids([("v", "=", plain)]) == [1]
    assert ids([("v", "in", [literal])]) == [1]
    assert ids(f"v IN {dr.lit([plain, plain])}") == [1]
    # functions are evaluated as formulas
    assert ids(f"coalesce(v, {literal}) = {literal}") == [1, 2, 3]
    table.update("id = 2", {"v": literal})
    if not isinstance(value, (str, uuid.UUID)):  # a string is an expression
        table.update("id = 3", {"v": value})
    result = table.snapshot().scan().to_arrow().sort_by("id")["v"].to_pylist()
    expected = [plain, plain, None if isinstance(value, (str, uuid.UUID)) else plain]
    assert str(result) == str(pa.array(expected, type_).to_pylist())


def test_null_and_lists() -> None:
    assert dr.lit(None) == "NULL"
    assert dr.lit((1, "a'", None)) == r"(1, 'a\'', NULL)"
    assert dr.lit({2}) == "(2)"


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_timestamps_of_numpy(tmp_path: Path, unit: str) -> None:
    timestamp = numpy.datetime64("1970-01-01", unit)  # item() returns an int if the unit is ns
    types = {"at": pa.timestamp("us", "UTC"), "n": pa.timestamp("us"), "d": pa.date32()}
    table = dr.create_table(tmp_path / "t", pa.schema({"id": pa.int64(), **types}))
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    naive = epoch.replace(tzinfo=None)
    later = epoch + datetime.timedelta(days=400)
    table.append([{"id": 1, "at": epoch, "n": naive, "d": epoch.date()}, {"id": 2, "at": later}])
    for column in types:
        for filter in ([(column, "=", timestamp)], [(column, "in", [timestamp])]):
            result = table.snapshot().scan(filter=filter).to_arrow()["id"].to_pylist()
            assert result == [1], (column, filter)
    table.update("id = 2", {"n": timestamp, "at": timestamp, "d": dr.lit(timestamp)})
    [row] = table.snapshot().scan(filter="id = 2").to_arrow().to_pylist()
    assert (row["at"], row["n"], row["d"]) == (epoch, naive, epoch.date())


def unsupported_timestamps() -> Iterator[Any]:
    yield numpy.datetime64("2026-01-01T00:00:00.000000001", "ns")
    for unit in ("ps", "fs", "as"):
        yield numpy.datetime64(1, unit)
    for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms"):
        yield numpy.datetime64(2**62, unit)
    with contextlib.suppress(ImportError):
        import pandas

        yield pandas.Timestamp("2026-01-01T00:00:00.000000001")


@pytest.mark.parametrize("timestamp", list(unsupported_timestamps()), ids=str)
def test_timestamps_out_of_range(timestamp: Any) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.lit(timestamp)
    assert caught.value.code == "filter.literal"


@pytest.mark.parametrize("unit", ["ps", "fs", "as"])
def test_timestamps_of_numpy_in_fractions_of_nanoseconds(unit: str) -> None:
    timestamp = numpy.datetime64(3, "us").astype(f"datetime64[{unit}]")
    assert dr.lit(timestamp) == "TIMESTAMP_NTZ '1970-01-01T00:00:00.000003'"


def test_timestamps_of_numpy_with_multiples() -> None:
    assert dr.lit(numpy.datetime64(5, "2D")) == "DATE '1970-01-11'"
    assert dr.lit(numpy.datetime64(5, "25us")) == "TIMESTAMP_NTZ '1970-01-01T00:00:00.000125'"


def nulls() -> Iterator[Any]:
    yield numpy.datetime64("NaT", "ns")
    yield numpy.datetime64("NaT")
    with contextlib.suppress(ImportError):
        import pandas

        yield pandas.NaT
        yield pandas.NA


@pytest.mark.parametrize("null", list(nulls()), ids=repr)
def test_nulls_of_libraries(null: Any, rows: dr.Table, tmp_path: Path) -> None:
    """``NaT`` is a datetime in Python."""
    assert dr.lit(null) == "NULL"
    assert dr.lit([1, null]) == "(1, NULL)"
    snapshot = rows.snapshot()
    for operator in ("=", "!=", "in"):
        value, none = ([null], [None]) if operator == "in" else (null, None)
        with_null = snapshot.scan(filter=[("id", operator, value)]).count()
        assert with_null == snapshot.scan(filter=[("id", operator, none)]).count()
    dr.write(tmp_path / "t", {"id": [1]})
    table = dr.Table(tmp_path / "t")
    table.update("id = 1", {"id": null})
    assert table.snapshot().scan().to_arrow()["id"].to_pylist() == [None]


@pytest.mark.parametrize("value", [[], (), Decimal("1e40"), 2**130])
def test_values_without_a_literal(value: Any) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.lit(value)
    assert caught.value.code == "filter.literal"


def test_lone_surrogates_are_refused(rows: dr.Table) -> None:
    for write in (dr.lit, lambda text: rows.snapshot().scan(filter=[("name", "=", text)])):
        with pytest.raises(dr.InvalidArgumentError, match="surrogates") as caught:
            write("a\ud800")
        assert caught.value.code == "filter.literal"


@pytest.mark.parametrize(
    "value",
    [object(), {"a": 1}, datetime.time(1), [[1]], numpy.array([1, 2]), numpy.timedelta64(1, "s")],
)
def test_values_of_other_types(value: Any) -> None:
    with pytest.raises(TypeError, match=r"must be .*, not"):
        dr.lit(value)


def test_quoted_text_stays_inside_its_quotes(rows: dr.Table) -> None:
    for evil in ("x' OR '1' = '1", "x\\' OR 1 = 1 --", "\\", "';", "x\\\\'"):
        kept = rows.snapshot().scan(filter=f"name = {dr.lit(evil)}").count()
        assert kept == 0, evil


AT = "at >= now() - INTERVAL 7 DAYS AND at < Current_Timestamp() AND day < current_date"


def test_one_current_time_for_all_readers_of_a_filter(tmp_path: Path) -> None:
    schema = pa.schema([("at", pa.timestamp("us", "UTC")), ("day", pa.date32())])
    table = dr.create_table(tmp_path / "t", schema)
    for days in (1, 6, 8, 0):
        timestamp = NOON - datetime.timedelta(days=days)
        table.append([{"at": timestamp, "day": timestamp.date()}])
    filter = dr.filter_at(AT, NOON)
    assert filter == (
        "(at >= TIMESTAMP '2026-01-31T12:00:00.000000Z' - INTERVAL 7 DAYS) "
        "AND at < TIMESTAMP '2026-01-31T12:00:00.000000Z' AND day < DATE '2026-01-31'"
    )
    scan = table.snapshot().scan(["day"], filter)
    assert scan.to_arrow()["day"].to_pylist() == [
        datetime.date(2026, 1, 30),
        datetime.date(2026, 1, 25),
    ]
    # by statistics, since current timestamps are computed first
    assert scan.explain()["files"].to_pylist()[-1] == 2
    assert dr.filter_at(AT, NOON.replace(tzinfo=None)) == filter
    for wrong in (NOON.date(), "2026-01-31"):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            dr.filter_at(AT, wrong)  # type: ignore[arg-type]
        assert caught.value.code == "argument.type"
    with pytest.raises(dr.InvalidArgumentError, match="filter_at") as caught:
        table.snapshot().scan(filter=AT)
    assert caught.value.code == "filter.unsupported"


def test_a_literal_of_a_literal_is_refused() -> None:
    literal = dr.lit(5)
    literal.value = literal  # type: ignore[assignment]
    with pytest.raises(TypeError, match="not another literal"):
        dr.lit([literal])
