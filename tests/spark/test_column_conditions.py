"""Conditions passed as columns select files, on classic Spark and on Connect."""

from __future__ import annotations

import datetime
import decimal
import shutil
from pathlib import Path
from typing import Any

import pytest

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.scan.skipping import negated_target_filter, target_filter

pytestmark = pytest.mark.spark

DAY = datetime.date(2026, 1, 3)
MOMENT = datetime.datetime(2026, 1, 3, tzinfo=datetime.timezone.utc)


@pytest.fixture(scope="module")
def path(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four files: ids 0 to 9, 10 to 19 and so on, of one day each."""
    location = str(tmp_path_factory.mktemp("conditions") / "table")
    for number in range(4):
        frame = spark.range(number * 10, number * 10 + 10, 1, 1).selectExpr(
            "id",
            "CAST(id AS STRING) || '''s' AS `a name`",
            "CAST(id AS DECIMAL(10, 2)) AS money",
            f"DATE'2026-01-01' + {number} AS day",
            f"timestamp_micros((unix_date(DATE'2026-01-01') + {number}) * 86400000000L) AS at",
            f"CAST(DATE'2026-01-01' + {number} AS TIMESTAMP_NTZ) AS clock",
            f"{number} >= 2 AS flag",
            f"named_struct('x', {number}) AS deep",
        )
        dr_spark.write(frame, location, properties={"delta.columnMapping.mode": "name"})
    return location


def conditions() -> dict[str, tuple[Any, int]]:
    """Return conditions with the number of files that each leaves."""
    from pyspark.sql import functions as sf

    return {
        "less": (sf.col("id") < 10, 1),
        "literal first": (sf.lit(10) > sf.col("id"), 1),
        "between": (sf.col("id").between(5, 12), 2),
        "in": (sf.col("id").isin(1, 35), 2),
        "not in": (~sf.col("id").isin(1, 35), 4),
        "or": ((sf.col("id") == 3) | (sf.col("id") > 35), 2),
        "not": (~(sf.col("id") < 30), 1),
        "alias": (sf.col("target.id") == 7, 1),
        "text": (sf.col("`a name`") == "39's", 2),
        "backslash": (sf.col("a name") == "\\", 0),
        "decimal": (sf.col("money") >= decimal.Decimal("29.50"), 1),
        "day": (sf.col("day") == DAY, 1),
        "moment": (sf.col("at") >= MOMENT, 2),
        "clock": (sf.col("clock") < sf.lit("2026-01-02").cast("timestamp_ntz"), 1),
        "flag": (sf.col("flag"), 4),
        "null": (sf.col("id").isNull(), 0),
        "not null": (sf.col("id").isNotNull(), 4),
        "null-safe": (sf.col("id").eqNullSafe(11), 1),
        "field": (sf.col("deep.x") == 2, 1),
        "sql": (sf.expr("id < 10"), 1),
        "and, with a function": ((sf.col("id") < 10) & (sf.upper("`a name`") == "3'S"), 1),
        "sum": (sf.col("id") + 1 < 5, 4),
    }


def test_columns_select_files(spark: Any, path: str) -> None:
    snapshot = dr.Table(path).snapshot()
    cases = conditions()
    rows = dr_spark.read(spark, path, with_file_path=True).alias("target")
    answers = [condition.alias(f"is {name}") for name, (condition, _) in cases.items()]
    result = [row.asDict() for row in rows.select("_file_path", *answers).collect()]
    empty = dr_spark.read(spark, path).where("1 = 0").alias("target")
    wrong = {}
    for name, (condition, files) in cases.items():
        frame = empty.where(condition)
        selected, others = (
            set(snapshot.files(["path"], filter)["path"].to_pylist())
            for filter in (
                make(condition, snapshot, "target", frame)
                for make in (target_filter, negated_target_filter)
            )
        )
        matching, rest = (
            {row["_file_path"] for row in result if (row[f"is {name}"] is True) == is_true}
            for is_true in (True, False)
        )
        if len(selected) != files:
            wrong[name] = f"{len(selected)} files, not {files}"
        if not (matching <= selected and rest <= others):
            wrong[name] = "files with rows are left out"
    assert not wrong


def test_conditions_with_python_functions_skip_no_files(spark: Any, path: str) -> None:
    from pyspark.sql import functions as sf

    snapshot = dr.Table(path).snapshot()
    empty = dr_spark.read(spark, path).where("1 = 0").alias("target")
    small = sf.udf(lambda value: value < 5, "boolean")(sf.col("id"))
    for condition in (small, (sf.col("id") < 5) & small):
        frame = empty.where(condition)
        filter = target_filter(condition, snapshot, "target", frame)
        assert snapshot.files(["path"], filter).num_rows == 4


def test_statements_accept_columns(spark: Any, path: str, tmp_path: Path) -> None:
    from pyspark.sql import functions as sf

    copy = str(tmp_path / "copy")
    shutil.copytree(path, copy)
    assert dr_spark.delete(spark, copy, sf.col("id") == 7).metrics["numDeletedRows"] == 1
    done = dr_spark.update(spark, copy, sf.col("day") == DAY, {"money": "0"})
    assert done.metrics["numUpdatedRows"] == 10
    rows = dr_spark.read(spark, copy).where("money = 0").select("id").collect()
    assert sorted(row[0] for row in rows) == [0, *range(20, 30)]
