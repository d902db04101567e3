"""The three builders of a merge record the same clauses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay._table.merge import Clause, Merge
from deltareplay.spark.delta_table.expressions import Expressions
from deltareplay.spark.delta_table.merge_builder import DeltaMergeBuilder

#: Arguments that recording clauses does not use.
NONE: Any = None

CLAUSES = (
    Clause("matched", "update", "c = 1", {"a": "1"}),
    Clause("matched", "update", None, None),
    Clause("matched", "delete", "c = 2", None),
    Clause("not_matched", "insert", None, {"a": "2"}),
    Clause("not_matched", "insert", "c = 3", None),
    Clause("not_matched_by_source", "update", None, {"a": "3"}),
    Clause("not_matched_by_source", "delete", "c = 4", None),
)


@pytest.fixture
def table(tmp_path: Path) -> dr.Table:
    return dr.create_table(tmp_path / "t", pa.schema([("a", pa.int64())]))


def by_methods(merge: Any) -> Any:
    """Return the clauses of `Table.merge` and `deltareplay.spark.merge` by name."""
    return (
        merge.when_matched_update({"a": "1"}, "c = 1")
        .when_matched_update_all()
        .when_matched_delete("c = 2")
        .when_not_matched_insert({"a": "2"})
        .when_not_matched_insert_all("c = 3")
        .when_not_matched_by_source_update({"a": "3"})
        .when_not_matched_by_source_delete("c = 4")
    )


def test_all_builders_record_the_same_clauses(table: dr.Table) -> None:
    pytest.importorskip("pyspark")
    assert by_methods(table.merge([{"a": 1}], "a")).clauses == CLAUSES
    assert by_methods(Merge.of(NONE)).clauses == CLAUSES
    merge = (
        DeltaMergeBuilder(NONE, table, Expressions(), NONE, "a = b")
        .whenMatchedUpdate("c = 1", {"a": "1"})
        .whenMatchedUpdateAll()
        .whenMatchedDelete("c = 2")
        .whenNotMatchedInsert(values={"a": "2"})
        .whenNotMatchedInsertAll("c = 3")
        .whenNotMatchedBySourceUpdate(set={"a": "3"})
        .whenNotMatchedBySourceDelete("c = 4")
    )
    assert merge._clauses == CLAUSES


def test_methods_of_delta_merge_builder_return_new_builders(table: dr.Table) -> None:
    """As in delta-spark 4.4."""
    first = DeltaMergeBuilder(NONE, table, Expressions(), NONE, "a = b")
    second = first.whenMatchedDelete()
    third = second.withSchemaEvolution().whenNotMatchedInsertAll()
    assert [len(builder._clauses) for builder in (first, second, third)] == [0, 1, 2]


def test_assignments_must_not_be_none() -> None:
    """None would set all columns, as `when_matched_update_all` does."""
    merge = Merge.of(NONE)
    for method in (
        merge.when_matched_update,
        merge.when_not_matched_insert,
        merge.when_not_matched_by_source_update,
    ):
        with pytest.raises(dr.InvalidArgumentError, match="needs to be a mapping") as caught:
            method(NONE)
        assert caught.value.code == "argument.type"
    assert merge.clauses == ()
