"""Counts, history, details, files and views, compared with delta-spark in the same session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from spark.support.settings import conf
from spark.test_cross_check import present
from spark.test_read import without_nullability

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark
NAMES = ["plain", "partitioned", "vectors", "clustered", "mapped_by_name", "types", "v2_json"]


@pytest.mark.parametrize("name", NAMES)
def test_history_is_that_of_describe_history(spark: Any, tables: Any, name: str) -> None:
    path = tables(name)
    theirs = spark.sql(f"DESCRIBE HISTORY delta.`{path}`")
    ours = dr_spark.history(spark, path)
    assert without_nullability(ours.schema) == without_nullability(theirs.schema)
    rows = list(zip(ours.collect(), theirs.collect(), strict=True))
    assert rows
    for result, expected in rows:
        assert comparable(result) == comparable(expected)
    assert dr_spark.history(spark, path, limit=1).count() == 1


def test_delta_spark_describes_our_writes(spark: Any, tmp_path: Any) -> None:
    rows = spark.range(2).selectExpr("id", "id AS p").coalesce(1)
    dr_spark.write(rows, tmp_path / "t", partition_columns=["p"])
    dr_spark.register(spark)
    rows.write.format("deltareplay").mode("append").save(str(tmp_path / "t"))
    dr_spark.write(rows, tmp_path / "t", mode="overwrite", partition_overwrite="dynamic")
    dr.write(tmp_path / "t", rows.toArrow())
    dr.write(tmp_path / "u", rows.toArrow(), partition_columns=["p"])
    for name, commits in (("t", 4), ("u", 1)):
        described = spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path / name}`").collect()
        assert [row["operationParameters"]["partitionBy"] for row in described] == [
            '["p"]'
        ] * commits


STATEMENTS = (
    "DELETE FROM {t} WHERE id = 1",
    "UPDATE {t} SET p = 7",
    "UPDATE {t} SET p = 8 WHERE id = 2",
    "MERGE INTO {t} t USING (SELECT DISTINCT id FROM {t}) s ON t.id = s.id "
    "WHEN MATCHED AND t.id = 3 THEN UPDATE SET p = 9 WHEN MATCHED AND t.id = 4 THEN DELETE",
    "INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 5L AS id, 6 AS n",
    "INSERT INTO {t} SELECT * FROM {t} WHERE id = 2",
    "INSERT INTO {t} (id) SELECT max(id) FROM {t}",
    "INSERT INTO {t} (id) VALUES (0)",
    "TRUNCATE TABLE {t}",
)


def test_statements_leave_the_history_of_delta_spark(spark: Any, tmp_path: Path) -> None:
    described = []
    for name, run in (("theirs", spark.sql), ("ours", lambda text: dr_spark.sql(spark, text))):
        path = tmp_path / name
        spark.range(6).selectExpr("id", "id AS p").write.format("delta").save(str(path))
        for text in STATEMENTS:
            run(text.format(t=f"delta.`{path}`"))
        described.append(dr_spark.history(spark, path, limit=len(STATEMENTS)).collect())
    for theirs, ours in zip(*described, strict=True):
        for key in ("operation", "isolationLevel", "isBlindAppend"):
            assert ours[key] == theirs[key], (ours, theirs)
        for key in ("operationParameters", "operationMetrics"):
            assert set(ours[key]) == set(theirs[key]), (ours, theirs)
        if ours.operation == "UPDATE":
            conditions = [row.operationParameters["predicate"] for row in (ours, theirs)]
            assert conditions[0] == conditions[1] == "[]" or "[]" not in conditions
        times = {name: int(n) for name, n in ours.operationMetrics.items() if "TimeMs" in name}
        assert all(0 <= time <= times["executionTimeMs"] for time in times.values())


def comparable(row: Any) -> dict[str, Any]:
    """Return a row of the history; absent and empty metrics are equal."""
    fields: dict[str, Any] = row.asDict(recursive=True)
    parameters, metrics = fields["operationParameters"], fields["operationMetrics"]
    return fields | {"operationParameters": present(parameters), "operationMetrics": metrics or {}}


@pytest.mark.parametrize("name", NAMES)
def test_detail_is_that_of_describe_detail(spark: Any, tables: Any, name: str) -> None:
    path = tables(name)
    theirs = spark.sql(f"DESCRIBE DETAIL delta.`{path}`")
    ours = dr_spark.detail(spark, path)
    assert without_nullability(ours.schema) == without_nullability(theirs.schema)
    assert ours.first().asDict() == theirs.first().asDict()


def test_detail_of_a_path_with_encoded_characters(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "a b\u00e4%20+[c]"
    dr.write(path, {"id": [1]})
    theirs = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").first()
    assert dr_spark.detail(spark, path).first()["location"] == theirs["location"]


def test_detail_of_an_older_version(spark: Any, tables: Any) -> None:
    snapshot = dr.Table(tables("plain")).snapshot(version=0)
    assert dr_spark.detail(spark, snapshot).first().numFiles == snapshot.num_files


@pytest.mark.parametrize("name", NAMES)
def test_counts(spark: Any, tables: Any, name: str) -> None:
    path = tables(name)
    expected = spark.read.format("delta").load(str(path)).count()
    assert dr_spark.count(spark, path) == expected
    assert dr_spark.read(spark, path).count() == expected


def test_a_count_by_the_log_starts_no_job(spark: Any, tables: Any) -> None:
    path = tables("changed_with_vectors")
    spark.sparkContext.setJobGroup("counting", "by the log")
    try:
        result = dr_spark.count(spark, path, version=2)
        tracker = spark.sparkContext.statusTracker()
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        assert list(tracker.getJobIdsForGroup("counting")) == []
        filtered = dr_spark.count(spark, path, version=2, filter="p = 1 and id < 50")
        assert list(tracker.getJobIdsForGroup("counting")) != []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    snapshot = dr.Table(path).snapshot(version=2)
    assert result == snapshot.scan().count()
    assert filtered == snapshot.scan(filter="p = 1 and id < 50").count()


def test_a_count_without_statistics_is_exact(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    with conf(spark, spark__databricks__delta__stats__collect="false"):
        spark.range(1000).write.format("delta").save(path)
    assert dr.Table(path).snapshot().scan().count() == 1000
    assert dr_spark.count(spark, path) == 1000


def test_files(spark: Any, tables: Any) -> None:
    snapshot = dr.Table(tables("vectors")).snapshot()
    frame = dr_spark.files(spark, snapshot)
    assert frame.columns == snapshot.files().column_names
    assert frame.selectExpr("sum(size)").first()[0] == snapshot.size_in_bytes
    lean = dr_spark.files(spark, snapshot, columns=["path", "numRecords"])
    result = sorted(tuple(row) for row in lean.collect())
    listed = snapshot.files(columns=["path", "numRecords"]).to_pylist()
    assert result == sorted((row["path"], row["numRecords"]) for row in listed)


def test_views(spark: Any, tables: Any) -> None:
    path = tables("changed_with_vectors")
    dr_spark.create_view(spark, "some_rows", path, version=3, filter="p = 1")
    result = spark.sql("SELECT count(*) AS n FROM some_rows WHERE id > 3000").first().n
    assert result == dr.Table(path).snapshot(version=3).scan(filter="p = 1 and id > 3000").count()
    spark.catalog.dropTempView("some_rows")
