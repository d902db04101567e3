"""Statements on files whose statistics have no row count, as other writers leave them.

Expected values are counted by hand; delta-spark has the same for ``MERGE`` (delta-rs issue 2477).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.support.tiers import pairs
from support import data, logs

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

#: Whether the statistics of each file have a row count.
COUNTED = {"none": [False, False], "one of two": [True, False]}

_FEATURES = ["deletionVectors"]
VECTORS = logs.protocol(
    3, 7, reader_features=_FEATURES, writer_features=[*_FEATURES, "changeDataFeed"]
)


def table_of(path: Path, counted: list[bool], properties: dict[str, str] | None = None) -> Path:
    """Write a table with the ids 0 to 2 and 3 to 5 in two files."""
    log = logs.LogBuilder(path)
    schema = logs.schema(id="integer", v="string")
    log.create(schema, configuration=properties, protocol_action=VECTORS if properties else None)
    files = []
    for number, has_count in enumerate(counted):
        ids = [3 * number + item for item in range(3)]
        rows = {"id": pa.array(ids, pa.int32()), "v": list("abc")}
        files.append(data.write(path, f"{number}.parquet", rows, stats=has_count))
    log.commit(*files)
    return path


def rows(path: Path) -> list[tuple[int, str | None]]:
    result = dr.Table(path).snapshot().scan().to_arrow().to_pylist()
    return sorted((row["id"], row["v"]) for row in result)


def metrics(path: Path) -> dict[str, int]:
    [commit] = dr.Table(path).history(limit=1).to_pylist()
    return {name: int(count) for name, count in dict(commit["operationMetrics"]).items()}


def merged(spark: Any, path: Path, clauses: str) -> dict[str, int]:
    source = "SELECT 4 AS id UNION ALL SELECT 77"
    on = f"MERGE INTO delta.`{path}` t USING ({source}) s ON t.id = s.id"
    dr_spark.sql(spark, f"{on} {clauses}").collect()
    return metrics(path)


OLD = [(0, "a"), (1, "b"), (2, "c"), (3, "a"), (4, "b"), (5, "c")]
UPDATED = [(0, "a"), (1, "b"), (2, "c"), (3, "a"), (4, "m"), (5, "c")]
DELETED = [item for item in OLD if item[0] != 4]


@pytest.mark.parametrize(("files", "vectors"), pairs(list(COUNTED), [False, True]))
def test_statements_report_exact_counts(
    spark: Any, tmp_path: Path, files: str, vectors: bool
) -> None:
    counted = COUNTED[files]
    properties = {"delta.enableDeletionVectors": "true"} if vectors else {}

    def new(name: str) -> Path:
        return table_of(tmp_path / name, counted, properties)

    path = new("update")
    assert dr_spark.update(spark, path, "id = 4", {"v": "'m'"}).metrics["numCopiedRows"] == 2
    assert (rows(path), metrics(path)["numCopiedRows"]) == (UPDATED, 2)
    path = new("delete")
    assert dr_spark.delete(spark, path, "id = 4").metrics["numDeletedRows"] == 1
    assert (rows(path), metrics(path)["numCopiedRows"]) == (DELETED, 2)
    path = new("every row of a file")
    dr_spark.delete(spark, path, "id >= 3 AND v <> 'z'")
    assert (rows(path), metrics(path)["numCopiedRows"]) == (OLD[:3], 0)
    assert metrics(path)["numRemovedFiles"] == 1
    path = new("merge")
    reported = merged(spark, path, "WHEN MATCHED THEN UPDATE SET v = 'm'")
    assert rows(path) == UPDATED
    assert (reported["numTargetRowsInserted"], reported["numTargetRowsCopied"]) == (0, 2)
    path = new("merge that deletes")
    reported = merged(spark, path, "WHEN MATCHED THEN DELETE")
    assert rows(path) == DELETED
    assert (reported["numTargetRowsDeleted"], reported["numTargetRowsCopied"]) == (1, 2)
    path = new("merge that inserts")
    clauses = "WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    reported = merged(spark, path, clauses)
    assert rows(path) == [*UPDATED, (77, None)]
    counts = [reported[f"numTargetRows{item}"] for item in ("Inserted", "Updated", "Copied")]
    assert counts == [1, 1, 2]
    path = new("replaceWhere")
    new_rows = spark.createDataFrame([(4, "n")], "id int, v string")
    done = dr_spark.write(new_rows, path, mode="overwrite", where="id = 4")
    assert rows(path) == [(4, "n") if item[0] == 4 else item for item in OLD]
    assert (done.metrics["numDeletedRows"], done.metrics["numCopiedRows"]) == (1, 2)
    assert dr_spark.count(spark, path) == 6
    dr_spark.optimize(spark, path)
    assert (len(rows(path)), dr_spark.count(spark, path)) == (6, 6)


def test_rows_of_skipped_files_are_not_counted(spark: Any, tmp_path: Path) -> None:
    """As delta-spark: without statistics, ``DELETE`` returns -1, and the history has no number."""
    path = table_of(tmp_path / "t", COUNTED["one of two"])
    [row] = dr_spark.sql(spark, f"DELETE FROM delta.`{path}`").collect()
    assert row["num_affected_rows"] == -1
    assert rows(path) == []
    assert "numDeletedRows" not in metrics(path)
    core_path = table_of(tmp_path / "core", COUNTED["one of two"])
    assert "numDeletedRows" not in dr.Table(core_path).delete().metrics
    counted_path = table_of(tmp_path / "known", [True, True])
    assert dr.Table(counted_path).delete().metrics["numDeletedRows"] == 6


def test_files_with_vectors_and_without_a_row_count(spark: Any, tmp_path: Path) -> None:
    """The protocol requires the count; a reader does not need it."""
    log = logs.LogBuilder(tmp_path)
    on = {"delta.enableDeletionVectors": "true"}
    schema = logs.schema(id="integer", v="string")
    log.create(schema, configuration=on, protocol_action=VECTORS)
    values = {"id": pa.array([0, 1, 2, 3], pa.int32()), "v": list("abcd")}
    log.commit(data.write(tmp_path, "0.parquet", values, stats=False, deleted=[1]))
    assert dr_spark.count(spark, tmp_path) == 3
    done = dr_spark.update(spark, tmp_path, "id = 2", {"v": "'u'"})
    assert (done.metrics["numCopiedRows"], done.metrics["numUpdatedRows"]) == (2, 1)
    assert rows(tmp_path) == [(0, "a"), (2, "u"), (3, "d")]


def test_changes_of_a_delete_with_vectors(spark: Any, tmp_path: Path) -> None:
    """A file without a count is copied, which delta-spark would show as new rows."""
    properties = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    path = table_of(tmp_path / "t", [False, True], properties)
    dr_spark.delete(spark, path, "id IN (0, 4)")
    displayed = spark.sql(f"SELECT id, _change_type FROM table_changes_by_path('{path}', 2)")
    assert sorted(map(tuple, displayed.collect())) == [(0, "delete"), (4, "delete")]
    result = dr.Table(path).changes(2).to_arrow().select(["id", "_change_type"]).to_pylist()
    assert sorted((row["id"], row["_change_type"]) for row in result) == [
        (0, "delete"),
        (4, "delete"),
    ]
