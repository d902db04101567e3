"""Bounds that a writer has rounded or truncated: filters lose no rows, and no bound is exact.

Sources: delta-io/delta-rs issue 4757 (deltalake writes decimals as doubles); the protocol,
"Per-file Statistics"; old delta-spark ends a truncated maximum with U+FFFD; the table
`databricks73/old_dates` of Trino's tests.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import actions, logs

import deltareplay as dr

#: Type, value, minimum and maximum as in the log.
ROUNDED: dict[str, tuple[str, Any, str, str]] = {
    "deltalake, two digits": (
        "decimal(38,2)", Decimal("12345678901234567.89"),
        "1.2345678901234568e+16", "1.2345678901234568e+16",
    ),
    "deltalake, eighteen digits": (
        "decimal(18,18)", Decimal("0.123456789012345678"),
        "0.12345678901234568", "0.12345678901234568",
    ),
    "deltalake, no digit": (
        "decimal(38,0)", Decimal("123456789012345678"), "1.2345678901234568e17",
        "1.2345678901234568e17",
    ),
    "deltalake, below zero": (
        "decimal(38,2)", Decimal("-12345678901234567.89"),
        "-1.2345678901234568e+16", "-1.2345678901234568e+16",
    ),
    "one digit, rounded to a double": (
        "decimal(18,1)", Decimal("9007199254740991.3"), "9007199254740991.0", "9007199254740991.0",
    ),
    "U+FFFD after a truncated text": (
        "string", "ab\U0001f600", '"ab"', '"ab\ufffd"',
    ),
    "half a surrogate pair": ("string", "ab\U0001f600", '"ab?"', '"ab?\ufffd"'),
    "half a character": ("string", "ab\u00e9", '"ab\ufffd"', '"ab\ufffd"'),
    "Berlin before 1893, +00:53:28, truncated to minutes": (
        "timestamp", dt.datetime(1890, 1, 1, 11, 6, 32, tzinfo=dt.timezone.utc),
        '"1890-01-01T12:00:00.000+00:53"', '"1890-01-01T12:00:00.000+00:53"',
    ),
    "Los Angeles before 1883, -07:52:58, truncated to minutes": (
        "timestamp", dt.datetime(1880, 1, 1, 19, 52, 58, tzinfo=dt.timezone.utc),
        '"1880-01-01T12:00:00.000-07:52"', '"1880-01-01T12:00:00.000-07:52"',
    ),
    "Databricks 7.3, a date of the Julian calendar": (
        "date", dt.date(99, 12, 30), '"0100-01-01"', '"0100-01-01"',
    ),
    "Databricks 7.3, the last date of the Julian calendar": (
        "date", dt.date(1582, 10, 14), '"1582-10-04"', '"1582-10-04"',
    ),
    "Databricks 7.3, a timestamp of the Julian calendar": (
        "timestamp", dt.datetime(99, 12, 30, 1, 2, 3, tzinfo=dt.timezone.utc),
        '"0100-01-01T01:02:03.000Z"', '"0100-01-01T01:02:03.000Z"',
    ),
}  # fmt: skip


def table_of(root: Path, type_: str, values: list[Any], low: str, high: str) -> dr.Snapshot:
    """Write a file with these rows, and a log with these bounds."""
    log = logs.LogBuilder(root)
    log.create(logs.dumps({"type": "struct", "fields": [logs.field_json("c", type_)]}))
    pq.write_table(pa.table({"c": pa.array(values, actions.arrow_type(type_))}), root / "p.parquet")
    bounds = f'"minValues":{{"c":{low}}},"maxValues":{{"c":{high}}},"nullCount":{{"c":0}}'
    stats = f'{{"numRecords":{len(values)},{bounds}}}'
    log.commit(actions.add("p.parquet", stats=stats, size=(root / "p.parquet").stat().st_size))
    return dr.Table(root).snapshot()


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("name", ROUNDED)
def test_no_filter_loses_a_row(name: str, checkpoint: bool, tmp_path: Path) -> None:
    type_, value, low, high = ROUNDED[name]
    snapshot = table_of(tmp_path, type_, [value], low, high)
    if checkpoint:
        table = dr.Table(tmp_path)
        table.set_properties({"delta.checkpoint.writeStatsAsStruct": "true"})
        table.checkpoint()
        snapshot = dr.Table(tmp_path).snapshot()
    filters: list[Any] = [[("c", operator, value)] for operator in ("=", "<=", ">=")]
    for condition in [*filters, f"c <=> {dr.lit(value)}"]:
        result = snapshot.scan(filter=condition).to_arrow()
        assert result["c"].to_pylist() == [value], condition
    assert dr.Table(tmp_path).delete(f"c = {dr.lit(value)}").metrics["numDeletedRows"] == 1


@pytest.mark.parametrize("name", [name for name, row in ROUNDED.items() if row[0][:3] == "dec"])
def test_min_max_is_none_for_rounded_decimals(name: str, tmp_path: Path) -> None:
    type_, value, low, high = ROUNDED[name]
    snapshot = table_of(tmp_path, type_, [value], low, high)
    assert snapshot.min_max("c") is None
    assert "rounded" in snapshot.warnings[-1].message


def test_min_max_of_exact_decimals(tmp_path: Path) -> None:
    """As delta-spark 4.4 writes them, with all digits of the scale, and with fewer."""
    for number, (type_, text) in enumerate(
        [
            ("decimal(38,2)", "12345678901234567.89"),
            ("decimal(18,18)", "0.123456789012345680"),
            ("decimal(38,18)", "5.000000000000000000"),
            ("decimal(38,0)", "1000000000000000000"),
            ("decimal(18,2)", "12.5"),
        ]
    ):
        root = tmp_path / str(number)
        root.mkdir()
        snapshot = table_of(root, type_, [Decimal(text)], text, text)
        assert snapshot.min_max("c") == (Decimal(text), Decimal(text)), type_


def test_files_far_from_rounded_bounds_are_skipped(tmp_path: Path) -> None:
    type_, value, low, high = ROUNDED["deltalake, two digits"]
    snapshot = table_of(tmp_path, type_, [value], low, high)
    assert snapshot.scan(filter="c > 12345678901234600").files().num_rows == 0
    assert snapshot.scan(filter="c < 12345678901234500").files().num_rows == 0


def test_a_delete_reads_files_with_rounded_bounds(tmp_path: Path) -> None:
    """The bounds are equal, but not all rows have this value."""
    values = [Decimal("12345678901234567.89"), Decimal("12345678901234568.00")]
    text = "1.2345678901234568e+16"
    table_of(tmp_path, "decimal(38,2)", values, text, text)
    table = dr.Table(tmp_path)
    table.delete("c = 12345678901234568.00")
    assert table.snapshot().scan().to_arrow()["c"].to_pylist() == values[:1]
