"""Services on tables of delta-spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from spark.written import properties

import deltareplay as dr

pytestmark = pytest.mark.spark


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


def test_a_table_of_delta_spark_is_sound(written: Path) -> None:
    result = dr.Table(written).verify()
    assert result.findings == (), str(result)
    assert result.num_checksums > 3
    assert result.num_checkpoints >= 1
