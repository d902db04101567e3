"""``INSERT`` by ``sql`` and by delta-spark, on two copies of one table, with equal rows.

``test_sql.py`` inserts by name, and without delta-spark's jar.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from spark.support.comparison import compare_statements, texts_by_delta_spark
from spark.support.settings import conf

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

#: The text after ``INSERT``; ``{t}`` is the table, with the columns id INT, p STRING and v DOUBLE.
STATEMENTS = [
    "INTO {t} VALUES (10, 'a', 1.5), (11, 'c', NULL)",
    "INTO TABLE {t} SELECT id, 'b', id / 2 FROM range(3) -- some",
    "INTO {t} (v, id) VALUES (2, 12);",
    "INTO {t} (p, id, v) (SELECT 'x', 1, 2.5)",
    "INTO {t} BY NAME SELECT 3.25D AS v, 'y' AS p, 13 AS id",
    "INTO {t} VALUES ('14', 15, '1e3')",
    "INTO {t} WITH q AS (SELECT 16 AS id) SELECT id, 'z', 0 FROM q",
    "INTO {t} TABLE inserted_rows",
    "OVERWRITE {t} VALUES (20, 'a', 0)",
    "OVERWRITE TABLE {t} (id, p) SELECT 21, 'n'",
    "INTO {t} REPLACE WHERE p = 'a' VALUES (30, 'a', 1)",
    "INTO {t} REPLACE WHERE id < 2 SELECT 1, 'b', 9D",
    "INTO {t} PARTITION (p = 'a') SELECT 50, 5D",
    "INTO {t} PARTITION (p) SELECT 51, 'q', 5D",
    "INTO {t} PARTITION (P = 7) (v, id) VALUES (2, 52)",
    "INTO {t} PARTITION (p = 'c') BY NAME SELECT 1D AS v, 53 AS id",
    "OVERWRITE {t} PARTITION (p = 'a') VALUES (54, 2), (55, 3)",
    "OVERWRITE TABLE {t} PARTITION (p = NULL) SELECT 56, 1D",
    "OVERWRITE {t} PARTITION (p) SELECT 57, 'a', 1D",
    "INTO {t} VALUES (58, DEFAULT, 1), (DEFAULT, 'a', default)",
    "INTO {t} SELECT 59, DEFAULT, 1",
    "INTO {t} (v, id, p) SELECT id, default, 'DEFAULT' FROM range(2)",
    "INTO {t} (v, p) VALUES (60, DEFAULT), (1 + 1, 'DEFAULT')",
]


@pytest.fixture(scope="module")
def base(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("insert") / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id INT, p STRING, v DOUBLE) USING delta PARTITIONED BY (p)"
    )
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 'a', 0.5), (2, 'b', 1), (3, 'a', 2)")
    spark.createDataFrame([(40, "m", 4.5)], "id INT, p STRING, v DOUBLE").createOrReplaceTempView(
        "inserted_rows"
    )
    return path


@pytest.mark.slow  # every kind of INSERT, twice
def test_rows_are_those_of_delta_spark(spark: Any, tmp_path: Path, base: Path) -> None:
    def ours(text: str) -> None:
        done = dr_spark.sql(spark, text)
        assert (done.columns, done.collect()) == ([], [])

    compare_statements(spark, tmp_path, base, [f"INSERT {text}" for text in STATEMENTS], ours=ours)
    assert dr.Table(tmp_path / "ours").snapshot().version == 1 + len(STATEMENTS)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("INTO {t} VALUES (1, 'a')", "write.columns"),
        ("INTO {t} (id, id) VALUES (1, 2)", "write.columns"),
        ("INTO {t} (id, nope) VALUES (1, 2)", "write.columns"),
        ("WITH SCHEMA EVOLUTION INTO {t} (id, nope) VALUES (1, 2)", "write.columns"),
        ("INTO {t} BY NAME SELECT 1 AS id, 2 AS nope", "write.columns"),
        ("INTO {t} SELECT DATE '2026-01-31', 'a', 1", "write.columns"),
        ("INTO {t} BY NAME SELECT DATE '2026-01-31' AS id", "write.columns"),
        ("INTO {t} (v) VALUES (array(1))", "write.columns"),
        ("INTO {t} VALUES ('many', 'a', 1)", "write.constraint"),
        ("INTO {t} REPLACE WHERE p = 'a' VALUES (1, 'b', 1)", "write.constraint"),
        ("INTO {t} PARTITION (p = 'a') VALUES (1, 'a', 2)", "write.columns"),
        ("INTO {t} PARTITION (p = 'a') (id, p) VALUES (1, 'b')", "write.columns"),
        ("INTO {t} PARTITION (v = 1) VALUES (1, 'a')", "write.partitions"),
        ("INTO {t} PARTITION (p = id) VALUES (1, 2)", "sql.syntax"),
        ("INTO {t} PARTITION (p = 'a', P) VALUES (1, 2)", "sql.syntax"),
        ("OVERWRITE {t} PARTITION (p = 'a') IF NOT EXISTS VALUES (1, 2)", "sql.syntax"),
        ("INTO {t} 7", "sql.syntax"),
    ],
)
def test_bad_input_changes_nothing(
    spark: Any, tmp_path: Path, base: Path, text: str, code: str
) -> None:
    path = shutil.copytree(base, tmp_path / "t")
    with pytest.raises(dr.DeltaReplayError) as caught:
        dr_spark.sql(spark, "INSERT " + text.format(t=f"delta.`{path}`"))
    assert caught.value.code == code
    assert dr.Table(path).snapshot().version == 1


def test_dynamic_partition_overwrite(spark: Any, tmp_path: Path, base: Path) -> None:
    ours, theirs = (shutil.copytree(base, tmp_path / name) for name in ("ours", "theirs"))
    with conf(spark, spark__sql__sources__partitionOverwriteMode="dynamic"):
        dr_spark.sql(spark, f"INSERT OVERWRITE delta.`{ours}` VALUES (7, 'a', 7)")
        spark.sql(f"INSERT OVERWRITE delta.`{theirs}` VALUES (7, 'a', 7)")
    assert texts_by_delta_spark(spark, ours) == texts_by_delta_spark(spark, theirs)
    assert len(texts_by_delta_spark(spark, ours)) == 2


#: The text after ``INSERT``; the table has the columns id INT, day DATE, p INT and v STRING.
IN_PARTITIONS = [
    "OVERWRITE {t} PARTITION (day = '2026-01-01', p) SELECT 7, 2, 'v'",
    "OVERWRITE {t} PARTITION (p = '2', day = DATE '2026-01-01') VALUES (8, 'v')",
    "OVERWRITE {t} PARTITION (p = '2', day = DATE '2026-01-01') SELECT 8, 'v' WHERE false",
    "OVERWRITE {t} PARTITION (p = 1, day) BY NAME SELECT 'x' AS v, DATE '2026-01-01' AS day",
    "INTO {t} PARTITION (day = '2026-01-02', p = -3) VALUES (9, DEFAULT)",
]


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize("text", IN_PARTITIONS)
def test_a_partition_is_replaced(spark: Any, tmp_path: Path, text: str, mode: str) -> None:
    theirs = tmp_path / "theirs"
    spark.sql(
        f"CREATE TABLE delta.`{theirs}` (id INT, day DATE, p INT, v STRING DEFAULT 'some') USING "
        "delta PARTITIONED BY (day, p) "
        "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    spark.sql(
        f"INSERT INTO delta.`{theirs}` "
        "SELECT id, DATE '2026-01-01' + IF(id > 3, 1, 0), id % 3, 'a' FROM range(6)"
    )
    ours = shutil.copytree(theirs, tmp_path / "ours")
    with conf(spark, spark__sql__sources__partitionOverwriteMode=mode):
        dr_spark.sql(spark, "INSERT " + text.format(t=f"delta.`{ours}`"))
        spark.sql("INSERT " + text.format(t=f"delta.`{theirs}`"))
    assert texts_by_delta_spark(spark, ours) == texts_by_delta_spark(spark, theirs)
    assert dr.Table(ours).snapshot().num_files == dr.Table(theirs).snapshot().num_files


def test_schema_evolution_adds_columns(spark: Any, tmp_path: Path, base: Path) -> None:
    path = shutil.copytree(base, tmp_path / "t")
    text = f"INSERT WITH SCHEMA EVOLUTION INTO delta.`{path}` BY NAME SELECT 5 AS id, 'new' AS note"
    dr_spark.sql(spark, text)
    result = spark.read.format("delta").load(str(path)).where("note IS NOT NULL").collect()
    assert [row.asDict() for row in result] == [{"id": 5, "p": None, "v": None, "note": "new"}]


def test_columns_without_a_default_may_be_required(spark: Any, tmp_path: Path, base: Path) -> None:
    texts = [
        "INSERT INTO {t} (id, p) VALUES (1, 'a')",
        "INSERT OVERWRITE {t} (v, id) VALUES (2, 3)",
        "INSERT INTO {t} BY NAME SELECT 1 AS id, 'a' AS p",
    ]
    with conf(spark, spark__sql__defaultColumn__useNullsForMissingDefaultValues="false"):
        compare_statements(spark, tmp_path, base, texts, changes=False)


def test_spark_inserts_into_directories(spark: Any, tmp_path: Path) -> None:
    directory = tmp_path / "rows"
    dr_spark.sql(spark, f"INSERT OVERWRITE DIRECTORY '{directory}' USING parquet SELECT 1 AS id")
    assert spark.read.parquet(str(directory)).collect() == [(1,)]
