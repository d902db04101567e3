"""``DeltaTable``: statements, behaviours of delta-spark's own tests.

``test_without_jar.py`` runs this file again in sessions without delta-spark's jar.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from spark.conftest import SESSION
from spark.support.delta_tables import ROWS, rows_of, write_table
from spark.support.settings import conf

from deltareplay import InvalidArgumentError
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaMergeBuilder, DeltaTable

pytestmark = pytest.mark.spark


def test_deletes(table: DeltaTable) -> None:
    from pyspark.sql.functions import col, lit

    table.delete("key = 'a'")
    assert rows_of(table.toDF()) == ROWS[1:]
    table.delete(col("key") == lit("b"))
    assert rows_of(table.toDF()) == ROWS[2:]
    table.alias("t").delete("t.key = 'c'")
    assert rows_of(table.toDF()) == ROWS[3:]
    table.delete()
    assert rows_of(table.toDF()) == []
    with pytest.raises(TypeError, match="not int"):
        table.delete(condition=1)  # type: ignore[arg-type]


def test_updates(table: DeltaTable) -> None:
    from pyspark.sql.functions import expr

    table.update("key = 'a' or key = 'b'", {"value": "1"})
    assert rows_of(table.toDF()) == [("a", 1), ("b", 1), ("c", 3), ("d", 4)]
    table.update(expr("key = 'a' or key = 'b'"), {"value": expr("0")})
    assert rows_of(table.toDF()) == [("a", 0), ("b", 0), ("c", 3), ("d", 4)]
    table.alias("t").update("t.key = 'a'", {"value": "t.value + 5"})
    assert rows_of(table.toDF()) == [("a", 5), ("b", 0), ("c", 3), ("d", 4)]
    table.update(set={"value": "200"})
    assert rows_of(table.toDF()) == [(key, 200) for key, _ in ROWS]


#: Calls with arguments that are not expressions: the exception, a part of its message, the call.
WRONG_UPDATES: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
    (ValueError, "cannot be None", lambda update: update({"value": "200"})),
    (ValueError, "cannot be None", lambda update: update(condition="a")),
    (TypeError, "must be a dict", lambda update: update(set=1)),
    (TypeError, "must be a Spark SQL Column or a string", lambda update: update(1, {})),
    (TypeError, "Values of dict in .* must contain only", lambda update: update(set={"value": 1})),
    (TypeError, "Keys of dict in .* must contain only", lambda update: update(set={1: ""})),
    (TypeError, "must be a dict", lambda update: update(set="k = 'a'", condition={"value": 1})),
]


@pytest.mark.parametrize(
    "clause",
    ["update", "whenMatchedUpdate", "whenNotMatchedBySourceUpdate", "whenNotMatchedInsert"],
)
def test_refuses_invalid_expressions(spark: Any, table: DeltaTable, clause: str) -> None:
    owner = table if clause == "update" else table.merge(spark.range(1), "value = id")
    method = getattr(owner, clause)
    if clause == "whenNotMatchedInsert":
        method = lambda condition=None, set=None, f=method: f(condition, set)  # noqa: E731
    for error, message, call in WRONG_UPDATES:
        with pytest.raises(error, match=message):
            call(method)


def test_suggests_columns_of_the_table_and_the_source(spark: Any, table: DeltaTable) -> None:
    source = spark.createDataFrame(SOURCE, ["key", "value"]).alias("s")
    merge = table.alias("t").merge(source, "t.key = s.key")
    statements: list[tuple[Callable[[], object], set[str]]] = [
        (lambda: table.delete("other = 1"), {"`key`", "`value`"}),
        (lambda: table.update("key = 'a'", {"value": "other"}), {"`key`", "`value`"}),
        (
            lambda: merge.whenNotMatchedInsert("s.other = 1", {"key": "s.key"}).execute(),
            {"`s`.`key`", "`s`.`value`"},
        ),
    ]
    for run, columns in statements:
        with pytest.raises(InvalidArgumentError, match="other") as caught:
            run()
        assert caught.value.code == "statement.expression"
        [listed] = re.findall(r"Did you mean one of the following\? \[(.*?)\]", str(caught.value))
        assert set(listed.split(", ")) == columns


def test_suggests_schema_evolution_for_missing_columns(spark: Any, table: DeltaTable) -> None:
    source = spark.createDataFrame([("a",)], ["key"]).alias("s")
    merge = table.alias("t").merge(source, "t.key = s.key").whenMatchedUpdateAll()
    with pytest.raises(InvalidArgumentError, match=r"no column value.*withSchemaEvolution\(\)"):
        merge.execute()
    merge.withSchemaEvolution().execute()
    assert rows_of(table.toDF()) == ROWS


def test_refuses_invalid_conditions(spark: Any, table: DeltaTable) -> None:
    merge = table.merge(spark.range(1), "value = id")
    for method in (
        merge.whenMatchedDelete,
        merge.whenNotMatchedBySourceDelete,
        merge.whenMatchedUpdateAll,
        merge.whenNotMatchedInsertAll,
    ):
        with pytest.raises(TypeError, match="must be a Spark SQL Column or a string"):
            method(1)  # type: ignore[arg-type]


def test_refuses_invalid_sources(table: DeltaTable) -> None:
    rows = table.toDF().sparkSession.range(1)
    with pytest.raises(TypeError, match="must be DataFrame"):
        table.merge(1, "key = k")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a Spark SQL Column or a string"):
        table.merge(rows, 1)  # type: ignore[arg-type]
    for wrong in ((None, "key = k"), (rows, None)):
        with pytest.raises(ValueError, match="cannot be None"):
            table.merge(*wrong)  # type: ignore[arg-type]


SOURCE = [("a", -1), ("b", 0), ("e", -5), ("f", -6)]

#: The result of clauses on ``ROWS`` with ``SOURCE``, whose columns are called ``k`` and ``v``.
MERGES: dict[
    str, tuple[Callable[[DeltaMergeBuilder], DeltaMergeBuilder], list[tuple[str, int]]]
] = {
    "update, insert, update others": (
        lambda merge: (
            merge.whenMatchedUpdate(set={"value": "v + 0"})
            .whenNotMatchedInsert(values={"key": "k", "value": "v + 0"})
            .whenNotMatchedBySourceUpdate(set={"value": "value + 0"})
        ),
        [("a", -1), ("b", 0), ("c", 3), ("d", 4), ("e", -5), ("f", -6)],
    ),
    "the first update applies": (
        lambda merge: merge.whenMatchedUpdate(
            condition="key = 'a'", set={"value": "5"}
        ).whenMatchedUpdate(set={"value": "0"}),
        [("a", 5), ("b", 0), ("c", 3), ("d", 4)],
    ),
    "two deletes": (
        lambda merge: merge.whenMatchedDelete(condition="key = 'a'").whenMatchedDelete(),
        [("c", 3), ("d", 4)],
    ),
    "redundant updates and deletes": (
        lambda merge: (
            merge.whenMatchedUpdate(condition="key = 'a'", set={"value": "5"})
            .whenMatchedUpdate(condition="key = 'a'", set={"value": "0"})
            .whenMatchedUpdate(condition="key = 'b'", set={"value": "6"})
            .whenMatchedDelete(condition="key = 'b'")
        ),
        [("a", 5), ("b", 6), ("c", 3), ("d", 4)],
    ),
    "deletes and updates in turn": (
        lambda merge: (
            merge.whenMatchedDelete(condition="key = 'a'")
            .whenMatchedUpdate(condition="key = 'a'", set={"value": "5"})
            .whenMatchedDelete(condition="key = 'b'")
            .whenMatchedUpdate(set={"value": "6"})
        ),
        [("c", 3), ("d", 4)],
    ),
    "redundant inserts": (
        lambda merge: (
            merge.whenNotMatchedInsert("k = 'e'", {"key": "k", "value": "5"})
            .whenNotMatchedInsert("k = 'e'", {"key": "k", "value": "6"})
            .whenNotMatchedInsert("k = 'f'", {"key": "k", "value": "7"})
        ),
        [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5), ("f", 7)],
    ),
    "updates of others": (
        lambda merge: merge.whenNotMatchedBySourceUpdate(
            "key = 'c'", {"value": "5"}
        ).whenNotMatchedBySourceUpdate(set={"value": "0"}),
        [("a", 1), ("b", 2), ("c", 5), ("d", 0)],
    ),
    "deletes of others": (
        lambda merge: merge.whenNotMatchedBySourceDelete(
            "key = 'c'"
        ).whenNotMatchedBySourceDelete(),
        [("a", 1), ("b", 2)],
    ),
    "redundant, of others": (
        lambda merge: (
            merge.whenNotMatchedBySourceUpdate("key = 'c'", {"value": "5"})
            .whenNotMatchedBySourceUpdate("key = 'c'", {"value": "0"})
            .whenNotMatchedBySourceUpdate("key = 'd'", {"value": "6"})
            .whenNotMatchedBySourceDelete("key = 'd'")
        ),
        [("a", 1), ("b", 2), ("c", 5), ("d", 6)],
    ),
    "in turn, of others": (
        lambda merge: (
            merge.whenNotMatchedBySourceDelete("key = 'c'")
            .whenNotMatchedBySourceUpdate("key = 'c'", {"value": "5"})
            .whenNotMatchedBySourceDelete("key = 'd'")
            .whenNotMatchedBySourceUpdate(set={"value": "6"})
        ),
        [("a", 1), ("b", 2)],
    ),
    "a condition in each clause": (
        lambda merge: (
            merge.whenMatchedUpdate("k = 'a'", {"value": "v + 0"})
            .whenMatchedDelete("k = 'b'")
            .whenNotMatchedInsert("k = 'e'", {"key": "k", "value": "v + 0"})
            .whenNotMatchedBySourceUpdate("key = 'c'", {"value": "value + 0"})
            .whenNotMatchedBySourceDelete("key = 'd'")
        ),
        [("a", -1), ("c", 3), ("e", -5)],
    ),
}


@pytest.mark.parametrize("case", MERGES)
def test_merges(spark: Any, table: DeltaTable, case: str) -> None:
    clauses, expected = MERGES[case]
    source = spark.createDataFrame(SOURCE, ["k", "v"])
    clauses(table.merge(source, "key = k")).execute()
    assert rows_of(table.toDF()) == expected


def test_a_merge_returns_its_metrics(spark: Any, table: DeltaTable) -> None:
    source = spark.createDataFrame(SOURCE, ["k", "v"])
    clauses, _ = MERGES["update, insert, update others"]
    metrics = clauses(table.merge(source, "key = k")).execute()
    assert metrics.dtypes == [
        ("num_affected_rows", "bigint"),
        ("num_updated_rows", "bigint"),
        ("num_deleted_rows", "bigint"),
        ("num_inserted_rows", "bigint"),
    ]
    assert [tuple(row) for row in metrics.collect()] == [(6, 4, 0, 2)]


def test_merges_with_column_expressions(spark: Any, table: DeltaTable) -> None:
    from pyspark.sql.functions import col, expr

    source = spark.createDataFrame(SOURCE, ["k", "v"])
    merge = table.merge(source, expr("key = k"))
    merge = merge.whenMatchedUpdate(expr("k = 'a'"), {"value": col("v") + 0})
    merge = merge.whenMatchedDelete(expr("k = 'b'"))
    merge = merge.whenNotMatchedInsert(expr("k = 'e'"), {"key": "k", "value": col("v") + 0})
    merge = merge.whenNotMatchedBySourceUpdate(expr("key = 'c'"), {"value": col("value") + 0})
    merge.whenNotMatchedBySourceDelete(expr("key = 'd'")).execute()
    assert rows_of(table.toDF()) == [("a", -1), ("c", 3), ("e", -5)]


def test_a_merge_on_a_column(spark: Any, table: DeltaTable) -> None:
    from pyspark.sql.functions import col

    source = spark.createDataFrame(SOURCE, ["key", "value"]).alias("s")
    on = (col("t.key") == col("s.key")) & (col("t.value") < 2)
    merge = table.alias("t").merge(source, on).whenMatchedUpdateAll()
    merge.whenNotMatchedInsertAll(col("s.key") == "e").execute()
    assert rows_of(table.toDF()) == [("a", -1), ("b", 2), ("c", 3), ("d", 4), ("e", -5)]


@pytest.mark.parametrize("some", [False, True], ids=["all", "some"])
def test_merges_all_columns_by_aliases(spark: Any, table: DeltaTable, some: bool) -> None:
    source = spark.createDataFrame(SOURCE, ["key", "value"]).alias("s")
    merge = table.alias("t").merge(source, "s.key = t.key")
    if some:
        merge.whenMatchedUpdateAll("s.key = 'a'").whenNotMatchedInsertAll("s.key = 'e'").execute()
        expected = [("a", -1), ("b", 2), ("c", 3), ("d", 4), ("e", -5)]
    else:
        insert = {"t.key": "s.key", "t.value": "5"}
        merge = merge.whenMatchedUpdateAll().whenNotMatchedInsert("s.key = 'e'", insert)
        merge.whenNotMatchedInsertAll().execute()
        expected = [("a", -1), ("b", 0), ("c", 3), ("d", 4), ("e", 5), ("f", -6)]
    assert rows_of(table.toDF()) == expected


def test_a_merge_adds_columns(spark: Any, table: DeltaTable) -> None:
    source = spark.createDataFrame(SOURCE, ["key", "extra"]).alias("s")
    merge = table.alias("t").merge(source, "t.key = s.key")
    merge = merge.whenMatchedUpdate(set={"extra": "-1"}).whenNotMatchedInsertAll()
    merge.withSchemaEvolution().execute()
    assert rows_of(table.toDF().select("key", "value", "extra")) == [
        ("a", 1, -1),
        ("b", 2, -1),
        ("c", 3, None),
        ("d", 4, None),
        ("e", None, -5),
        ("f", None, -6),
    ]


@pytest.mark.parametrize(("form", "value"), [("col", None), ("expr", None), ("lit", "DEFAULT")])
def test_default_is_a_keyword_except_in_lit(
    spark: Any, table: DeltaTable, form: str, value: str | None
) -> None:
    from pyspark.sql import functions as sf

    table.update(set={"key": getattr(sf, form)("DEFAULT")})
    assert {row["key"] for row in table.toDF().collect()} == {value}


def expiring(spark: Any, seconds: float) -> Any:
    """Return a thousand rows that expire one after the other, while a merge may run."""
    begins = int(time.time() * 1e6)
    expiry = f"timestamp_micros({begins} + id * {int(seconds * 1000)}) AS expiry"
    return spark.range(1000).selectExpr("id", expiry).alias("s")


@pytest.mark.parametrize("properties", [{}, {"delta.enableDeletionVectors": "true"}], ids=str)
@pytest.mark.parametrize("where", ["on", "clause", "literal", "time", "column", "source"])
def test_a_merge_has_one_current_time(
    spark: Any, tmp_path: Path, where: str, properties: dict[str, str]
) -> None:
    from pyspark.sql import functions as sf

    if where == "time" and not hasattr(sf, "current_time"):
        pytest.skip("current_time came with Spark 4.1")
    dr_spark.write(spark.range(1000).selectExpr("id", "0 AS n"), tmp_path, properties=properties)
    table = DeltaTable.forPath(spark, str(tmp_path))
    source = expiring(spark, 4)
    if where == "source":
        source = source.where("expiry > now()").alias("s")
    on = "t.id = s.id AND s.expiry > current_timestamp()" if where == "on" else "t.id = s.id"
    conditions = {
        "clause": "s.expiry < now()",
        "literal": "s.expiry < TIMESTAMP 'now' AND s.expiry > DATE'yesterday'",
        "time": "s.expiry < make_timestamp_ntz(current_date(), current_time())",
        "column": sf.col("s.expiry") > sf.current_timestamp(),
    }
    merge = table.alias("t").merge(source, on)
    metrics = merge.whenMatchedUpdate(conditions.get(where), {"n": "1"}).execute().first()
    assert (metrics.num_affected_rows, metrics.num_inserted_rows) == (
        metrics.num_updated_rows,
        0,
    )
    result = table.toDF().groupBy("n").count()
    others = 1000 - metrics.num_updated_rows
    expected = [(0, others), (1, metrics.num_updated_rows)]
    assert rows_of(result) == [row for row in expected if row[1]]
    assert table.toDF().select("id").distinct().count() == 1000


@pytest.mark.parametrize(
    "where", ["on", "clause", "precision", "column", "nondeterministic", "udf and clock"]
)
def test_a_merge_refuses_unrepeatable_conditions(spark: Any, table: DeltaTable, where: str) -> None:
    from pyspark.sql import functions as sf

    is_before_c = sf.udf(lambda key: key < "c", "boolean")
    conditions: dict[str, Any] = {
        "clause": "rand() < 0.5",
        "precision": "CAST(current_time(3) AS STRING) < s.key",
        "column": sf.rand() < 0.5,
        "nondeterministic": is_before_c.asNondeterministic()(sf.col("s.key")),
        "udf and clock": is_before_c(sf.col("s.key")) & (sf.lit("2026") < sf.current_timestamp()),
    }
    source = spark.createDataFrame(SOURCE, ["key", "value"]).alias("s")
    on = "t.key = s.key AND rand() < 0.5" if where == "on" else "t.key = s.key"
    merge = table.alias("t").merge(source, on).whenMatchedUpdateAll(conditions.get(where))
    with pytest.raises(InvalidArgumentError) as caught:
        merge.execute()
    assert caught.value.code == "statement.unrepeatable"
    assert rows_of(table.toDF()) == ROWS


def test_a_merge_refuses_a_udf_that_gives_other_results(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as sf

    seen = tmp_path / "seen"
    seen.mkdir()

    def only_once(number):  # PySpark takes type hints for those of Arrow functions
        directory = seen / str(number)
        if directory.exists():
            return False
        directory.touch()
        return True

    dr_spark.write(spark.range(10).coalesce(1), tmp_path / "t")
    table = DeltaTable.forPath(spark, str(tmp_path / "t"))
    source = spark.range(10).coalesce(1).alias("s")
    condition = sf.udf(only_once, "boolean")(sf.col("s.id"))
    merge = table.alias("t").merge(source, "t.id = s.id")
    with pytest.raises(InvalidArgumentError, match="asNondeterministic") as caught:
        merge.whenMatchedUpdate(condition, {"id": "t.id + 10"}).execute()
    assert caught.value.code == "statement.unrepeatable"
    assert rows_of(table.toDF()) == [(number,) for number in range(10)]


def test_a_merge_in_a_thread_obeys_the_session(spark: Any, tmp_path: Path) -> None:
    target = write_table(spark, tmp_path / "target", [(0, 0)], ["id", "x"])
    write_table(
        spark,
        tmp_path / "source",
        [(number, number, number) for number in range(20)],
        ["id", "x", "y"],
    )

    def merge() -> None:
        source = dr_spark.read(spark, tmp_path / "source").alias("s")
        merge = target.alias("t").merge(source, "t.id = s.id")
        merge.whenMatchedUpdate(set={"t.x": "t.x + 1"}).whenNotMatchedInsertAll().execute()

    with (
        conf(spark, spark__databricks__delta__schema__autoMerge__enabled="true"),
        ThreadPoolExecutor(1) as threads,
    ):
        threads.submit(merge).result()
    assert target.toDF().columns == ["id", "x", "y"]
    assert target.toDF().count() == 20


def test_changes_of_statements(spark: Any, tmp_path: Path) -> None:
    feed = {"delta.enableChangeDataFeed": "true"}
    dr_spark.write(spark.range(5), tmp_path / "t", properties=feed)
    table = DeltaTable.forPath(spark, str(tmp_path / "t"))
    table.update("id = 1", {"id": "10"})
    table.delete("id = 2")
    dr_spark.write(spark.range(5, 7), tmp_path / "t")
    changes = dr_spark.changes(spark, tmp_path / "t", 1).select("id", "_change_type")
    expected = [
        (1, "update_preimage"),
        (10, "update_postimage"),
        (2, "delete"),
        (5, "insert"),
        (6, "insert"),
    ]
    assert rows_of(changes) == sorted(expected, key=repr)


@pytest.mark.parametrize("kind", ["checkpoint", "subquery", "local"])
def test_rows_that_the_server_of_a_session_keeps(spark: Any, tmp_path: Path, kind: str) -> None:
    """On Spark Connect, a copy of the session does not have them."""
    from pyspark.sql import functions as sf

    values = [(f"{number:05}" * 100, number) for number in range(4000)]  # 2 MB
    rows = spark.createDataFrame(values[: 4000 if kind == "local" else 9], "key STRING, value INT")
    if kind == "checkpoint":
        rows = rows.localCheckpoint().where("value < 8")
    elif kind == "subquery":
        highest = rows.localCheckpoint().select(sf.max("value"))
        rows = rows.where(sf.col("value") < highest.scalar())
    count = rows.count()
    views = spark.sql("SHOW TABLES").collect()
    dr_spark.write(rows, tmp_path / "t")
    dr_spark.write(rows.where("value = 7"), tmp_path / "t", mode="overwrite", where="value > 6")
    merge = dr_spark.merge(spark, tmp_path / "t", rows.alias("s"), "target.key = s.key")
    merge.when_matched_update({"value": "0"}).when_not_matched_insert_all().execute()
    result = dr_spark.read(spark, tmp_path / "t")
    assert result.groupBy("value").count().where("value = 0").collect()[0]["count"] == 8
    assert result.count() == count
    assert spark.sql("SHOW TABLES").collect() == views


@pytest.mark.skipif(SESSION != "connect", reason="only a server keeps copies of sessions")
def test_copies_of_sessions_are_released(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies, clone = [], type(spark).cloneSession

    def cloned(session: Any) -> Any:
        copies.append(clone(session))
        return copies[-1]

    monkeypatch.setattr(type(spark), "cloneSession", cloned)
    dr_spark.write(spark.range(3), tmp_path / "t")
    with pytest.raises(InvalidArgumentError, match="to replace"):
        dr_spark.write(spark.range(3), tmp_path / "t", mode="overwrite", where="id > 1")
    with conf(spark, spark__sql__parquet__outputTimestampType="TIMESTAMP_MILLIS"):
        merge = dr_spark.merge(spark, tmp_path / "t", spark.range(2).alias("s"), "target.id = s.id")
        merge.when_matched_delete().execute()
    assert len(copies) >= 3
    for copy in copies:
        assert copy.client.is_closed
        with pytest.raises(Exception, match="SESSION_CLOSED"):
            type(spark)(connection=copy.client._builder).range(1).collect()
    assert rows_of(dr_spark.read(spark, tmp_path / "t")) == [(2,)]


def test_a_batch_of_a_stream_is_written(spark: Any, tmp_path: Path) -> None:
    source, target = str(tmp_path / "source"), str(tmp_path / "target")
    spark.range(5).write.parquet(source)

    def batch(rows: Any, number: int) -> None:
        dr_spark.write(rows, target, txn=("batches", number))

    stream = spark.readStream.schema("id LONG").parquet(source).writeStream.foreachBatch(batch)
    stream = stream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    stream.trigger(availableNow=True).start().awaitTermination()
    assert rows_of(dr_spark.read(spark, target)) == [(number,) for number in range(5)]
