"""``Scan.to_polars_lazy``: the rows that Polars selects, and conditions that the scan evaluates."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay._arrow.polars_predicates import predicate_sql

pl = pytest.importorskip("polars")
UTC = datetime.timezone.utc
DAY = datetime.date(2026, 1, 1)
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("small", pa.int32()),
        ("f", pa.float64()),
        ("g", pa.float32()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
    ]
)


def row(number: int) -> dict[str, Any]:
    return {
        "n": number,
        "small": number,
        "f": float("nan") if number == 7 else number + 0.5,
        "g": 0.1 * number,
        "s": None if number == 3 else f"it's {number}\\",
        "b": number % 2 == 0,
        "d": DAY + datetime.timedelta(days=number),
        "t": NOON + datetime.timedelta(hours=number),
    }


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> dr.Table:
    """A table of ten rows, two in each file."""
    table = dr.create_table(tmp_path_factory.mktemp("polars") / "t", SCHEMA)
    for number in range(0, 10, 2):
        table.append(pa.Table.from_pylist([row(number), row(number + 1)], SCHEMA))
    return table


#: Conditions, and the part of them that the scan takes.
CONDITIONS: dict[str, tuple[Callable[[], Any], str | None]] = {
    "whole number": (lambda: pl.col("n") > 5, "`n` > 5"),
    "operands swapped": (lambda: pl.lit(5) >= pl.col("n"), "`n` <= 5"),
    "32-bit number": (lambda: pl.col("small") == 4, "`small` = 4"),
    "float": (lambda: pl.col("f") >= 2.5, "`f` >= 2.5e0"),  # NaN is larger than every number
    "less than a float": (lambda: pl.col("f") < 8.0, "`f` < 8e0"),
    "32-bit float": (lambda: pl.col("g") == 0.1, None),
    "string": (lambda: pl.col("s") == "it's 4\\", "`s` = 'it\\'s 4\\\\'"),
    "not equal": (lambda: pl.col("s") != "it's 4\\", "`s` <> 'it\\'s 4\\\\'"),
    "boolean": (lambda: pl.col("b"), "`b`"),
    "date": (lambda: pl.col("d") < datetime.date(2026, 1, 5), "`d` < DATE '2026-01-05'"),
    "timestamp": (
        lambda: pl.col("t") > datetime.datetime(2026, 1, 1, 20, 30, tzinfo=UTC),
        "`t` > TIMESTAMP '2026-01-01T20:30:00.000000Z'",
    ),
    "null": (lambda: pl.col("s").is_null(), "`s` IS NULL"),
    "not null": (lambda: pl.col("s").is_not_null(), "`s` IS NOT NULL"),
    "between": (lambda: pl.col("n").is_between(2, 5, closed="left"), "(`n` >= 2 AND `n` < 5)"),
    "in": (lambda: pl.col("n").is_in([1, 8]), "`n` IN (1, 8)"),
    "or": (
        lambda: (pl.col("n") > 7) | (pl.col("s") == "it's 1\\"),
        "(`n` > 7 OR `s` = 'it\\'s 1\\\\')",
    ),
    "not": (lambda: ~(pl.col("n") > 7), "`n` <= 7"),
    "computed": (lambda: pl.col("n") * 2 > 10, None),
    "two columns": (lambda: pl.col("n") > pl.col("small"), None),
    "in Python": (lambda: pl.col("n").map_elements(lambda n: n > 5, return_dtype=pl.Boolean), None),
}


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.filterwarnings("ignore::polars.exceptions.PolarsInefficientMapWarning")
def test_keeps_the_rows_that_polars_keeps(
    ten: dr.Table, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    condition, expected = CONDITIONS[name]
    scan = ten.snapshot().scan()
    filters: list[Any] = []

    def recorded(predicate: Any, schema: pa.Schema) -> Any:
        filters.append(predicate_sql(predicate, schema))
        return filters[0]

    monkeypatch.setattr("deltareplay._arrow.polars_predicates.predicate_sql", recorded)
    eager = pl.DataFrame(scan).filter(condition()).sort("n")
    lazy = scan.to_polars_lazy().filter(condition()).collect().sort("n")
    assert lazy.equals(eager)
    assert filters == [expected]


def test_pushes_the_supported_parts_of_an_and(ten: dr.Table) -> None:
    condition = (pl.col("n") > 1) & (pl.col("d") < DAY) & (pl.col("n") % 2 == 0)
    assert predicate_sql(condition, SCHEMA) == "((`n` > 1 AND `d` < DATE '2026-01-01'))"
    scan = ten.snapshot().scan()
    lazy = scan.to_polars_lazy().filter(condition).collect()
    assert lazy.equals(pl.DataFrame(scan).filter(condition))


def test_reads_only_the_files_and_columns_of_a_query(ten: dr.Table) -> None:
    narrowed = ten.snapshot().scan()._narrowed(["n", "s"], "n > 7")
    assert narrowed.schema.names == ["n", "s"]
    assert narrowed.explain()["files"].to_pylist() == [5, 5, 1]


def test_limits_and_selects(ten: dr.Table) -> None:
    lazy = ten.snapshot().scan().to_polars_lazy()
    assert lazy.limit(3).collect().height == 3
    assert lazy.limit(3).filter(pl.col("n") > 1).collect()["n"].to_list() == [
        n for n in lazy.limit(3).collect()["n"].to_list() if n > 1
    ]
    assert lazy.select(pl.len()).collect().item() == 10
    assert lazy.select(pl.col("n").sum()).collect().item() == 45
    assert lazy.collect_schema().names() == SCHEMA.names


def test_a_scan_with_a_filter_stays_filtered(ten: dr.Table) -> None:
    snapshot = ten.snapshot()
    for filter in ("n < 6", [("n", "<", 6)], [[("n", "<", 3)], [("n", "=", 5), ("b", "=", False)]]):
        lazy = snapshot.scan(["n", "s"], filter, with_file_path=True).to_polars_lazy()
        assert lazy.collect_schema().names() == ["n", "s", "_file_path"]
        expected = [n for n in snapshot.scan(["n"], filter).to_arrow()["n"].to_pylist() if n > 2]
        result = lazy.filter(pl.col("n") > 2, pl.col("_file_path").is_not_null()).collect()
        assert sorted(result["n"].to_list()) == sorted(expected)
        assert expected


@pytest.mark.slow
def test_filters_of_many_conditions(ten: dr.Table) -> None:
    lazy = ten.snapshot().scan().to_polars_lazy()
    many = pl.any_horizontal(*(pl.col("n") == n for n in range(900)))
    chain = pl.col("n") == -1
    for n in range(600):
        chain = chain | (pl.col("n") == n)
    for condition in (many, chain, pl.col("n").is_in(list(range(5_000)))):
        assert lazy.filter(condition).collect().height == 10


def test_padded_strings_are_left_to_polars(tmp_path: Path) -> None:
    field = pa.field("c", pa.string(), metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(4)"})
    table = dr.create_table(tmp_path / "t", pa.schema([field]))
    table.append({"c": ["ab", "cd"]})
    scan = table.snapshot().scan()
    condition = pl.col("c") != "ab"
    assert predicate_sql(condition, scan.schema) is None
    lazy = scan.to_polars_lazy().filter(condition).collect()
    assert sorted(lazy["c"]) == sorted(pl.DataFrame(scan).filter(condition)["c"])
