"""Services on tables of delta-spark, and delta-spark on tables that were served here."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from spark.written import properties

import deltareplay as dr

pytestmark = pytest.mark.spark

DAY = 24 * 60 * 60


@pytest.fixture(scope="module")
def written(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Deletion vectors, a change feed, partitions, checkpoints: everything by delta-spark."""
    path = tmp_path_factory.mktemp("services") / "t"
    table = f"delta.`{path}`"
    listed = properties(
        enableDeletionVectors="true", enableChangeDataFeed="true", checkpointInterval="4"
    )
    spark.sql(
        f"CREATE TABLE {table} (id LONG, day STRING) USING delta PARTITIONED BY (day) {listed}"
    )
    for day in "ab":
        spark.sql(f"INSERT INTO {table} SELECT id, '{day}' FROM range(20)")
    spark.sql(f"DELETE FROM {table} WHERE id % 3 = 0")
    spark.sql(f"UPDATE {table} SET day = 'c' WHERE id = 7")
    spark.sql(f"OPTIMIZE {table}")
    return path


def rows(spark: Any, path: Path) -> list[Any]:
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    return sorted((row.id, row.day) for row in spark.read.format("delta").load(str(path)).collect())


def test_a_table_of_delta_spark_is_sound(written: Path) -> None:
    result = dr.Table(written).verify()
    assert result.findings == (), str(result)
    assert result.num_checksums > 3
    assert result.num_checkpoints >= 1


def test_delta_spark_goes_on_behind_our_services(spark: Any, written: Path) -> None:
    table = dr.Table(written)
    expected = rows(spark, written)
    version = table.snapshot().version
    old = time.time() - 50 * DAY
    for path in written.rglob("*"):
        if path.is_file():
            os.utime(path, (old, old))

    mine = set(table.vacuum(timedelta(0), force=True).files)
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    theirs = spark.sql(f"VACUUM delta.`{written}` RETAIN 0 HOURS DRY RUN").collect()
    spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    root = f"file:{written}/"
    named = {row.path.removeprefix(root) for row in theirs}
    assert {name for name in named if "." in name.rsplit("/", 1)[-1]} == mine
    assert mine

    table.vacuum(timedelta(0), dry_run=False, force=True)
    assert rows(spark, written) == expected
    history = spark.sql(f"DESCRIBE HISTORY delta.`{written}`").collect()
    assert [row.operation for row in history[:2]] == ["VACUUM END", "VACUUM START"]

    done = table.cleanup_log(dry_run=False)
    assert done.earliest_version == 4
    table.compact_log()
    assert rows(spark, written) == expected
    spark.sql(f"DELETE FROM delta.`{written}` WHERE id = 8")
    table.restore(version)
    assert rows(spark, written) == expected
    spark.sql(f"INSERT INTO delta.`{written}` VALUES (99, 'a')")
    assert rows(spark, written) == sorted([*expected, (99, "a")])
    assert dr.Table(written).verify().ok
