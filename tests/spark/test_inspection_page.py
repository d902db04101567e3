"""delta-spark's output on the page about inspecting a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import inspection_page

import deltareplay as dr

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = inspection_page.write_table(tmp_path_factory.mktemp("inspected"))
    # delta-spark refuses versions older than the retention; those of the page have fixed timestamps
    retention = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")
    dr.Table(path).set_properties(dict.fromkeys(retention, "interval 1000 weeks"))
    return path


def test_calls(spark: Any, orders: Path) -> None:
    from delta.tables import DeltaTable
    from pyspark.sql import DataFrame

    dt = DeltaTable.forPath(spark, str(orders))
    calls = inspection_page.calls("delta-spark")
    assert len(calls) > 5
    for code in calls:
        result = eval(code, {"dt": dt})
        assert (result.collect() if isinstance(result, DataFrame) else result) != [], code
    assert dt.toDF().count() == 259
    assert len(dt.toDF().filter("id > 250").inputFiles()) == 3


def test_partitions(spark: Any, orders: Path) -> None:
    assert spark.sql(f"SHOW PARTITIONS delta.`{orders}`").count() == 3


@pytest.mark.parametrize(
    ("clause", "rows"),
    [("VERSION AS OF 3", 180), ("TIMESTAMP AS OF '2026-11-21 12:41:56'", 170)],
)
def test_time_travel(spark: Any, orders: Path, clause: str, rows: int) -> None:
    assert spark.sql(f"SELECT * FROM delta.`{orders}` {clause}").count() == rows


def test_change_data_feed(spark: Any, orders: Path) -> None:
    def changes(**versions: int) -> Any:
        feed = spark.read.format("delta").option("readChangeFeed", "true")
        return feed.options(**versions).load(str(orders))

    assert changes(startingVersion=10).count() == 3
    # the feed was off at this version
    with pytest.raises(Exception, match="DELTA_MISSING_CHANGE_DATA"):
        changes(startingVersion=6, endingVersion=6).count()
