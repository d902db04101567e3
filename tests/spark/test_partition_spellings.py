"""Overwrites of partitions whose values another writer spells differently in the log.

As in delta-spark 4.4 (delta-io/delta issue 6544), all ways compare values, not texts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.support.settings import conf
from support import logs

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.format.sink import Sink

pytestmark = pytest.mark.spark

#: A value of a partition column as SQL, and spellings of it in the log.
SPELLINGS = {
    "TIMESTAMP '2020-01-01 00:00:00.12Z'": [
        "2020-01-01 00:00:00.12",
        "2020-01-01T00:00:00.120000Z",
    ],
    "TIMESTAMP_NTZ '2020-01-01 00:00:00.12'": ["2020-01-01 00:00:00.120000"],
    "CAST(1.5 AS DECIMAL(10, 3))": ["1.5", "1.500"],
    "100.0D": ["1e2", "100", "1.0E2"],
    "1e10D": ["10000000000.0"],
    "CAST(0.1 AS FLOAT)": ["0.1", "1e-1"],
    r"'CORP\\alice'": ["CORP\\alice"],
    r"'it\'s'": ["it's"],
}


def respell(path: Path, text: str) -> None:
    """Replace the partition value in the log by a text that another writer would use."""
    for version in range(dr.Table(path).snapshot().version + 1):
        with logs.edited_commit(path, version) as actions:
            for action in actions:
                if "add" in action and action["add"]["partitionValues"]["k"] is not None:
                    action["add"]["partitionValues"]["k"] = text


def by_function(spark: Any, frame: Any, path: Path) -> None:
    dr_spark.write(frame, path, mode="overwrite", partition_overwrite="dynamic")


def by_format(spark: Any, frame: Any, path: Path) -> None:
    """Overwrite by the sink of the format, without Spark's Python workers."""
    options = {"path": str(path), "partitionOverwriteMode": "dynamic"}
    sink = Sink.open(options, frame.schema, overwrite=True)
    sink.commit([sink.stage(frame.toArrow().to_batches(), None)], None)


def by_sql(spark: Any, frame: Any, path: Path) -> None:
    frame.createOrReplaceTempView("new_rows")
    with conf(spark, spark__sql__sources__partitionOverwriteMode="dynamic"):
        dr_spark.sql(spark, f"INSERT OVERWRITE delta.`{path}` SELECT * FROM new_rows")


def by_where(spark: Any, frame: Any, path: Path) -> None:
    [(key,)] = frame.select("k").collect()
    escaped = key.replace("\\", "\\\\").replace("'", "\\'") if isinstance(key, str) else key
    type_ = frame.schema["k"].dataType.simpleString()
    where = f"k = CAST('{escaped}' AS {type_})"
    dr_spark.write(frame, path, mode="overwrite", where=where)


WAYS = {"function": by_function, "format": by_format, "SQL": by_sql, "condition": by_where}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", SPELLINGS)
def test_partitions_are_replaced_by_value(spark: Any, tmp_path: Path, value: str, way: str) -> None:
    for number, text in enumerate(SPELLINGS[value]):
        path = tmp_path / str(number)
        # the partition column is not the last
        dr_spark.write(
            spark.sql(f"SELECT {value} AS k, 1 AS id UNION ALL SELECT NULL, 2"),
            path,
            partition_columns=["k"],
        )
        respell(path, text)
        WAYS[way](spark, spark.sql(f"SELECT {value} AS k, 3 AS id"), path)
        assert sorted(row.id for row in dr_spark.read(spark, path).collect()) == [2, 3], text


def test_timestamps_without_a_zone_are_in_the_session_zone(spark: Any, tmp_path: Path) -> None:
    """Delta protocol, "Partition Value Serialization": they were written in the session's zone."""
    path = tmp_path / "t"
    with conf(spark, spark__sql__session__timeZone="America/Los_Angeles"):
        timestamp = "TIMESTAMP '2020-01-01 00:00:00'"
        first = spark.sql(f"SELECT 1 AS id, {timestamp} AS k UNION ALL SELECT 2, NULL")
        dr_spark.write(first, path, partition_columns=["k"])
        respell(path, "2020-01-01 00:00:00")
        for id_, way in enumerate((by_function, by_sql), 3):
            way(spark, spark.sql(f"SELECT {id_} AS id, {timestamp} AS k"), path)
            result = sorted(row.id for row in dr_spark.read(spark, path).collect())
            assert result == [2, id_]
        respell(path, "2020-01-01 00:00:00")
        last = spark.sql(f"SELECT 9 AS id, {timestamp} AS k")
        dr_spark.write(last, path, mode="overwrite", where=f"k = {timestamp}")
        assert sorted(row.id for row in dr_spark.read(spark, path).collect()) == [2, 9]


def test_timestamps_of_far_years(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    # in the years 1, 1969, 9999, 33658 and 65347
    instants = [-62_135_596_800_000_000, -500_000, 253_402_300_799_999_999, 10**18, 2 * 10**18]
    rows = spark.createDataFrame([(instant,) for instant in instants], "micros bigint")
    rows = rows.selectExpr("micros", "timestamp_micros(micros) AS k")
    dr_spark.write(rows, path, partition_columns=["k"])
    stored = dr.Table(path).snapshot().scan().to_arrow()
    assert stored["k"].cast(pa.int64()).equals(stored["micros"])
    assert dr_spark.read(spark, path).where("unix_micros(k) = micros").count() == len(instants)


def test_a_condition_finds_each_partition_column_by_its_name(spark: Any, tmp_path: Path) -> None:
    """The order of the partition columns is not that of the schema."""
    path = tmp_path / "t"
    rows = spark.sql("SELECT 1 AS id, 'x' AS a, 'y' AS b UNION ALL SELECT 2, 'y', 'x'")
    dr_spark.write(rows, path, partition_columns=["b", "a"])
    new = spark.sql("SELECT 3 AS id, 'x' AS a, 'z' AS b")
    dr_spark.write(new, path, mode="overwrite", where="a = 'x'")
    assert sorted(row.id for row in dr_spark.read(spark, path).collect()) == [2, 3]


@pytest.mark.parametrize("escaped", ["true", "false"])
def test_texts_are_values_in_every_dialect(spark: Any, tmp_path: Path, escaped: str) -> None:
    """``spark.sql.parser.escapedStringLiterals`` changes strings in SQL, but no values."""
    from pyspark.sql import functions as sf

    path, names = tmp_path / "t", ["CORP\\alice", "C:\\t", "it's", 'a "b"']
    first = spark.createDataFrame(list(enumerate(names)), "id int, k string")
    with conf(spark, spark__sql__parser__escapedStringLiterals=escaped):
        dr_spark.write(first, path, partition_columns=["k"])
        for at, name in enumerate(names):
            new = spark.createDataFrame([(at + 10, name)], "id int, k string")
            merge = dr_spark.merge(spark, path, new, "target.k = source.k")
            merge.when_matched_update_all().when_not_matched_insert_all().execute()
            for way in (by_function, by_sql, by_format):
                way(spark, new, path)
        dr_spark.delete(spark, path, sf.col("k") == "C:\\t")
        dr_spark.update(spark, path, sf.col("k") == "it's", {"id": "id + 100"})
        left = dr_spark.read(spark, path, filter=[("k", "!=", "CORP\\alice")])
        assert sorted(row.id for row in left.collect()) == [13, 112]
    assert sorted(dr.Table(path).snapshot().to_arrow()["id"].to_pylist()) == [10, 13, 112]
