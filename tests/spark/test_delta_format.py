"""The format ``delta`` without delta-spark's jar: Delta's options, and names in the catalog.

Spark prefers the jar's format: with the jar, only ``write`` and what ``register`` refuses are
tested.
``test_without_jar.py`` runs this file in sessions without it.
"""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from spark.conftest import SESSION
from spark.support.delta_tables import rows_of
from spark.support.settings import conf

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.format.source import in_zone

pytestmark = pytest.mark.spark

without_jar = pytest.mark.skipif(SESSION == "delta-spark", reason="the format is the jar's")


def message(call: Any) -> str:
    """Return the message of a call's error, as Spark displays it."""
    with pytest.raises(Exception, match=r"\S") as caught:
        call()
    return str(caught.value)


@pytest.fixture
def delta(spark: Any) -> Any:
    """The session with the format."""
    dr_spark.register(spark, "delta")
    return spark


@pytest.fixture
def path(delta: Any, tmp_path: Path) -> str:
    """Three versions: rows 0 and 1, then also 2 and 3, then only 4 and 5."""
    location = str(tmp_path / "t")
    for start, mode in ((0, "append"), (2, "append"), (4, "overwrite")):
        delta.range(start, start + 2).write.format("delta").mode(mode).save(location)
    return location


@pytest.mark.skipif(SESSION != "delta-spark", reason="there is no jar")
def test_the_jar_keeps_its_format(spark: Any) -> None:
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.register(spark, "delta")
    assert caught.value.code == "spark.jar"
    dr_spark.register(spark)


def test_register_refuses_other_names(spark: Any) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.register(spark, "parquet")  # type: ignore[arg-type]
    assert caught.value.code == "spark.format"


@without_jar
def test_every_thread_finds_the_format(delta: Any, path: str) -> None:
    """As with delta-spark, whose test of inconsistent sessions writes in a pool of threads."""
    more = f"{path}_more"

    def written_and_read() -> list[tuple[Any, ...]]:
        delta.range(2).write.format("delta").mode("append").save(more)
        return rows_of(delta.read.format("delta").load(more))

    def streamed() -> list[tuple[Any, ...]]:
        rows = delta.readStream.format("delta").load(more).writeStream.format("delta")
        rows = rows.option("checkpointLocation", f"{more}_checkpoint").trigger(availableNow=True)
        rows.start(f"{more}_streamed").awaitTermination()
        return rows_of(delta.read.format("delta").load(f"{more}_streamed"))

    def named() -> int:
        delta.sql(f"CREATE TABLE in_a_thread USING delta LOCATION '{more}'")
        delta.sql("DROP TABLE in_a_thread")
        return dr_spark.read(delta, more).count()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(written_and_read).result() == [(0,), (1,)]
        assert pool.submit(streamed).result() == [(0,), (1,)]
        assert pool.submit(named).result() == 2


@without_jar
@pytest.mark.skipif(SESSION == "connect", reason="there newSession() is another connection")
def test_other_sessions_find_the_format(delta: Any, path: str) -> None:
    other = delta.newSession()
    assert rows_of(other.read.format("delta").load(path)) == [(4,), (5,)]
    other.range(1).write.format("Delta").mode("append").save(f"{path}_other")
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(lambda: rows_of(other.read.format("delta").load(f"{path}_other")))
        assert read.result() == [(0,)]


@without_jar
@pytest.mark.skipif(SESSION == "connect", reason="there newSession() is another connection")
def test_each_session_registers_with_its_own_time_zone(delta: Any, path: str) -> None:
    other = delta.newSession()
    other.conf.set("spark.sql.session.timeZone", "+14:00")
    for _ in range(2):
        dr_spark.register(other, "delta")
    at = dr.Table(path).snapshot(version=2).timestamp.strftime("%Y-%m-%d %H:%M:%S.%f")
    read = delta.read.format("delta").option("timestampAsOf", at)
    assert rows_of(read.load(path)) == [(4,), (5,)]
    with pytest.raises(Exception, match="before"):
        other.read.format("delta").option("timestampAsOf", at).load(path).collect()


@without_jar
def test_reads_versions_and_timestamps(delta: Any, path: str) -> None:
    read = delta.read.format("delta")
    assert rows_of(read.load(path)) == [(4,), (5,)]
    assert rows_of(delta.read.format("delta").option("versionAsOf", 0).load(path)) == [(0,), (1,)]
    history = dr.Table(path).history().to_pylist()
    at = next(row["timestamp"] for row in history if row["version"] == 1)
    text = at.strftime("%Y-%m-%d %H:%M:%S.%f")
    old = delta.read.format("delta").option("timestampAsOf", text).load(path)
    assert rows_of(old) == [(0,), (1,), (2,), (3,)]


@without_jar
def test_timestamps_are_in_the_time_zone_of_the_session(spark: Any, tmp_path: Path) -> None:
    dr_spark.write(spark.range(1), tmp_path / "t")
    [row] = dr.Table(tmp_path / "t").history().to_pylist()
    in_utc = row["timestamp"].strftime("%Y-%m-%d %H:%M:%S.%f")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        dr_spark.register(spark, "delta")
        # nine hours before the table was created, in Tokyo's time zone
        read = spark.read.format("delta").option("timestampAsOf", in_utc)
        assert "pass that time or a later one" in message(
            lambda: read.load(str(tmp_path / "t")).collect()
        )
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        dr_spark.register(spark, "delta")
    read = spark.read.format("delta").option("timestampAsOf", in_utc)
    assert read.load(str(tmp_path / "t")).count() == 1


@without_jar
@pytest.mark.parametrize("switch", ["readChangeFeed", "readChangeData"])
@pytest.mark.parametrize("value", [True, "true", "tRuE"])
def test_reads_changes(delta: Any, path: str, switch: str, value: Any) -> None:
    read = delta.read.format("delta").option(switch, value).option("startingVersion", 1)
    result = rows_of(read.load(path).select("id", "_change_type", "_commit_version"))
    inserts = [(2, "insert", 1), (3, "insert", 1), (4, "insert", 2), (5, "insert", 2)]
    assert result == sorted([*((number, "delete", 2) for number in range(4)), *inserts], key=repr)
    some = read.option("endingVersion", 1).load(path)
    assert rows_of(some.select("id")) == [(2,), (3,)]


@without_jar
def test_changes_between_times(delta: Any, path: str) -> None:
    times = {row["version"]: row["timestamp"] for row in dr.Table(path).history().to_pylist()}
    read = delta.read.format("delta").option("readChangeFeed", True)
    for side in ("starting", "ending"):
        read = read.option(f"{side}Timestamp", times[1].strftime("%Y-%m-%d %H:%M:%S.%f"))
    assert rows_of(read.load(path).select("id", "_commit_version")) == [(2, 1), (3, 1)]


@without_jar
@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"readChangeFeed": "true"}, "option.start"),
        ({"startingVersion": "1"}, "option.stream"),
        (
            {"readChangeFeed": "true", "startingVersion": "0", "startingTimestamp": "2026-01-01"},
            "option.start",
        ),
        (
            {"readChangeFeed": "true", "startingVersion": "0", "maxFilesPerTrigger": "1"},
            "option.stream",
        ),
        ({"readChangeFeed": "true", "startingVersion": "x"}, "option.number"),
    ],
    ids=["no start", "no changes", "two starts", "a stream's option", "not a number"],
)
def test_refuses_wrong_ranges_of_changes(path: str, options: dict[str, str], code: str) -> None:
    from deltareplay.spark.format.data_source import DeltaReplayDataSource

    source = DeltaReplayDataSource({"path": path, **options})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        source.reader(source.schema()).partitions()
    assert caught.value.code == code


@without_jar
def test_merges_and_overwrites_schemas(delta: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = delta.sql("SELECT 1L AS id")
    more = delta.sql("SELECT 2L AS id, 'x' AS note")
    rows.write.format("delta").mode("append").save(path)
    with_note = more.write.format("delta").mode("append")
    assert "note" in message(lambda: with_note.save(path))
    more.write.format("delta").mode("append").option("mergeSchema", "true").save(path)
    assert rows_of(delta.read.format("delta").load(path)) == [(1, None), (2, "x")]
    other = delta.sql("SELECT 'y' AS note, 7 AS number")
    over = other.write.format("delta").mode("overwrite")
    assert "number" in message(lambda: over.save(path))
    id_before = dr.Table(path).snapshot().metadata.id
    writer = other.write.format("delta").mode("overwrite").option("overwriteSchema", True)
    writer.option("partitionBy", "note").save(path)
    read = delta.read.format("delta").load(path)
    assert read.dtypes == [("note", "string"), ("number", "int")]
    assert rows_of(read) == [("y", 7)]
    snapshot = dr.Table(path).snapshot()
    assert snapshot.partition_columns == ["note"]
    assert snapshot.metadata.id == id_before, "it is the same table"
    again = other.write.format("delta").mode("overwrite").option("overwriteSchema", True)
    again.save(path)
    assert dr.Table(path).snapshot().partition_columns == [], "as in delta-spark"
    append = other.write.format("delta").mode("append").option("overwriteSchema", True)
    assert "overwriteSchema replaces all rows" in message(lambda: append.save(path))


@without_jar
def test_replaces_a_part_of_the_rows(delta: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = delta.sql("SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(id, p)")
    new = rows.write.format("delta").mode("append").option("partitionBy", "p")
    new.option("delta.enableChangeDataFeed", "true").save(path)
    assert dr.Table(path).snapshot().properties == {"delta.enableChangeDataFeed": "true"}
    some = delta.sql("SELECT 3 AS id, 'a' AS p")
    writer = some.write.format("delta").mode("overwrite").option("replaceWhere", "p = 'a'")
    writer.option("userMetadata", "why").save(path)
    assert rows_of(delta.read.format("delta").load(path)) == [(2, "b"), (3, "a")]
    [last] = dr.Table(path).history(1).to_pylist()
    assert last["userMetadata"] == "why"
    more = delta.sql("SELECT 4 AS id, 'b' AS p")
    writer = more.write.format("delta").mode("overwrite")
    writer.option("partitionOverwriteMode", "dynamic").save(path)
    assert rows_of(delta.read.format("delta").load(path)) == [(3, "a"), (4, "b")]
    more = delta.sql("SELECT * FROM VALUES (5, 'a'), (6, 'b') AS t(id, p)")
    more.write.format("delta").mode("append").save(path)
    writer = delta.sql("SELECT 6 AS id, 'c' AS p").write.format("delta").mode("overwrite")
    writer.option("replaceWhere", "id > 4").save(path)  # a condition on rows, not on partitions
    assert rows_of(delta.read.format("delta").load(path)) == [(3, "a"), (4, "b"), (6, "c")]
    [last] = dr.Table(path).history(1).to_pylist()
    assert "id > 4" in str(last["operationParameters"])


@without_jar
def test_a_repeated_write_is_done_once(delta: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for _ in range(2):
        writer = delta.range(2).write.format("delta").mode("append")
        writer.option("txnAppId", "nightly").option("txnVersion", 7).save(path)
    assert dr.Table(path).snapshot().transactions == {"nightly": 7}
    assert delta.read.format("delta").load(path).count() == 2


#: Rows whose types do not fit INT, which delta-spark refuses (DELTA_FAILED_TO_MERGE_FIELDS).
MISFITS = {"double": "5.7D", "string": "'6'", "bigint": "7L", "decimal": "8BD"}


@without_jar
@pytest.mark.parametrize("type_", MISFITS)
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_types_have_to_fit(delta: Any, tmp_path: Path, type_: str, mode: str) -> None:
    path = str(tmp_path / "t")
    dr_spark.write(delta.sql("SELECT 1 AS k, named_struct('a', 1) AS s"), path)
    value = MISFITS[type_]
    for rows in (f"SELECT {value} AS k", f"SELECT 1 AS k, named_struct('a', {value}) AS s"):
        writer = delta.sql(rows).write.format("delta").mode(mode)
        assert "in the rows: cast it" in message(lambda w=writer: w.save(path))
    narrower = delta.sql("SELECT 2S AS k, named_struct('a', 3Y) AS s").write.format("delta")
    narrower.mode(mode).save(path)
    result = rows_of(delta.read.format("delta").load(path).selectExpr("k", "s.a"))
    assert result[-1] == (2, 3)
    assert len(result) == (2 if mode == "append" else 1)


@without_jar
def test_streams_are_cast(delta: Any, tmp_path: Path) -> None:
    # as in delta-spark (spark.databricks.delta.streaming.sink.allowImplicitCasts)
    source, path = str(tmp_path / "source"), str(tmp_path / "t")
    dr_spark.write(delta.sql("SELECT 7L AS k"), source)
    dr_spark.write(delta.sql("SELECT 1 AS k"), path)
    rows = delta.readStream.format("delta").load(source)
    query = (
        rows.writeStream.format("delta")
        .option("checkpointLocation", str(tmp_path / "c"))
        .trigger(availableNow=True)
        .start(path)
    )
    query.awaitTermination()
    assert rows_of(delta.read.format("delta").load(path)) == [(1,), (7,)]


@without_jar
@pytest.mark.parametrize("way", ["before the format", "after the format", "of start", "a list"])
def test_streams_are_partitioned(delta: Any, tmp_path: Path, way: str) -> None:
    # as in delta-spark; Spark drops partitionBy of streams into Python data sources
    source, path = str(tmp_path / "source"), str(tmp_path / "t")
    dr_spark.write(delta.sql("SELECT 1 AS k, 'a' AS p, 2 AS `q-r`"), source)
    writer = delta.readStream.format("delta").load(source).writeStream
    writer = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    if way == "before the format":
        query = writer.partitionBy("p", "q-r").format("delta").start(path)
    elif way == "after the format":
        query = writer.format("delta").partitionBy("p", "q-r").start(path)
    elif way == "of start":
        query = writer.start(path, format="delta", partitionBy=["p", "q-r"])
    else:
        query = writer.format("delta").partitionBy(["p", "q-r"]).start(path)
    query.awaitTermination()
    assert dr.Table(path).snapshot().partition_columns == ["p", "q-r"]
    assert rows_of(dr_spark.read(delta, path)) == [(1, "a", 2)]


@without_jar
def test_other_formats_are_still_partitioned(delta: Any, path: str, tmp_path: Path) -> None:
    rows = delta.read.format("delta").load(path).selectExpr("id", "id % 2 AS p")
    rows.write.format("parquet").partitionBy("p").save(str(tmp_path / "batch"))
    assert rows_of(delta.read.parquet(str(tmp_path / "batch"))) == [(4, 0), (5, 1)]
    stream = delta.readStream.format("delta").load(path).selectExpr("id", "id % 2 AS p")
    writer = stream.writeStream.option("checkpointLocation", str(tmp_path / "c"))
    query = writer.trigger(availableNow=True).start(
        str(tmp_path / "stream"), format="parquet", partitionBy="p"
    )
    query.awaitTermination()
    assert rows_of(delta.read.parquet(str(tmp_path / "stream"))) == [(4, 0), (5, 1)]


@without_jar
@pytest.mark.parametrize("stream", [False, True], ids=["batch", "stream"])
def test_the_format_obeys_settings_of_the_session(delta: Any, tmp_path: Path, stream: bool) -> None:
    path, source = str(tmp_path / "t"), str(tmp_path / "source")
    dr_spark.write(delta.sql("SELECT 1 AS k"), path)
    dr_spark.write(delta.sql("SELECT 2 AS k, 'x' AS w"), source)
    settings = {
        "spark.databricks.delta.schema.autoMerge.enabled": "true",
        "spark.databricks.delta.commitInfo.userMetadata": "nightly",
    }

    def write(**options: str) -> None:
        if not stream:
            rows = delta.read.format("delta").load(source)
            rows.write.format("delta").mode("append").options(**options).save(path)
            return
        rows = delta.readStream.format("delta").load(source)
        writer = rows.writeStream.format("delta").options(**options).trigger(availableNow=True)
        number = len(list(tmp_path.iterdir()))
        writer = writer.option("checkpointLocation", str(tmp_path / f"c{number}"))
        writer.start(path).awaitTermination()

    with conf(delta, **settings):
        # an option of the write takes precedence, as in delta-spark
        assert "no column" in message(lambda: write(mergeSchema="false"))
        write()
        write(userMetadata="own")
    assert rows_of(dr_spark.read(delta, path)) == [(1, None), (2, "x"), (2, "x")]
    texts = dr.Table(path).history()["userMetadata"].to_pylist()
    assert texts == ["own", "nightly", None]
    write()
    assert dr.Table(path).history(1)["userMetadata"].to_pylist() == [None]


@without_jar
def test_a_stream_skips_change_commits(delta: Any, path: str, tmp_path: Path) -> None:
    read = delta.readStream.format("delta").option("maxFilesPerTrigger", 1)
    read = read.option("schemaTrackingLocation", str(tmp_path / "unused"))
    rows = read.option("startingVersion", 0).option("skipChangeCommits", "true").load(path)
    writer = rows.writeStream.format("delta").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "c")).start(str(tmp_path / "copy"))
    query.awaitTermination()
    copy = delta.read.format("delta").load(str(tmp_path / "copy"))
    assert rows_of(copy) == [(0,), (1,), (2,), (3,)]


@without_jar
def test_a_stream_skips_missing_commits(delta: Any, tmp_path: Path) -> None:
    path, copy = tmp_path / "t", str(tmp_path / "copy")

    def run(**options: str) -> list[tuple[Any, ...]]:
        rows = delta.readStream.format("delta").options(**options).load(str(path))
        writer = rows.writeStream.format("delta").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(tmp_path / "c")).start(copy)
        query.awaitTermination()
        return rows_of(delta.read.format("delta").load(copy))

    dr.write(path, [{"id": 0}])
    assert run() == [(0,)]
    for number in range(1, 5):
        dr.write(path, [{"id": number}], mode="append")
    dr.Table(path).checkpoint()
    for version in range(3):
        (path / "_delta_log" / f"{version:020}.json").unlink()
    assert "version.range" in message(run)
    assert run(failOnDataLoss="false") == [(0,), (3,), (4,)]


@without_jar
def test_modes_for_new_tables(delta: Any, tmp_path: Path) -> None:
    """Spark itself refuses them for Python data sources."""

    def mode(path: Path) -> Any:
        return dict(dr.Table(path).history().to_pylist()[-1]["operationParameters"])["mode"]

    for name, recorded in ((None, "ErrorIfExists"), ("Ignore", "Ignore")):
        path = tmp_path / str(name)
        writer = delta.range(1).write.format("delta")
        writer = writer if name is None else writer.mode(name)
        writer.save(str(path))
        assert mode(path) == recorded
        if name is None:
            with pytest.raises(dr.InvalidArgumentError) as caught:
                writer.save(str(path))
            assert caught.value.code == "table.exists"
            with pytest.raises(dr.InvalidArgumentError):
                delta.range(1).write.save(str(path), format="delta", mode="errorIfExists")
            with pytest.raises(dr.InvalidArgumentError) as caught:
                writer.save()
            assert caught.value.code == "option.path"
        else:
            writer.save(str(path))
        assert dr_spark.count(delta, path) == 1
        writer.mode("append").save(str(path))
        assert dr_spark.count(delta, path) == 2
    with pytest.raises(Exception, match=r"PATH_ALREADY_EXISTS"):
        for _ in range(2):
            delta.range(1).write.format("parquet").save(str(tmp_path / "b"))


@without_jar
def test_partitions_of_a_batch(delta: Any, tmp_path: Path) -> None:
    rows = delta.createDataFrame([(1, "a", "x,y"), (2, "b", None)], ["id", "p", "q,r"])
    rows = rows.withColumnRenamed("q,r", "q-r")
    path = str(tmp_path / "t")
    writer = rows.write.partitionBy("p", "q-r").format("delta")
    writer.save(path)
    assert dr.Table(path).snapshot().partition_columns == ["p", "q-r"]
    writer.mode("append").save(path)
    rows.write.save(path, format="delta", mode="append", partitionBy=["p", "q-r"])
    assert dr_spark.count(delta, path) == 6
    assert "partition" in message(
        lambda: rows.write.format("delta").mode("append").partitionBy("p").save(path)
    )
    changed = rows.write.format("delta").mode("overwrite").option("overwriteSchema", True)
    changed.partitionBy("id").save(path)
    assert dr.Table(path).snapshot().partition_columns == ["id"]
    assert dr_spark.count(delta, path) == 2


@without_jar
def test_write_accepts_the_modes_for_new_tables(delta: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    assert dr_spark.write(delta.range(1), path, mode="error").version == 0
    [write] = dr.Table(path).history().to_pylist()
    mode = dict(write["operationParameters"])["mode"]
    assert mode == "ErrorIfExists", "as delta-spark calls it"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.write(delta.range(1), path, mode="error")
    assert caught.value.code == "table.exists"
    assert dr_spark.write(delta.range(1), path, mode="ignore").version is None
    assert dr_spark.write(delta.range(1), tmp_path / "new", mode="ignore").version == 0
    assert dr_spark.count(delta, path) == 1


@without_jar
def test_timestamps_may_name_a_time_zone(delta: Any, path: str) -> None:
    at = dr.Table(path).snapshot(version=1).timestamp
    for zone in ("UTC", "Europe/Berlin", "GMT+1", "+1:00"):
        name = {"GMT+1": "Etc/GMT-1", "+1:00": "Etc/GMT-1"}.get(zone, zone)
        text = f"{at.astimezone(ZoneInfo(name)):%Y-%m-%d %H:%M:%S.%f} {zone}"
        read = delta.read.format("delta").option("timestampAsOf", text)
        assert rows_of(read.load(path)) == [(0,), (1,), (2,), (3,)]


def test_short_timestamps_are_those_of_casts(spark: Any) -> None:
    texts = ["2024", "2024-2", "2024-2-3", "2024-02-03 4", "2024-2-3 4:5", "2024-2-3T4:5:6.7"]
    texts += ["2024-2-3 4:5:6+01:00", "2024-2-3 4:5:6 Asia/Tokyo", "2024-7-3 4:5:6 PST"]
    cases = [(text, "UTC") for text in texts]
    cases += [("2024-7-3 4:5", zone) for zone in ("PST", "IST", "UTC-8", "GMT+5:30", "+9")]
    for text, zone in cases:
        with conf(spark, spark__sql__session__timeZone=zone):
            [row] = spark.sql(f"SELECT unix_millis(CAST('{text}' AS TIMESTAMP)) AS t").collect()
        iso = in_zone({"timestampAsOf": text}, zone)["timestampAsOf"]
        time = datetime.datetime.fromisoformat(iso)
        if time.tzinfo is None:
            time = time.replace(tzinfo=datetime.timezone.utc)
        assert round(time.timestamp() * 1000) == row["t"], (text, zone)
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        in_zone({"timestampAsOf": "2024-7-3 4:5"}, "+01:02:03")
    assert caught.value.code == "spark.time_zone"


@without_jar
def test_a_stream_accepts_ignore_file_deletion(delta: Any, path: str, tmp_path: Path) -> None:
    """The older name of ``ignoreDeletes`` and ``ignoreChanges`` together."""
    rows = delta.readStream.format("delta").option("startingVersion", 0)
    rows = rows.option("ignoreFileDeletion", True).load(path).writeStream.format("delta")
    rows = rows.option("checkpointLocation", str(tmp_path / "checkpoint"))
    rows.trigger(availableNow=True).start(str(tmp_path / "streamed")).awaitTermination()
    streamed = delta.read.format("delta").load(str(tmp_path / "streamed"))
    assert rows_of(streamed) == [(number,) for number in range(6)]


@without_jar
def test_spark_cannot_use_a_name_of_the_catalog(delta: Any, path: str, name: str) -> None:
    delta.sql(f"CREATE TABLE {name} USING delta LOCATION '{path}' TBLPROPERTIES (a = 1)")
    assert rows_of(dr_spark.DeltaTable.forName(delta, name).toDF()) == [(4,), (5,)]
    # Spark does not pass the path on to a Python source
    for call in (
        lambda: delta.sql(f"SELECT * FROM {name}").collect(),
        lambda: delta.sql(f"INSERT INTO {name} VALUES (1)"),
    ):
        assert "DeltaTable.forName" in message(call)


@without_jar
def test_changes_have_the_columns_of_the_last_version(delta: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    delta.sql("SELECT 1L AS id").write.format("delta").mode("append").save(path)
    delta.sql("SELECT 2L AS id").write.format("delta").mode("append").save(path)
    more = delta.sql("SELECT 3L AS id, 'x' AS note").write.format("delta").mode("append")
    more.option("mergeSchema", True).save(path)
    read = delta.read.format("delta").option("readChangeFeed", True).option("startingVersion", 0)
    ended = read.option("endingVersion", 1).load(path)
    assert rows_of(ended.select("id", "_change_type")) == [(1, "insert"), (2, "insert")]
    assert "note" not in ended.columns
    whole = read.option("endingVersion", 9).load(path)
    assert rows_of(whole.select("id", "note")) == [(1, None), (2, None), (3, "x")]


def test_new_columns_must_contain_the_partition_columns(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    dr_spark.write(spark.sql("SELECT 1 AS id, 'a' AS p"), path, partition_columns=["p"])
    other = spark.sql("SELECT 2 AS id")
    for columns in (None, ["p"]):
        with pytest.raises(dr.InvalidArgumentError, match="no column p to partition") as caught:
            dr_spark.write(
                other, path, mode="overwrite", schema_mode="overwrite", partition_columns=columns
            )
        assert caught.value.code == "transaction.partition_columns"
    dr_spark.write(other, path, mode="overwrite", schema_mode="overwrite", partition_columns=[])
    assert dr.Table(path).snapshot().partition_columns == []
    assert rows_of(dr_spark.read(spark, path)) == [(2,)]


def test_write_replaces_columns(spark: Any, tmp_path: Path) -> None:
    path, properties = tmp_path / "t", {"delta.columnMapping.mode": "name"}
    dr_spark.write(spark.range(3), path, properties=properties)
    old = dr.Table(path).snapshot()
    other = spark.sql("SELECT 'y' AS note, 7 AS id")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.write(other, path, schema_mode="overwrite")
    assert caught.value.code == "write.mode"
    dr_spark.write(
        other, path, mode="overwrite", schema_mode="overwrite", partition_columns=["note"]
    )
    new = dr.Table(path).snapshot()
    assert rows_of(dr_spark.read(spark, path)) == [("y", 7)]
    assert new.partition_columns == ["note"]
    assert (new.metadata.id, new.version) == (old.metadata.id, 1)
    # no id is reused, and a column of the same name is another one in the files
    assert int(new.properties["delta.columnMapping.maxColumnId"]) == 3
    assert rows_of(dr_spark.read(spark, path, version=0)) == [(0,), (1,), (2,)]
    assert new.scan().to_arrow().to_pylist() == [{"note": "y", "id": 7}]


def test_write_obeys_the_sessions_schema_evolution(spark: Any, tmp_path: Path) -> None:
    dr_spark.write(spark.range(1), tmp_path / "t")
    with conf(spark, spark__databricks__delta__schema__autoMerge__enabled="true"):
        dr_spark.write(spark.sql("SELECT 1L AS id, 'x' AS note"), tmp_path / "t")
    assert rows_of(dr_spark.read(spark, tmp_path / "t")) == [(0, None), (1, "x")]
