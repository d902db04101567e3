"""``char(n)`` and ``varchar(n)`` inside structs, arrays and maps, compared with delta-spark."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from spark.support.comparison import compare_statements, create_table
from spark.support.delta_tables import rows_by_delta_spark, rows_of
from spark.test_write import raises

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

COLUMNS = (
    "id INT, s STRUCT<c: CHAR(2), v: VARCHAR(3), n: DECIMAL(4, 2)>, l ARRAY<VARCHAR(3)>, "
    "m MAP<VARCHAR(2), STRUCT<v: VARCHAR(3)>>"
)
S, L, M = "struct('ab', 'abc', 1.5)", "array('abc', NULL)", "map('ab', struct('abc'))"


def rows(s: str = S, l: str = L, m: str = M) -> str:  # noqa: E741
    return f"INSERT INTO {{t}} SELECT 2, {s}, {l}, {m}"


@pytest.fixture(scope="module")
def base(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lengths") / "t"
    return create_table(
        spark,
        path,
        f"CREATE TABLE {{t}} ({COLUMNS}) USING delta",
        f"INSERT INTO {{t}} SELECT 1, {S}, {L}, {M}",
    )


def test_strings_that_fit_are_written(spark: Any, tmp_path: Path, base: Path) -> None:
    statements = [
        rows(),
        rows("NULL", "NULL", "NULL"),
        rows("struct(NULL, NULL, 1)", "array()", "map('a', NULL)"),
        "UPDATE {t} SET s.v = 'xyz', l = array('x') WHERE id = 1",
        "MERGE INTO {t} t USING (SELECT 1 AS id, array('uvw') AS l) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET l = s.l WHEN NOT MATCHED BY SOURCE THEN DELETE",
    ]
    compare_statements(spark, tmp_path, base, statements)


def test_longer_strings_are_refused(spark: Any, tmp_path: Path, base: Path) -> None:
    """``DELTA_EXCEED_CHAR_VARCHAR_LIMIT`` of delta-spark."""
    statements = [
        rows(s="struct('abc', 'abc', 1)"),
        rows(s="struct('ab', 'abcd', 1)"),
        rows(l="array('abc', 'abcd')"),
        rows(m="map('abc', struct('abc'))"),
        rows(m="map('ab', struct('abcd'))"),
        "UPDATE {t} SET s.v = 'abcd'",
        "UPDATE {t} SET l = array('abcd')",
        "MERGE INTO {t} t USING (SELECT 2 AS id, array('abcd') AS l) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id, l) VALUES (s.id, s.l)",
    ]
    compare_statements(spark, tmp_path, base, statements, changes=False)


def test_values_of_char_are_padded(spark: Any, tmp_path: Path) -> None:
    columns = "s STRUCT<c: CHAR(2), l: ARRAY<CHAR(3)>>, m MAP<CHAR(2), CHAR(3)>"
    create_table(spark, tmp_path / "t", f"CREATE TABLE {{t}} ({columns}) USING delta")
    table = f"delta.`{tmp_path / 't'}`"
    dr_spark.sql(spark, f"INSERT INTO {table} SELECT struct('a', array('b', NULL)), map('c', 'd')")
    dr_spark.sql(spark, f"UPDATE {table} SET s.c = 'x'")
    expected = [{"s": {"c": "x ", "l": ["b  ", None]}, "m": {"c ": "d  "}}]
    read = [row.asDict(recursive=True) for row in spark.table(table).collect()]
    assert read == expected
    stored = dr.Table(tmp_path / "t").snapshot().scan().to_arrow().to_pylist()
    assert [row["s"] for row in stored] == [expected[0]["s"]]
    assert [dict(row["m"]) for row in stored] == [expected[0]["m"]]


def test_partition_values_of_char_are_padded(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    spark.sql("SELECT 1 AS id, 'ab' AS p").write.partitionBy("p").parquet(str(path))
    dr_spark.convert(spark, path, partition_schema="p CHAR(4)")
    expected = [(1, "ab  ")]
    assert rows_by_delta_spark(spark, path) == expected
    frame = dr_spark.read(spark, path)
    assert rows_of(frame) == expected
    for condition in ("p = 'ab'", "p = 'ab  '", "length(p) = 4"):
        assert rows_of(frame.where(condition)) == expected
        assert dr_spark.count(spark, path, filter=condition) == 1


def test_refuses_a_limit_that_no_metadata_can_hold(spark: Any, tmp_path: Path, base: Path) -> None:
    for form in ("ADD COLUMN s.x VARCHAR(3)", "ADD COLUMNS (y INT, s.x STRUCT<c: CHAR(2)>)"):
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            dr_spark.sql(spark, f"ALTER TABLE delta.`{base}` {form}")
        assert caught.value.code == "sql.alter"


def test_char_and_identity_columns(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "table"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT GENERATED ALWAYS AS IDENTITY, c CHAR(4), "
        "v VARCHAR(3), n INT) USING delta"
    )
    spark.sql(f"INSERT INTO delta.`{path}` (c, v, n) VALUES ('a', 'b', 1), ('c', 'd', 2)")
    before = {row.n: row.id for row in spark.read.format("delta").load(str(path)).collect()}
    assert dr_spark.update(spark, path, "n = 1", {"c": "'xy'", "n": "3"}).version == 2
    result = dr.Table(path).snapshot().scan(columns=["id", "c", "n"], filter="n = 3").to_arrow()
    assert result.to_pylist() == [{"id": before[1], "c": "xy  ", "n": 3}]
    raises("write.constraint", lambda: dr_spark.update(spark, path, None, {"c": "'longer'"}))
    raises("write.constraint", lambda: dr_spark.update(spark, path, None, {"v": "'long'"}))
    raises("write.identity", lambda: dr_spark.update(spark, path, None, {"id": "1"}))
    other = spark.sql("SELECT id + 2 AS n, 'new' AS c FROM range(0, 40, 1, 4)").alias("s")
    merge = dr_spark.merge(spark, path, other, "target.n = s.n")
    merge = merge.when_matched_update({"v": "'up'"})
    merge = merge.when_not_matched_insert({"n": "s.n"}, "s.n % 2 = 0")
    assert merge.when_not_matched_insert({"n": "s.n"}).execute().version == 3
    dr_spark.write(spark.range(100, 130, 1, 3).selectExpr("CAST(id AS INT) AS n", "'w' AS c"), path)
    # delta-spark continues from there
    spark.sql(f"INSERT INTO delta.`{path}` (c, v, n) VALUES ('z', 'z', 1000)")
    rows = spark.read.format("delta").load(str(path)).collect()
    ids = {row.n: row.id for row in rows}
    assert {ids[2], ids[3]} == {*before.values()}  # existing rows keep theirs
    assert len(ids) == len(rows) == len({*ids.values()}) == 2 + 38 + 30 + 1
    groups = [[ids[2], ids[3]], [ids[n] for n in range(4, 42)]]
    groups += [[ids[n] for n in range(100, 130)], [ids[1000]]]
    for lower, upper in itertools.pairwise(groups):
        assert max(lower) < min(upper)
    # a write without values does not change the high-water mark
    schema = dr.Table(path).snapshot().metadata.schema_string
    dr_spark.delete(spark, path, "n = 1000")
    assert dr.Table(path).snapshot().metadata.schema_string == schema
