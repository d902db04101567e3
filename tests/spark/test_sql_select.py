"""``sql``: queries on Delta tables by path, by name and by version.

``test_without_jar.py`` runs this file again in sessions without delta-spark's jar, where this
package reads the tables; with the jar Spark does, and must return the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from spark.support.delta_tables import ROWS, rows_of, write_table

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.session import capabilities

pytestmark = pytest.mark.spark


@pytest.fixture(params=["path", "name"])
def target(request: pytest.FixtureRequest, spark: Any, tmp_path: Path, name: str) -> str:
    """A table of two versions, in SQL: by its path, or by a name in the catalog."""
    write_table(spark, tmp_path / "t").delete("key = 'd'")
    if request.param == "path":
        return f"delta.`{tmp_path / 't'}`"
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 't'}'")
    return name


def fetch(spark: Any, text: str) -> list[tuple[Any, ...]]:
    return rows_of(dr_spark.sql(spark, text))


def views(spark: Any) -> list[str]:
    return [row["viewName"] for row in spark.sql("SHOW VIEWS").collect()]


def test_a_query_reads_the_newest_version(spark: Any, target: str) -> None:
    frame = dr_spark.sql(spark, f"SELECT key, value FROM {target} WHERE value > 1")
    assert frame.dtypes == [("key", "string"), ("value", "bigint")]
    assert rows_of(frame) == ROWS[1:3]
    assert fetch(spark, f"SELECT count(*) FROM {target}") == [(3,)]
    assert fetch(spark, f"FROM {target} SELECT max(value)") == [(3,)]
    assert fetch(spark, f"TABLE {target};") == ROWS[:3]
    columns = [("key", "string"), ("value", "bigint")]
    described = fetch(spark, f"DESCRIBE QUERY SELECT * FROM {target}")
    assert [row[:2] for row in described] == columns


def test_a_query_reads_an_old_version(spark: Any, tmp_path: Path, target: str) -> None:
    assert fetch(spark, f"SELECT * FROM {target} VERSION AS OF 0 x WHERE x.key > 'b'") == ROWS[2:]
    first = dr.Table(tmp_path / "t").snapshot(version=0).timestamp
    at = f"TIMESTAMP AS OF '{first:%Y-%m-%d %H:%M:%S.%f}'"
    assert fetch(spark, f"SELECT * FROM {target} {at}") == ROWS
    both = f"SELECT a.key FROM {target} VERSION AS OF 0 a LEFT ANTI JOIN {target} b USING (key)"
    assert fetch(spark, both) == [("d",)]


def test_tables_are_joined_with_each_other_and_with_others(
    spark: Any, tmp_path: Path, target: str
) -> None:
    write_table(spark, tmp_path / "u", [("a", 10), ("c", 30), ("e", 50)])
    spark.createDataFrame([("c", "three"), ("e", "five")], ["key", "said"]).createOrReplaceTempView(
        "said"
    )
    result = fetch(
        spark,
        f"""
        WITH more AS (SELECT key, value + 1 AS value FROM delta.`{tmp_path / "u"}`)
        SELECT t.key, t.value, more.value, said.said
        FROM {target} t JOIN more ON t.key = more.key, said -- FROM nowhere
        WHERE said.key = t.key AND '{{x}}' <> 'FROM {target}'
          AND t.key IN (SELECT key FROM {target})
        """,
    )
    assert result == [("c", 3, 31, "three")]


def test_columns_are_qualified_by_the_name_of_the_table(
    spark: Any, tmp_path: Path, name: str
) -> None:
    write_table(spark, tmp_path / "t")
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 't'}'")
    alone = name.rpartition(".")[2]
    text = f"SELECT {alone}.key FROM {name} WHERE {alone}.value = (SELECT max(value) FROM {name})"
    assert fetch(spark, text) == [("d",)]
    sampled = f"SELECT count({alone}.key) FROM {name} TABLESAMPLE (100 PERCENT)"
    assert fetch(spark, sampled) == [(4,)]


def test_columns_are_qualified_by_the_full_name_of_the_table(
    spark: Any, tmp_path: Path, target: str
) -> None:
    write_table(spark, tmp_path / "u", [("a", 10), ("c", 30)])
    other = f"delta.`{tmp_path / 'u'}`"
    target = target if "`" in target else f"default.{target}"
    joined = (
        f"SELECT {target}.key, spark_catalog.{other}.value FROM {target} JOIN {other} "
        f"ON {target}.key = {other}.key WHERE {target}.value > 1 AND {other}.value > 1"
    )
    assert fetch(spark, joined) == [("c", 30)]
    assert fetch(spark, f"SELECT {target}.* FROM {target} ORDER BY {target}.key") == ROWS[:3]
    exists = f"EXISTS (SELECT 1 FROM {other} WHERE {other}.key = {target}.key)"
    grouped = f"SELECT count({target}.value) FROM {target} WHERE {exists} GROUP BY {target}.key"
    assert fetch(spark, grouped) == [(1,), (1,)]
    for failing in ("a", "AS a"):
        with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
            fetch(spark, f"SELECT {target}.key FROM {target} {failing}")


def test_tables_of_two_schemas_have_the_same_name(spark: Any, tmp_path: Path, name: str) -> None:
    table, name = name, f"default.{name}"
    schema = f"schema_{table}"
    spark.sql(f"CREATE SCHEMA {schema}")
    try:
        for number, other in enumerate((name, f"{schema}.{table}")):
            write_table(spark, tmp_path / str(number), ROWS[number : number + 2])
            spark.sql(f"CREATE TABLE {other} USING delta LOCATION '{tmp_path / str(number)}'")
        pairs = f"FROM {name} JOIN {other} ON {name}.key < {other}.key WHERE {name}.value < 2"
        assert fetch(spark, f"SELECT {name}.key, {other}.value {pairs}") == [("a", 2), ("a", 3)]
        both = f"SELECT {table}.key FROM {name} UNION ALL SELECT {table}.key FROM {other}"
        assert fetch(spark, both) == [("a",), ("b",), ("b",), ("c",)]
        merge = (
            f"MERGE INTO {name} USING {other} ON {name}.key = {other}.key "
            f"WHEN MATCHED AND {name}.value = {other}.value THEN UPDATE "
            f"SET {name}.value = {name}.value + 10 * {other}.value WHEN NOT MATCHED THEN INSERT *"
        )
        dr_spark.sql(spark, merge)
        assert fetch(spark, f"TABLE {name}") == [("a", 1), ("b", 22), ("c", 3)]
        if capabilities.has_delta(spark):  # delta-spark itself takes these names
            spark.sql(merge)
            assert fetch(spark, f"TABLE {name}") == [("a", 1), ("b", 22), ("c", 33)]
    finally:
        spark.sql(f"DROP SCHEMA {schema} CASCADE")


def test_statements_name_the_whole_table_before_columns(spark: Any, target: str) -> None:
    whole = target if "`" in target else f"spark_catalog.default.{target}"
    key, value = f"{whole}.key", f"{whole}.value"
    dr_spark.sql(spark, f"UPDATE {target} SET {value} = {value} + 10 WHERE {key} >= 'b'")
    assert fetch(spark, f"TABLE {target}") == [("a", 1), ("b", 12), ("c", 13)]
    dr_spark.sql(spark, f"DELETE FROM {whole} WHERE {value} = 12 OR {key} = 'a'")
    assert fetch(spark, f"TABLE {target}") == [("c", 13)]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.sql(spark, f"UPDATE {target} SET {value} = 1, value = 2")
    assert caught.value.code == "statement.column"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.sql(spark, f"DELETE FROM {target} AS t WHERE {key} = 'c'")
    assert caught.value.code == "statement.expression"
    assert fetch(spark, f"TABLE {target}") == [("c", 13)]


def test_statements_read_the_tables_of_their_queries(
    spark: Any, tmp_path: Path, target: str
) -> None:
    write_table(spark, tmp_path / "u", [("z", 26)])
    into = f"delta.`{tmp_path / 'u'}`"
    dr_spark.sql(spark, f"INSERT INTO {into} SELECT key, value * 2 FROM {target}")
    assert fetch(spark, f"TABLE {into}") == [("a", 2), ("b", 4), ("c", 6), ("z", 26)]
    query = f"SELECT a.key, b.value FROM {target} a JOIN {into} b USING (key) WHERE key < 'c'"
    dr_spark.sql(
        spark,
        f"MERGE INTO {into} t USING ({query}) s ON t.key = s.key WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT *",
    )
    assert fetch(spark, f"SELECT * FROM {into}") == [("c", 6), ("z", 26)]
    dr_spark.sql(spark, f"INSERT OVERWRITE {into} SELECT key, value + 1 FROM {into}")
    assert fetch(spark, f"SELECT * FROM {into}") == [("c", 7), ("z", 27)]


def test_a_new_table_has_the_rows_of_a_query(spark: Any, tmp_path: Path, target: str) -> None:
    new = f"delta.`{tmp_path / 'new'}`"
    query = f"SELECT t.*, u.value AS other FROM {target} t JOIN {target} u USING (key)"
    dr_spark.sql(spark, f"CREATE TABLE {new} USING delta AS {query}")
    assert fetch(spark, f"SELECT key, other FROM {new}") == ROWS[:3]
    dr_spark.sql(
        spark,
        f"CREATE TABLE of_delta USING parquet LOCATION '{tmp_path / 'p'}' AS "
        f"SELECT key FROM {target}",
    )
    try:
        assert fetch(spark, "SELECT * FROM of_delta") == [("a",), ("b",), ("c",)]
    finally:
        spark.sql("DROP TABLE of_delta")


def test_creates_a_temporary_view(spark: Any, target: str, name: str) -> None:
    view = f"view_{name.rpartition('.')[2]}"
    text = f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT * FROM {target} WHERE value < 3"
    reported = dr_spark.sql(spark, text)
    try:
        assert (reported.columns, reported.collect()) == ([], [])
        assert rows_of(spark.table(view)) == ROWS[:2]
        assert fetch(spark, f"SELECT key FROM {view} JOIN {target} USING (key)") == [("a",), ("b",)]
        assert view in views(spark)
    finally:
        spark.catalog.dropTempView(view)


def test_creates_a_temporary_view_with_names_of_columns(spark: Any, target: str) -> None:
    columns = "(`the key` COMMENT 'it''s', v)"
    dr_spark.sql(spark, f"CREATE TEMPORARY VIEW `a view` {columns} AS SELECT * FROM {target}")
    try:
        assert rows_of(spark.sql("SELECT `the key`, v FROM `a view`")) == ROWS[:3]
        described = [(row[0], row[2]) for row in spark.sql("DESCRIBE `a view`").collect()]
        assert described == [("the key", "it's"), ("v", None)]
    finally:
        spark.sql("DROP VIEW `a view`")


def test_creates_a_temporary_view_with_a_comment(spark: Any, target: str) -> None:
    for scope, view in (("", "commented"), ("GLOBAL", "global_temp.commented")):
        head = f"CREATE OR REPLACE {scope} TEMPORARY VIEW commented (k, v) COMMENT 'why'"
        dr_spark.sql(spark, f"{head} AS SELECT * FROM {target}")
        try:
            assert rows_of(spark.sql(f"SELECT k, v FROM {view}")) == ROWS[:3]
        finally:
            spark.sql(f"DROP VIEW {view}")


def test_a_temporary_view_may_have_the_schema_of_the_session(spark: Any, target: str) -> None:
    if capabilities.version(spark) < (4, 2):
        pytest.skip("needs Spark 4.2")
    for schema in ("session", "System.Session"):
        dr_spark.sql(spark, f"CREATE TEMPORARY VIEW {schema}.mine AS SELECT * FROM {target}")
        try:
            assert rows_of(dr_spark.sql(spark, f"SELECT * FROM {schema}.mine")) == ROWS[:3]
        finally:
            spark.sql("DROP VIEW mine")


def test_spark_creates_a_view_of_another_format(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1,a")
    options = f"OPTIONS (path '{tmp_path / 'rows.csv'}')"
    dr_spark.sql(spark, f"CREATE TEMPORARY VIEW of_csv (x INT, `y z` STRING) USING csv {options}")
    try:
        assert rows_of(spark.sql("SELECT x, `y z` FROM of_csv")) == [(1, "a")]
    finally:
        spark.sql("DROP VIEW of_csv")


def test_alters_a_temporary_view(spark: Any, target: str) -> None:
    for scope, view in (("", "altered"), ("GLOBAL", "global_temp.altered")):
        spark.sql(f"CREATE {scope} TEMPORARY VIEW altered AS SELECT 1 AS x")
        try:
            dr_spark.sql(spark, f"ALTER VIEW {view} AS SELECT key FROM {target}")
            assert rows_of(spark.sql(f"SELECT * FROM {view}")) == [("a",), ("b",), ("c",)]
        finally:
            spark.sql(f"DROP VIEW {view}")
    with pytest.raises(Exception, match=r"altered|CREATE TEMPORARY VIEW"):
        dr_spark.sql(spark, f"ALTER VIEW altered AS SELECT key FROM {target}")


@pytest.mark.parametrize(
    "head", ["CREATE TEMPORARY VIEW IF NOT EXISTS v", "CREATE TEMPORARY VIEW a.v"]
)
def test_spark_refuses_what_temporary_views_do_not_have(spark: Any, target: str, head: str) -> None:
    with pytest.raises(Exception, match=r"IF NOT EXISTS|TOO_MANY_NAME_PARTS|QUALIFIER"):
        dr_spark.sql(spark, f"{head} AS SELECT * FROM {target}")


def test_functions_query_temporary_views_only(spark: Any, target: str) -> None:
    text = "FUNCTION highest() RETURNS INT RETURN (SELECT max(value) FROM {})"
    if not capabilities.has_delta(spark):
        for kind in ("CREATE OR REPLACE TEMPORARY", "CREATE"):
            with pytest.raises(dr.UnsupportedFeatureError, match="VIEW") as caught:
                dr_spark.sql(spark, f"{kind} {text.format(target)}")
            assert caught.value.code == "sql.view"
    dr_spark.sql(spark, f"CREATE TEMPORARY VIEW of_function AS SELECT * FROM {target}")
    try:
        dr_spark.sql(spark, f"CREATE TEMPORARY {text.format('of_function')}")
        assert fetch(spark, f"SELECT key FROM {target} WHERE value = highest()") == [("c",)]
        spark.sql("DROP TEMPORARY FUNCTION highest")
    finally:
        spark.sql("DROP VIEW of_function")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {}",
        "WITH s AS (SELECT 'x' AS key, 1 AS value) INSERT INTO {} SELECT * FROM s",
        "FROM VALUES ('x', 1) AS s(key, value) INSERT INTO {} SELECT *",
        "TRUNCATE TABLE {}",
        "ALTER TABLE {} ADD COLUMN other INT",
        "RESTORE TABLE {} TO VERSION AS OF 0",
    ],
)
def test_changes_have_no_plan_of_spark(spark: Any, target: str, statement: str) -> None:
    if capabilities.has_delta(spark):
        pytest.skip("delta-spark has plans")
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.sql(spark, f"EXPLAIN EXTENDED {statement.format(target)}")
    assert caught.value.code == "sql.explain"
    assert fetch(spark, f"SELECT * FROM {target}") == ROWS[:3]


def test_a_variable_has_the_result_of_a_query(spark: Any, target: str) -> None:
    spark.sql("DECLARE OR REPLACE VARIABLE highest INT")
    try:
        dr_spark.sql(spark, f"SET VAR highest = (SELECT max(value) FROM {target})")
        assert fetch(spark, f"SELECT key FROM {target} WHERE value = highest") == [("c",)]
        dr_spark.sql(spark, f"SET VARIABLE (highest) = (SELECT min(value) FROM {target})")
        assert fetch(spark, "SELECT highest") == [(1,)]
    finally:
        spark.sql("DROP TEMPORARY VARIABLE highest")


def test_queries_leave_no_views(spark: Any, target: str) -> None:
    before = views(spark)
    frame = dr_spark.sql(spark, f"SELECT * FROM {target}")
    assert views(spark) == before
    assert rows_of(frame) == ROWS[:3]


def test_rejects_invalid_queries(spark: Any, tmp_path: Path, target: str) -> None:
    with pytest.raises(Exception, match="nothing"):
        dr_spark.sql(spark, f"SELECT nothing FROM {target}")
    if capabilities.has_delta(spark):
        return
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.sql(spark, f"CREATE VIEW kept AS SELECT * FROM {target}")
    assert caught.value.code == "sql.view"
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr_spark.sql(spark, f"SELECT * FROM delta.`{tmp_path / 'nowhere'}`")
    assert caught.value.code == "table.not_found"
    with pytest.raises(dr.VersionNotFoundError) as caught:
        dr_spark.sql(spark, f"SELECT * FROM {target} VERSION AS OF 9")
    assert caught.value.code == "version.not_found"


#: Queries with conditions, which may skip files or must not; {t} and {u} are the tables.
QUERIES = [
    "SELECT * FROM {t} WHERE value > 2",
    "SELECT * FROM {t} t WHERE t.value = 2 OR t.key = 'd'",
    "SELECT t.key, u.value FROM {t} t, {u} u WHERE t.key = u.key AND t.value > 2 AND u.value < 40",
    "SELECT key, t.value FROM {t} t JOIN {u} u USING (key) WHERE key = 'c'",
    "SELECT t.key, u.value FROM {t} t LEFT JOIN {u} u ON t.key = u.key WHERE u.value IS NULL",
    "SELECT t.key, u.value FROM {t} t RIGHT JOIN {u} u USING (key) WHERE t.value > 2",
    "SELECT * FROM {t} t LEFT ANTI JOIN {u} u USING (key) WHERE t.value > 1",
    "SELECT * FROM {t} t WHERE NOT EXISTS (SELECT * FROM {u} u WHERE u.key = t.key AND value > 10)",
    "SELECT * FROM {t} WHERE key IN (SELECT key FROM {u} WHERE value >= 30) AND value < 9",
    "SELECT * FROM {t} WHERE value > (SELECT min(value) / 10 FROM {u} WHERE key <> 'a')",
    "SELECT key FROM {t} WHERE value = 1 UNION ALL SELECT key FROM {u} WHERE value = 50",
    "SELECT s.key FROM (SELECT * FROM {t} WHERE value > 1) s FULL JOIN {u} u USING (key)",
    "SELECT key, count(*) AS n FROM {t} WHERE value > 1 GROUP BY key HAVING count(*) > 0",
    "SELECT * FROM {t} LATERAL VIEW explode(array(value, 9)) e AS x WHERE x = 9 AND value = 3",
    "WITH u AS (SELECT * FROM {u} WHERE value > 10) SELECT u.* FROM u, {t} t WHERE u.key = t.key",
    "SELECT * FROM {t} AS x(value, key) WHERE value = 'b' AND key < 9",
    "SELECT * FROM {t} WHERE substring(key FROM 1) = 'b' AND value IS NOT DISTINCT FROM 2",
    "SELECT u.key, b FROM {t} PIVOT (sum(value) FOR key IN ('b' AS b)), {u} u WHERE b > 1",
    "SELECT v.x, u.key FROM VALUES (1), (2) AS v(x), {u} u WHERE u.value > 10 AND x = 1",
    "SELECT id, t.key FROM range(2), {t} TABLESAMPLE (100 PERCENT) t, {u} u WHERE t.key = u.key",
]


@pytest.fixture(scope="module")
def scattered(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables with one file for each row; the first file of each has a deletion vector."""
    root = tmp_path_factory.mktemp("scattered")
    for name, rows in (("t", ROWS), ("u", [("a", 10), ("c", 30), ("e", 50)])):
        frames = [spark.createDataFrame([row], ["key", "value"]) for row in rows]
        frames[0] = frames[0].union(spark.createDataFrame([("gone", -1)])).coalesce(1)
        properties = {"delta.enableDeletionVectors": "true"}
        dr_spark.write(frames[0], root / name, properties=properties)
        for frame in frames[1:]:
            dr_spark.write(frame, root / name)
        dr_spark.delete(spark, root / name, "key = 'gone'")
    return root


@pytest.mark.parametrize("query", QUERIES)
def test_file_skipping_does_not_change_results(spark: Any, scattered: Path, query: str) -> None:
    for name in ("t", "u"):
        dr_spark.read(spark, scattered / name).createOrReplaceTempView(f"all_{name}")
    expected = rows_of(spark.sql(query.format(t="all_t", u="all_u")))
    by_path = {name: f"delta.`{scattered / name}`" for name in ("t", "u")}
    assert fetch(spark, query.format(**by_path)) == expected
    assert expected


def test_conditions_skip_files(spark: Any, scattered: Path) -> None:
    if capabilities.has_delta(spark):
        pytest.skip("delta-spark reads the tables")
    t, u = (f"delta.`{scattered / name}`" for name in ("t", "u"))

    def files(text: str) -> int:
        return len(dr_spark.sql(spark, text).inputFiles())

    assert files(f"SELECT * FROM {t}") == 4
    assert files(f"SELECT * FROM {t} WHERE value > 2") == 2
    assert files(f"SELECT * FROM {t} x WHERE x.value + 1 = 4 AND x.value = 3") == 1
    assert files(f"SELECT a.key FROM {t} a JOIN {u} b USING (key) WHERE a.value = 1") == 1 + 3
    assert files(f"SELECT a.key FROM {t} a LEFT JOIN {u} b USING (key) WHERE b.value = 10") == 4 + 3
