"""Statements on files of several row groups, some of which are skipped by statistics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.writing import MODES

import deltareplay as dr

ROWS = 300
#: Rows to change: of one of three row groups, of two, of parts of two, of all.
RANGES = {
    "first": range(100),
    "middle": range(100, 200),
    "last": range(200, 300),
    "two": range(200),
    "part": range(150, 250),
    "all": range(300),
}


def delete(table: dr.Table, condition: str, changed: pa.Table) -> None:
    table.delete(condition)


def update(table: dr.Table, condition: str, changed: pa.Table) -> None:
    table.update(set={"v": "v + 1000"}, where=condition)


def overwrite(table: dr.Table, condition: str, changed: pa.Table) -> None:
    table.overwrite(changed, condition)


def merge_delete(table: dr.Table, condition: str, changed: pa.Table) -> None:
    table.merge(changed, "id").when_matched_delete().execute()


def merge_update(table: dr.Table, condition: str, changed: pa.Table) -> None:
    table.merge(changed, "id").when_matched_update_all().execute()


@pytest.mark.parametrize("rows", RANGES.values(), ids=RANGES)
@pytest.mark.parametrize("statement", [delete, update, overwrite, merge_delete, merge_update])
@pytest.mark.parametrize("mode", MODES)
def test_rows_of_other_row_groups_stay(
    mode: str,
    statement: Callable[[dr.Table, str, pa.Table], None],
    rows: range,
    tmp_path: Path,
) -> None:
    ids = pa.array(range(ROWS))
    pq.write_table(pa.table({"id": ids, "v": ids}), tmp_path / "a.parquet", row_group_size=100)
    table = dr.convert(tmp_path)
    if MODES[mode]:
        table.set_properties(MODES[mode])

    condition = f"id >= {rows.start} AND id < {rows.stop}"
    values = [row + 1000 for row in rows]
    statement(table, condition, pa.table({"id": list(rows), "v": values}))

    expected = {row: row for row in range(ROWS)}
    if statement in {delete, merge_delete}:
        expected = {row: row for row in expected if row not in rows}
    else:
        expected |= dict(zip(rows, values, strict=True))
    content = pa.table(table.snapshot(strict=True))
    columns = (content[name].to_pylist() for name in ("id", "v"))
    assert sorted(zip(*columns, strict=True)) == sorted(expected.items())
