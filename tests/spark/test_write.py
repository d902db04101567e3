"""``deltareplay.spark.write``: delta-spark and this package read the same from its tables."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.support.settings import conf
from spark.support.tiers import NIGHTLY

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark


def rows_of(frame: Any) -> Counter[str]:
    return Counter(str(sorted(row.asDict(recursive=True).items())) for row in frame.collect())


def lines(rows: Any) -> Counter[str]:
    """Return rows of Arrow, timestamps in UTC."""
    for at, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            instants = rows.column(at).cast(pa.timestamp("us", "UTC"))
            rows = rows.set_column(at, field.name, instants)
    return Counter(str(sorted(row.items())) for row in rows.to_pylist())


def same_rows(spark: Any, path: Path, expected: Any = None) -> Any:
    """Compare delta-spark, the scan in Rust and the native read; return delta-spark's frame."""
    theirs = spark.read.format("delta").load(str(path))
    scanned = lines(dr.Table(path).snapshot().scan().to_arrow())
    # PySpark cannot convert a null struct to Arrow if one of its fields is not nullable
    strict = "'nullable': False" in str(theirs.schema.jsonValue())
    assert scanned == (rows_of(theirs) if strict else lines(theirs.toArrow()))
    assert rows_of(dr_spark.read(spark, path)) == rows_of(theirs)
    if expected is not None:
        assert rows_of(theirs) == rows_of(expected.select(theirs.columns))
    return theirs


def directories(path: Path) -> list[str]:
    return sorted(item.name for item in path.iterdir() if item.name != "_delta_log")


def raises(code: str, call: Any) -> dr.DeltaReplayError:
    with pytest.raises(dr.DeltaReplayError) as caught:
        call()
    assert caught.value.code == code
    return caught.value


TYPED = """
SELECT id AS l, CAST(id % 100 AS BYTE) AS b, CAST(id AS SHORT) AS h, CAST(id AS INT) AS i,
  CAST(id / 4 AS FLOAT) AS f, CAST(-id / 8 AS DOUBLE) AS d, id % 2 = 0 AS t,
  CAST(id * 1.25 AS DECIMAL(9, 2)) AS d9, CAST(id * 3 AS DECIMAL(30, 5)) AS d30,
  concat(repeat('x', CAST(id AS INT) * 8), 'é') AS s, CAST(CAST(id AS STRING) AS BINARY) AS y,
  DATE '2024-02-28' + CAST(id AS INT) AS day,
  TIMESTAMP '2024-03-31 01:30:00.123456' + make_dt_interval(0, id) AS at,
  TIMESTAMP_NTZ '1969-12-31 23:59:59.999999' AS ntz,
  IF(id = 3, NULL, named_struct(
    'n', IF(id = 2, NULL, id), 'm', map('k', id), 'z', array(id, NULL))) AS st,
  CASE id % 4 WHEN 0 THEN 'a/b=c d%é' WHEN 1 THEN NULL ELSE 'plain' END AS p,
  TIMESTAMP '2024-03-31 02:00:00.5' + make_dt_interval(0, id % 2) AS pt
FROM range(8)
"""


def metrics_of(path: Path) -> dict[str, str]:
    """Return the metrics of the newest commit, from the history."""
    return dict(dr.Table(path).history(limit=1).to_pylist()[0]["operationMetrics"])


def test_every_type_partitioned_or_not(spark: Any, tmp_path: Path) -> None:
    with conf(spark, spark__sql__session__timeZone="Europe/Berlin"):
        rows = spark.sql(TYPED).repartition(2).cache()
        for name, partitions in [("flat", []), ("parted", ["p", "pt", "day"])]:
            path = tmp_path / name
            assert dr_spark.write(rows, str(path), partition_columns=partitions).version == 0
            same_rows(spark, path, rows)
    files = dr.Table(tmp_path / "flat").snapshot().files()
    stats = [json.loads(text) for text in files["stats"].to_pylist()]
    assert sum(statistics["numRecords"] for statistics in stats) == 8
    # delta-spark's statistics of the same rows
    rows.coalesce(1).write.format("delta").save(str(tmp_path / "theirs"))
    dr_spark.write(rows.coalesce(1), tmp_path / "ours")
    reported = []
    for name in ("theirs", "ours"):
        [text] = dr.Table(tmp_path / name).snapshot().files()["stats"].to_pylist()
        reported.append(json.loads(text, parse_float=str))
    theirs, ours = reported
    assert {"numRecords", "minValues", "maxValues", "nullCount"} <= set(ours)
    for bounds in ("minValues", "maxValues"):
        assert ours[bounds]["at"].endswith("Z")
        for name in ("pt", "at"):  # spelled with another zone by delta-spark
            del ours[bounds][name], theirs[bounds][name]
        assert ours[bounds] == theirs[bounds]
    # footers do not have the number of null lists and maps
    struct = theirs["nullCount"]["st"]
    assert (struct.pop("m"), struct.pop("z")) == (1, 1)
    assert ours["nullCount"] == theirs["nullCount"]
    parted_files = dr.Table(tmp_path / "parted").snapshot().files()
    [parted] = [
        values
        for values in parted_files["partitionValues"].to_pylist()
        if dict(values)["day"] == "2024-02-28"
    ]
    assert dict(parted) == {
        "p": "a/b=c d%é",
        "pt": "2024-03-31T01:00:00.500000Z",
        "day": "2024-02-28",
    }
    assert directories(tmp_path / "flat")[0].isalnum()


def test_intervals_of_fewer_units_fit_the_columns_of_a_new_table(
    spark: Any, tmp_path: Path
) -> None:
    days, years = "INTERVAL '3' DAY AS d, INTERVAL '1:02' HOUR TO MINUTE AS h", "INTERVAL '2' YEAR"
    rows = spark.sql(f"SELECT {days}, {years} AS y")
    dr_spark.write(rows, tmp_path)
    dr_spark.write(rows, tmp_path, mode="append")
    written = dr_spark.read(spark, tmp_path)
    assert written.dtypes == [
        ("d", "interval day to second"),
        ("h", "interval day to second"),
        ("y", "interval year to month"),
    ]
    texts = written.selectExpr("CAST(d AS STRING)", "CAST(h AS STRING)", "CAST(y AS STRING)")
    assert [tuple(row) for row in texts.collect()] == 2 * [
        (
            "INTERVAL '3 00:00:00' DAY TO SECOND",
            "INTERVAL '0 01:02:00' DAY TO SECOND",
            "INTERVAL '2-0' YEAR TO MONTH",
        )
    ]


def test_writes_follow_the_rules_of_the_table(spark: Any, tmp_path: Path) -> None:
    from delta.tables import DeltaTable

    path = tmp_path / "ruled"
    new = DeltaTable.create(spark).location(str(path))
    new = new.addColumn("id", "LONG", nullable=False).addColumn("n", "STRING")
    new = new.addColumn("g", "LONG", generatedAlwaysAs="id * 2")
    new = new.addColumn("s", "STRUCT<a: LONG NOT NULL>")
    for name, value in {
        "columnMapping.mode": "name",
        "enableRowTracking": "true",
        "enableDeletionVectors": "true",
        "enableChangeDataFeed": "true",
        "feature.allowColumnDefaults": "supported",
    }.items():
        new = new.property(f"delta.{name}", value)
    new.execute()
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS (c VARCHAR(3), e STRING)")
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN e SET DEFAULT 'none'")
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN n TO `the name`")
    spark.sql(
        f"ALTER TABLE delta.`{path}` ADD CONSTRAINT small CHECK (id < 10 OR `the name` = 'big')"
    )
    s = "named_struct('a', 1L) AS s"
    good = spark.sql(f"SELECT CAST(id AS INT) AS ID, 'x' AS `THE NAME`, {s} FROM range(3)")
    version = dr_spark.write(good, path).version
    theirs = same_rows(spark, path)
    assert sorted(row.g for row in theirs.collect()) == [0, 2, 4]
    assert {(row.c, row.e) for row in theirs.collect()} == {(None, "none")}
    before = directories(path)
    for sql, says in [
        (f"SELECT CAST(NULL AS LONG) AS id, {s}", "id is null"),
        (f"SELECT 20L AS id, 'x' AS `the name`, {s}", "CHECK constraint small"),
        (f"SELECT 1L AS id, 3L AS g, {s}", "generated column g is not id * 2"),
        (f"SELECT 1L AS id, 'abcd' AS c, {s}", r"longer than varchar(3); it is {1, null, "),
        ("SELECT 1L AS id, named_struct('a', CAST(NULL AS LONG)) AS s", "s.a is null"),
    ]:
        bad = spark.sql(sql).union(spark.sql(sql).limit(0))
        error = raises("write.constraint", lambda bad=bad: dr_spark.write(bad, path))
        assert says in str(error)
        assert directories(path) == before
    fine = spark.sql("SELECT 20L AS id, 'big' AS `the name`, 40L AS g, named_struct('a', 1L) AS s")
    assert dr_spark.write(fine, path).version == version + 1
    same_rows(spark, path)
    # delta-spark continues: row ids, mapped columns, changes
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 1")
    kept = spark.read.format("delta").load(str(path)).select("id", "_metadata.row_id").collect()
    assert len({row.row_id for row in kept}) == len(kept) == 3
    assert dr.Table(path).changes(version).to_arrow().num_rows == 5


@pytest.mark.parametrize("features", ["", "deletionVectors", "changeDataFeed", "rowTracking"])
def test_rows_are_replaced_as_by_delta_spark(spark: Any, tmp_path: Path, features: str) -> None:
    def frame(start: int, end: int, text: str) -> Any:
        rows = spark.range(start, end).selectExpr("id", f"'{text}' AS s", "id % 2 AS p")
        return rows.repartition(2)

    where = "id >= 4 AND s <> 'kept'"
    feeds = []
    for name in ("ours", "theirs"):
        path = tmp_path / name
        first = frame(0, 10, "old").write.format("delta").partitionBy("p")
        if features:
            enable = features[0].upper() + features[1:]
            first = first.option(f"delta.enable{enable}", "true")
        first.save(str(path))
        new = frame(4, 7, "new")
        if name == "ours":
            written = dr_spark.write(new, path, mode="overwrite", where=where)
            assert written.version == 1
            counted = {name: int(count) for name, count in metrics_of(path).items()}
            assert written.metrics == {name: counted[name] for name in written.metrics}
        else:
            writer = new.write.format("delta").mode("overwrite").option("replaceWhere", where)
            writer.save(str(path))
        same_rows(spark, path, frame(0, 4, "old").union(frame(4, 7, "new")))
        if features == "changeDataFeed":
            reader = spark.read.format("delta").option("readChangeFeed", "true")
            feed = reader.option("startingVersion", 1).load(str(path))
            feeds.append(rows_of(feed.drop("_commit_timestamp")))
    assert feeds[:1] == feeds[1:]
    raises(
        "write.constraint",
        lambda: dr_spark.write(frame(1, 2, "x"), tmp_path / "ours", mode="overwrite", where=where),
    )


def test_partial_overwrites(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "replaced"

    def frame(*rows: tuple[int, str]) -> Any:
        return spark.createDataFrame([*rows], "id LONG, p STRING").coalesce(1)

    assert (
        dr_spark.write(frame((1, "a"), (2, "b"), (3, "c")), path, partition_columns=["p"]).version
        == 0
    )
    dr_spark.write(frame((4, "b")), path, mode="overwrite", where="p >= 'b' AND p < 'c'")
    assert rows_of(same_rows(spark, path)) == rows_of(frame((1, "a"), (4, "b"), (3, "c")))
    reported = dr.Table(path).history(limit=1).to_pylist()[0]["operationParameters"]
    assert dict(reported) == {
        "mode": "Overwrite",
        "partitionBy": '["p"]',
        "predicate": "p >= 'b' AND p < 'c'",
    }
    elsewhere = frame((9, "a"))
    raises(
        "write.constraint",
        lambda: dr_spark.write(elsewhere, path, mode="overwrite", where="p = 'b'"),
    )
    raises(
        "statement.expression",
        lambda: dr_spark.write(elsewhere, path, mode="overwrite", where="nothing = 9"),
    )
    for where in ("nothing = 9", "p ="):
        raises(
            "statement.expression",
            lambda where=where: dr_spark.write(
                elsewhere, tmp_path / "new", mode="overwrite", where=where
            ),
        )
    gone = dr.Table(path).snapshot().files(filter="p = 'c'")["size"].to_pylist()
    written = dr_spark.write(frame((5, "c")), path, mode="overwrite", partition_overwrite="dynamic")
    assert rows_of(same_rows(spark, path)) == rows_of(frame((1, "a"), (4, "b"), (5, "c")))
    reported = metrics_of(path)
    assert written.metrics == {name: int(count) for name, count in reported.items()}
    assert (reported["numFiles"], reported["numOutputRows"]) == ("1", "1")
    assert (reported["numRemovedFiles"], reported["numRemovedBytes"]) == ("1", str(sum(gone)))
    theirs = tmp_path / "theirs"
    for rows in (frame((3, "c")), frame((5, "c"))):
        overwriting = rows.write.format("delta").mode("overwrite").partitionBy("p")
        overwriting.option("partitionOverwriteMode", "dynamic").save(str(theirs))
    history = dr.Table(theirs).history(limit=1).to_pylist()[0]["operationMetrics"]
    assert set(reported) <= set(dict(history))
    # once, however often it is tried
    assert dr_spark.write(frame((6, "d")), path, mode="overwrite", txn=("app", 7)).version == 3
    assert dr_spark.write(frame((7, "d")), path, mode="overwrite", txn=("app", 7)).version is None
    assert rows_of(same_rows(spark, path)) == rows_of(frame((6, "d")))
    assert dr.Table(path).snapshot().transactions == {"app": 7}
    more = spark.sql("SELECT 8L AS id, 'd' AS p, array('x') AS more")
    raises("write.columns", lambda: dr_spark.write(more, path))
    dr_spark.write(more, path, schema_mode="merge")
    assert rows_of(same_rows(spark, path).where("id = 8")) == rows_of(more)


@pytest.mark.parametrize("vectors", ["false", "true"] if NIGHTLY else ["true"])
def test_writes_without_changes_commit_nothing(spark: Any, tmp_path: Path, vectors: str) -> None:
    """As in delta-spark, which writes the same DataFrames."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    rows = spark.range(10).selectExpr("id", "id % 2 AS p").coalesce(1)
    writer = rows.write.format("delta").option("delta.enableDeletionVectors", vectors)
    writer.partitionBy("p").save(str(ours))
    spark.sql(f"DELETE FROM delta.`{ours}` WHERE id = 4")
    shutil.copytree(ours, theirs)
    none = rows.limit(0)
    steps = {
        "append": (none, {}, {}, None),
        "evolution": (none, {"schema_mode": "merge"}, {"mergeSchema": "true"}, None),
        "dynamic": (none, *overwrite(partition_overwrite="dynamic"), None),
        "partition that is not there": (none, *overwrite(where="p = 7"), None),
        "rows that are not there": (none, *overwrite(where="id < -5"), None),
        "partition": (rows.where("id IN (1, 3)"), *overwrite(where="p = 1"), "2"),
        "transaction": (none, {"txn": ("app", 3)}, {"txnAppId": "app", "txnVersion": "3"}, "3"),
        "once more": (none, {"txn": ("app", 3)}, {"txnAppId": "app", "txnVersion": "3"}, None),
        "partition without new rows": (none, *overwrite(where="p = 0"), "4"),
        "column": (
            none.withColumn("x", none.p),
            {"schema_mode": "merge"},
            {"mergeSchema": "true"},
            "5",
        ),
        "rows of a file": (rows.where("id = 1"), *overwrite(where="id = 1"), "6"),
        "rows of both files": (rows.where("id = 3"), *overwrite(where="id IN (1, 3)"), "7"),
    }
    for name, (frame, requested, options, version) in steps.items():
        result = dr_spark.write(frame, ours, **requested).version
        assert result == (None if version is None else int(version)), name
        mode = requested.get("mode", "append")
        frame.write.format("delta").mode(mode).options(**options).save(str(theirs))
        assert dr.Table(theirs).snapshot().version == dr.Table(ours).snapshot().version, name
        reported, expected = metrics_of(ours), metrics_of(theirs)
        counted = (
            *("numFiles", "numOutputRows", "numCopiedRows"),
            *("numDeletedRows", "numRemovedFiles"),
        )
        for metric in counted:
            assert reported.get(metric) == expected.get(metric, reported.get(metric)), (
                name,
                metric,
            )
    assert not dr.Table(ours).verify(rows=True).findings
    newest = dr.Table(ours).snapshot().version
    spark.sql(f"RESTORE TABLE delta.`{theirs}` TO VERSION AS OF {newest}")
    assert dr.Table(ours).restore(newest).version == newest
    assert dr.Table(theirs).snapshot().version == dr.Table(ours).snapshot().version == newest


def overwrite(**options: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return our arguments, and delta-spark's options."""
    theirs = {"where": "replaceWhere", "partition_overwrite": "partitionOverwriteMode"}
    named = {theirs[name]: value for name, value in options.items()}
    return {"mode": "overwrite", **options}, named


def test_deprecated_arguments(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = spark.sql("SELECT id, id % 2 AS p FROM range(4)").coalesce(1)
    wider = rows.selectExpr("*", "'x' AS more")
    with pytest.warns(DeprecationWarning, match="partition_columns="):
        written = dr_spark.write(rows, path, partition_by=["p"])
    with pytest.warns(DeprecationWarning, match=r"\.version"):
        assert written == 0
    with pytest.warns(DeprecationWarning, match="schema_mode='merge'"):
        dr_spark.write(wider, path, merge_schema=True)
    with pytest.warns(DeprecationWarning, match="where="):
        dr_spark.write(rows.where("p = 1"), path, mode="overwrite", replace_where="p = 1")
    snapshot = dr.Table(path).snapshot()
    assert (snapshot.version, snapshot.partition_columns) == (2, ["p"])
    assert snapshot.schema.names == ["id", "p", "more"]
    assert sorted(row.id for row in same_rows(spark, path).collect()) == [0, 0, 1, 2, 2, 3]
    with pytest.warns(DeprecationWarning, match="schema_mode='overwrite'"):
        dr_spark.write(rows, path, mode="overwrite", overwrite_schema=True)
    assert dr.Table(path).snapshot().schema.names == ["id", "p"]


def test_rejected_writes_leave_the_table(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = spark.range(3)
    dr_spark.write(rows, path, properties={"delta.appendOnly": "true"})
    before = directories(path)
    for arguments, code in [
        ({"mode": "upsert"}, "write.mode"),
        ({"partition_overwrite": "some"}, "write.mode"),
        ({"schema_mode": "some"}, "write.mode"),
        ({"where": "id = 1"}, "write.mode"),
        (
            {"mode": "overwrite", "where": "id = 1", "partition_overwrite": "dynamic"},
            "write.mode",
        ),
        ({"partition_columns": ["id"]}, "write.partitions"),
    ]:
        raises(code, lambda arguments=arguments: dr_spark.write(rows, path, **arguments))
    for sql in ("SELECT 'x' AS id", "SELECT 1L AS id, 2 AS ID", "SELECT 1L AS other"):
        raises("write.columns", lambda sql=sql: dr_spark.write(spark.sql(sql), path))
    raises("transaction.append_only", lambda: dr_spark.write(rows, path, mode="overwrite"))
    binary = spark.sql("SELECT X'00' AS b, 1 AS n")
    raises(
        "write.feature",
        lambda: dr_spark.write(binary, tmp_path / "bytes", partition_columns=["b"]),
    )
    # a job that fails half-way
    broken = spark.sql(
        "SELECT IF(id = 90, raise_error('half-way'), id) AS id FROM range(0, 100, 1, 2)"
    )
    with pytest.raises(Exception, match="half-way"):
        dr_spark.write(broken.select(broken.id.cast("long")), path)
    assert directories(path) == before
    assert same_rows(spark, path).count() == 3


def test_an_overwrite_conflicts_with_a_concurrent_write(spark: Any, tmp_path: Path) -> None:
    path, rows = tmp_path / "t", spark.range(3)
    dr_spark.write(rows, path)
    old = dr.Table(path).snapshot()
    dr_spark.write(rows, path)
    before = directories(path)
    with pytest.raises(dr.CommitConflictError) as caught:
        dr_spark.write(rows, old, mode="overwrite")
    assert caught.value.code == "conflict.append"
    assert directories(path) == before


def test_writes_to_a_table_with_an_identity_column(spark: Any, tmp_path: Path) -> None:
    from delta.tables import DeltaTable, IdentityGenerator

    path = tmp_path / "t"
    new = DeltaTable.create(spark).location(str(path))
    new = new.addColumn("id", "LONG", generatedAlwaysAs=IdentityGenerator())
    new.addColumn("v", "LONG").execute()
    dr_spark.write(spark.sql("SELECT 1L AS v"), path)
    assert dr.Table(path).snapshot().to_arrow().to_pylist() == [{"id": 1, "v": 1}]


def test_a_stream_writes_each_batch_once(spark: Any, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    dr_spark.register(spark)
    dr_spark.write(spark.range(3), source)
    outcomes: list[int | None] = []

    def sink(frame: Any, batch: int) -> None:
        outcomes.append(dr_spark.write(frame, target, txn=("query", batch)).version)
        if len(outcomes) == 1:
            raise RuntimeError("after the commit")

    def run() -> None:
        frame = spark.readStream.format("deltareplay").load(str(source))
        writer = frame.writeStream.foreachBatch(sink).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "c")).start().awaitTermination()

    with pytest.raises(Exception, match="after the commit"):
        run()
    dr_spark.write(spark.range(3, 5), source)
    run()
    run()
    assert outcomes == [0, None, 1]
    assert rows_of(same_rows(spark, target)) == rows_of(spark.range(5))


def test_files_of_an_interrupted_commit_stay(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, commit = tmp_path / "t", dr.Transaction.commit

    def interrupted(self: dr.Transaction) -> None:
        commit(self)
        raise KeyboardInterrupt

    dr_spark.write(spark.range(2), path)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(dr.Transaction, "commit", interrupted)
        dr_spark.write(spark.range(2, 5), path)
    same_rows(spark, path, spark.range(5))


@pytest.mark.parametrize("target", ["dbfs:/x", "viewfs://host/t", "foo:bar"])
def test_an_unknown_store_is_refused(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    dr_spark.register(spark)
    for call in (
        lambda: dr_spark.write(spark.range(1), target),
        lambda: dr_spark.read(spark, target),
        lambda: spark.range(1).write.format("deltareplay").mode("append").save(target),
        lambda: spark.read.format("deltareplay").load(target).count(),
    ):
        with pytest.raises(Exception, match="is not a supported scheme"):
            call()
    assert list(tmp_path.iterdir()) == []
