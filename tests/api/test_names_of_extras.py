"""Tables whose columns have the names of those that a scan can add."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.writing import MODES

import deltareplay as dr

EXTRAS = ("_file_path", "_row_index", "_row_id", "_row_commit_version")
SCHEMA = pa.schema([(name, pa.int64()) for name in (*EXTRAS, "id")])

Row = dict[str, int]


def row(id_: int, others: int) -> Row:
    return dict.fromkeys(EXTRAS, others) | {"id": id_}


#: Rows with other values than those that a scan would add.
ROWS = [row(0, 2), row(1, 1), row(2, 0)]


def rows_of(table: dr.Table) -> list[Row]:
    rows: list[Row] = pa.table(table.snapshot()).to_pylist()
    return sorted(rows, key=lambda row: row["id"])


@pytest.fixture(params=MODES)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> dr.Table:
    """A table with the rows, with and without row ids and deletion vectors."""
    properties = {**MODES[request.param], "delta.enableChangeDataFeed": "true"}
    table = dr.create_table(tmp_path / "t", SCHEMA, properties=properties)
    table.append(ROWS)
    return table


@pytest.mark.parametrize("name", EXTRAS)
def test_statements_take_the_columns_of_the_table(table: dr.Table, name: str) -> None:
    table.delete(f"{name} = 0")
    assert rows_of(table) == ROWS[:2]
    table.update(f"{name} = 2", {name: f"{name} + 5"})
    assert rows_of(table) == [{**ROWS[0], name: 7}, ROWS[1]]
    merge = table.merge([row(1, 1), row(9, 9)], f"target.{name} = source.{name}")
    merge.when_matched_update({"id": "source.id + 10"}).when_not_matched_insert_all().execute()
    assert rows_of(table) == [{**ROWS[0], name: 7}, row(9, 9), row(11, 1)]
    table.add_constraint("small", f"{name} < 10")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.add_constraint("smaller", f"{name} < 9")
    assert caught.value.code == "alter.constraint_broken"


def test_rows_keep_their_ids(tmp_path: Path) -> None:
    properties = MODES["copies with ids"]
    table = dr.create_table(tmp_path / "t", SCHEMA, properties=properties)
    for added in ROWS:
        table.append([added])
    ids = ["id", "_row_id", "_row_commit_version"]

    table.update("id = 1", {"_row_id": "7"})
    table.optimize(z_order_by=["id"])
    kept = table.snapshot().scan(["id"], with_row_id=True).to_arrow().select(ids).to_pylist()
    # the update is version 4
    expected = [(0, 0, 1), (1, 1, 4), (2, 2, 3)]
    assert sorted(tuple(row.values()) for row in kept) == expected


@pytest.mark.parametrize("kind", ["full-delta", "min-delta", "upsert"])
@pytest.mark.parametrize("feed", [True, False], ids=["feed", "no feed"])
def test_changes_have_the_columns_of_the_table(tmp_path: Path, kind: str, feed: bool) -> None:
    properties = MODES["copies with ids"] | {"delta.enableChangeDataFeed": str(feed).lower()}
    table = dr.create_table(tmp_path / "t", SCHEMA, properties=properties)
    table.append(ROWS)

    table.delete("id = 2")
    table.update("id = 1", {"_row_index": "7"})
    changes = table.changes(2, kind=kind, filter="_row_index > 1").to_arrow()
    assert changes.select(SCHEMA.names).to_pylist() == [{**ROWS[1], "_row_index": 7}]


@pytest.mark.parametrize("mode", MODES)
def test_a_merge_that_does_not_read_such_a_column(mode: str, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("_row_index", pa.string())])
    table = dr.create_table(tmp_path / "t", schema, properties=MODES[mode])
    table.append([{"id": number, "_row_index": "x"} for number in range(3)])

    table.merge([{"id": 1}], "id").when_matched_delete().execute()
    assert sorted(pa.table(table.snapshot())["id"].to_pylist()) == [0, 2]
