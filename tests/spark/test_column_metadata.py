"""Column metadata in a schema: stored in new tables, and returned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark.support.statements import run_statement

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

METADATA = {"comment": "the id", "owner": "team", "n": {"deep": [1, 2]}}
LENGTH = {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}


def described(spark: Any) -> Any:
    """Create rows whose columns, and fields of structs at any depth, have metadata."""
    from pyspark.sql.types import (
        ArrayType,
        IntegerType,
        MapType,
        StringType,
        StructField,
        StructType,
    )

    part = StructType([StructField("a", IntegerType(), True, {"comment": "inner"})])
    schema = StructType(
        [
            StructField("id", IntegerType(), False, METADATA),
            StructField("st", part),
            StructField("list", ArrayType(part)),
            StructField("map", MapType(StringType(), part)),
            StructField("vc", StringType(), True, LENGTH),
            StructField("ids", IntegerType(), True, {"delta.columnMapping.id": 7}),
        ]
    )
    return spark.createDataFrame([(1, (2,), [(3,)], {"k": (4,)}, "abc", 5)], schema)


def new(spark: Any, rows: Any, path: Path) -> None:
    dr_spark.write(rows, path)


def merged(spark: Any, rows: Any, path: Path) -> None:
    dr_spark.write(rows.select("id"), path)
    dr_spark.write(rows, path, schema_mode="merge")


def replaced(spark: Any, rows: Any, path: Path) -> None:
    dr_spark.write(spark.range(1), path)
    dr_spark.write(rows, path, mode="overwrite", schema_mode="overwrite")


def by_format(spark: Any, rows: Any, path: Path) -> None:
    dr_spark.register(spark)
    rows.write.format("deltareplay").mode("append").save(str(path))


def as_select(spark: Any, rows: Any, path: Path) -> None:
    rows.createOrReplaceTempView("described_rows")
    run_statement(spark, f"CREATE TABLE delta.`{path}` AS SELECT * FROM described_rows")


def replaced_as_select(spark: Any, rows: Any, path: Path) -> None:
    dr_spark.write(spark.range(1), path)
    rows.createOrReplaceTempView("described_rows")
    text = f"CREATE OR REPLACE TABLE delta.`{path}` AS SELECT * FROM described_rows"
    run_statement(spark, text)


@pytest.mark.parametrize("way", [new, merged, replaced, by_format, as_select, replaced_as_select])
def test_metadata_equals_that_of_delta_spark(
    spark: Any, tmp_path: Path, way: Callable[[Any, Any, Path], None]
) -> None:
    rows = described(spark)
    rows.write.format("delta").save(str(tmp_path / "theirs"))
    way(spark, rows, tmp_path / "ours")
    schemas = [
        json.loads(dr.Table(tmp_path / name).snapshot().schema_json) for name in ("ours", "theirs")
    ]
    assert schemas[0] == schemas[1]


def test_reads_return_comments(spark: Any, tmp_path: Path) -> None:
    # as in the schemas that delta-spark reads, also for partition columns
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (k INT NOT NULL COMMENT 'the key', "
        "p VARCHAR(5) NOT NULL COMMENT 'the part', v INT) USING delta PARTITIONED BY (p)"
    )
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 'a', 2), (2, 'b', 3)")
    for _ in range(2):
        theirs = spark.read.format("delta").load(str(path)).schema
        expected = [field.metadata for field in theirs]
        table = dr_spark.DeltaTable.forPath(spark, str(path))
        for frame in (dr_spark.read(spark, path), table.toDF()):
            assert [field.metadata for field in frame.schema] == expected
        # files with vectors are read by a separate branch
        spark.sql(
            f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = true)"
        )
        spark.sql(f"DELETE FROM delta.`{path}` WHERE v = 3")


COLLATED = "'Abc' COLLATE UTF8_LCASE AS v"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT 1 AS id, {COLLATED}",
        "SELECT 1 AS id, array('x' COLLATE UTF8_LCASE) AS v",
        "SELECT 1 AS id, named_struct('a', array('x' COLLATE UNICODE_CI)) AS v",
    ],
)
def test_collations_are_refused(spark: Any, tmp_path: Path, query: str) -> None:
    # as in delta-spark 4.4 (DELTA_UNSUPPORTED_DATA_TYPES, DELTA_FAILED_TO_MERGE_FIELDS)
    rows, path = spark.sql(query), tmp_path / "t"
    plain = tmp_path / "plain"
    dr_spark.write(spark.sql("SELECT 1 AS id, 'x' AS v"), plain)
    calls = [
        lambda: dr_spark.write(rows, path),
        lambda: dr_spark.write(rows, plain),
        lambda: dr_spark.write(rows, plain, mode="overwrite", schema_mode="overwrite"),
        lambda: dr_spark.write(rows.withColumnRenamed("v", "w"), plain, schema_mode="merge"),
        lambda: run_statement(spark, f"CREATE TABLE delta.`{path}` AS {query}"),
        lambda: run_statement(spark, f"CREATE TABLE delta.`{path}` (v STRING COLLATE UTF8_LCASE)"),
    ]
    for call in calls:
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            call()
        assert caught.value.code == "spark.collation"
    assert not path.exists()
    assert dr.Table(plain).snapshot().version == 0
    dr_spark.register(spark)
    with pytest.raises(Exception, match=r"spark\.collation|has a collation"):
        rows.write.format("deltareplay").mode("append").save(str(path))
    assert not path.exists()


def test_statements_store_collated_values_as_text(spark: Any, tmp_path: Path) -> None:
    # as in delta-spark 4.4
    path = tmp_path / "t"
    dr_spark.write(spark.sql("SELECT 1 AS id, 'x' AS v"), path)
    name = f"delta.`{path}`"
    dr_spark.sql(spark, f"INSERT INTO {name} SELECT 2, 'Abc' COLLATE UTF8_LCASE")
    dr_spark.sql(spark, f"UPDATE {name} SET v = 'Y' COLLATE UTF8_LCASE WHERE id = 1")
    dr_spark.sql(
        spark,
        f"MERGE INTO {name} t USING (SELECT 3 AS id, {COLLATED}) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT *",
    )
    rows = spark.read.format("delta").load(str(path)).orderBy("id")
    assert [tuple(row) for row in rows.collect()] == [(1, "Y"), (2, "Abc"), (3, "Abc")]
    assert "COLLAT" not in dr.Table(path).snapshot().schema_json
