"""Columns of nulls, which have no type before their first value.

As in delta-spark 4.4 (delta-io/delta issues 944 and 1855).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.support.comparison import compare, compare_statements, create_table
from spark.support.statements import run_statement
from spark.support.tiers import pairs

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable

pytestmark = pytest.mark.spark


def rows(spark: Any, path: Path) -> list[Any]:
    return sorted(tuple(row) for row in dr_spark.read(spark, path).select("id", "v").collect())


def merge(spark: Any, path: Path, source: Any, *, evolves: bool = True) -> None:
    table = DeltaTable.forPath(spark, str(path)).alias("t")
    builder = table.merge(source.alias("s"), "t.id = s.id")
    builder = builder.withSchemaEvolution() if evolves else builder
    builder.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


#: The types of values, and expressions of the id that result in them.
VALUES = {
    "string": "concat('VALUE', id)",
    "date": "date_add(DATE '2026-01-01', id)",
    "struct<a:int,b:string>": "named_struct('a', id, 'b', 'x')",
    "array<bigint>": "array(CAST(id AS BIGINT))",
}


@pytest.mark.parametrize(("type_", "mapping"), pairs(list(VALUES), ["none", "name"]))
def test_the_first_values_give_a_column_its_type(
    spark: Any, tmp_path: Path, type_: str, mapping: str
) -> None:
    path, mapped = tmp_path / "t", {"delta.columnMapping.mode": mapping}
    dr_spark.write(spark.sql("SELECT 1 AS id"), path, properties=mapped)
    merge(spark, path, spark.sql("SELECT 1 AS id, NULL AS v"))
    assert dr.Table(path).snapshot().schema.field("v").type == pa.null()
    dr_spark.write(spark.sql("SELECT 5 AS id, NULL AS v"), path)
    with pytest.raises(dr.InvalidArgumentError, match="has no type in the table") as caught:
        dr_spark.write(spark.sql(f"SELECT id, {VALUES[type_]} AS v FROM VALUES (1) AS t(id)"), path)
    assert caught.value.code == "write.columns"
    argument = spark.sql(f"SELECT id, {VALUES[type_]} AS v FROM VALUES (1), (2) AS t(id)")
    with pytest.raises(dr.InvalidArgumentError, match="has no type in the table"):
        merge(spark, path, argument, evolves=False)
    merge(spark, path, argument)
    more = spark.sql(f"SELECT id, {VALUES[type_]} AS v FROM VALUES (3) AS t(id)")
    dr_spark.write(more, path, schema_mode="merge")
    expected = spark.sql(f"SELECT id, {VALUES[type_]} AS v FROM VALUES (1), (2), (3) AS t(id)")
    assert rows(spark, path) == [*sorted(map(tuple, expected.collect())), (5, None)]
    assert dr_spark.read(spark, path).schema["v"].dataType.simpleString() == type_


def test_a_field_of_nulls_gets_its_type(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    dr_spark.write(spark.sql("SELECT 1 AS id"), path)
    merge(spark, path, spark.sql("SELECT 1 AS id, named_struct('a', 7, 'b', NULL) AS v"))
    assert rows(spark, path) == [(1, (7, None))]
    dr_spark.write(spark.sql("SELECT 4 AS id, named_struct('a', 8, 'b', NULL) AS v"), path)
    dr_spark.update(spark, path, "id = 4", {"id": "5"})
    merge(spark, path, spark.sql("SELECT 2 AS id, named_struct('a', 7, 'b', 'value') AS v"))
    assert rows(spark, path) == [(1, (7, None)), (2, (7, "value")), (5, (8, None))]


def test_an_insert_gives_a_column_its_type(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    dr_spark.write(spark.sql("SELECT 1 AS id"), path)
    merge(spark, path, spark.sql("SELECT 1 AS id, NULL AS v"))
    dr_spark.sql(spark, f"INSERT INTO delta.`{path}` VALUES (2, NULL)")
    with pytest.raises(dr.InvalidArgumentError, match="has no type in the table"):
        dr_spark.sql(spark, f"INSERT INTO delta.`{path}` VALUES (3, 'x')")
    query = "SELECT 3 AS id, 'x' AS v"
    dr_spark.sql(spark, f"INSERT WITH SCHEMA EVOLUTION INTO delta.`{path}` BY NAME {query}")
    assert rows(spark, path) == [(1, None), (2, None), (3, "x")]


#: Rows that create a new table, and those that cannot.
NEW = [
    "SELECT 1 AS k, NULL AS n",
    "SELECT 1 AS k, NULL AS n, named_struct('a', 1, 'b', NULL) AS s",
]
REFUSED = [
    "SELECT NULL AS n",
    "SELECT 1 AS k, array() AS a",
    "SELECT 1 AS k, map() AS a",
    "SELECT 1 AS k, array(NULL) AS a",
    "SELECT 1 AS k, named_struct('a', array(NULL)) AS s",
    "SELECT 1 AS k, named_struct('b', NULL) AS s",
    "SELECT 1 AS k, array(named_struct('a', 1, 'b', NULL)) AS s",
    "SELECT 1 AS k, map('x', named_struct('a', 1, 'b', NULL)) AS s",
]


def creating(spark: Any, how: str, query: str) -> Any:
    """Return a function that creates a table from a query."""

    def act(path: Path) -> None:
        rows = spark.sql(query)
        if how == "delta":
            rows.write.format("delta").save(str(path))
        elif how == "function":
            dr_spark.write(rows, path)
        elif how == "delta sql":
            spark.sql(f"CREATE TABLE delta.`{path}` USING delta AS {query}")
        elif how == "sql":
            run_statement(spark, f"CREATE TABLE delta.`{path}` USING delta AS {query}")
        else:
            dr_spark.register(spark)
            rows.write.format("deltareplay").mode("append").save(str(path))

    return act


@pytest.mark.parametrize(("query", "how"), pairs(NEW + REFUSED, ["function", "format", "sql"]))
def test_new_tables(spark: Any, tmp_path: Path, query: str, how: str) -> None:
    theirs = creating(spark, "delta sql" if how == "sql" else "delta", query)

    def ours(path: Path) -> None:
        if query not in REFUSED:
            creating(spark, how, query)(path)
            return
        with pytest.raises(Exception, match="only nulls and no type") as caught:
            creating(spark, how, query)(path)
        assert not dr.is_table(path)
        raise caught.value

    compare(spark, tmp_path, None, theirs, ours, succeeds=query in NEW)
    if query in NEW:
        ours_read = dr_spark.read(spark, tmp_path / "ours")
        assert ours_read.columns == spark.sql(query).columns
        assert ours_read.where("n IS NULL").count() == 1


def test_a_partition_column_has_a_type(spark: Any, tmp_path: Path) -> None:
    rows = spark.sql("SELECT 1 AS k, NULL AS n")
    with pytest.raises(dr.InvalidArgumentError, match="the partition column n") as caught:
        dr_spark.write(rows, tmp_path / "t", partition_columns=["n"])
    assert caught.value.code == "write.columns"


def test_a_table_of_nothing_but_void_columns_has_no_files(spark: Any, tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("n", pa.null())]))
    with pytest.raises(dr.InvalidArgumentError, match="partition columns or void") as caught:
        dr_spark.write(spark.sql("SELECT NULL AS n"), table)
    assert caught.value.code == "write.columns"


@pytest.mark.parametrize(
    ("value", "how"), pairs(["'x'", "NULL", "array(NULL)", "array(1)"], ["function", "format"])
)
def test_appended_rows(spark: Any, tmp_path: Path, value: str, how: str) -> None:
    base = tmp_path / "base"
    creating(spark, "delta", NEW[0])(base)
    rows = spark.sql(f"SELECT 2 AS k, {value} AS n")

    def append(name: str) -> Any:
        def act(path: Path) -> None:
            if name == "function":
                dr_spark.write(rows, path, schema_mode="merge")
                return
            writer = rows.write.format(name).mode("append").option("mergeSchema", "true")
            writer.save(str(path))

        return act

    dr_spark.register(spark)
    ours = append("function" if how == "function" else "deltareplay")
    compare(spark, tmp_path, base, append("delta"), ours, succeeds=value != "array(NULL)")


#: Statements about a table whose column ``n`` and field ``s.b`` are void, one after the other.
STATEMENTS = [
    "UPDATE {t} SET n = NULL, k = k + 10 WHERE n IS NULL AND k < 3",
    "UPDATE {t} SET s.b = NULL, s.a = 4 WHERE s.b IS NULL AND k = 11",
    "UPDATE {t} SET s = named_struct('a', 9, 'b', NULL) WHERE k = 12",
    "DELETE FROM {t} WHERE n IS NULL AND s.b IS NULL AND k = 4",
    "MERGE INTO {t} t USING (SELECT 12 AS k, NULL AS n) s ON t.k = s.k AND t.n IS NULL "
    "WHEN MATCHED AND t.s.b IS NULL THEN UPDATE SET n = s.n, s.a = 7 "
    "WHEN NOT MATCHED BY SOURCE AND t.n IS NULL THEN UPDATE SET n = NULL, k = t.k + 100",
    "MERGE INTO {t} t USING (SELECT 5 AS k, NULL AS n, named_struct('a', 5, 'b', NULL) AS s) s "
    "ON t.k = s.k WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO {t} t USING (SELECT 6 AS k) s ON t.k = s.k "
    "WHEN NOT MATCHED THEN INSERT (k, n) VALUES (k, NULL)",
]
REFUSED_STATEMENTS = [
    "UPDATE {t} SET n = 5",
    "UPDATE {t} SET s.b = 5",
    "MERGE INTO {t} t USING (SELECT 6 AS k) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET n = s.k",
    "MERGE INTO {t} t USING (SELECT 7 AS k) s ON t.k = s.k "
    "WHEN NOT MATCHED THEN INSERT (k, n) VALUES (k, 5)",
]
MODES = ["columnMapping.mode' = 'name", "enableDeletionVectors' = 'true"]


@pytest.mark.parametrize("mode", ["enableChangeDataFeed' = 'true", *MODES])
def test_statements_treat_void_columns_as_null(spark: Any, tmp_path: Path, mode: str) -> None:
    """As in delta-spark 4.4, which keeps the column and its nulls."""
    row = "SELECT id AS k, NULL AS n, named_struct('a', id, 'b', NULL) AS s FROM range(1, 5, 1, 1)"
    create = f"CREATE TABLE {{t}} USING delta TBLPROPERTIES ('delta.{mode}') AS {row}"
    base = create_table(spark, tmp_path / "base", create)
    compare_statements(spark, tmp_path, base, STATEMENTS)
    refused = tmp_path / "refused"
    refused.mkdir()
    compare_statements(spark, refused, tmp_path / "ours", REFUSED_STATEMENTS, changes=False)
    dr_spark.register(spark)
    expected = spark.read.format("delta").load(str(tmp_path / "theirs"))
    for rows in (
        dr_spark.read(spark, tmp_path / "ours"),
        spark.read.format("deltareplay").load(str(tmp_path / "ours")),
    ):
        assert rows.schema.simpleString() == expected.schema.simpleString()
        assert sorted(map(str, rows.collect())) == sorted(map(str, expected.collect()))


def test_changes_have_void_columns(spark: Any, tmp_path: Path) -> None:
    row = "SELECT id AS k, NULL AS n, named_struct('a', id, 'b', NULL) AS s FROM range(3)"
    feed = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    base = create_table(spark, tmp_path / "t", f"CREATE TABLE {{t}} USING delta {feed} AS {row}")
    dr_spark.update(spark, base, "k = 1", {"k": "9"})
    reader = spark.read.option("readChangeFeed", "true").option("startingVersion", "0")
    expected = reader.format("delta").load(str(base))
    dr_spark.register(spark)
    for rows in (dr_spark.changes(spark, base, 0), reader.format("deltareplay").load(str(base))):
        assert rows.schema.simpleString() == expected.schema.simpleString()
        assert sorted(map(str, rows.collect())) == sorted(map(str, expected.collect()))


def test_a_constraint_on_a_void_column(spark: Any, tmp_path: Path) -> None:
    base = create_table(
        spark, tmp_path / "base", "CREATE TABLE {t} USING delta AS SELECT 1 AS k, NULL AS n"
    )
    rule = "ALTER TABLE {t} ADD CONSTRAINT c CHECK (n IS NULL AND k < 3)"
    compare_statements(spark, tmp_path, base, [rule, "INSERT INTO {t} VALUES (2, NULL)"])
    (tmp_path / "refused").mkdir()
    text = "INSERT INTO {t} VALUES (3, NULL)"
    compare_statements(spark, tmp_path / "refused", tmp_path / "ours", [text], changes=False)


@pytest.mark.parametrize(
    "type_", ["STRING", "DECIMAL(10,2)", "DATE", "STRUCT<x: INT>", "ARRAY<INT>", "INTERVAL DAY"]
)
def test_a_void_column_can_be_altered(spark: Any, tmp_path: Path, type_: str) -> None:
    """As in delta-spark 4.4: without type widening, but not to types with parts and intervals."""
    row = "SELECT 1 AS k, NULL AS n, named_struct('a', 1, 'b', NULL) AS s"
    base = create_table(spark, tmp_path / "base", f"CREATE TABLE {{t}} USING delta AS {row}")
    texts = [f"ALTER TABLE {{t}} ALTER COLUMN {name} TYPE {type_}" for name in ("n", "s.b")]
    compare_statements(
        spark, tmp_path, base, texts, changes="<" not in type_ and "INTERVAL" not in type_
    )
