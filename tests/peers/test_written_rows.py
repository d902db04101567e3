"""Rows that deltareplay wrote, read by deltalake and DuckDB."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import deltareplay as dr

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string()), ("p", pa.string())])


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def write_table(path: Path, partitions: list[str]) -> dr.Table:
    table = dr.create_table(path, SCHEMA, partitions)
    table.append(
        [
            {"id": number, "s": f"{number} ä", "p": [None, "a b", "%"][number % 3]}
            for number in range(9)
        ]
    )
    table.delete("id = 4")
    table.update("id = 5", {"s": "upper(s) || '!'"})
    source = pa.table({"id": [0, 20], "s": ["new", "newer"], "p": ["x", "y"]})
    table.merge(source, "id").when_matched_update_all().when_not_matched_insert_all().execute()
    return table


def ours(table: dr.Table) -> list[tuple[int, str, str | None]]:
    rows = pa.table(table.snapshot()).to_pylist()
    result = sorted((row["id"], row["s"], row["p"]) for row in rows)
    assert result[0] == (0, "new", "x")
    assert [item[0] for item in result] == [0, 1, 2, 3, 5, 6, 7, 8, 20]
    return result


@pytest.mark.parametrize("partitions", [[], ["p"]], ids=["plain", "partitioned"])
def test_deltalake_reads_the_rows(tmp_path: Path, partitions: list[str]) -> None:
    deltalake = pytest.importorskip("deltalake")
    table = write_table(tmp_path / "t", partitions)
    rows = deltalake.DeltaTable(str(tmp_path / "t")).to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["s"], row["p"]) for row in rows) == ours(table)
    # it also appends to the table
    more = pa.table({"id": [30], "s": ["theirs"], "p": ["a b"]}, schema=SCHEMA)
    deltalake.write_deltalake(str(tmp_path / "t"), more, mode="append")
    assert table.delete("id = 30").metrics["numDeletedRows"] == 1


def test_duckdb_reads_the_rows(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    table = write_table(tmp_path / "t", [])
    files = [str(tmp_path / "t" / path) for path in table.snapshot().files()["path"].to_pylist()]
    rows = duckdb.read_parquet(files).fetchall()
    assert sorted(rows) == ours(table)
