"""``df.write`` and ``writeStream`` with the format ``deltareplay``: each row once."""

from __future__ import annotations

import datetime
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark.support.delta_spark_logs import properties
from spark.support.settings import conf

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable
from deltareplay.spark.format.options import Use, WriteOptions, parse
from deltareplay.spark.format.sink import Sink, StagedRows
from deltareplay.spark.writing.target_table import TargetTable

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def registered(spark: Any) -> None:
    dr_spark.register(spark)


def write(frame: Any, path: Path, mode: str = "append", **options: Any) -> None:
    frame.write.format("deltareplay").mode(mode).options(**options).save(str(path))


def put(frame: Any, path: Path, mode: str = "append", **options: Any) -> None:
    """Write in two tasks without Spark's Python workers, each with half of the rows."""
    argument = {"path": str(path), **{name: str(value) for name, value in options.items()}}
    sink = pickle.loads(pickle.dumps(Sink.open(argument, frame.schema, mode == "overwrite")))
    rows = frame.toArrow()
    half = rows.num_rows // 2
    try:
        written = [sink.stage(row.to_batches(), None) for row in (rows[:half], rows[half:])]
    except dr.DeltaReplayError:
        assert uncommitted_files(path) == set()
        raise
    sink.commit(pickle.loads(pickle.dumps(written)), None)


def delta(spark: Any, path: Path) -> list[tuple[Any, ...]]:
    """Return the rows that delta-spark reads, after comparing them with ours."""
    frame = spark.read.format("delta").load(str(path))
    theirs = sorted((tuple(row.values()) for row in frame.toArrow().to_pylist()), key=repr)
    ours = dr.Table(path).snapshot().scan(frame.columns).to_arrow().to_pylist()
    assert sorted((tuple(row.values()) for row in ours), key=repr) == theirs
    return theirs


def uncommitted_files(path: Path) -> set[str]:
    """Return the data files that no version names."""
    table = dr.Table(path)
    named = set()
    for version in range(table.snapshot().version + 1):
        named |= set(table.snapshot(version).files(["path"])["path"].to_pylist())
    result = {str(item.relative_to(path)) for item in path.rglob("*.parquet")}
    return {item for item in result if "_delta_log" not in item and item not in named}


def last(path: Path) -> dict[str, Any]:
    row: dict[str, Any] = dr.Table(path).history(limit=1).to_pylist()[0]
    return row


def test_appends_create_a_table_and_add_columns(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = spark.sql(
        "SELECT id, CAST(id % 2 AS STRING) AS p, TIMESTAMP '2026-01-01' AS at FROM range(6)"
    )
    write(rows, path, partitionBy="p", userMetadata="first")
    assert len(delta(spark, path)) == 6
    assert dr.Table(path).snapshot().partition_columns == ["p"]
    assert (last(path)["operation"], last(path)["userMetadata"]) == ("WRITE", "first")
    assert dr.Table(path).snapshot().num_rows == 6, "from the statistics"
    write(spark.sql("SELECT 7L AS id, 2.5D AS more"), path, mergeSchema=True)
    result = spark.read.format("delta").load(str(path)).where("id = 7").collect()
    assert [row.asDict() for row in result] == [{"id": 7, "p": None, "at": None, "more": 2.5}]
    assert uncommitted_files(path) == set()


def test_overwrites_replace_rows(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = spark.sql("SELECT id, id % 3 AS p FROM range(9)")
    put(rows, path, partitionBy="p")
    put(spark.sql("SELECT 100L AS id, 1L AS p"), path, "overwrite", replaceWhere="p = 1")
    assert sorted(row[0] for row in delta(spark, path)) == [0, 2, 3, 5, 6, 8, 100]
    assert "p = 1" in str(last(path)["operationParameters"])
    put(
        spark.sql("SELECT 200L AS id, 2L AS p"),
        path,
        "overwrite",
        partitionOverwriteMode="dynamic",
    )
    assert sorted(row[0] for row in delta(spark, path)) == [0, 3, 6, 100, 200]
    before = dr.Table(path).snapshot().version
    with pytest.raises(dr.InvalidArgumentError, match="is not satisfied"):
        put(spark.sql("SELECT 1L AS id, 5L AS p"), path, "overwrite", replaceWhere="p = 1")
    with pytest.raises(dr.InvalidArgumentError, match="may have rows") as caught:
        put(spark.sql("SELECT 3L AS id, 0L AS p"), path, "overwrite", replaceWhere="id = 3")
    assert caught.value.code == "write.replace_where"
    assert dr.Table(path).snapshot().version == before
    put(spark.sql("SELECT 1L AS id, 1L AS p"), path, "overwrite")
    assert delta(spark, path) == [(1, 1)]
    assert uncommitted_files(path) == set()


def test_writes_follow_the_rules_of_the_table(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    listed = properties(
        enableDeletionVectors="true",
        enableRowTracking="true",
        enableInCommitTimestamps="true",
        **{"columnMapping.mode": "name", "constraints.small": "id < 50"},
    )
    spark.sql(f"CREATE TABLE delta.`{path}` (id LONG NOT NULL, s STRING) USING delta {listed}")
    put(spark.sql("SELECT 1 AS ID, 'x' AS s"), path)  # narrower, and in another case
    put(spark.sql("SELECT 2L AS id"), path)
    assert delta(spark, path) == [(1, "x"), (2, None)]
    ids = dr.Table(path).snapshot().scan(with_row_id=True).to_arrow()["_row_id"].to_pylist()
    assert sorted(ids) == [0, 1]
    for rows, message in [
        ("SELECT 99L AS id", "id < 50"),
        ("SELECT CAST(NULL AS LONG) AS id", "null"),
        ("SELECT 1L AS id, 2 AS z", "no column"),
    ]:
        with pytest.raises(dr.InvalidArgumentError, match=message):
            put(spark.sql(rows), path)
    assert len(delta(spark, path)) == 2
    assert uncommitted_files(path) == set()


def test_an_application_writes_once(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    for number in (4, 4, 3, 5):
        put(spark.range(2), path, txnAppId="nightly", txnVersion=number)
    assert len(delta(spark, path)) == 4
    assert dr.Table(path).snapshot().transactions["nightly"] == 5
    assert uncommitted_files(path) == set()


def test_a_failed_task_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark.range(2), path)
    for tasks in (1, 4) if os.environ.get("DELTAREPLAY_SLOW") else (1,):
        rows = spark.range(0, 40, 1, tasks)
        broken = rows.selectExpr("IF(id = 35, raise_error('half-way'), id) AS id")
        with pytest.raises(Exception, match="half-way"):
            write(broken, path)
        assert delta(spark, path) == [(0,), (1,)]
        # files of tasks that Spark kills with the job are left to VACUUM
        assert tasks > 1 or uncommitted_files(path) == set()


def test_options_are_checked(spark: Any, tmp_path: Path) -> None:
    for argument, overwrite, code in [
        ({"path": "t", "versionAsOf": "1"}, False, "option.unknown"),
        ({}, False, "option.path"),
        ({"path": "t", "replaceWhere": "a = 1"}, False, "option.write"),
        ({"path": "t", "partitionOverwriteMode": "some"}, True, "option.write"),
        ({"path": "t", "txnVersion": "1"}, False, "option.write"),
        ({"path": "t", "txnAppId": "a"}, False, "option.write"),
        ({"path": "t", "txnAppId": "a", "txnVersion": "one"}, False, "option.number"),
        ({"path": "t", "mergeSchema": "yes"}, False, "option.boolean"),
        ({"path": "t", "overwriteSchema": ""}, True, "option.boolean"),
    ]:
        with pytest.raises(dr.InvalidArgumentError) as caught:
            WriteOptions.of(parse(argument, Use.WRITE), overwrite=overwrite)
        assert caught.value.code == code
    numbered = parse({"path": "t", "txnAppId": "a"}, Use.WRITE)
    assert WriteOptions.of(numbered, overwrite=False, stream=True).txn_app_id == "a"
    secret = WriteOptions.of(
        parse({"path": "t", "storage.key": "hush-hush"}, Use.WRITE), overwrite=False
    )
    assert "hush-hush" not in repr(secret)
    path = tmp_path / "t"
    for name, value in (("some", "1"), ("versionAsOf", "1"), ("versionAsOf", "x")):
        reported = f"writing takes no option {name.lower()}: it takes path, allowedRoots"
        with pytest.raises(Exception, match=reported):
            write(spark.range(1), path, **{name: value})
    assert not path.exists()
    write(spark.range(1), path)
    with pytest.raises(Exception, match="reading takes no option mergeschema: it takes path"):
        spark.read.format("deltareplay").option("mergeSchema", True).load(str(path)).count()


def drain(query: Any) -> None:
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def streamed(spark: Any, path: Path, checkpoint: Path, source: Path, **options: Any) -> Any:
    frame = spark.readStream.schema("id long").parquet(str(source))
    writer = frame.writeStream.format("deltareplay").options(**options)
    writer = writer.option("checkpointLocation", str(checkpoint))
    return writer.trigger(processingTime="0 seconds").start(str(path))


SLOW = pytest.mark.skipif(not os.environ.get("DELTAREPLAY_SLOW"), reason="takes a minute")


@pytest.mark.parametrize("rows", ["arrow", pytest.param("rows", marks=SLOW)])
def test_a_stream_writes_each_batch_once(
    spark: Any, tmp_path: Path, rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rows == "rows":  # as in Spark 4.0
        from pyspark.sql import datasource

        monkeypatch.delattr(datasource, "DataSourceStreamArrowWriter")
        dr_spark.register(spark)
    source, path, checkpoint = tmp_path / "in", tmp_path / "t", tmp_path / "checkpoint"
    spark.range(5).coalesce(1).write.parquet(str(source))
    drain(streamed(spark, path, checkpoint, source))
    assert delta(spark, path) == [(number,) for number in range(5)]
    (query,) = dr.Table(path).snapshot().transactions
    assert query == json.loads((checkpoint / "metadata").read_text())["id"]
    assert last(path)["operation"] == "STREAMING UPDATE"
    metrics = dict(last(path)["operationMetrics"])
    assert metrics.keys() == {"numAddedFiles", "numRemovedFiles", "numOutputRows", "numOutputBytes"}
    assert (metrics["numAddedFiles"], metrics["numRemovedFiles"]) == ("1", "0")

    # killed between the commit and Spark's own record of it: the batch is repeated
    for commit in (checkpoint / "commits").glob("*0*"):
        commit.unlink()
    drain(streamed(spark, path, checkpoint, source))
    assert len(delta(spark, path)) == 5
    spark.range(5, 8).coalesce(1).write.mode("append").parquet(str(source))
    drain(streamed(spark, path, checkpoint, source))
    assert delta(spark, path) == [(number,) for number in range(8)]
    assert uncommitted_files(path) == set()
    monkeypatch.undo()
    dr_spark.register(spark)


@SLOW
def test_a_complete_stream_replaces_all(spark: Any, tmp_path: Path) -> None:
    source, path = tmp_path / "in", tmp_path / "t"
    spark.range(5).coalesce(1).write.parquet(str(source))

    def counted() -> None:
        frame = spark.readStream.schema("id long").parquet(str(source))
        writer = frame.groupBy().count().writeStream.format("deltareplay").outputMode("complete")
        writer = writer.option("checkpointLocation", str(tmp_path / "c")).option("txnAppId", "sums")
        drain(writer.trigger(processingTime="0 seconds").start(str(path)))

    counted()
    assert delta(spark, path) == [(5,)]
    spark.range(5).coalesce(1).write.mode("append").parquet(str(source))
    counted()
    assert delta(spark, path) == [(10,)]
    assert set(dr.Table(path).snapshot().transactions) == {"sums"}


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("mode", ["name", "id"])
def test_new_columns_of_streams_have_their_values(
    spark: Any, tmp_path: Path, mode: str, exists: bool
) -> None:
    """Mapped columns: the tasks and the commit of a batch have the same physical names.

    As in delta-spark 4.4. Spark creates the writer twice, in two processes.
    """
    source, path = tmp_path / "in", tmp_path / "t"
    spark.sql("SELECT id, named_struct('a', id) AS s FROM range(3)").write.parquet(str(source))
    setting = "spark.databricks.delta.properties.defaults.columnMapping.mode"
    with conf(spark, **{setting: mode}):
        if exists:
            write(spark.sql("SELECT 7L AS id"), path)
        rows = spark.readStream.schema("id long, s struct<a:long>").parquet(str(source))
        writer = rows.writeStream.format("deltareplay").option("mergeSchema", True)
        writer = writer.option("checkpointLocation", str(tmp_path / "c"))
        drain(writer.trigger(availableNow=True).start(str(path)))
    assert dr.Table(path).snapshot().properties["delta.columnMapping.mode"] == mode
    expected = [(number, {"a": number}) for number in range(3)]
    assert delta(spark, path) == ([*expected, (7, None)] if exists else expected)


def test_rejects_batches_of_an_unidentified_query(tmp_path: Path) -> None:
    """If Spark does not identify the query, no batch is committed that could be repeated."""
    table = dr.create_table(tmp_path / "t", pa.schema({"id": pa.int64()}))
    options = WriteOptions.of(parse({"path": str(tmp_path / "t")}, Use.WRITE), overwrite=False)
    version = table.snapshot().version
    sink = Sink(TargetTable.of(table.snapshot()), options, False)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        sink.commit([StagedRows("[]", 0, 0, None, None)], 3)
    assert caught.value.code == "sink.query"
    sink.commit([], 4)  # there is no query to identify, and nothing can be repeated
    assert table.snapshot().version == version


def test_a_generated_column_in_another_time_zone(spark: Any, tmp_path: Path) -> None:
    """delta-spark computes it in the session's zone; Python workers would compute it in UTC."""
    base = tmp_path / "t"
    table = DeltaTable.create(spark).location(str(base)).addColumn("ts", "TIMESTAMP")
    table.addColumn("d", "DATE", generatedAlwaysAs="CAST(ts AS DATE)").execute()
    with conf(spark, spark__sql__session__timeZone="Asia/Kolkata"):
        rows = spark.sql("SELECT TIMESTAMP '2026-05-05 05:05:05' AS ts")
        with pytest.raises(Exception, match=r"write\.feature"):
            write(rows, base)
        write(rows, tmp_path / "u", "overwrite", replaceWhere="ts > '2026-05-05'")
        assert len(delta(spark, tmp_path / "u")) == 1
        assert dr.Table(base).snapshot().version == 0
        rows.write.format("delta").mode("append").save(str(base))
        dr_spark.write(rows, base)
    write(spark.sql("SELECT TIMESTAMP '2026-05-05 05:05:05' AS ts"), base)
    dates = [row[1] for row in delta(spark, base)]
    assert dates == [datetime.date(2026, 5, 5)] * 3


KILLED = """
import sys
from pyspark.sql import SparkSession
from deltareplay import spark as dr_spark

source, checkpoint, path = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1").getOrCreate()
)
dr_spark.register(spark)
frame = spark.readStream.option("maxFilesPerTrigger", 1).schema("id long").parquet(source)
query = (
    frame.writeStream.format("deltareplay").option("checkpointLocation", checkpoint)
    .trigger(processingTime="0 seconds").start(path)
)
query.awaitTermination()
"""


@SLOW
def test_killed_streams_write_each_row_once(spark: Any, tmp_path: Path) -> None:
    """Wherever a process is killed, the table has each row once in the end."""
    source, path, checkpoint = tmp_path / "in", tmp_path / "t", tmp_path / "checkpoint"
    source.mkdir()
    for number in range(40):
        pq.write_table(pa.table({"id": [number]}), source / f"{number:03}.parquet")
    command = [sys.executable, "-c", KILLED, str(source), str(checkpoint), str(path)]
    for kill in range(3):
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        )
        try:
            for _ in range(6000):
                log = list((path / "_delta_log").glob("0*.json")) if path.exists() else []
                if len(log) > 6 * (kill + 1):
                    break
                time.sleep(0.02)
            assert process.poll() is None
            assert len(log) > 6 * (kill + 1)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    drain(streamed(spark, path, checkpoint, source))
    assert sorted(delta(spark, path)) == [(number,) for number in range(40)]


def test_a_stream_creates_its_table_by_name(spark: Any, name: str, tmp_path: Path) -> None:
    write(spark.range(3), tmp_path / "source")
    rows = spark.readStream.format("deltareplay").load(str(tmp_path / "source"))
    writer = rows.writeStream.format("deltareplay").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.toTable(name).awaitTermination(120)
    assert spark.table(name).count() == 3
