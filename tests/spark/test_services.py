"""``verify``, ``drop_feature`` and ``set_properties`` on tables of delta-spark."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from spark.support.delta_spark_logs import properties

import deltareplay as dr

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def written(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Deletion vectors, a change feed, partitions, checkpoints: all written by delta-spark."""
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


def test_a_table_of_delta_spark_is_sound(written: Path) -> None:
    result = dr.Table(written).verify()
    assert result.findings == (), str(result)
    assert result.num_checksums > 3
    assert result.num_checkpoints >= 1


DROPPED = {
    "deletionVectors": ("enableDeletionVectors", "true", "DELETE FROM {0} WHERE id % 3 = 0"),
    "typeWidening": ("enableTypeWidening", "true", "ALTER TABLE {0} ALTER COLUMN small TYPE LONG"),
    "rowTracking": ("enableRowTracking", "true", "UPDATE {0} SET day = 'c' WHERE id = 7"),
    "columnMapping": ("columnMapping__mode", "name", "ALTER TABLE {0} RENAME COLUMN small TO x"),
}


@pytest.mark.parametrize("feature", DROPPED)
def test_delta_spark_accepts_a_dropped_feature(spark: Any, tmp_path: Path, feature: str) -> None:
    path = tmp_path / "t"
    table, (name, value, change) = f"delta.`{path}`", DROPPED[feature]
    listed = properties(**{name: value})
    spark.sql(
        f"CREATE TABLE {table} (id LONG, small INT, day STRING) USING delta "
        f"PARTITIONED BY (day) {listed}"
    )
    spark.sql(f"INSERT INTO {table} SELECT id, INT(id), IF(id < 10, 'a', 'b') FROM range(20)")
    spark.sql(change.format(table))
    rows = sorted(map(tuple, spark.table(table).collect()))

    dr.Table(path).drop_feature(feature)
    assert sorted(map(tuple, spark.table(table).collect())) == rows
    detail = spark.sql(f"DESCRIBE DETAIL {table}").first()
    assert feature not in detail.tableFeatures
    spark.sql(f"INSERT INTO {table} VALUES (100, 100, 'a')")
    spark.sql(f"DELETE FROM {table} WHERE id = 1")
    live = spark.table(table)
    assert live.count() == len([row for row in rows if row[0] != 1]) + 1
    by_core = [tuple(row.values()) for row in dr.Table(path).snapshot().to_arrow().to_pylist()]
    assert sorted(by_core) == sorted(map(tuple, live.collect()))
    result = dr.Table(path).verify()
    assert result.findings == (), str(result)


def test_delta_spark_continues_row_tracking(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = f"delta.`{path}`"
    spark.range(20).repartition(2).write.format("delta").save(str(path))
    dr.Table(path).set_properties({"delta.enableRowTracking": "true"})
    displayed = "id, _metadata.row_id, _metadata.row_commit_version"
    by_spark = sorted(map(tuple, spark.sql(f"SELECT {displayed} FROM {table}").collect()))
    scan = dr.Table(path).snapshot().scan(with_row_id=True).to_arrow()
    columns = ("id", "_row_id", "_row_commit_version")
    assert sorted(zip(*(scan[name].to_pylist() for name in columns), strict=True)) == by_spark
    spark.sql(f"INSERT INTO {table} VALUES (100)")
    spark.sql(f"UPDATE {table} SET id = 101 WHERE id = 3")
    ids = [row.row_id for row in spark.sql(f"SELECT {displayed} FROM {table}").collect()]
    assert sorted(ids) == list(range(21))


def age_log(path: Path, hours: float) -> None:
    """Set the modification times of the log back."""
    for file in (path / "_delta_log").rglob("*"):
        changed = file.stat().st_mtime - hours * 3600
        os.utime(file, (changed, changed))


TRUNCATED = {
    "deletionVectors": ("enableDeletionVectors", "true", "DELETE FROM {0} WHERE id % 3 = 0"),
    "typeWidening": ("enableTypeWidening", "true", "ALTER TABLE {0} ALTER COLUMN n TYPE BIGINT"),
    "columnMapping": ("columnMapping__mode", "name", "ALTER TABLE {0} RENAME COLUMN n TO x"),
    "v2Checkpoint": ("checkpointPolicy", "v2", "DELETE FROM {0} WHERE id % 3 = 0"),
    "checkpointProtection": (
        "enableDeletionVectors",
        "true",
        "ALTER TABLE {0} DROP FEATURE deletionVectors",
    ),
}
SLOW = bool(os.environ.get("DELTAREPLAY_SLOW"))


@pytest.mark.parametrize("feature", list(TRUNCATED)[: None if SLOW else 1])
def test_a_feature_is_dropped_with_its_history_as_in_delta_spark(
    spark: Any, tmp_path: Path, feature: str
) -> None:
    """Two copies: the drop is refused at first, and a day later both have the same protocol."""
    own_path, their_path = tmp_path / "here", tmp_path / "there"
    name, value, change = TRUNCATED[feature]
    listed = properties(**{name: value, "checkpointInterval": "3"})
    spark.sql(f"CREATE TABLE delta.`{own_path}` (id LONG, n INT) USING delta {listed}")
    for first in (0, 10, 20):
        rows = f"SELECT id, INT(id) FROM range({first}, {first + 10})"
        spark.sql(f"INSERT INTO delta.`{own_path}` {rows}")
    spark.sql(change.format(f"delta.`{own_path}`"))
    kept = sorted(map(tuple, spark.table(f"delta.`{own_path}`").collect()))
    shutil.copytree(own_path, their_path)
    table, log = dr.Table(own_path), spark._jvm.org.apache.spark.sql.delta.DeltaLog
    drop = f"ALTER TABLE delta.`{their_path}` DROP FEATURE {feature} TRUNCATE HISTORY"

    with pytest.raises(dr.InvalidArgumentError, match="24 hours"):
        table.drop_feature(feature, truncate_history=True)
    with pytest.raises(Exception, match="WAIT_FOR_RETENTION_PERIOD"):
        spark.sql(drop)
    for path in (own_path, their_path):
        age_log(path, 25)
    log.clearCache()
    table.drop_feature(feature, truncate_history=True)
    spark.sql(drop)

    ours, theirs = table.snapshot(), dr.Table(their_path).snapshot()
    for features in ("reader_features", "writer_features"):
        [result, expected] = [getattr(item.protocol, features) or () for item in (ours, theirs)]
        assert sorted(result) == sorted(expected)
    assert ours.protocol.min_reader_version == theirs.protocol.min_reader_version
    # delta-spark sets the policy, which is unset here
    policy = {"delta.checkpointPolicy": "classic"} if feature == "v2Checkpoint" else {}
    assert {**ours.properties, **policy} == theirs.properties
    assert {finding.code for finding in table.verify().findings} <= {"sidecar.orphan"}
    for path in (own_path, their_path):
        log.clearCache()
        spark.sql(f"INSERT INTO delta.`{path}` VALUES (100, 100)")
        spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 1")
        left = sorted(map(tuple, spark.table(f"delta.`{path}`").collect()))
        assert left == [row for row in [*kept, (100, 100)] if row[0] != 1]
        result = dr.Table(path).snapshot().scan().to_arrow()
        assert sorted(zip(*(column.to_pylist() for column in result.columns), strict=True)) == left
