"""Tables on HDFS: Spark writes and reads their data files, the core their log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from stores import servers

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # an HDFS cluster


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URI of a directory."""
    pytest.importorskip("pyspark", reason="pip install --group spark-tests")
    with servers.hdfs(tmp_path_factory.mktemp("hdfs") / "cluster") as store:
        yield store.root


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def test_spark_and_the_core_read_what_spark_writes(spark: Any, hdfs: str) -> None:
    uri = f"{hdfs}/a b/written"
    properties = {"delta.enableDeletionVectors": "true"}
    frame = spark.range(100).selectExpr("id", "id % 3 AS part")
    assert dr_spark.write(frame, uri, partition_columns="part", properties=properties).version == 0
    assert dr_spark.write(frame.where("id < 10"), uri).version == 1
    table = dr.Table(uri)
    table.delete("id >= 5")
    expected = sorted([*range(5), *range(5)])
    assert sorted(table.snapshot().scan("id").to_arrow()["id"].to_pylist()) == expected
    assert ids(dr_spark.read(spark, uri)) == expected
    assert ids(dr_spark.read(spark, uri, filter="part = 1")) == [1, 1, 4, 4]
    assert table.verify(rows=True).ok


def test_commits_alternate_with_delta_spark(spark: Any, hdfs: str) -> None:
    uri = f"{hdfs}/turns"
    spark.range(5).write.format("delta").save(uri)
    table = dr.Table(uri)
    table.append({"id": [5, 6]})
    spark.range(7, 9).write.format("delta").mode("append").save(uri)
    assert table.snapshot().version == 2
    assert ids(spark.read.format("delta").load(uri)) == ids(dr_spark.read(spark, uri))
    assert ids(dr_spark.read(spark, uri)) == list(range(9))


def test_an_exhausted_quota_is_reported(spark: Any, hdfs: str) -> None:
    uri = f"{hdfs}/full"
    table = dr.create_table(uri, pa.schema([("id", pa.int64())]))
    jvm = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(uri)
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    system.setQuota(path, 1, 1 << 40)  # names, bytes
    with pytest.raises(dr.StorageError) as caught:
        table.append({"id": [1]})
    assert caught.value.code == "storage.full"
    assert table.snapshot().version == 0
