"""``Table.vacuum`` finds the same files as delta-spark's ``VACUUM``."""

from __future__ import annotations

import datetime
import os
import shutil
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from spark.support.delta_spark_logs import properties
from spark.support.settings import conf

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

A_MONTH_AGO = time.time() - 30 * 86_400


@pytest.fixture(scope="module")
def old(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors, replaced vectors, change files, partitions, removed files, and unknown ones."""
    path = tmp_path_factory.mktemp("vacuum") / "t"
    name = f"delta.`{path}`"
    listed = properties(enableDeletionVectors="true", enableChangeDataFeed="true")
    spark.sql(f"CREATE TABLE {name} (id LONG, p STRING) USING delta PARTITIONED BY (p) {listed}")
    spark.sql(f"INSERT INTO {name} SELECT id, IF(id % 2 = 0, 'a b', 'c/d') FROM range(0, 40, 1, 1)")
    spark.sql(f"DELETE FROM {name} WHERE id % 5 = 0")
    spark.sql(f"DELETE FROM {name} WHERE id % 7 = 0")
    spark.sql(f"UPDATE {name} SET id = id + 100 WHERE id = 11")
    spark.sql(f"DELETE FROM {name} WHERE p = 'c/d'")
    for orphan in (
        "p=z/part-0.parquet",
        "loose.parquet",
        "p=z/_hidden.parquet",
        ".dot.parquet",
        "_other/x.parquet",
        "_change_data/cdc-0.parquet",
        "notes.txt",
        "sub/deep/x.bin",
    ):
        (path / orphan).parent.mkdir(parents=True, exist_ok=True)
        (path / orphan).write_bytes(b"nothing")
    for item in path.rglob("*"):
        if "_delta_log" not in item.parts:
            os.utime(item, (A_MONTH_AGO, A_MONTH_AGO))
    (path / "young.parquet").write_bytes(b"somebody still writes it")
    return path


def theirs(spark: Any, path: Path, hours: int) -> set[str]:
    with conf(
        spark,
        spark__databricks__delta__retentionDurationCheck__enabled="false",
        # by default, VACUUM lists with 10,000 tasks
        spark__sql__sources__parallelPartitionDiscovery__parallelism="2",
    ):
        rows = spark.sql(f"VACUUM delta.`{path}` RETAIN {hours} HOURS DRY RUN").collect()
    deleted = [Path(urlsplit(row[0]).path) for row in rows]  # not encoded, whatever the scheme
    return {str(item.relative_to(path)) for item in deleted if item.is_file()}


@pytest.mark.parametrize("hours", [0, 24 * 7])
def test_finds_the_same_files_as_delta_spark(spark: Any, old: Path, hours: int) -> None:
    retention = datetime.timedelta(hours=hours)
    ours = dr.Table(old).vacuum(retention, force=True)
    assert ours.dry_run
    expected = theirs(spark, old, hours)
    assert "loose.parquet" in expected
    assert set(ours.files) == expected
    assert dr_spark.vacuum(spark, old, retention=retention, force=True).files == ours.files
    if hours == 0:
        assert any("deletion_vector" in item for item in expected)
        assert any("_change_data" in item for item in expected)


def test_each_argument_is_passed_on(spark: Any, old: Path, tmp_path: Path) -> None:
    path, now = tmp_path / "t", datetime.timedelta(0)
    shutil.copytree(old, path)  # with the times of its files
    done = dr_spark.vacuum(spark, path, retention=now, force=True, dry_run=False, log=True)
    assert done.files
    assert not any((path / name).exists() for name in done.files)
    table = dr.Table(path)
    assert table.history(2)["operation"].to_pylist() == ["VACUUM END", "VACUUM START"]
    assert dr_spark.vacuum(spark, path, retention=now, force=True, lite=True).lite
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.vacuum(spark, path, retention=datetime.timedelta(hours=1))
    assert caught.value.code == "vacuum.retention"


def test_delta_spark_reads_the_remaining_rows(spark: Any, old: Path, tmp_path: Path) -> None:
    path = shutil.copytree(old, tmp_path / "t")
    name = f"delta.`{path}`"
    before = sorted(spark.sql(f"SELECT * FROM {name}").collect())
    done = dr.Table(path).vacuum(datetime.timedelta(0), force=True, dry_run=False)
    assert done.files
    assert theirs(spark, path, 0) == set()
    assert sorted(spark.sql(f"SELECT * FROM {name}").collect()) == before
    assert dr.Table(path).snapshot().scan().to_arrow().num_rows == len(before)
    assert sorted(file.name for file in path.rglob("*hidden*")) == ["_hidden.parquet"]
