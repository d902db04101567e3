"""Fields of structs in statements and writes: matched by name, never by position."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

OLD = "named_struct('a', id, 'b', 'x')"
STAR = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
NAMED = (
    "WHEN MATCHED THEN UPDATE SET s = s.s WHEN NOT MATCHED THEN INSERT (id, s) VALUES (s.id, s.s)"
)

#: The value of the table's rows 0 to 2, that of the source's rows 2 and 3, the clauses, and the
#: result of delta-spark 4.4 for `s`: its type, and the values of rows 0, 2 and 3.
EVOLVING: dict[str, tuple[str, str, str, str, list[Any]]] = {
    "a new field": (
        OLD,
        "named_struct('a', id * 10, 'b', 'y', 'c', 7L)",
        STAR,
        "struct<a:bigint,b:string,c:bigint>",
        [(0, "x", None), (20, "y", 7), (30, "y", 7)],
    ),
    "a new field of a named column": (
        OLD,
        "named_struct('a', id * 10, 'b', 'y', 'c', 7L)",
        NAMED,
        "struct<a:bigint,b:string,c:bigint>",
        [(0, "x", None), (20, "y", 7), (30, "y", 7)],
    ),
    "a new field by its own name": (
        OLD,
        "named_struct('a', id * 10, 'b', 'y', 'c', 7L, 'd', 8L)",
        "WHEN MATCHED THEN UPDATE SET s.c = s.s.c",
        "struct<a:bigint,b:string,c:bigint>",
        [(0, "x", None), (2, "x", 7)],
    ),
    "fewer fields leave the others": (
        OLD,
        "named_struct('a', id * 10)",
        STAR,
        "struct<a:bigint,b:string>",
        [(0, "x"), (20, "x"), (30, None)],
    ),
    "other fields in another order": (
        OLD,
        "named_struct('c', 1, 'A', id * 10)",
        STAR,
        "struct<a:bigint,b:string,c:int>",
        [(0, "x", None), (20, "x", 1), (30, None, 1)],
    ),
    "in arrays": (
        f"array({OLD})",
        "array(named_struct('c', 7L, 'a', id * 10, 'b', 'y'))",
        STAR,
        "array<struct<a:bigint,b:string,c:bigint>>",
        [[(0, "x", None)], [(20, "y", 7)], [(30, "y", 7)]],
    ),
    "in maps": (
        f"map('k', {OLD})",
        "map('k', named_struct('b', 'y', 'c', 7L, 'a', id * 10))",
        STAR,
        "map<string,struct<a:bigint,b:string,c:bigint>>",
        [{"k": (0, "x", None)}, {"k": (20, "y", 7)}, {"k": (30, "y", 7)}],
    ),
    "in structs": (
        "named_struct('a', named_struct('x', id), 'b', 'x')",
        "named_struct('a', named_struct('y', 'new', 'x', id * 2), 'b', 'y')",
        STAR,
        "struct<a:struct<x:bigint,y:string>,b:string>",
        [((0, None), "x"), ((4, "new"), "y"), ((6, "new"), "y")],
    ),
}


def write_table(spark: Any, path: Path, value: str, **properties: str) -> str:
    rows = spark.range(3).selectExpr("id", f"{value} AS s").coalesce(1)
    named = {f"delta.{name}": text for name, text in properties.items()}
    dr_spark.write(rows, path, properties=named)
    return f"delta.`{path}`"


def source(spark: Any, value: str) -> None:
    spark.range(2, 4).selectExpr("id", f"{value} AS s").createOrReplaceTempView("struct_source")


def merge(spark: Any, table: str, clauses: str, evolution: str = "") -> None:
    text = f"MERGE {evolution} INTO {table} t USING struct_source s ON t.id = s.id {clauses}"
    dr_spark.sql(spark, text).collect()


def structs_as_tuples(value: Any) -> Any:
    """Return a value with tuples for structs."""
    if isinstance(value, dict):
        return {key: structs_as_tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return [structs_as_tuples(item) for item in value]
    return tuple(map(structs_as_tuples, value)) if isinstance(value, tuple) else value


def values(frame: Any, *ids: int) -> list[Any]:
    rows = {row["id"]: structs_as_tuples(row["s"]) for row in frame.collect()}
    return [rows[number] for number in ids if number in rows]


@pytest.mark.parametrize("properties", [{}, {"enableDeletionVectors": "true"}], ids=["plain", "dv"])
@pytest.mark.parametrize("case", EVOLVING)
def test_a_merge_adds_fields(
    spark: Any, tmp_path: Path, case: str, properties: dict[str, str]
) -> None:
    old, new, clauses, type_, expected = EVOLVING[case]
    table = write_table(spark, tmp_path / "t", old, **properties)
    source(spark, new)
    merge(spark, table, clauses, "WITH SCHEMA EVOLUTION")

    frame = dr_spark.read(spark, tmp_path / "t")
    assert frame.schema["s"].dataType.simpleString() == type_
    assert values(frame, 0, 2, 3) == expected
    assert dr.Table(tmp_path / "t").verify(rows=True).findings == ()


def test_a_merge_adds_fields_with_mapping_and_a_feed(spark: Any, tmp_path: Path) -> None:
    properties = {"enableChangeDataFeed": "true", "columnMapping.mode": "name"}
    table = write_table(spark, tmp_path / "t", OLD, **properties)
    source(spark, "named_struct('c', 7L, 'a', id * 10)")
    merge(spark, table, STAR, "WITH SCHEMA EVOLUTION")

    assert values(dr_spark.read(spark, tmp_path / "t"), 0, 2, 3) == [
        (0, "x", None),
        (20, "x", 7),
        (30, None, 7),
    ]
    feed = dr_spark.changes(spark, tmp_path / "t", 1).collect()
    assert {(row["_change_type"], structs_as_tuples(row["s"])) for row in feed} == {
        ("update_preimage", (2, "x", None)),
        ("update_postimage", (20, "x", 7)),
        ("insert", (30, None, 7)),
    }


@pytest.mark.parametrize("clauses", [STAR, NAMED], ids=["star", "named"])
def test_a_merge_matches_fields_by_name(spark: Any, tmp_path: Path, clauses: str) -> None:
    table = write_table(spark, tmp_path / "t", OLD)
    source(spark, "named_struct('B', 'y', 'a', CAST(id * 10 AS INT))")
    merge(spark, table, clauses)
    assert values(dr_spark.read(spark, tmp_path / "t"), 0, 2, 3) == [(0, "x"), (20, "y"), (30, "y")]


@pytest.mark.parametrize("clauses", [STAR, NAMED], ids=["star", "named"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "named_struct('a', id, 'b', 'y', 'c', 7L)",
            r"(?m)no column s\.c: .*withSchemaEvolution\(\)$",
        ),
        ("named_struct('a', id)", r"(?m)lacks s\.b: .*withSchemaEvolution\(\)$"),
    ],
    ids=["more", "fewer"],
)
def test_a_merge_rejects_other_fields(
    spark: Any, tmp_path: Path, clauses: str, value: str, message: str
) -> None:
    table = write_table(spark, tmp_path / "t", OLD)
    source(spark, value)
    with pytest.raises(dr.InvalidArgumentError, match=message) as caught:
        merge(spark, table, clauses)
    assert caught.value.code == "statement.column"
    assert dr.Table(tmp_path / "t").snapshot().version == 0


def test_an_update_matches_fields_by_name(spark: Any, tmp_path: Path) -> None:
    table = write_table(spark, tmp_path / "t", OLD)
    dr_spark.sql(spark, f"UPDATE {table} SET s = named_struct('b', 'y', 'a', 9) WHERE id = 2")
    assert values(dr_spark.read(spark, tmp_path / "t"), 0, 2) == [(0, "x"), (9, "y")]
    for fields, output in (
        ("'a', id, 'b', 'y', 'c', 1", r"(?m)no column s\.c: .* by Table\.add_columns first$"),
        ("'a', id", r"(?m)lacks s\.b: add it, or set the other fields one by one$"),
    ):
        with pytest.raises(dr.InvalidArgumentError, match=output):
            dr_spark.sql(spark, f"UPDATE {table} SET s = named_struct({fields})")


def test_a_field_of_a_column_with_the_name_of_the_table(spark: Any, tmp_path: Path) -> None:
    """The name is that of the table only if a column of the table follows, as in delta-spark."""
    path = tmp_path / "t"
    dr_spark.write(spark.sql("SELECT 1L AS id, named_struct('a', 2L) AS s"), path)
    dr_spark.sql(spark, f"UPDATE delta.`{path}` AS s SET s.a = s.id + 10, s.id = 5")
    table = dr_spark.DeltaTable.forPath(spark, str(path)).alias("s")
    table.update(set={"s.a": "s.a + 100"})
    updated = dr.Table(path).snapshot().scan().to_arrow().to_pylist()
    assert updated == [{"id": 5, "s": {"a": 111}}]
    news = spark.sql("SELECT 3L AS b, named_struct('a', 5L, 'b', 6L) AS s").alias("n")
    merge = table.merge(news, "true").withSchemaEvolution()
    merge.whenMatchedUpdate(set={"s.b": "n.b"}).execute()
    assert table.toDF().collect() == [(5, (111, 3))]


def test_a_column_named_target_of_a_table_at_a_path(spark: Any, tmp_path: Path) -> None:
    """A path without an alias leaves no other name than the path itself, as in delta-spark."""
    table = f"delta.`{tmp_path}/t`"
    rows = "VALUES (1, named_struct('id', 7)), (7, named_struct('id', 1)) AS t (id, target)"
    dr_spark.write(spark.sql(f"SELECT * FROM {rows}"), tmp_path / "t")
    dr_spark.sql(spark, f"UPDATE {table} SET target.id = 8 WHERE target.id = 7")
    dr_spark.sql(spark, f"DELETE FROM {table} WHERE `{tmp_path}/t`.id = 7")
    left = dr.Table(tmp_path / "t").snapshot().scan().to_arrow().to_pylist()
    assert left == [{"id": 1, "target": {"id": 8}}]


def test_a_write_matches_fields_by_name(spark: Any, tmp_path: Path) -> None:
    write_table(spark, tmp_path / "t", OLD)
    dr_spark.write(spark.sql("SELECT 3L id, named_struct('b', 'y', 'a', 9L) s"), tmp_path / "t")
    dr_spark.write(spark.sql("SELECT 4L id, named_struct('b', 'z') s"), tmp_path / "t")
    more = spark.sql("SELECT 5L id, named_struct('c', 1, 'b', 'y') s")
    with pytest.raises(dr.InvalidArgumentError, match=r"(?m)no column s\.c: .*'merge'$") as caught:
        dr_spark.write(more, tmp_path / "t")
    assert caught.value.code == "write.columns"
    dr_spark.write(more, tmp_path / "t", schema_mode="merge")

    assert values(dr_spark.read(spark, tmp_path / "t"), 0, 3, 4, 5) == [
        (0, "x", None),
        (9, "y", None),
        (None, "z", None),
        (None, "y", 1),
    ]


def test_a_struct_with_a_required_field_is_never_null(spark: Any, tmp_path: Path) -> None:
    # as delta-spark 4.4 (DELTA_NOT_NULL_CONSTRAINT_VIOLATED, DELTA_MISSING_NOT_NULL_COLUMN_VALUE)
    table = f"delta.`{tmp_path / 't'}`"
    columns = "k INT, s STRUCT<a: INT NOT NULL, b: INT>, t STRUCT<u: STRUCT<x: INT NOT NULL>>"
    spark.sql(f"CREATE TABLE {table} ({columns}) USING delta")
    s, t = "named_struct('a', 1, 'b', 2)", "named_struct('u', named_struct('x', 1))"
    dr_spark.sql(spark, f"INSERT INTO {table} VALUES (1, {s}, {t})")
    dr_spark.register(spark)
    writer = spark.sql(f"SELECT 2 AS k, null AS s, {t} AS t").write.format("deltareplay")
    calls = [
        *(
            lambda text=text: dr_spark.sql(spark, text.format(t=table))
            for text in (
                f"INSERT INTO {{t}} VALUES (2, null, {t})",
                f"INSERT INTO {{t}} VALUES (2, {s}, null)",
                f"INSERT INTO {{t}} VALUES (2, {s}, named_struct('u', null))",
                "UPDATE {t} SET s = null",
                "UPDATE {t} SET t.u = null",
                "MERGE INTO {t} USING (SELECT 1 AS n) ON k = n "
                "WHEN MATCHED THEN UPDATE SET s = null",
                f"MERGE INTO {{t}} USING (SELECT 2 AS n) ON k = n "
                f"WHEN NOT MATCHED THEN INSERT (k, t) VALUES (n, {t})",
            )
        ),
        lambda: dr_spark.write(spark.sql(f"SELECT 2 AS k, {t} AS t"), tmp_path / "t"),
        lambda: writer.mode("append").save(str(tmp_path / "t")),
    ]
    for call in calls:
        with pytest.raises(Exception, match=r"[st](\.\w)+\"? (is null|may not be null)"):
            call()
    assert dr.Table(tmp_path / "t").snapshot().version == 1


def test_rejects_nulls_in_required_fields_of_arrays_and_maps(spark: Any, tmp_path: Path) -> None:
    """Protocol: a non-nullable field has no null; the enclosing array or struct may be null."""
    never = pa.struct([pa.field("c", pa.int32(), nullable=False)])
    schema = pa.schema(
        [
            ("k", pa.int32()),
            ("a", pa.list_(never)),
            ("m", pa.map_(pa.string(), never)),
            ("e", pa.list_(pa.field("element", pa.int32(), nullable=False))),
        ]
    )
    path = tmp_path / "t"
    dr.create_table(path, schema)
    struct, none = "named_struct('c', 1)", "named_struct('c', CAST(NULL AS INT))"
    insert = f"INSERT INTO delta.`{path}` VALUES"
    dr_spark.sql(spark, f"{insert} (1, array({struct}, NULL), map('x', {struct}), array(1))")
    dr_spark.sql(spark, f"{insert} (2, NULL, NULL, NULL), (3, array(), map('x', NULL), array())")
    for text in (
        f"{insert} (4, array({struct}, {none}), NULL, NULL)",
        f"{insert} (4, NULL, map('x', {none}), NULL)",
        f"{insert} (4, NULL, NULL, array(1, NULL))",
        f"UPDATE delta.`{path}` SET a = array({none}) WHERE k = 2",
        f"MERGE INTO delta.`{path}` t USING (SELECT 2 AS k) s ON t.k = s.k "
        f"WHEN MATCHED THEN UPDATE SET m = map('y', {none})",
    ):
        with pytest.raises(dr.InvalidArgumentError, match="has a null inside") as caught:
            dr_spark.sql(spark, text)
        assert caught.value.code == "write.constraint"
    assert dr.Table(path).snapshot().version == 2
    assert sorted(dr.Table(path).snapshot().scan(["k"]).to_arrow()["k"].to_pylist()) == [1, 2, 3]
