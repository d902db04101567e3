"""Statements that change rows in some row groups of a file: rows of the others stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.writing import MODES

import deltareplay as dr

ROWS = 300
#: The ids to change; a row group has 100.
RANGES = {
    "first": range(100),
    "middle": range(100, 200),
    "last": range(200, 300),
    "two": range(200),
    "parts of two": range(150, 250),
    "all": range(ROWS),
}


def delete(table: dr.Table, condition: str, source: pa.Table) -> None:
    table.delete(condition)


def update(table: dr.Table, condition: str, source: pa.Table) -> None:
    table.update(set={"v": "v + 1000"}, where=condition)


def overwrite(table: dr.Table, condition: str, source: pa.Table) -> None:
    table.overwrite(source, condition)


def merge_delete(table: dr.Table, condition: str, source: pa.Table) -> None:
    table.merge(source, "id").when_matched_delete().execute()


def merge_update(table: dr.Table, condition: str, source: pa.Table) -> None:
    table.merge(source, "id").when_matched_update_all().execute()


@pytest.mark.parametrize("changed", RANGES.values(), ids=RANGES)
@pytest.mark.parametrize("statement", [delete, update, overwrite, merge_delete, merge_update])
@pytest.mark.parametrize("mode", MODES)
def test_only_the_matching_rows_change(
    mode: str,
    statement: Callable[[dr.Table, str, pa.Table], None],
    changed: range,
    tmp_path: Path,
) -> None:
    ids = pa.array(range(ROWS))
    pq.write_table(pa.table({"id": ids, "v": ids}), tmp_path / "a.parquet", row_group_size=100)
    table = dr.convert(tmp_path)
    if MODES[mode]:
        table.set_properties(MODES[mode])

    condition = f"id >= {changed.start} AND id < {changed.stop}"
    values = [id + 1000 for id in changed]
    statement(table, condition, pa.table({"id": list(changed), "v": values}))

    expected = {id: id for id in range(ROWS) if id not in changed}
    if statement not in {delete, merge_delete}:
        expected |= dict(zip(changed, values, strict=True))
    content = pa.table(table.snapshot(strict=True))
    columns = (content[name].to_pylist() for name in ("id", "v"))
    assert sorted(zip(*columns, strict=True)) == sorted(expected.items())
