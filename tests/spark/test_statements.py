"""Statements as delta-spark runs them: on equal tables, with equal rows afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr

pytestmark = pytest.mark.spark

Rows = list[dict[str, Any]]
#: Adds clauses to a merge of ours.
Clauses = Callable[[dr.Merge], dr.Merge]

TARGET = pa.schema([("id", pa.int64()), ("v", pa.int32())])
TARGET_ROWS: Rows = [{"id": 1, "v": 0}, {"id": 5, "v": 5}, {"id": None, "v": 8}]
SOURCE = pa.schema([("id", pa.int64()), ("n", pa.int32())])
SOURCE_ROWS: Rows = [{"id": 1, "n": 1}, {"id": None, "n": 2}, {"id": 7, "n": 7}]

UPDATE_SQL = "WHEN MATCHED THEN UPDATE SET v = s.n + 100"
INSERT_SQL = "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.n)"
DELETE_SQL = "WHEN MATCHED THEN DELETE"


def update(merge: dr.Merge) -> dr.Merge:
    return merge.when_matched_update({"v": "s.n + 100"})


def insert(merge: dr.Merge) -> dr.Merge:
    return merge.when_not_matched_insert({"id": "s.id", "v": "s.n"})


class Beside:
    """One table twice: ours, and delta-spark's."""

    def __init__(self, spark: Any, root: Path, schema: pa.Schema, *files: Rows) -> None:
        self.spark = spark
        self.path = root / "theirs"
        self.ours, theirs = (dr.create_table(root / name, schema) for name in ("ours", "theirs"))
        for rows in files:
            for table in (self.ours, theirs):
                table.append(pa.Table.from_pylist(rows, schema))

    def sql(self, text: str) -> str | None:
        """Runs a statement on ``{t}``; gives the condition of its error."""
        try:
            self.spark.sql(text.replace("{t}", f"delta.`{self.path}`")).collect()
        except Exception as error:
            return str(getattr(error, "getCondition", lambda: None)() or error)
        return None

    def merge(self, on: str, source: pa.Table, clauses: Clauses, sql: str) -> list[str | None]:
        """The same merge on both sides: what went wrong here, and there."""
        self.spark.createDataFrame(source).createOrReplaceTempView("given")
        theirs = self.sql(f"MERGE INTO {{t}} t USING given s ON {on} {sql}")
        merge = self.ours.merge(source, on, source_alias="s", target_alias="t")
        try:
            clauses(merge).execute()
        except dr.DeltaReplayError as error:
            return [error.code, theirs]
        return [None, theirs]

    def same_rows(self) -> Rows:
        names = self.ours.snapshot().schema.names
        read = self.spark.read.format("delta").load(str(self.path)).collect()
        theirs = [row.asDict(recursive=True) for row in read]
        ours = self.ours.snapshot().scan().to_arrow().to_pylist()

        def sort(rows: Rows) -> Rows:
            return sorted(rows, key=lambda row: [(row[n] is not None, str(row[n])) for n in names])

        assert sort(ours) == sort(theirs)
        return sort(ours)


ON: list[tuple[str, int]] = [
    ("t.id <=> s.id", 2),
    ("t.id IS NOT DISTINCT FROM s.id", 2),
    ("t.id <=> s.id AND t.v = 8", 1),
    ("s.id <=> t.id AND v + 0 <=> n + 6", 1),
    ("t.id = s.id OR t.v = s.n + 6", 2),
    ("t.id = s.id OR (t.id IS NULL AND s.id IS NULL)", 2),
    ("t.id > s.id", 1),
    ("v = 5 AND n = 1", 1),
    ("s.n = 2", 3),
    ("t.id IN (s.id, s.n + 3)", 2),
    ("t.id BETWEEN s.id AND s.n", 1),
    ("t.v = s.n - 1 AND t.id = s.id", 1),
    ("1 = 0", 0),
]


@pytest.mark.parametrize(("on", "updated"), ON, ids=[on for on, _ in ON])
def test_any_condition_joins(spark: Any, tmp_path: Path, on: str, updated: int) -> None:
    both = Beside(spark, tmp_path, TARGET, TARGET_ROWS[:1], TARGET_ROWS[1:])
    source = pa.Table.from_pylist(SOURCE_ROWS, SOURCE)
    done = both.merge(on, source, lambda merge: insert(update(merge)), f"{UPDATE_SQL} {INSERT_SQL}")
    assert done == [None, None]
    assert sum(row["v"] > 100 for row in both.same_rows()) == updated


def test_a_delete_of_every_pair(spark: Any, tmp_path: Path) -> None:
    both = Beside(spark, tmp_path, TARGET, TARGET_ROWS)
    source = pa.Table.from_pylist(SOURCE_ROWS, SOURCE)
    assert both.merge(
        "NOT (t.id <=> s.id)", source, lambda merge: merge.when_matched_delete(), DELETE_SQL
    ) == [None, None]
    assert both.same_rows() == []


def test_columns_that_the_table_lacks_are_left_out(spark: Any, tmp_path: Path) -> None:
    both = Beside(spark, tmp_path, TARGET, TARGET_ROWS)
    source = pa.table(
        {
            "extra": ["x", "y"],
            "id": pa.array([1, 6], pa.int64()),
            "v": pa.array([11, 66], pa.int32()),
            "more": [[1], None],
        }
    )
    everything = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    assert both.merge(
        "t.id = s.id",
        source,
        lambda merge: merge.when_matched_update_all().when_not_matched_insert_all(),
        everything,
    ) == [None, None]
    assert {"id": 6, "v": 66} in both.same_rows()
    ours, theirs = both.merge(
        "t.id = s.id",
        source,
        lambda merge: merge.when_matched_update({"extra": "s.extra"}),
        "WHEN MATCHED THEN UPDATE SET extra = s.extra",
    )
    assert ours == "rows.column"
    assert theirs is not None


TWICE = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
SEVERAL: list[tuple[str, Clauses, bool]] = [
    (
        "WHEN MATCHED AND s.n = 2 THEN UPDATE SET v = s.n",
        lambda merge: merge.when_matched_update({"v": "s.n"}, "s.n = 2"),
        False,
    ),
    (
        "WHEN MATCHED AND s.n = 9 THEN DELETE",
        lambda merge: merge.when_matched_delete("s.n = 9"),
        False,
    ),
    (
        "WHEN MATCHED AND s.n = 1 THEN DELETE WHEN MATCHED THEN DELETE",
        lambda merge: merge.when_matched_delete("s.n = 1").when_matched_delete(),
        False,
    ),
    ("WHEN MATCHED AND true THEN DELETE", lambda merge: merge.when_matched_delete("true"), False),
    (DELETE_SQL, lambda merge: merge.when_matched_delete(), True),
    (
        f"{DELETE_SQL} {INSERT_SQL}",
        lambda merge: insert(merge.when_matched_delete()),
        True,
    ),
    (
        f"{DELETE_SQL} WHEN NOT MATCHED BY SOURCE THEN DELETE",
        lambda merge: merge.when_matched_delete().when_not_matched_by_source_delete(),
        True,
    ),
    (INSERT_SQL, insert, True),
    (
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        lambda merge: merge.when_not_matched_by_source_delete(),
        False,
    ),
    (
        f"{INSERT_SQL} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = -1",
        lambda merge: insert(merge).when_not_matched_by_source_update({"v": -1}),
        False,
    ),
]


@pytest.mark.parametrize(("sql", "clauses", "allowed"), SEVERAL, ids=[sql for sql, *_ in SEVERAL])
def test_two_rows_for_one(
    spark: Any, tmp_path: Path, sql: str, clauses: Clauses, allowed: bool
) -> None:
    both = Beside(spark, tmp_path, TARGET, TARGET_ROWS)
    rows = [{"id": 1, "n": 1}, {"id": 1, "n": 2}, {"id": 9, "n": 9}]
    source = pa.Table.from_pylist(rows, SOURCE)
    expected = [None, None] if allowed else ["rows.ambiguous", TWICE]
    assert both.merge("t.id = s.id", source, clauses, sql) == expected
    both.same_rows()
