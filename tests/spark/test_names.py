"""Tables by their names in the session's catalog, for all functions that accept a path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spark.conftest import SESSION

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable

pytestmark = pytest.mark.spark


@pytest.fixture
def name(spark: Any) -> Iterator[str]:
    """A table of two rows in a separate schema."""
    if SESSION != "delta-spark":
        dr_spark.register(spark, "delta")
    spark.sql("CREATE SCHEMA IF NOT EXISTS named")
    created = DeltaTable.createOrReplace(spark).tableName("named.orders")
    created.addColumn("id", "bigint").property("delta.checkpointPolicy", "v2").execute()
    dr_spark.write(spark.range(2), "named.orders")
    yield "named.orders"
    spark.sql("DROP TABLE IF EXISTS named.orders")


def test_every_function_accepts_a_name(spark: Any, name: str) -> None:
    assert sorted(row.id for row in dr_spark.read(spark, name).collect()) == [0, 1]
    assert dr_spark.count(spark, name) == 2
    dr_spark.write(spark.range(2, 4), name)
    dr_spark.delete(spark, name, "id = 0")
    dr_spark.update(spark, name, "id = 1", {"id": "id + 10"})
    merge = dr_spark.merge(spark, name, spark.range(3, 5), "target.id = source.id")
    merge.when_not_matched_insert_all().execute()
    dr_spark.create_view(spark, "of_a_name", name)
    assert sorted(row.id for row in spark.table("of_a_name").collect()) == [2, 3, 4, 11]
    assert dr_spark.history(spark, name).count() == 6
    assert dr_spark.detail(spark, "`named`.`orders`").first().numFiles > 0
    assert dr_spark.files(spark, name).count() > 0
    assert dr_spark.changes(spark, name, 1).count() > 0
    assert dr_spark.verify(spark, name).ok
    dr_spark.optimize(spark, name)
    dr_spark.write_checkpoint(spark, name)
    assert DeltaTable.forName(spark, name).toDF().count() == 4


def test_accepts_a_delta_path_in_backticks(spark: Any, tmp_path: Path) -> None:
    dr.write(tmp_path / "t", {"id": [1]})

    assert dr_spark.count(spark, f"delta.`{tmp_path / 't'}`") == 1


def test_accepts_a_delta_path_in_the_sessions_catalog(spark: Any, tmp_path: Path) -> None:
    table = f"spark_catalog.delta.`{tmp_path / 't'}`"
    for text in (
        f"CREATE TABLE {table} (id INT) USING delta",
        f"INSERT INTO {table} VALUES (1), (2)",
        f"DELETE FROM {table} AS t WHERE t.id = 1",
        f"UPDATE {table} SET id = id + 1",
    ):
        dr_spark.sql(spark, text)

    assert [row.id for row in dr_spark.sql(spark, f"SELECT id FROM {table}").collect()] == [3]
    assert dr_spark.count(spark, table) == 1
    assert DeltaTable.forName(spark, table).toDF().count() == 1


def test_a_table_at_a_relative_path_precedes_a_name(
    spark: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dr.write("named.orders", {"id": [7, 8, 9]})

    assert dr_spark.count(spark, name) == 3


def test_rejects_views_and_unknown_names(spark: Any) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS named")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW a_view AS SELECT 1 AS id")

    with pytest.raises(dr.TableNotFoundError) as caught:
        dr_spark.read(spark, "a_view")
    assert caught.value.code == "name.not_delta"
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr_spark.read(spark, "named.nothing")
    assert caught.value.code == "table.not_found"


def test_a_temporary_view_does_not_hide_a_qualified_name(spark: Any, name: str) -> None:
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW orders AS SELECT 'of the view' AS id")
    try:
        assert sorted(row.id for row in spark.table(name).collect()) == [0, 1]  # as in Spark
        for qualified in (name, f"spark_catalog.{name}"):
            rows = DeltaTable.forName(spark, qualified).toDF().collect()
            assert sorted(row.id for row in rows) == [0, 1]
        with pytest.raises(dr.TableNotFoundError, match="a view"):
            DeltaTable.forName(spark, "orders")
    finally:
        spark.catalog.dropTempView("orders")


@pytest.mark.parametrize("mode", ["append", "overwrite", "error", "ignore"])
def test_write_creates_a_table_in_the_catalog(
    spark: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    # as delta-spark's saveAsTable; the table is at the catalog's default path
    monkeypatch.chdir(tmp_path)
    new = f"named.new_{mode}"
    try:
        assert dr_spark.write(spark.range(2), new, mode=mode).version == 0  # type: ignore[arg-type]
        assert list(tmp_path.iterdir()) == []
        assert spark.catalog.tableExists(new)
        dr_spark.write(spark.range(2, 4), new)
        assert dr_spark.count(spark, f"`named`.`new_{mode}`") == 4
        location = dr_spark.detail(spark, new).first().location
        assert location.rstrip("/").endswith(f"named.db/new_{mode}")
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {new}")


def test_write_to_a_new_name_refuses_files_of_a_dropped_table(spark: Any, name: str) -> None:
    new = "named.left_over"
    try:
        dr_spark.write(spark.range(2), new)
        spark.sql(f"DROP TABLE {new}")
        with pytest.raises(dr.InvalidArgumentError) as caught:
            dr_spark.write(spark.range(2), new)
        assert caught.value.code == "table.exists"
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {new}")


def test_write_rejects_a_missing_schema(spark: Any) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr_spark.write(spark.range(2), "no_such_schema.orders")
    assert caught.value.code == "name.schema"


def test_a_path_that_begins_with_a_dot_is_not_a_name(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dr_spark.write(spark.range(2), "./new_orders")
    assert [path.name for path in tmp_path.iterdir()] == ["new_orders"]
