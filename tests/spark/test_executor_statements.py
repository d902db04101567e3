"""DELETE, UPDATE and MERGE of ``deltareplay.spark`` and delta-spark's, on equal tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark.support.settings import conf
from spark.support.tiers import NIGHTLY
from spark.test_write import directories, raises, same_rows
from support import logs

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.dml.target_rows import RowSets

pytestmark = pytest.mark.spark

FEATURES: dict[str, dict[str, str]] = {
    "plain": {},
    "vectors": {"delta.enableDeletionVectors": "true"},
    "feed": {"delta.enableChangeDataFeed": "true"},
    "all": {
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
        "delta.enableChangeDataFeed": "true",
    },
    "tracked, mapped": {"delta.enableRowTracking": "true", "delta.columnMapping.mode": "name"},
}


def rows(spark: Any, start: int, end: int, k: str, v: str, b: int) -> Any:
    return spark.range(start, end).selectExpr(
        "id", f"{k} AS k", f"{v} AS v", f"named_struct('a', id, 'b', {b}) AS s", "id % 3 AS p"
    )


Create = Callable[[Path, dict[str, str]], None]


@pytest.fixture(scope="module")
def create(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Create:
    """A function that creates a table with properties: delta-spark writes each once."""
    home = tmp_path_factory.mktemp("created")
    written: dict[str, Path] = {}

    def make(path: Path, properties: dict[str, str]) -> None:
        key = json.dumps(properties)
        if key not in written:
            writer = rows(spark, 0, 400, "id % 10", "concat('v', id)", 1).repartition(3).write
            writer = writer.format("delta").partitionBy("p").options(**properties)
            writer.save(str(home / str(len(written))))
            written[key] = home / str(len(written))
        shutil.copytree(written[key], path)

    return make


def source(spark: Any) -> Any:
    return rows(spark, 360, 440, "CAST(99 AS BIGINT)", "'new'", 2).alias("s")


def ours(spark: Any, path: Path) -> list[Any]:
    def merge() -> Any:
        return dr_spark.merge(spark, path, source(spark), "t.id = s.id", target_alias="t")

    some = merge().when_matched_update_all("s.id % 2 = 0").when_matched_delete("s.id % 3 = 0")
    some = some.when_not_matched_insert_all("s.id < 430")
    some = some.when_not_matched_insert({"id": "s.id", "v": "'lone'", "p": "0L"})
    every = merge().when_matched_update({"k": "t.k + s.k"})
    every = every.when_not_matched_by_source_delete("t.k = 3")
    values = {"v": "concat(t.v, '?')", "s.b": "7"}
    every = every.when_not_matched_by_source_update(values, "t.k = 4")
    return [
        some.execute(),
        every.execute(),
        dr_spark.update(spark, path, "k = 5", {"v": "concat(v, '!')", "s.b": "s.b + id"}),
        dr_spark.delete(spark, path, "id % 7 = 2 OR p = 1"),
    ]


def theirs(spark: Any, path: Path) -> None:
    from delta.tables import DeltaTable

    table = DeltaTable.forPath(spark, str(path))

    def merge() -> Any:
        return table.alias("t").merge(source(spark), "t.id = s.id")

    some = merge().whenMatchedUpdateAll("s.id % 2 = 0").whenMatchedDelete("s.id % 3 = 0")
    some = some.whenNotMatchedInsertAll("s.id < 430")
    some.whenNotMatchedInsert(values={"id": "s.id", "v": "'lone'", "p": "0L"}).execute()
    every = (
        merge().whenMatchedUpdate(set={"k": "t.k + s.k"}).whenNotMatchedBySourceDelete("t.k = 3")
    )
    values = {"v": "concat(t.v, '?')", "s.b": "7"}
    every.whenNotMatchedBySourceUpdate("t.k = 4", set=values).execute()
    table.update("k = 5", {"v": "concat(v, '!')", "s.b": "s.b + id"})
    table.delete("id % 7 = 2 OR p = 1")


#: Those that together have all features, for runs during the day.
DAILY = ["feed", "all", "tracked, mapped"]


@pytest.mark.slow  # a dozen statements, twice
@pytest.mark.parametrize("features", FEATURES if NIGHTLY else DAILY)
def test_statements_agree_with_delta_spark(
    spark: Any, tmp_path: Path, create: Create, features: str
) -> None:
    properties = FEATURES[features]
    states = []
    for which, run in (("ours", ours), ("theirs", theirs)):
        path = tmp_path / which
        create(path, properties)
        run(spark, path)
        states.append(state(spark, path, properties))
        assert dr.Table(path).verify(rows=True).findings == ()
    assert states[0] == states[1]
    same_rows(spark, tmp_path / "ours")


def state(spark: Any, path: Path, properties: dict[str, str]) -> dict[str, Any]:
    """Return everything that readers see, read by delta-spark."""
    reader = spark.read.format("delta")
    result = {"rows": sorted(map(str, reader.load(str(path)).collect()))}
    if "delta.enableRowTracking" in properties:
        versions = reader.load(str(path)).select("id", "_metadata.row_commit_version")
        result["versions"] = sorted(map(str, versions.collect()))
        ids = reader.load(str(path)).where("id < 360").select("_metadata.row_id")
        result["ids"] = [ids.distinct().count()]
    if "delta.enableChangeDataFeed" in properties:
        feed = reader.option("readChangeFeed", "true").option("startingVersion", "1")
        result["feed"] = sorted(map(str, feed.load(str(path)).drop("_commit_timestamp").collect()))
    result["metrics"] = [
        sorted(
            (name, value)
            for name, value in dict(item["operationMetrics"] or {}).items()
            if "Row" in name and "Copied" not in name
        )
        for item in dr.Table(path).history().to_pylist()
    ]
    return result


@pytest.fixture
def table(spark: Any, tmp_path: Path, create: Create) -> Path:
    path = tmp_path / "table"
    create(path, FEATURES["vectors"])
    return path


def test_conditions_may_be_any_that_spark_computes(spark: Any, table: Path) -> None:
    from pyspark.sql import functions as sf

    is_seven = sf.udf(lambda number: number == 7, "boolean")
    assert dr_spark.delete(spark, table, is_seven("id")).metrics["numDeletedRows"] == 1
    high = "id IN (SELECT max(id) FROM range(50))"
    assert dr_spark.delete(spark, table, high).metrics["numDeletedRows"] == 1
    assert dr_spark.update(spark, table, sf.col("id") == 3, {"k": sf.lit("5")}).version == 3
    assert dr_spark.delete(spark, table, "id = 7").version is None


def test_removed_files_count_their_deletion_vectors(spark: Any, table: Path) -> None:
    dr_spark.delete(spark, table, "id % 5 = 0")
    vectors = dr.Table(table).snapshot().files()["deletionVector"]
    done = dr_spark.delete(spark, table)
    names = ("Added", "Updated", "Removed")
    counts = [done.metrics[f"numDeletionVectors{name}"] for name in names]
    assert counts == [0, 0, len(vectors) - vectors.null_count]
    assert counts[2] > 0


def test_conditions_on_the_target_alone_select_files(
    spark: Any, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions as sf

    from deltareplay.spark.dml.target_rows import Candidates

    opened = []
    original = Candidates.of.__func__  # type: ignore[attr-defined]

    def spy(cls: Any, *given: Any) -> Any:
        result = original(cls, *given)
        opened.append(result.files.num_rows)
        return result

    monkeypatch.setattr(Candidates, "of", classmethod(spy))
    files = dr.Table(table).snapshot().num_files
    dr_spark.delete(spark, table, "p = 1 AND abs(id) = 4")
    dr_spark.delete(spark, table, (sf.col("target.p") == 2) & (sf.col("id") == 5))
    merge = dr_spark.merge(spark, table, source(spark), "target.id = s.id AND target.p = 0")
    merge.when_matched_delete().execute()
    # a statement is analysed without files before it reads its own
    analysed, read = opened[::2], opened[1::2]
    assert analysed == [0, 0, 0]
    assert 0 < min(read) <= max(read) == files // 3


def test_a_source_that_changes_is_read_once(spark: Any, table: Path) -> None:
    changing = rows(spark, 0, 50, "id", "CAST(rand() AS STRING)", 3)
    merge = dr_spark.merge(spark, table, changing, "target.id = source.id")
    merge = merge.when_matched_update({"v": "source.v", "s.a": "CAST(source.v AS DOUBLE) * 1e9"})
    before = set(directories(table))
    assert merge.execute().metrics["numTargetRowsUpdated"] == 50
    result = spark.read.format("delta").load(str(table)).where("id < 50")
    assert result.where("s.a = CAST(CAST(v AS DOUBLE) * 1e9 AS BIGINT)").count() == 50
    # the files of one write, and vectors: the copy of the source is deleted
    left = [name for name in directories(table) if not name.startswith("deletion_vector")]
    assert len(set(left) - before) == 1


def test_stable_sources_return_the_same_rows_twice(spark: Any, table: Path) -> None:
    from deltareplay.spark.dml.merge.repeatability import _is_stable

    read = dr_spark.read(spark, table)
    same = [read, read.where("id > 3").select("id"), source(spark), read.union(read)]
    files = str(table.parent / "files")
    spark.createDataFrame([(1,)], "id LONG").write.parquet(files)
    read.createOrReplaceTempView("stable")
    spark.read.parquet(files).createOrReplaceTempView("unstable")
    same.append(spark.sql("SELECT * FROM stable WHERE id IN (SELECT k FROM stable)"))
    others = [
        read.limit(3),
        read.selectExpr("*", "rand() AS r"),
        read.groupBy("p").agg({"k": "sum"}),
        read.dropDuplicates(["p"]),
        spark.read.parquet(files),
        spark.sql("SELECT * FROM stable WHERE id IN (SELECT id FROM unstable)"),
        spark.sql("SELECT * FROM stable WHERE id IN (SELECT id FROM stable LIMIT 3)"),
        spark.sql("SELECT *, (SELECT max(id) FROM unstable) AS m FROM stable"),
    ]
    assert [_is_stable(item) for item in same] == [True] * len(same)
    assert [_is_stable(item) for item in others] == [False] * len(others)


def test_clauses_resolve_names_as_in_delta_spark(
    spark: Any, tmp_path: Path, create: Create
) -> None:
    from delta.tables import DeltaTable

    result = []
    for which, class_ in (("ours", dr_spark.DeltaTable), ("theirs", DeltaTable)):
        path = tmp_path / which
        create(path, {})
        merge = class_.forPath(spark, str(path)).alias("t").merge(source(spark), "t.id = s.id")
        # names that both sides have
        merge = merge.whenNotMatchedInsert("id < 430", {"id": "id", "v": "v", "s": "s", "p": "p"})
        merge = merge.whenNotMatchedBySourceUpdate("k = 3", {"v": "concat(v, k)", "s.b": "s.b + 1"})
        merge.whenMatchedUpdate("t.k = 4", {"v": "s.v"}).execute()
        result.append(state(spark, path, {}))
        merge = class_.forPath(spark, str(path)).alias("t").merge(source(spark), "t.id = s.id")
        for clauses in (
            merge.whenNotMatchedInsert("t.k = 1", {"id": "s.id"}),
            merge.whenNotMatchedInsert(values={"id": "t.id"}),
            merge.whenNotMatchedBySourceDelete("s.id = 1"),
            merge.whenMatchedUpdate(set={"v": "v"}),
        ):
            with pytest.raises(Exception, match=r"UNRESOLVED|AMBIGUOUS|FIELD_NOT_FOUND"):
                clauses.execute()
    assert result[0] == result[1]


def test_a_copied_source_keeps_its_alias(spark: Any, table: Path) -> None:
    from pyspark.sql import functions as sf

    files = str(table.parent / "files")
    source(spark).write.parquet(files)
    named = spark.read.parquet(files).alias("n").where("n.id < 380")
    merge = dr_spark.merge(spark, table, named, "t.id = n.id", target_alias="t")
    done = merge.when_matched_update({"v": "n.v"}, "n.id > 365").execute()
    assert done.metrics["numTargetRowsUpdated"] == 14
    others = source(spark).selectExpr("id AS other").alias("b")
    both = spark.read.parquet(files).alias("a").join(others, sf.expr("a.id = b.other"))
    merge = dr_spark.merge(spark, table, both, "t.id = a.id", target_alias="t")
    raises("statement.expression", merge.when_matched_delete().execute)
    merge = dr_spark.merge(spark, table, both, "t.id = x.id", target_alias="t", source_alias="x")
    assert merge.when_matched_delete().execute().metrics["numTargetRowsDeleted"] == 40


def test_a_concurrent_commit_may_conflict(spark: Any, table: Path) -> None:
    read = dr.Table(table).snapshot()
    dr.Table(table).append([{"id": 1000, "p": 9}])
    assert dr_spark.delete(spark, read, "p = 1 AND id = 4").version == 2
    error = raises(
        "conflict.append", lambda: dr_spark.update(spark, read, "p = 1", {"v": "'again'"})
    )
    assert type(error).__name__ == "ConcurrentAppendException"
    assert dr.Table(table).snapshot().version == 2


BAD: dict[str, tuple[str, Callable[[Any, Path], Any]]] = {
    "unknown column in a condition": (
        "statement.expression",
        lambda spark, path: dr_spark.delete(spark, path, "nothing = 1"),
    ),
    "not a condition": (
        "statement.expression",
        lambda spark, path: dr_spark.delete(spark, path, "id + 1"),
    ),
    "syntax": (
        "statement.expression",
        lambda spark, path: dr_spark.update(spark, path, "id ==== 1", {"v": "'x'"}),
    ),
    "unknown column that is set": (
        "statement.column",
        lambda spark, path: dr_spark.update(spark, path, None, {"nothing": "1"}),
    ),
    "set twice": (
        "statement.column",
        lambda spark, path: dr_spark.update(spark, path, None, {"s": "NULL", "s.a": "1"}),
    ),
    "nothing is set": (
        "statement.column",
        lambda spark, path: dr_spark.update(spark, path, None, {}),
    ),
    "a value that does not fit": (
        "write.constraint",
        lambda spark, path: dr_spark.update(spark, path, "id = 1", {"k": "v"}),
    ),
    "a window function in a value": (
        "statement.expression",
        lambda spark, path: dr_spark.update(
            spark, path, None, {"k": "row_number() OVER (ORDER BY id)"}
        ),
    ),
    "a function that returns several rows": (
        "statement.expression",
        lambda spark, path: dr_spark.update(spark, path, None, {"k": "explode(array(1, 2))"}),
    ),
    "a window function in the condition of a clause": (
        "statement.expression",
        lambda spark, path: (
            dr_spark.merge(spark, path, source(spark), "target.id = s.id")
            .when_matched_delete("row_number() OVER (ORDER BY s.id) > 1")
            .execute()
        ),
    ),
    "ambiguous column": (
        "statement.expression",
        lambda spark, path: (
            dr_spark.merge(spark, path, source(spark), "id = id").when_matched_delete().execute()
        ),
    ),
    "a table merged into itself, without names": (
        "statement.expression",
        lambda spark, path: (
            dr_spark.merge(spark, path, dr_spark.read(spark, path), "id = id")
            .when_matched_delete()
            .execute()
        ),
    ),
    "one name for both sides": (
        "statement.expression",
        lambda spark, path: (
            dr_spark.merge(spark, path, source(spark), "s.id = 1", target_alias="s")
            .when_matched_update_all()
            .execute()
        ),
    ),
    "no clause": (
        "rows.merge",
        lambda spark, path: dr_spark.merge(spark, path, source(spark), "1 = 0").execute(),
    ),
    "a clause after one without condition": (
        "rows.merge",
        lambda spark, path: (
            dr_spark.merge(spark, path, source(spark), "1 = 0")
            .when_matched_delete()
            .when_matched_delete("s.k = 1")
            .execute()
        ),
    ),
    "several rows for one": (
        "rows.ambiguous",
        lambda spark, path: (
            dr_spark.merge(spark, path, source(spark), "target.k = s.k - 90")
            .when_matched_update({"v": "s.v"}, "s.k = 99")
            .when_matched_delete()
            .execute()
        ),
    ),
    "several rows for one that no clause changes": (
        "rows.ambiguous",
        lambda spark, path: (
            dr_spark.merge(spark, path, source(spark), "target.k = s.k - 90")
            .when_not_matched_by_source_delete()
            .execute()
        ),
    ),
    "two columns of one name": (
        "write.columns",
        lambda spark, path: dr_spark.merge(spark, path, spark.sql("SELECT 1 a, 2 A"), "1 = 0"),
    ),
    "a stream": (
        "merge.stream",
        lambda spark, path: dr_spark.merge(
            spark, path, spark.readStream.format("rate").load(), "1 = 0"
        ),
    ),
}


#: Errors that depend on the rows: all others are raised before the first job.
BY_ROWS = {
    "a value that does not fit",
    "several rows for one",
    "several rows for one that no clause changes",
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_changes_nothing(spark: Any, tmp_path: Path, create: Create, case: str) -> None:
    path = tmp_path / "table"
    create(path, {})
    before = sorted(path.rglob("*.parquet"))
    code, run = BAD[case]
    context = spark.sparkContext
    context.setJobGroup(case, case)
    try:
        raises(code, lambda: run(spark, path))
    finally:
        context._jsc.sc().listenerBus().waitUntilEmpty()
        jobs = context.statusTracker().getJobIdsForGroup(case)
        for name in ("spark.jobGroup.id", "spark.job.description"):
            context.setLocalProperty(name, None)
    assert bool(jobs) == (case in BY_ROWS)
    assert dr.Table(path).snapshot().version == 0
    assert sorted(path.rglob("*.parquet")) == before


def test_a_table_merges_with_itself(spark: Any, table: Path) -> None:
    merge = dr_spark.merge(spark, table, dr_spark.read(spark, table), "target.id = source.id + 1")
    merge = merge.when_matched_update({"v": "source.v"}).when_not_matched_insert_all()
    done = merge.execute().metrics
    assert (done["numTargetRowsUpdated"], done["numTargetRowsInserted"]) == (399, 1)
    result = dr.Table(table).snapshot().scan(columns=["id", "v"], filter="id > 397").to_arrow()
    assert sorted(result["v"].to_pylist()) == ["v397", "v398", "v399"]


def test_a_function_that_raises_leaves_no_files(spark: Any, tmp_path: Path, create: Create) -> None:
    from pyspark.sql import functions as sf

    path = tmp_path / "table"
    create(path, FEATURES["feed"])
    before = sorted(path.rglob("*.*"))

    def broken(number):  # PySpark takes type hints for those of Arrow functions
        if number == 390:
            raise ValueError("not a good number")
        return number

    fails = sf.udf(broken, "long")
    merge = dr_spark.merge(spark, path, source(spark), "target.id = s.id")
    for call in (
        lambda: dr_spark.delete(spark, path, fails("id") == 3),
        lambda: dr_spark.update(spark, path, None, {"k": fails("id")}),
        merge.when_matched_update({"k": fails("target.id")}).execute,
    ):
        with pytest.raises(Exception, match="not a good number"):
            call()
    assert dr.Table(path).snapshot().version == 0
    assert sorted(path.rglob("*.*")) == before


def test_a_table_with_an_unknown_feature_is_refused(spark: Any, tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "table")
    log.create(logs.schema(id="long"), protocol_action=logs.features(writer_only=["newer"]))
    merge = dr_spark.merge(spark, log.uri, spark.range(3), "target.id = source.id")
    for call in (
        lambda: dr_spark.delete(spark, log.uri, "id = 3"),
        lambda: dr_spark.update(spark, log.uri, None, {"id": "1L"}),
        merge.when_matched_delete().execute,
        lambda: dr_spark.optimize(spark, log.uri),
    ):
        with pytest.raises(dr.UnsupportedFeatureError, match="newer"):
            call()


def test_an_append_only_table_keeps_its_rows(spark: Any, tmp_path: Path, create: Create) -> None:
    path = tmp_path / "table"
    create(path, {"delta.appendOnly": "true"})
    raises("transaction.append_only", lambda: dr_spark.delete(spark, path, "id = 1"))
    merge = dr_spark.merge(spark, path, source(spark), "target.id = s.id")
    assert merge.when_not_matched_insert_all().execute().metrics["numTargetRowsInserted"] == 40


def test_constraints_are_checked(spark: Any, tmp_path: Path, create: Create) -> None:
    path = tmp_path / "table"
    create(path, {})
    dr.Table(path).add_constraint("small", "k < 1000")
    raises("write.constraint", lambda: dr_spark.update(spark, path, "id = 3", {"k": "5000"}))
    merge = dr_spark.merge(spark, path, source(spark), "target.id = s.id")
    merge = merge.when_not_matched_insert({"id": "s.id", "k": "2000L"})
    raises("write.constraint", merge.execute)
    assert dr.Table(path).snapshot().version == 1


def test_constraints_are_only_evaluated_on_changed_rows(
    spark: Any, tmp_path: Path, create: Create
) -> None:
    path = tmp_path / "table"
    create(path, {})
    dr.Table(path).add_constraint("small", "k < 10")
    one_more = {"k": "k + 1"}  # fails for rows with 9
    assert dr_spark.update(spark, path, "k = 3", one_more).metrics["numUpdatedRows"] == 40
    dr.Table(path).set_properties({"delta.enableChangeDataFeed": "true"})
    assert dr_spark.update(spark, path, "k = 4", one_more).metrics["numUpdatedRows"] == 80
    changes = spark.range(399, 401).selectExpr("id", "(id - 399) * 50 + 1 AS k").alias("s")
    merge = dr_spark.merge(spark, path, changes, "target.id = s.id")
    assert merge.when_matched_update({"k": "s.k"}).execute().metrics["numTargetRowsUpdated"] == 1


def test_unchanged_rows_are_copied_without_evaluation(
    spark: Any, tmp_path: Path, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One scan writes them with the changed rows; two, if a value calls a function in Python."""
    from pyspark.sql import functions as sf

    scans = []
    without = RowSets.without
    monkeypatch.setattr(RowSets, "without", lambda *given: scans.append(1) or without(*given))
    path = tmp_path / "table"
    create(path, {})
    # existing rows violate this constraint
    actions = map(json.loads, (path / "_delta_log" / f"{0:020}.json").read_text().splitlines())
    [metadata] = [action for action in actions if "metaData" in action]
    rules = {"delta.constraints.late": "id % 100 <> 9 AND k < 1000"}
    metadata["metaData"]["configuration"].update(rules)
    logs.write_commit(path, 1, [logs.protocol(1, 3), metadata])
    before = {row["id"]: row for row in dr.Table(path).snapshot().scan().to_arrow().to_pylist()}

    def raises_for_others(number):  # PySpark takes type hints for those of Arrow functions
        assert number % 100 == 6
        return number

    which, chosen = "id % 100 = 6", [6, 106, 206, 306]
    fails = "raise_error('a row that stays')"
    of_spark = {
        "v": f"IF({which}, concat('new', CAST(rand() < 2 AS STRING)), {fails})",
        "k": "CAST(100 DIV (id % 4 - 1) AS BIGINT)",
        "s.b": f"IF({which}, 7, CAST({fails} AS INT))",
    }
    done = dr_spark.update(spark, path, which, of_spark).metrics
    assert done["numUpdatedRows"] == len(chosen)
    assert done["numCopiedRows"] > 100
    assert scans == []
    for number in chosen:
        row = before[number]
        row.update(v="newtrue", k=100, s={"a": row["s"]["a"], "b": 7})
    result = dr.Table(path).snapshot().scan().to_arrow().to_pylist()
    assert {row["id"]: row for row in result} == before
    of_python = sf.udf(raises_for_others, "long")
    dr_spark.update(spark, path, which, {"k": of_python("id")})
    assert scans == [1]
    raises("write.constraint", lambda: dr_spark.update(spark, path, which, {"k": "5000"}))


def test_the_same_batch_is_merged_once(spark: Any, table: Path) -> None:
    def merge() -> Any:
        merge = dr_spark.merge(spark, table, source(spark), "target.id = s.id", txn=("stream", 3))
        return merge.when_not_matched_insert_all().execute()

    assert merge().version == 1
    assert merge().version is None


@pytest.mark.parametrize("how", ["argument", "setting"])
def test_a_merge_adds_columns_of_the_source(spark: Any, table: Path, how: str) -> None:
    wider = source(spark).selectExpr("*", "id * 2 AS twice").alias("s")
    mode: Any = "merge" if how == "argument" else None
    merge = dr_spark.merge(spark, table, wider, "target.id = s.id", schema_mode=mode)
    merge.when_matched_update_all().when_not_matched_insert_all()
    enabled = "true" if how == "setting" else "false"
    with conf(spark, spark__databricks__delta__schema__autoMerge__enabled=enabled):
        merge.execute()
    result = spark.read.format("delta").load(str(table))
    assert result.columns == ["id", "k", "v", "s", "p", "twice"]
    assert result.where("twice = id * 2").count() == 80
    assert result.where("twice IS NULL").count() == 360


def test_small_files_are_packed_after_a_statement(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "table"
    rows(spark, 0, 600, "id % 10", "'v'", 1).repartition(60).write.format("delta").save(str(path))
    dr.Table(path).set_properties({"delta.autoOptimize.autoCompact": "true"})
    dr_spark.update(spark, path, "id = 7", {"v": "'x'"})
    assert dr.Table(path).history(2)["operation"].to_pylist() == ["OPTIMIZE", "UPDATE"]
    assert dr.Table(path).snapshot().num_files == 1
    same_rows(spark, path)
