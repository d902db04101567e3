"""``spark.readStream.format("deltareplay")``: each row once, however a query ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from spark.support import delta_spark_changes
from support import data, logs

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def registered(spark: Any) -> None:
    dr_spark.register(spark)


class Sink:
    """Keeps the rows of each batch, and of each repetition of a batch."""

    def __init__(self) -> None:
        self.batches: dict[int, list[list[Any]]] = {}
        self.fails_in: int | None = None

    def __call__(self, frame: Any, batch: int) -> None:
        rows = sorted(row.id for row in frame.select("id").collect())
        self.batches.setdefault(batch, []).append(rows)
        if batch == self.fails_in:
            raise RuntimeError("the sink fails")

    @property
    def rows(self) -> list[list[Any]]:
        """Return the last rows of each batch."""
        return [self.batches[batch][-1] for batch in sorted(self.batches)]


def start(spark: Any, log: Any, sink: Any, checkpoint: Path, trigger: Any, **options: Any) -> Any:
    frame = spark.readStream.format("deltareplay").options(**options).load(str(log.table))
    writer = frame.writeStream.foreachBatch(sink)
    return writer.option("checkpointLocation", str(checkpoint)).trigger(**trigger).start()


ONCE = {"availableNow": True}
OFTEN = {"processingTime": "0 seconds"}


def drain(query: Any) -> None:
    query.processAllAvailable()
    query.stop()


def grow(log: logs.LogBuilder, *ids: int) -> None:
    log.commit(
        logs.commit_info(),
        *(data.write(log.table, f"{number}.parquet", {"id": [number]}) for number in ids),
    )


@pytest.fixture
def grown(log: logs.LogBuilder) -> logs.LogBuilder:
    log.create(logs.schema(id="long"))
    grow(log, 1, 2)
    return log


def offsets(checkpoint: Path) -> list[Any]:
    """Return Spark's offsets of each batch."""
    files = [path for path in (checkpoint / "offsets").iterdir() if path.name.isdigit()]
    files.sort(key=lambda path: int(path.name))
    return [json.loads(file.read_text().splitlines()[-1]) for file in files]


@pytest.mark.slow
def test_an_available_now_run_returns_all_rows_in_batches(
    spark: Any, grown: Any, tmp_path: Path
) -> None:
    if tuple(map(int, spark.version.split(".")[:2])) < (4, 2):
        pytest.skip("Spark before 4.2 does not tell its Python sources that a run is to end")
    for number in range(3, 10):
        grow(grown, number)
    checkpoint = tmp_path / "checkpoint"

    class GrowingSink(Sink):
        def __call__(self, frame: Any, batch: int) -> None:
            super().__call__(frame, batch)
            if batch == 0:
                grow(grown, 100, 101, 102)

    sink = GrowingSink()
    start(spark, grown, sink, checkpoint, ONCE, maxFilesPerTrigger=2).awaitTermination()
    assert sink.rows == [[1, 2], [3, 4], [5, 6], [7, 8], [9]]
    # later rows are for the next run; a batch that fails is repeated by the run after it
    sink.fails_in = 5
    with pytest.raises(Exception, match="the sink fails"):
        start(spark, grown, sink, checkpoint, ONCE, maxFilesPerTrigger=2).awaitTermination()
    sink.fails_in = None
    start(spark, grown, sink, checkpoint, ONCE, maxFilesPerTrigger=2).awaitTermination()
    assert sink.rows[5:] == [[100, 101], [102]]
    # by bytes, from the first version on, and changes
    size = dr.Table(grown.uri).snapshot().size_in_bytes // 12
    for options, batches in [
        ({"startingVersion": "1", "maxBytesPerTrigger": str(3 * size)}, 4),
        ({"startingVersion": "1", "readChangeFeed": "true", "maxFilesPerTrigger": "6"}, 2),
        ({"startingVersion": "1"}, 1),
    ]:
        sink = Sink()
        path = tmp_path / f"checkpoint-{len(options)}-{batches}"
        start(spark, grown, sink, path, ONCE, **options).awaitTermination()
        assert sorted(number for batch in sink.rows for number in batch) == [
            *range(1, 10),
            100,
            101,
            102,
        ]
        assert len(sink.rows) == batches


def test_identity_columns_and_comments_do_not_stop_a_stream(spark: Any, tmp_path: Path) -> None:
    """Every write of an identity column changes the schema in the log."""
    path = tmp_path / "t"
    table = f"delta.`{path}`"
    for text in (
        f"CREATE TABLE {table} (id BIGINT GENERATED ALWAYS AS IDENTITY, v STRING) USING delta",
        f"INSERT INTO {table} (v) VALUES ('a')",
    ):
        dr_spark.sql(spark, text)
    rows: list[Any] = []
    frame = spark.readStream.format("deltareplay").load(str(path))
    writer = frame.writeStream.foreachBatch(
        lambda batch, _: rows.extend((row.id is not None, row.v) for row in batch.collect())
    )
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.processAllAvailable()
    for change in ("ALTER COLUMN v COMMENT 'a note'", "ALTER COLUMN v FIRST", None):
        if change is not None:
            dr_spark.sql(spark, f"ALTER TABLE {table} {change}")
        dr_spark.sql(spark, f"INSERT INTO {table} (v) VALUES ('b')")
        query.processAllAvailable()
    query.stop()
    assert rows == [(True, "a"), (True, "b"), (True, "b"), (True, "b")]


@pytest.mark.slow
def test_limits_and_restarts(spark: Any, grown: Any, tmp_path: Path) -> None:
    sink, checkpoint = Sink(), tmp_path / "checkpoint"
    query = start(spark, grown, sink, checkpoint, OFTEN, maxFilesPerTrigger=1)
    query.processAllAvailable()
    assert sink.rows == [[1], [2]]
    grow(grown, 3)
    drain(query)
    grow(grown, 5, 6)
    drain(start(spark, grown, sink, checkpoint, OFTEN, maxFilesPerTrigger=1))
    assert sink.rows[2:] == [[3], [5], [6]]
    grow(grown, 7, 8)
    grow(grown, 9)
    # without a limit, all new rows are one batch
    start(spark, grown, sink, checkpoint, ONCE).awaitTermination()
    assert sink.rows[5:] == [[7, 8, 9]]
    # Delta's own offsets: a stream without Spark continues after any of them
    recorded = offsets(checkpoint)
    assert recorded[1] == {
        "sourceVersion": 1,
        "reservoirId": logs.TABLE_ID,
        "reservoirVersion": 2,
        "index": -1,
        "isStartingVersion": False,
    }
    assert [recorded[3][name] for name in ("reservoirVersion", "index")] == [3, 0]
    rest = dr.Table(grown.uri).follow(offset=json.dumps(recorded[3]), available_now=True)
    assert [sorted(batch.data["id"].to_pylist()) for batch in rest] == [[6, 7, 8, 9]]


@pytest.mark.parametrize("options", [{}, {"startingVersion": 1}], ids=["state", "commits"])
def test_a_failed_batch_is_repeated_with_the_same_rows(
    spark: Any, grown: Any, tmp_path: Path, options: Any
) -> None:
    sink, checkpoint = Sink(), tmp_path / "checkpoint"
    for failing, ids in [(0, (3, 4)), (1, (5,))]:
        sink.fails_in = failing
        query = start(spark, grown, sink, checkpoint, OFTEN, **options)
        with pytest.raises(Exception, match="the sink fails"):
            query.awaitTermination()
        grow(grown, *ids)
        sink.fails_in = None
    for _ in range(2):  # the batch that was not finished, and then the rest
        start(spark, grown, sink, checkpoint, ONCE, **options).awaitTermination()
    assert sink.rows == [[1, 2], [3, 4], [5]]
    assert sink.batches[0] == [[1, 2]] * 2
    assert sink.batches[1] == [[3, 4]] * 2


def test_the_change_feed_is_that_of_delta_spark(spark: Any, changed: Any, tmp_path: Path) -> None:
    path = changed("mor_tracked_in_commit")

    def streamed(format: str, **options: Any) -> Counter[str]:
        frame = (
            spark.readStream.format(format).options(startingVersion=1, **options).load(str(path))
        )
        name = f"streamed_{format}_{len(options)}"
        writer = frame.writeStream.format("memory").queryName(name).trigger(**ONCE)
        writer.option("checkpointLocation", str(tmp_path / name)).start().awaitTermination()
        return Counter(map(repr, spark.table(name).toArrow().to_pylist()))

    theirs = streamed("delta", readChangeFeed=True)
    assert len(theirs) > 20
    assert streamed("deltareplay", readChangeFeed=True) == theirs
    table = dr.Table(path)
    net = streamed("deltareplay", changeKind="upsert", changeDeleted="include", splitSize=1)
    expected = table.changes(1, kind="upsert", deleted="include").to_arrow()
    assert net == Counter(map(repr, expected.to_pylist()))


def test_errors_end_the_query(spark: Any, changed: Any, tmp_path: Path) -> None:
    path = changed(next(iter(delta_spark_changes.CHANGED)))

    def fails(**options: Any) -> str:
        frame = spark.readStream.format("deltareplay").options(**options).load(str(path))
        location = str(tmp_path / f"failed-{len(options)}-{time.time()}")
        writer = frame.writeStream.format("noop").option("checkpointLocation", location)
        with pytest.raises(Exception) as caught:
            writer.trigger(**ONCE).start().awaitTermination()
        return str(caught.value)

    assert "skip_change_commits" in fails(startingVersion=1)
    assert "a stream does not support that" in fails(versionAsOf=1)
    assert "the newest version is" in fails(startingVersion=99)
    with pytest.raises(Exception, match=r"only spark\.readStream supports that"):
        spark.read.format("deltareplay").option("maxFilesPerTrigger", 1).load(str(path)).count()


KILLED = """
import sys, time
from pyspark.sql import SparkSession
from deltareplay import spark as dr_spark

table, checkpoint, out = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1").getOrCreate()
)
dr_spark.register(spark)
frame = spark.readStream.format("deltareplay").option("maxFilesPerTrigger", 1).load(table)
query = (
    frame.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    .trigger(processingTime="0 seconds").start(out)
)
query.awaitTermination()
"""


@pytest.mark.skipif(not os.environ.get("DELTAREPLAY_SLOW"), reason="starts Spark several times")
def test_killed_streams_read_each_row_once(spark: Any, grown: Any, tmp_path: Path) -> None:
    """Wherever a process is killed, the file sink has each row once in the end."""
    checkpoint, out = tmp_path / "checkpoint", tmp_path / "out"
    ids = [1, 2]
    command = [sys.executable, "-c", KILLED, str(grown.table), str(checkpoint), str(out)]
    for _ in range(3):
        done = len(list((checkpoint / "commits").glob("[0-9]*"))) if checkpoint.exists() else 0
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        )
        try:
            for _ in range(4800):
                result = list((checkpoint / "offsets").glob("[0-9]*"))
                if len(result) > done + 1:
                    break
                time.sleep(0.05)
                if len(ids) < 40:
                    ids.append(ids[-1] + 1)
                    grow(grown, ids[-1])
            assert len(result) > done + 1
            assert process.poll() is None
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    frame = spark.readStream.format("deltareplay").load(str(grown.table))
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    for _ in range(2):
        writer.trigger(**ONCE).start(str(out)).awaitTermination()
    assert sorted(row.id for row in spark.read.parquet(str(out)).collect()) == ids
    assert len(offsets(checkpoint)) > 4
