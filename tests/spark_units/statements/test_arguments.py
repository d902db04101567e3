"""Values of ``sql(args=)`` as literals of Spark; only one setting of the session is read."""

from __future__ import annotations

import datetime
import enum
import uuid
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest

import deltareplay as dr
from deltareplay.spark.statements.arguments import literal, substitute

numpy = pytest.importorskip("numpy")

SESSION = cast(Any, SimpleNamespace(conf=SimpleNamespace(get=lambda *_: "false")))
BERLIN = datetime.timezone(datetime.timedelta(hours=1))


class Size(enum.Enum):
    SMALL = "s"


class Number(enum.IntEnum):
    ONE = 1


def values() -> Iterator[Any]:
    early = datetime.datetime(1, 1, 2, 3, tzinfo=datetime.timezone.utc)
    yield pytest.param(numpy.float64(1.5), "(1.5D)", id="double of numpy")
    yield pytest.param(numpy.float32(-0.5), "(-0.5D)", id="float of numpy")
    yield pytest.param(numpy.int8(7), "7", id="number of numpy")
    yield pytest.param(numpy.bool_(True), "TRUE", id="bool of numpy")
    yield pytest.param(numpy.str_("a"), "'a'", id="text of numpy")
    yield pytest.param(numpy.datetime64("NaT"), "NULL", id="NaT of numpy")
    yield pytest.param(numpy.datetime64("2026-01-31"), "DATE '2026-01-31'", id="day of numpy")
    yield pytest.param(early, "TIMESTAMP '0001-01-02 03:00:00.000000Z'", id="year of four digits")
    timestamp = datetime.datetime(2026, 1, 31, 1, tzinfo=BERLIN)
    yield pytest.param(timestamp, "TIMESTAMP '2026-01-31 00:00:00.000000Z'", id="zone")
    yield pytest.param(Size.SMALL, "'s'", id="member of an Enum, as in PySpark")
    yield pytest.param(Number.ONE, "1", id="member of an IntEnum")
    yield pytest.param(Decimal("1.50"), "(1.50BD)", id="decimal")
    yield pytest.param(2**70, "1180591620717411303424BD", id="long number")
    pandas = pytest.importorskip("pandas")
    yield pytest.param(pandas.NaT, "NULL", id="NaT")
    yield pytest.param(pandas.NA, "NULL", id="NA")


@pytest.mark.parametrize(("value", "text"), list(values()))
def test_values_become_literals(value: Any, text: str) -> None:
    assert literal(value, SESSION) == text


@pytest.mark.parametrize(
    "value",
    [
        *(uuid.UUID(int=1), Fraction(1, 2), 1j, object(), [1], {"a": 1}, datetime.timedelta(1)),
        *(10**40, Decimal("NaN"), Decimal("1E+40"), Decimal("1E-40"), "a\ud800"),
        *(numpy.array([1, 2]), numpy.timedelta64(1, "s"), numpy.datetime64(2**62, "s")),
        datetime.datetime.max.replace(tzinfo=datetime.timezone(-datetime.timedelta(hours=1))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_unsupported_values_are_refused(value: Any) -> None:
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        literal(value, SESSION)
    assert caught.value.code == "sql.arguments"


def test_names_of_parameters_may_be_in_backticks() -> None:
    """As in ``spark.sql("SELECT :`a b`", args={"a b": 1})``."""
    assert substitute(SESSION, "SELECT :`a b`, :x, :y", {"a b": 1, "x": 2}) == "SELECT 1, 2, :y"
