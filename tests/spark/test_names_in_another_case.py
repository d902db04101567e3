"""Partition, clustering and Z-order columns named in another case than in the schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark.support.comparison import compare, create_table
from spark.support.settings import conf
from spark.support.statements import run_statement

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable

pytestmark = pytest.mark.spark

COLUMNS = "(id BIGINT, Day STRING)"
ROWS = "SELECT 1L AS id, 'mon' AS Day"


def _run_by_delta_spark(spark: Any, text: str, path: Path) -> None:
    spark.sql(text.format(t=f"delta.`{path}`"))


def _run_by_deltareplay(spark: Any, text: str, path: Path) -> None:
    run_statement(spark, text.format(t=f"delta.`{path}`"))


def _create_by_builder(tables: Any, spark: Any, path: Path, method: str) -> None:
    new = tables.create(spark).location(str(path)).addColumn("id", "BIGINT")
    getattr(new.addColumn("Day", "STRING"), method)("DAY").execute()


@pytest.mark.parametrize(
    "text",
    [
        f"CREATE TABLE {{t}} {COLUMNS} USING delta PARTITIONED BY (DAY)",
        f"CREATE TABLE {{t}} USING delta PARTITIONED BY (day) AS {ROWS}",
    ],
)
def test_partitions_by_sql(spark: Any, tmp_path: Path, text: str) -> None:
    *_, partitions, _ = compare(
        spark,
        tmp_path,
        None,
        lambda path: _run_by_delta_spark(spark, text, path),
        lambda path: _run_by_deltareplay(spark, text, path),
    )
    assert partitions == ["Day"]


def test_partitions_by_builders(spark: Any, tmp_path: Path) -> None:
    delta = pytest.importorskip("delta.tables")
    compare(
        spark,
        tmp_path,
        None,
        lambda path: _create_by_builder(delta.DeltaTable, spark, path, "partitionedBy"),
        lambda path: _create_by_builder(DeltaTable, spark, path, "partitionedBy"),
    )


def test_clustering_columns(spark: Any, tmp_path: Path) -> None:
    """No comparison: delta-spark accepts another case only for partition columns."""
    _run_by_deltareplay(
        spark, f"CREATE TABLE {{t}} {COLUMNS} USING delta CLUSTER BY (DAY)", tmp_path / "sql"
    )
    _run_by_deltareplay(
        spark, f"CREATE TABLE {{t}} USING delta CLUSTER BY (day) AS {ROWS}", tmp_path / "as"
    )
    _create_by_builder(DeltaTable, spark, tmp_path / "built", "clusterBy")
    for name in ("sql", "as", "built"):
        [configuration] = dr.Table(tmp_path / name).snapshot().domain_metadata.values()
        assert json.loads(configuration)["clusteringColumns"] == [["Day"]]


WRITES: dict[str, Callable[[Any, Path], Any]] = {
    "write": lambda rows, path: dr_spark.write(rows, path, partition_columns=["DAY"]),
    "format": lambda rows, path: (
        rows.write.format("deltareplay").mode("append").option("partitionBy", "DAY").save(str(path))
    ),
}


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("how", WRITES)
def test_partition_columns_of_writes(spark: Any, tmp_path: Path, how: str, exists: bool) -> None:
    dr_spark.register(spark)
    rows, base = spark.sql(ROWS), None
    if exists:
        text = f"CREATE TABLE {{t}} {COLUMNS} USING delta PARTITIONED BY (Day)"
        base = create_table(spark, tmp_path / "base", text)
    writer = rows.write.format("delta").mode("append").partitionBy("DAY")
    compare(
        spark,
        tmp_path,
        base,
        lambda path: writer.save(str(path)),
        lambda path: WRITES[how](rows, path),
    )


@pytest.mark.parametrize("columns", [["DAY"], ["ID", "day"]])
def test_z_order_columns(spark: Any, tmp_path: Path, columns: list[str]) -> None:
    base = create_table(
        spark,
        tmp_path / "base",
        f"CREATE TABLE {{t}} {COLUMNS} USING delta",
        "INSERT INTO {t} VALUES (1, 'mon'), (2, 'tue')",
    )
    delta = pytest.importorskip("delta.tables")
    compare(
        spark,
        tmp_path,
        base,
        lambda path: (
            delta.DeltaTable.forPath(spark, str(path)).optimize().executeZOrderBy(*columns)
        ),
        lambda path: dr_spark.optimize(spark, path, z_order_by=columns),
    )


def test_cluster_by_of_writers_is_refused(spark: Any, tmp_path: Path) -> None:
    """Spark does not pass it to a Python data source."""
    dr_spark.register(spark)
    rows = spark.sql(ROWS)
    writer = rows.write.format("deltareplay").mode("append").clusterBy("day")
    rows.write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "rows"))
    stream = stream.writeStream.clusterBy("day").format("deltareplay")
    stream = stream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    for write in (writer.save, stream.start):
        with pytest.raises(dr.InvalidArgumentError, match="CLUSTER BY") as caught:
            write(str(tmp_path / "t"))
        assert caught.value.code == "option.write"
    assert not dr.is_table(tmp_path / "t")


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE {t} SET DAY = 'tue'",
        "UPDATE {t} AS o SET O.Day = 'tue'",
        "INSERT INTO {t} (ID, Day) VALUES (2, 'tue')",
        "MERGE INTO {t} USING new ON 1 = 0 WHEN NOT MATCHED THEN INSERT *",
        "MERGE INTO {t} USING new ON 1 = 0 WHEN NOT MATCHED THEN INSERT (DAY) VALUES (new.DAY)",
        "MERGE INTO {t} USING new ON 1 = 1 WHEN MATCHED THEN UPDATE SET *",
        "MERGE WITH SCHEMA EVOLUTION INTO {t} USING new ON 1 = 1 WHEN MATCHED THEN UPDATE SET *",
        "MERGE INTO {t} t USING new ON 1 = 1 WHEN MATCHED THEN UPDATE SET T.Day = new.DAY",
        "MERGE INTO {t} USING new ON 1 = 0 WHEN NOT MATCHED BY SOURCE THEN UPDATE SET DAY = 'tue'",
        "OPTIMIZE {t} ZORDER BY (DAY)",
        "ALTER TABLE {t} ALTER COLUMN DAY COMMENT 'which'",
        "ALTER TABLE {t} ALTER COLUMN id AFTER DAY",
        "ALTER TABLE {t} ADD COLUMN new INT AFTER DAY",
        "ALTER TABLE {t} RENAME COLUMN DAY TO weekday",
        "ALTER TABLE {t} DROP COLUMN DAY",
        "ALTER TABLE {t} CLUSTER BY (ID)",
        "ALTER TABLE {t} REPLACE COLUMNS (ID BIGINT, day STRING)",
    ],
)
def test_statements_in_a_session_that_tells_cases_apart(
    spark: Any, tmp_path: Path, text: str
) -> None:
    """delta-spark 4.4 refuses each of them, too."""
    path = tmp_path / "table"
    run_statement(spark, f"CREATE TABLE delta.`{path}` {COLUMNS} USING delta")
    dr_spark.write(spark.sql(ROWS), path)
    spark.sql("SELECT 2L AS id, 'tue' AS DAY").createOrReplaceTempView("new")
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(dr.InvalidArgumentError) as caught:
            run_statement(spark, text.format(t=f"delta.`{path}`"))
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
        spark.catalog.dropTempView("new")
    assert caught.value.code in ("statement.column", "write.columns", "alter.column")
    assert dr.Table(path).snapshot().version == 1


def test_partitions_in_a_session_that_tells_cases_apart(spark: Any, tmp_path: Path) -> None:
    """As in delta-spark 4.4 (NON_PARTITION_COLUMN)."""
    table = f"delta.`{tmp_path}`"
    run_statement(spark, f"CREATE TABLE {table} {COLUMNS} USING delta PARTITIONED BY (Day)")
    with conf(spark, spark__sql__caseSensitive="true"):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            run_statement(spark, f"INSERT INTO {table} PARTITION (day = 'tue') VALUES (2)")
        assert caught.value.code == "write.partitions"
        run_statement(spark, f"INSERT INTO {table} PARTITION (Day = 'tue') VALUES (2)")
        run_statement(spark, f"OPTIMIZE {table} ZORDER BY (id)")
        run_statement(spark, f"ALTER TABLE {table} ALTER COLUMN id COMMENT 'which'")
    assert dr.Table(tmp_path).snapshot().scan().to_arrow().to_pylist() == [{"id": 2, "Day": "tue"}]


@pytest.mark.parametrize("source", ["SELECT 1L AS id, 9L AS ID, 'z' AS Day", "stored"])
def test_a_source_whose_columns_differ_in_case_only(
    spark: Any, tmp_path: Path, source: str
) -> None:
    """Valid in a session that tells cases apart, as in delta-spark 4.4."""
    text = (
        "MERGE INTO {t} t USING new s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = s.ID "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    if source == "stored":  # neither statement computes it twice
        source = "SELECT 1L AS id, max(ID) AS ID, 'z' AS Day FROM VALUES (9L) AS t(ID)"
    dr_spark.write(spark.sql(ROWS), tmp_path / "base")
    with conf(spark, spark__sql__caseSensitive="true"):
        spark.sql(f"{source} UNION ALL SELECT 5L, 6L, 'y'").createOrReplaceTempView("new")
        compare(
            spark,
            tmp_path,
            tmp_path / "base",
            lambda path: _run_by_delta_spark(spark, text, path),
            lambda path: _run_by_deltareplay(spark, text, path),
        )
        spark.catalog.dropTempView("new")
