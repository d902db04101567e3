"""delta-spark's output on the page about looking at a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import looks

import deltareplay as dr

pytestmark = pytest.mark.spark


def test_delta_spark_calls_of_the_page(spark: Any, tmp_path: Path) -> None:
    from delta.tables import DeltaTable

    path = looks.written(tmp_path)
    # delta-spark does not read versions older than the retention, and those of the page grow old
    retention = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")
    dr.Table(path).set_properties(dict.fromkeys(retention, "interval 1000 weeks"))
    dt = DeltaTable.forPath(spark, str(path))
    calls = looks.calls("delta-spark")
    assert len(calls) > 5
    for code in calls:
        assert eval(code, {"dt": dt}) != [], code
    assert dt.toDF().count() == 259
    assert len(dt.toDF().filter("id > 250").inputFiles()) == 3
    table = f"delta.`{path}`"
    assert spark.sql(f"SHOW PARTITIONS {table}").count() == 3
    for clause, rows in (("VERSION AS OF 3", 180), ("TIMESTAMP AS OF '2026-11-21 12:41:56'", 170)):
        assert spark.sql(f"SELECT * FROM {table} {clause}").count() == rows
    feed = spark.read.format("delta").option("readChangeFeed", "true")
    assert feed.option("startingVersion", 10).load(str(path)).count() == 3
    with pytest.raises(Exception, match="DELTA_MISSING_CHANGE_DATA"):
        feed.option("startingVersion", 6).option("endingVersion", 6).load(str(path)).count()
