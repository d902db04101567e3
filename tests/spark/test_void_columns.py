"""Columns of nulls, which have no type until their first value comes.

As delta-spark 4.4 does it (delta-io/delta issues 944 and 1855).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable

pytestmark = pytest.mark.spark


def rows(spark: Any, path: Path) -> list[Any]:
    return sorted(tuple(row) for row in dr_spark.read(spark, path).select("id", "v").collect())


def merge(spark: Any, path: Path, source: Any, *, evolves: bool = True) -> None:
    table = DeltaTable.forPath(spark, str(path)).alias("t")
    builder = table.merge(source.alias("s"), "t.id = s.id")
    builder = builder.withSchemaEvolution() if evolves else builder
    builder.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


#: The types of values, and expressions of the id that give them.
VALUES = {
    "string": "concat('VALUE', id)",
    "date": "date_add(DATE '2026-01-01', id)",
    "struct<a:int,b:string>": "named_struct('a', id, 'b', 'x')",
    "array<bigint>": "array(CAST(id AS BIGINT))",
}


@pytest.mark.parametrize("mapping", ["none", "name"])
@pytest.mark.parametrize("type_", VALUES)
def test_the_first_values_give_a_column_its_type(
    spark: Any, tmp_path: Path, type_: str, mapping: str
) -> None:
    path, mapped = tmp_path / "t", {"delta.columnMapping.mode": mapping}
    dr_spark.write(spark.sql("SELECT 1 AS id"), path, properties=mapped)
    merge(spark, path, spark.sql("SELECT 1 AS id, NULL AS v"))
    assert dr.Table(path).snapshot().schema.field("v").type == pa.null()
    dr_spark.write(spark.sql("SELECT 5 AS id, NULL AS v"), path)
    with pytest.raises(dr.InvalidArgumentError, match="has no type in the table") as caught:
        dr_spark.write(spark.sql(f"SELECT id, {VALUES[type_]} AS v FROM VALUES (1) AS t(id)"), path)
    assert caught.value.code == "write.columns"
    given = spark.sql(f"SELECT id, {VALUES[type_]} AS v FROM VALUES (1), (2) AS t(id)")
    with pytest.raises(dr.InvalidArgumentError, match="has no type in the table"):
        merge(spark, path, given, evolves=False)
    merge(spark, path, given)
    more = spark.sql(f"SELECT id, {VALUES[type_]} AS v FROM VALUES (3) AS t(id)")
    dr_spark.write(more, path, schema_mode="merge")
    expected = spark.sql(f"SELECT id, {VALUES[type_]} AS v FROM VALUES (1), (2), (3) AS t(id)")
    assert rows(spark, path) == [*sorted(map(tuple, expected.collect())), (5, None)]
    assert dr_spark.read(spark, path).schema["v"].dataType.simpleString() == type_


def test_a_field_of_nulls_gets_its_type(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    dr_spark.write(spark.sql("SELECT 1 AS id"), path)
    merge(spark, path, spark.sql("SELECT 1 AS id, named_struct('a', 7, 'b', NULL) AS v"))
    assert rows(spark, path) == [(1, (7,))]
    dr_spark.write(spark.sql("SELECT 4 AS id, named_struct('a', 8, 'b', NULL) AS v"), path)
    dr_spark.update(spark, path, "id = 4", {"id": "5"})
    merge(spark, path, spark.sql("SELECT 2 AS id, named_struct('a', 7, 'b', 'value') AS v"))
    assert rows(spark, path) == [(1, (7, None)), (2, (7, "value")), (5, (8, None))]


def test_an_insert_gives_a_column_its_type(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    dr_spark.write(spark.sql("SELECT 1 AS id"), path)
    merge(spark, path, spark.sql("SELECT 1 AS id, NULL AS v"))
    dr_spark.sql(spark, f"INSERT INTO delta.`{path}` VALUES (2, NULL)")
    with pytest.raises(dr.InvalidArgumentError, match="has no type in the table"):
        dr_spark.sql(spark, f"INSERT INTO delta.`{path}` VALUES (3, 'x')")
    query = "SELECT 3 AS id, 'x' AS v"
    dr_spark.sql(spark, f"INSERT WITH SCHEMA EVOLUTION INTO delta.`{path}` BY NAME {query}")
    assert rows(spark, path) == [(1, None), (2, None), (3, "x")]
