"""Less common statements and queries in pipelines of delta-spark.

``test_without_jar.py`` runs this file again in sessions without delta-spark's jar. Values are
those of delta-spark 4.4, unless a test names another source.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from spark.conftest import SESSION
from spark.support.delta_tables import ROWS, rows_of, write_table
from spark.support.settings import conf

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable

pytestmark = pytest.mark.spark


@pytest.fixture
def target(spark: Any, tmp_path: Path) -> str:
    write_table(spark, tmp_path / "t")
    return f"delta.`{tmp_path / 't'}`"


@pytest.fixture
def other(spark: Any, tmp_path: Path) -> str:
    write_table(spark, tmp_path / "o", [("a", 10), ("d", 40)])
    return f"delta.`{tmp_path / 'o'}`"


def fetch(spark: Any, text: str, args: Any = None) -> list[tuple[Any, ...]]:
    return rows_of(dr_spark.sql(spark, text, args))


def left(spark: Any, tmp_path: Path) -> list[tuple[Any, ...]]:
    return rows_of(dr_spark.read(spark, tmp_path / "t"))


@pytest.mark.parametrize("name", ["data[2024]", "env{prod}", "a*b?"])
def test_a_merge_at_a_path_that_looks_like_a_pattern(spark: Any, tmp_path: Path, name: str) -> None:
    """delta-io/delta issues 724 and 4989. The source is kept, because it has an aggregate."""
    from pyspark.sql import functions as sf

    table = write_table(spark, tmp_path / name).alias("t")
    news = spark.createDataFrame([("d", 5), ("d", 6), ("e", 7)], ["key", "value"])
    news = news.groupBy("key").agg(sf.max("value").alias("value"))
    merge = table.merge(news.alias("s"), "t.key = s.key")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows_of(dr_spark.read(spark, tmp_path / name)) == [*ROWS[:3], ("d", 6), ("e", 7)]


def test_a_column_with_a_dot_is_set(spark: Any, tmp_path: Path) -> None:
    """delta-io/delta issues 208 and 233."""
    dr_spark.write(spark.createDataFrame([(1, 2)], ["a.b", "c"]), tmp_path / "t")
    table = f"delta.`{tmp_path / 't'}`"
    dr_spark.sql(spark, f"UPDATE {table} SET `a.b` = 5")
    dr_spark.sql(spark, f"UPDATE {table} t SET t.`a.b` = t.`a.b` + 1, t.c = 3")
    assert left(spark, tmp_path) == [(6, 3)]
    matched = "USING (SELECT 6 AS k) s ON t.`a.b` = s.k WHEN MATCHED THEN UPDATE SET `a.b` = 9"
    dr_spark.sql(spark, f"MERGE INTO {table} t {matched}")
    assert left(spark, tmp_path) == [(9, 3)]


@pytest.mark.skipif(
    SESSION == "connect", reason="only classic Spark has the hidden column of a union"
)
def test_rows_have_file_metadata(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    dr_spark.write(
        spark.range(2).coalesce(1), path, properties={"delta.enableDeletionVectors": "true"}
    )
    dr_spark.write(spark.range(2, 4).coalesce(1), path)
    seen = ("id", "_metadata.file_size > 0", "_metadata.file_name LIKE '%.parquet'")
    for first in (0, 1):
        rows = dr_spark.read(spark, path)
        assert rows.columns == ["id"]
        assert rows_of(rows.selectExpr(*seen)) == [
            (number, True, True) for number in range(first, 4)
        ]
        assert rows.groupBy("_metadata.file_name").count().count() == 2
        DeltaTable.forPath(spark, str(path)).delete("id = 0")
    assert rows_of(rows.alias("t").where("t._metadata.row_index = 1")) == [(1,), (3,)]
    assert rows.join(rows, "id").count() == 3
    plan = rows._jdf.queryExecution().executedPlan().toString()
    assert "Union" in plan
    assert "file_size" not in plan  # only queries with the column pay for it


def test_queries_select_file_metadata(spark: Any, tmp_path: Path) -> None:
    dr_spark.write(
        spark.range(2).coalesce(1),
        tmp_path / "t",
        properties={"delta.enableDeletionVectors": "true"},
    )
    dr_spark.write(spark.range(2, 4).coalesce(1), tmp_path / "t")
    dr_spark.delete(spark, tmp_path / "t", "id = 0")
    table = f"delta.`{tmp_path / 't'}`"
    assert fetch(spark, f"SELECT count(_metadata.file_name) FROM {table}") == [(3,)]
    named = "_metadata.file_name LIKE 'part%' AS n"
    assert fetch(spark, f"SELECT *, {named} FROM {table}") == [(item, True) for item in (1, 2, 3)]
    joined = f"SELECT a.*, 2 * b.id FROM {table} a JOIN {table} b USING (id)"
    result = fetch(spark, f"{joined} WHERE a._metadata.file_size > 0")
    assert result == [(1, 2), (2, 4), (3, 6)]
    inner = f"SELECT * EXCEPT (id), id + 1 AS id, _metadata.file_size > 0 AS f FROM {table}"
    result = fetch(spark, f"SELECT * FROM ({inner}) UNION SELECT *, _metadata IS NULL FROM {table}")
    assert result == [(1, False), (2, False), (2, True), (3, False), (3, True), (4, True)]


@pytest.mark.skipif(SESSION == "delta-spark", reason="Spark runs the query")
@pytest.mark.parametrize("selected", ["struct(*)", "id FROM {0} NATURAL JOIN range(2) --"])
def test_rejects_metadata_with_star_or_natural_join(
    spark: Any, tmp_path: Path, selected: str
) -> None:
    dr_spark.write(spark.range(2), tmp_path / "t")
    table = f"delta.`{tmp_path / 't'}`"
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.sql(spark, f"SELECT _metadata, {selected.format(table)} FROM {table}")
    assert caught.value.code == "sql.metadata"


def test_queries_select_row_ids(spark: Any, tmp_path: Path) -> None:
    tracked = {"delta.enableRowTracking": "true"}
    dr_spark.write(spark.range(2).coalesce(1), tmp_path / "t", properties=tracked)
    ids = "_metadata.row_id, _metadata.row_commit_version, _metadata.base_row_id"
    result = fetch(spark, f"SELECT *, {ids} FROM delta.`{tmp_path / 't'}`")
    assert result == [(0, 0, 0, 0), (1, 1, 0, 0)]


def test_conditions_and_values_may_have_subqueries(
    spark: Any, tmp_path: Path, target: str, other: str
) -> None:
    """delta-spark refuses subqueries there, whatever the table."""
    before = rows_of(spark.sql("SHOW VIEWS"))
    dr_spark.sql(
        spark, f"DELETE FROM {target} WHERE key IN (SELECT key FROM {other} o WHERE value > 10)"
    )
    assert left(spark, tmp_path) == ROWS[:3]
    exists = f"EXISTS (SELECT 1 FROM {other} o WHERE o.key = t.key)"
    best = f"(SELECT max(value) FROM {other})"
    dr_spark.sql(spark, f"UPDATE {target} t SET value = {best} WHERE {exists}")
    assert left(spark, tmp_path) == [("a", 40), *ROWS[1:3]]
    DeltaTable.forPath(spark, str(tmp_path / "t")).delete(f"value = {best}")
    assert left(spark, tmp_path) == ROWS[1:3]
    dr_spark.sql(spark, f"DELETE FROM {target} WHERE (key, value + 1) IN (TABLE {other})")
    assert left(spark, tmp_path) == ROWS[1:3]
    assert rows_of(spark.sql("SHOW VIEWS")) == before
    [done] = dr.Table(tmp_path / "t").history(1).to_pylist()
    assert dict(done["operationParameters"])["predicate"] == f'["value = {best}"]'


def test_a_scalar_subquery_with_several_rows_fails(
    spark: Any, tmp_path: Path, target: str, other: str
) -> None:
    several = f"(SELECT key FROM {other})"
    for text in (
        f"DELETE FROM {target} WHERE key = {several}",
        f"UPDATE {target} SET value = 0 WHERE key = {several}",
        f"UPDATE {target} SET key = {several}",
        f"MERGE INTO {target} t USING {other} s ON t.key = {several} WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            dr_spark.sql(spark, text)
        assert caught.value.code == "statement.expression"
    assert left(spark, tmp_path) == ROWS


def test_queries_may_precede_statements(
    spark: Any, tmp_path: Path, target: str, other: str
) -> None:
    """Spark's grammar allows ``WITH`` before each statement."""
    source = f"WITH s AS (SELECT key, value + 1 AS value FROM {other})"
    dr_spark.sql(spark, f"{source} INSERT INTO {target} SELECT * FROM s WHERE value > 11")
    assert left(spark, tmp_path) == [*ROWS, ("d", 41)]
    merge = f"MERGE INTO {target} t USING s ON t.key = s.key AND t.value < 40"
    reported = fetch(spark, f"{source} {merge} WHEN MATCHED THEN UPDATE SET *")
    assert reported == [(2, 2, 0, 0)]
    assert left(spark, tmp_path) == [("a", 11), *ROWS[1:3], ("d", 41), ("d", 41)]
    dr_spark.sql(
        spark, f"{source} DELETE FROM {target} WHERE key IN (SELECT key FROM s) AND value > 11"
    )
    dr_spark.sql(spark, f"{source} UPDATE {target} SET value = 0 WHERE key IN (SELECT key FROM s)")
    assert left(spark, tmp_path) == [("a", 0), *ROWS[1:3]]
    dr_spark.sql(
        spark, f"{source}, u AS (TABLE s) INSERT OVERWRITE {target} WITH v AS (TABLE u) TABLE v"
    )
    assert left(spark, tmp_path) == [("a", 11), ("d", 41)]


def test_a_table_may_precede_inserts(spark: Any, tmp_path: Path, target: str, other: str) -> None:
    """Hive's form, which Spark has, too: each INSERT is a commit."""
    inserts = (
        f"INSERT OVERWRITE {target} SELECT key, value WHERE value > 10 INSERT INTO {other} SELECT *"
    )
    dr_spark.sql(spark, f"FROM (SELECT * FROM {other}) {inserts}")
    assert left(spark, tmp_path) == [("d", 40)]
    assert fetch(spark, f"SELECT * FROM {other}") == sorted(2 * [("a", 10), ("d", 40)])
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.sql(
            spark, f"FROM {other} INSERT INTO {target} SELECT * INSERT INTO elsewhere SELECT *"
        )
    assert caught.value.code == "sql.inserts"


def test_identifier_and_execute_immediate(spark: Any, tmp_path: Path, target: str) -> None:
    path = tmp_path / "t"
    assert fetch(spark, f"SELECT count(*) FROM IDENTIFIER('delta.`' || '{path}`')") == [(4,)]
    dr_spark.sql(spark, f"DELETE FROM IDENTIFIER('{target}') WHERE key = 'a'")
    assert fetch(spark, f"EXECUTE IMMEDIATE 'SELECT max(value) FROM {target}'") == [(4,)]
    immediate = f"EXECUTE IMMEDIATE 'DELETE FROM {target} WHERE key = ? OR value = ?'"
    assert fetch(spark, f"{immediate} USING 'b', 2 + 1") == [(2,)]
    assert left(spark, tmp_path) == [ROWS[3]]
    assert fetch(spark, f"EXECUTE IMMEDIATE 'DELETE FROM IDENTIFIER(\"{target}\")'") == [(1,)]


def test_variables_and_names_in_double_quotes(spark: Any, tmp_path: Path, target: str) -> None:
    settings = {"lake__path": "${lake.root}/t", "lake__root": str(tmp_path)}
    with conf(spark, **settings):
        text = "UPDATE delta.`${lake.path}` SET value = 9 WHERE key = '${nope}a${nope}'"
        assert fetch(spark, text) == [(1,)]
        assert fetch(spark, "SELECT count(*) FROM delta.`${spark:lake.path}`") == [(4,)]
    with conf(spark, spark__sql__ansi__doubleQuotedIdentifiers="true"):
        table = f'delta."{tmp_path / "t"}"'
        assert fetch(spark, f'DELETE FROM {table} AS "T" WHERE "T"."value" = 9') == [(1,)]
        assert fetch(spark, f'SELECT count("key") FROM {table}') == [(3,)]


def test_parameters_are_values(spark: Any, tmp_path: Path, target: str) -> None:
    """As ``SparkSession.sql`` accepts them: strings stay strings, whatever their content."""
    odd = "it's \\ {x} `y` :key ? -- "
    dr_spark.sql(spark, f"INSERT INTO {target} VALUES (?, ?)", [odd, 2**40])
    assert fetch(spark, f"SELECT value FROM {target} WHERE key = :key", {"key": odd}) == [(2**40,)]
    values = {"key": odd, "value": -7}
    reported = fetch(spark, f"UPDATE {target} SET value = :value WHERE key = :key", values)
    assert (reported, left(spark, tmp_path)) == ([(1,)], sorted([*ROWS, (odd, -7)], key=repr))
    at = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.timezone.utc)
    [row] = dr_spark.sql(
        spark,
        "SELECT :at = '2026-01-31 12:00:00' AND :no IS NULL AND '1'::int = 1",
        {"at": at, "no": None},
    ).collect()
    assert row[0]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.sql(spark, f"DELETE FROM {target} WHERE key = ?", ["a", "b"])
    assert caught.value.code == "sql.arguments"
    with pytest.raises(dr.UnsupportedFeatureError) as refused:
        dr_spark.sql(spark, f"DELETE FROM {target} WHERE key = :key", {"key": ["a"]})
    assert refused.value.code == "sql.arguments"


def test_values_in_braces_are_formatted(spark: Any, tmp_path: Path, target: str) -> None:
    """As ``SparkSession.sql`` formats them, in statements and in queries; frames leave no view."""
    from pyspark.sql import functions as sf

    views = spark.sql("SHOW TABLES").collect()
    news = spark.createDataFrame([("a", 7), ("it's", 8)], "key string, value long")
    merge = f"MERGE INTO {target} t USING {{news}} n ON t.{{key}} = n.key AND n.key <> {{not_}}"
    dr_spark.sql(
        spark,
        f"{merge} WHEN MATCHED THEN UPDATE SET value = n.value",
        news=news,
        key=sf.col("key"),
        not_="it's",
    )
    dr_spark.sql(spark, f"INSERT INTO {target} SELECT * FROM {{news}} WHERE value > 7", news=news)
    rows = dr_spark.sql(
        spark,
        f"SELECT t.key, n.value FROM {target} t JOIN {{news}} n USING (key) "
        "WHERE t.value IN {values} AND t.value < :most",
        {"most": 99},
        news=news,
        values=(7, 8),
    )
    assert sorted(map(tuple, rows.collect())) == [("a", 7), ("it's", 8)]
    if SESSION != "connect":  # there, a query refers to them until it is run
        assert spark.sql("SHOW TABLES").collect() == views


def test_rows_are_cached(spark: Any, tmp_path: Path, target: str, name: str) -> None:
    dr_spark.sql(spark, f"CACHE LAZY TABLE {name} AS SELECT * FROM {target} WHERE value > 2")
    assert spark.catalog.isCached(name)
    assert rows_of(spark.table(name)) == ROWS[2:]
    with pytest.raises(Exception, match="already exists"):
        dr_spark.sql(spark, f"CACHE TABLE {name} AS SELECT * FROM {target}")
    dr_spark.sql(spark, f"UNCACHE TABLE {name}")
    assert spark.catalog.dropTempView(name)
    with pytest.raises(dr.InvalidArgumentError, match="'nope' is not a storage level"):
        dr_spark.sql(spark, f"CACHE TABLE {target} OPTIONS ('storageLevel' 'nope')")
    dr_spark.sql(spark, f"CACHE TABLE {target} OPTIONS ('storageLevel' 'MEMORY_ONLY')")
    if SESSION == "classic":
        level = dr_spark.read(spark, tmp_path / "t").storageLevel
        assert (level.useMemory, level.useDisk) == (True, False)
    dr_spark.sql(spark, f"CACHE TABLE {target} OPTIONS ('storageLevel' 'MEMORY_AND_DISK_SER_2')")
    if SESSION == "classic":
        level = dr_spark.read(spark, tmp_path / "t").storageLevel
        assert (level.useDisk, level.deserialized, level.replication) == (True, False, 2)
    dr_spark.sql(spark, f"DELETE FROM {target} WHERE key = 'a'")
    assert fetch(spark, f"SELECT * FROM {target}") == ROWS[1:]
    for statement in ("REFRESH TABLE", "UNCACHE TABLE", "UNCACHE TABLE IF EXISTS"):
        assert fetch(spark, f"{statement} {target}") == []
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr_spark.sql(spark, f"REFRESH TABLE delta.`{tmp_path / 'none'}`")
    assert caught.value.code == "table.not_found"


def test_a_cached_query_has_no_schema(spark: Any, target: str, name: str) -> None:
    """Spark refuses it, too: "It is not allowed to add catalog/namespace prefix"."""
    for query in ("SELECT 1 AS x", f"SELECT * FROM {target}"):
        with pytest.raises(dr.InvalidArgumentError, match="no schema and no catalog") as caught:
            dr_spark.sql(spark, f"CACHE TABLE default.{name} AS {query}")
        assert caught.value.code == "sql.syntax"
    with pytest.raises(Exception, match="catalog/namespace prefix"):
        spark.sql(f"CACHE TABLE default.{name} AS SELECT 1 AS x")
    assert name not in [row.tableName for row in spark.sql("SHOW TABLES").collect()]


def test_changes_are_read_by_functions(spark: Any, tmp_path: Path, name: str) -> None:
    """delta-io/delta issue 1963; the guide of Delta's change data feed."""
    feed = {"delta.enableChangeDataFeed": "true"}
    dr_spark.write(spark.createDataFrame([(1,), (2,)], ["id"]), tmp_path / "t", properties=feed)
    dr_spark.update(spark, tmp_path / "t", "id = 2", {"id": "20"})
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 't'}'")
    expected = [(2, "update_preimage"), (20, "update_postimage")]
    for call in (
        f"table_changes('{name}', 1, 1)",
        f"TABLE_CHANGES('{name}', 0 + 1)",
        f"table_changes_by_path('{tmp_path / 't'}', 1, 99)",
    ):
        assert fetch(spark, f"SELECT c.id, _change_type FROM {call} AS c") == expected
    counted = f"SELECT count(*) FROM table_changes('{name}', '2020-01-01')"
    assert fetch(spark, counted) == [(4,)]
    with pytest.raises(Exception, match="99"):
        dr_spark.sql(spark, f"SELECT * FROM table_changes('{name}', 99)").collect()
    if SESSION != "delta-spark":
        for arguments in (f"'{name}'", f"'{name}', 0, 1, 2", f"'{name}', true"):
            with pytest.raises(dr.InvalidArgumentError) as caught:
                dr_spark.sql(spark, f"SELECT * FROM table_changes({arguments})")
            assert caught.value.code == "sql.changes"
        with pytest.raises(dr.TableNotFoundError, match=f"no_{name}. does not exist"):
            dr_spark.sql(spark, f"SELECT * FROM table_changes('no_{name}', 0)")


def test_subqueries_read_the_changes_of_their_own_versions(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    feed = {"delta.enableChangeDataFeed": "true"}
    dr_spark.write(spark.createDataFrame([(1,)], ["id"]), path, properties=feed)
    for number in (2, 3, 4):
        dr_spark.write(spark.createDataFrame([(number,)], ["id"]), path)
    first, last = (
        f"SELECT id FROM table_changes_by_path('{path}', {version}, {version})"
        for version in (1, 3)
    )
    dr_spark.sql(spark, f"DELETE FROM delta.`{path}` WHERE id IN ({first}) OR id IN ({last})")
    assert sorted(row.id for row in dr_spark.read(spark, path).collect()) == [1, 3]


@pytest.mark.skipif(SESSION == "delta-spark", reason="with its jar, Spark reads the time")
def test_the_time_of_a_version_is_an_expression(spark: Any, tmp_path: Path, target: str) -> None:
    dr_spark.delete(spark, tmp_path / "t", "key = 'a'")
    first = dr.Table(tmp_path / "t").snapshot(version=0).timestamp.strftime("%Y-%m-%d %H:%M:%S.%f")
    for time in (
        f"TIMESTAMP '{first}'",
        f"CAST('{first}' AS TIMESTAMP)",
        f"'{first[:10]}' || '{first[10:]}'",
        f"TIMESTAMP '{first}' + INTERVAL 1 DAY - INTERVAL '24' HOUR",
    ):
        assert fetch(spark, f"SELECT x.* FROM {target} TIMESTAMP AS OF {time} x") == ROWS
        assert (
            fetch(spark, f"SELECT * FROM {target} TIMESTAMP AS OF {time} WHERE value > 3")
            == ROWS[3:]
        )
    with pytest.raises(Exception, match=r"2099-01-01"):
        dr_spark.sql(spark, f"SELECT * FROM {target} TIMESTAMP AS OF DATE '2099-01-01'")


def test_a_path_ends_with_a_version(spark: Any, tmp_path: Path, target: str) -> None:
    """Delta's guide: "@ syntax"."""
    path, copy = tmp_path / "t", f"delta.`{tmp_path / 'copy'}`"
    dr_spark.delete(spark, path, "key = 'a'")
    stamp = dr.Table(path).snapshot(version=0).timestamp.strftime("%Y%m%d%H%M%S%f")[:-3]
    if SESSION != "delta-spark":
        dr_spark.register(spark, "delta")
    for end in ("v0", "V0", stamp):
        assert rows_of(dr_spark.read(spark, f"{path}@{end}")) == ROWS
        assert fetch(spark, f"SELECT * FROM delta.`{path}@{end}`") == ROWS
        assert rows_of(spark.read.format("delta").load(f"{path}@{end}")) == ROWS
        assert dr_spark.count(spark, f"{path}@{end}", filter="value > 0") == len(ROWS)
        dr_spark.sql(spark, f"CREATE OR REPLACE TABLE {copy} SHALLOW CLONE delta.`{path}@{end}`")
        clone = dr.Table(tmp_path / "copy", allowed_roots=[path])
        assert rows_of(dr_spark.read(spark, clone)) == ROWS
    with pytest.raises(Exception, match=r"version|time travel"):
        spark.read.format("delta").option("versionAsOf", 1).load(f"{path}@v0").collect()
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.read(spark, f"{path}@v0", version=1)
    assert caught.value.code == "argument.version"
    dr_spark.write(spark.range(2), f"{path}@v0")
    assert dr_spark.read(spark, f"{path}@v0").count() == 2


def test_a_query_of_with_has_the_name_of_its_table(
    spark: Any, tmp_path: Path, name: str, target: str
) -> None:
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 't'}'")
    large = f"WITH {name} AS (SELECT * FROM {name} WHERE value > 2)"
    assert fetch(spark, f"{large} SELECT {name}.* FROM {name}") == ROWS[2:]
    dr_spark.sql(spark, f"{large} INSERT INTO {name} SELECT key, value + 10 FROM {name}")
    expected = [*ROWS, ("c", 13), ("d", 14)]
    assert sorted(fetch(spark, f"SELECT * FROM {target}")) == sorted(expected)


def test_partitions_are_shown(spark: Any, tmp_path: Path, name: str, target: str) -> None:
    columns = "k INT, p STRING, d DATE"
    rows = [(1, "b", datetime.date(2026, 1, 1)), (2, "a", None), (3, "a", None)]
    dr_spark.write(
        spark.createDataFrame(rows, columns), tmp_path / "p", partition_columns=["p", "d"]
    )
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 'p'}'")
    for table in (name, f"delta.`{tmp_path / 'p'}`"):
        displayed = dr_spark.sql(spark, f"SHOW PARTITIONS {table}")
        assert displayed.dtypes == [("p", "string"), ("d", "date")]
        assert rows_of(displayed) == [("a", None), rows[0][1:]]
        assert fetch(spark, f"SHOW PARTITIONS {table} PARTITION (p = 'b')") == [rows[0][1:]]
    for text in (target, f"{name} PARTITION (k = 1)"):
        with pytest.raises(Exception, match=r"(?i)partition") as caught:
            dr_spark.sql(spark, f"SHOW PARTITIONS {text}")
        assert SESSION == "delta-spark" or caught.value.code == "sql.partitions"  # type: ignore[attr-defined]


def test_partitions_are_shown_by_the_names_of_columns(spark: Any, tmp_path: Path) -> None:
    """Column mapping gives them other names in the log."""
    rows = spark.createDataFrame([(1, "b"), (2, "a"), (3, "a")], "k INT, p STRING")
    properties = {"delta.columnMapping.mode": "name"}
    dr_spark.write(rows, tmp_path / "m", partition_columns=["p"], properties=properties)
    shown = dr_spark.sql(spark, f"SHOW PARTITIONS delta.`{tmp_path / 'm'}`")
    assert shown.dtypes == [("p", "string")]
    assert rows_of(shown) == [("a",), ("b",)]


def test_a_view_of_a_table_is_a_target(spark: Any, tmp_path: Path, target: str, name: str) -> None:
    """Its query may have aliases. delta-io/delta issue 618: columns are matched by name."""
    spark.createDataFrame([(20, "b"), (50, "e")], ["value", "key"]).createOrReplaceTempView("news")
    query = f"SELECT * FROM (SELECT * FROM {target} AS inner_alias) outer_alias"
    dr_spark.sql(spark, f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
    merge = f"MERGE INTO {name} t USING news s ON t.key = s.key WHEN MATCHED THEN UPDATE SET *"
    assert fetch(spark, f"{merge} WHEN NOT MATCHED THEN INSERT *") == [(2, 1, 0, 1)]
    assert fetch(spark, f"DELETE FROM {name} WHERE {name}.value < 4") == [(2,)]
    assert fetch(spark, f"UPDATE {name} SET value = 0 WHERE key = 'd'") == [(1,)]
    expected = [("b", 20), ("d", 0), ("e", 50)]
    assert left(spark, tmp_path) == expected
    assert fetch(spark, f"SELECT * FROM {name}") == expected
    spark.catalog.dropTempView(name)


@pytest.mark.skipif(SESSION == "delta-spark", reason="delta-spark takes no subquery there")
def test_with_before_a_statement_on_a_view(
    spark: Any, tmp_path: Path, target: str, name: str
) -> None:
    """The table of the view changes, and the view shows it."""
    dr_spark.sql(spark, f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM {target}")
    news = "WITH n(k, v) AS (VALUES ('d', 40), ('e', 50))"
    merge = f"{news} MERGE INTO {name} t USING n AS s(key, value) ON t.key = s.key"
    merge += (
        " WHEN MATCHED THEN UPDATE SET value = s.value + t.value WHEN NOT MATCHED THEN INSERT *"
    )
    assert fetch(spark, merge) == [(2, 1, 0, 1)]
    update = f"{news} UPDATE {name} SET value = 0 WHERE key IN (SELECT k FROM n WHERE v > 40)"
    assert fetch(spark, update) == [(1,)]
    delete = f"{news} DELETE FROM {name} WHERE value < (SELECT min(v) FROM n) AND value > 1"
    assert fetch(spark, delete) == [(2,)]
    expected = [("a", 1), ("d", 44), ("e", 0)]
    assert left(spark, tmp_path) == expected
    assert fetch(spark, f"SELECT * FROM {name}") == expected
    spark.catalog.dropTempView(name)


@pytest.mark.skipif(SESSION == "delta-spark", reason="Spark runs the statements")
def test_rejects_other_views_as_targets(spark: Any, tmp_path: Path, target: str, name: str) -> None:
    """delta-spark requires a full scan of the newest version."""
    for query in (
        f"SELECT * FROM {target} WHERE value > 1",
        f"SELECT * FROM {target} VERSION AS OF 0",
    ):
        dr_spark.sql(spark, f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            dr_spark.sql(spark, f"DELETE FROM {name}")
        assert caught.value.code == "sql.target"
    dr_spark.sql(spark, f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM {target}")
    dr_spark.read(spark, tmp_path / "t").where("value > 1").createOrReplaceTempView(name)
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.sql(spark, f"UPDATE {name} SET value = 0")
    assert caught.value.code == "sql.target"
    assert left(spark, tmp_path) == ROWS
    spark.catalog.dropTempView(name)


def test_a_dropped_table_starts_at_version_0(spark: Any, tmp_path: Path, name: str) -> None:
    """Without ``LOCATION``, a table is dropped with its files, like a managed one; links stay."""
    for definition in (
        "(k INT) USING delta",
        "(q STRING) USING delta",
        "USING delta AS SELECT 1 AS one, 2 AS two",
    ):
        dr_spark.sql(spark, f"CREATE TABLE {name} {definition}")
        assert dr_spark.sql(spark, f"DESCRIBE HISTORY {name}").count() == 1
        path = Path(
            urlsplit(dr_spark.sql(spark, f"DESCRIBE DETAIL {name}").first()["location"]).path
        )
        if SESSION != "delta-spark":
            kept = tmp_path / "kept"
            kept.write_text("")
            (path / "link").unlink(missing_ok=True)
            (path / "link").symlink_to(kept)
        dr_spark.sql(spark, f"DROP TABLE {name}")
        assert not path.exists() or {item.name for item in path.iterdir()} <= {"link"}
        assert SESSION == "delta-spark" or kept.exists()
        dr_spark.sql(spark, f"DROP TABLE IF EXISTS {name}")


@pytest.mark.parametrize("options", ["", "OPTIONS (ownsFiles 'true')"])
def test_a_table_with_a_location_keeps_its_files(
    spark: Any, tmp_path: Path, name: str, options: str
) -> None:
    if SESSION == "delta-spark" and options:
        pytest.skip("the jar takes no such options")
    dr_spark.write(spark.range(3), tmp_path / "t")
    path = f"{options} LOCATION '{tmp_path / 't'}'"
    spark.sql(f"CREATE TABLE {name} USING delta {path}")
    dr_spark.sql(spark, f"DROP TABLE {name}")
    assert dr_spark.read(spark, tmp_path / "t").count() == 3


@pytest.mark.skipif(SESSION == "delta-spark", reason="the jar manages its tables")
def test_files_that_another_drop_left_are_kept(spark: Any, name: str) -> None:
    dr_spark.sql(spark, f"CREATE TABLE {name} USING delta AS SELECT 1 AS one")
    spark.sql(f"DROP TABLE {name}")
    with pytest.raises(dr.InvalidArgumentError, match="not in the catalog") as caught:
        dr_spark.sql(spark, f"CREATE TABLE {name} (two INT) USING delta")
    assert caught.value.code == "table.exists"
    dr_spark.sql(spark, f"CREATE TABLE IF NOT EXISTS {name} (two INT) USING delta")
    dr_spark.sql(spark, f"DROP TABLE {name}")  # not created by this statement
    dr_spark.sql(spark, f"CREATE OR REPLACE TABLE {name} (two INT) USING delta")
    assert dr_spark.read(spark, name).columns == ["two"]


@pytest.mark.parametrize("script", ["BEGIN {}; END", "begin\n{}; {}; end", "l: BEGIN {}; END l"])
def test_scripts_are_refused(spark: Any, tmp_path: Path, target: str, script: str) -> None:
    if SESSION == "delta-spark":
        pytest.skip("Spark runs scripts of Delta tables, with the jar")
    text = script.format(*[f"INSERT INTO {target} VALUES ('z', 9)"] * 2)
    with pytest.raises(dr.UnsupportedFeatureError, match="each of them") as caught:
        dr_spark.sql(spark, text)
    assert caught.value.code == "sql.script"
    assert sorted(left(spark, tmp_path), key=repr) == sorted(ROWS, key=repr)


@pytest.mark.parametrize(
    "clause",
    [
        "REPLACE USING (key) SELECT key, 9 AS value FROM VALUES ('a'), ('z'), (NULL) AS s(key)",
        "BY NAME REPLACE USING (key) (SELECT 9 value, key FROM VALUES ('a'), ('z'), (NULL) s(key))",
        "AS t REPLACE ON t.key = s.key SELECT s.key, 9 FROM VALUES ('a'), ('z'), (NULL) AS s(key)",
        "AS t REPLACE ON t.key <=> s.key AND s.value > t.value (SELECT key, 9 AS value FROM "
        "VALUES ('a'), ('z'), (NULL) AS k(key)) AS s",
    ],
)
def test_rows_are_replaced_by_keys(spark: Any, tmp_path: Path, target: str, clause: str) -> None:
    """As ``replaceUsing`` and ``replaceOn`` of delta-spark 4.4, which has no such statements."""
    dr_spark.sql(spark, f"INSERT INTO {target} {clause}")
    expected = [("a", 9), ("z", 9), (None, 9), *(row for row in ROWS if row[0] != "a")]
    assert sorted(left(spark, tmp_path), key=repr) == sorted(expected, key=repr)
