"""Names in double quotes, as in deltalake's predicates, are strings here, as in Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import deltareplay as dr


@pytest.fixture
def table(tmp_path: Path) -> dr.Table:
    rows = pa.table({"Name": ["x", "y"], "kind": ["name", "other"]})
    table = dr.create_table(tmp_path / "t", rows.schema)
    table.append(rows)
    return table


@pytest.mark.parametrize("where", ["\"Name\" <> 'x'", '"Name" IS NOT NULL', "\"Name\" = 'x'"])
def test_conditions_without_a_column(where: str, table: dr.Table) -> None:
    """They would match every row, or none."""
    for call in (
        lambda: table.delete(where),
        lambda: table.update(where, {"kind": "'z'"}),
        lambda: table.overwrite([{"Name": "z"}], where=where),
        lambda: table.snapshot().scan(filter=where),
    ):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            call()
        assert caught.value.code == "filter.double_quotes"
        assert "`Name`" in str(caught.value)
    assert table.snapshot().version == 1


def test_strings_that_are_names_of_columns(table: dr.Table) -> None:
    with pytest.warns(dr.DeltaReplayWarning, match="`name`"):
        rows = table.snapshot().scan(filter='kind = "name"').to_arrow()
    assert rows["Name"].to_pylist() == ["x"]
    with pytest.warns(dr.DeltaReplayWarning, match='"Name" is a string'):
        table.delete("kind = 'other' AND \"Name\" <> 'x'")
    with pytest.warns(dr.DeltaReplayWarning, match='"kind" is a string'):
        table.merge([{"Name": "x"}], 'target.Name = source.Name AND "kind" = "kind"')


@pytest.mark.filterwarnings("error")
def test_other_strings(table: dr.Table) -> None:
    snapshot = table.snapshot()
    assert snapshot.scan(filter='`Name` = "x"').count() == 1
    assert snapshot.scan(filter="`Name` = '\"Name\"'").count() == 0
    assert snapshot.scan(filter='"a" = "a"').count() == 2
    table.delete('`Name` = "y"')
