"""``sql``: Delta's statements on paths and names; behaviours of delta-spark's own SQL tests.

``tests/spark_units`` tests parsing. ``test_without_jar.py`` runs this file again in sessions
without delta-spark's jar.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from spark.support.delta_tables import ROWS, rows_of, write_table
from spark.support.settings import conf

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable
from deltareplay.spark.session import capabilities

pytestmark = pytest.mark.spark


@pytest.fixture(params=["path", "name"])
def target(request: pytest.FixtureRequest, spark: Any, tmp_path: Path, name: str) -> str:
    """A table in SQL: by its path, or by a name in the catalog."""
    write_table(spark, tmp_path / "t")
    if request.param == "path":
        return f"delta.`{tmp_path / 't'}`"
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 't'}'")
    return name


def left(spark: Any, tmp_path: Path) -> list[tuple[Any, ...]]:
    return rows_of(dr_spark.read(spark, tmp_path / "t"))


def test_inserts(spark: Any, tmp_path: Path, target: str) -> None:
    dr_spark.sql(spark, f"INSERT INTO {target} (value, key) SELECT 5 + id, 'e' FROM range(2)")
    assert left(spark, tmp_path) == [*ROWS, ("e", 5), ("e", 6)]
    dr_spark.sql(spark, f"INSERT INTO {target} REPLACE WHERE key <> 'a' VALUES ('z', 0)")
    assert left(spark, tmp_path) == [ROWS[0], ("z", 0)]
    dr_spark.sql(spark, f"INSERT OVERWRITE {target} BY NAME SELECT 7 AS value, 'f' AS key")
    assert left(spark, tmp_path) == [("f", 7)]


def test_deletes(spark: Any, tmp_path: Path, target: str) -> None:
    reported = dr_spark.sql(spark, f"DELETE FROM {target} AS x WHERE x.key IN ('a', 'b')")
    assert reported.dtypes == [("num_affected_rows", "bigint")]
    assert rows_of(reported) == [(2,)]
    assert left(spark, tmp_path) == ROWS[2:]
    assert rows_of(dr_spark.sql(spark, f"DELETE FROM {target} WHERE key = 'z'")) == [(0,)]


def test_truncates(spark: Any, tmp_path: Path, target: str) -> None:
    reported = dr_spark.sql(spark, f"TRUNCATE TABLE {target}")
    assert (reported.columns, reported.collect()) == ([], [])
    assert left(spark, tmp_path) == []
    dr_spark.sql(spark, f"TRUNCATE TABLE {target};")
    [done, *_] = rows = dr.Table(tmp_path / "t").history().to_pylist()
    assert [row["operation"] for row in rows] == ["TRUNCATE", "WRITE"]
    assert done["operationParameters"] == []
    metrics = [key for key, _ in done["operationMetrics"]]
    assert metrics == ["executionTimeMs", "numRemovedFiles"]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.sql(spark, f"TRUNCATE TABLE {target} PARTITION (key = 'a')")
    assert caught.value.code == "sql.syntax"
    dr.Table(tmp_path / "t").set_properties({"delta.appendOnly": "true"})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.sql(spark, f"TRUNCATE TABLE {target}")
    assert caught.value.code == "transaction.append_only"


def test_updates(spark: Any, tmp_path: Path, target: str) -> None:
    text = f"UPDATE {target} x SET value = CASE WHEN x.value > 1 THEN 0 ELSE 9 END WHERE key < 'c'"
    assert rows_of(dr_spark.sql(spark, text)) == [(2,)]
    assert left(spark, tmp_path) == [("a", 9), ("b", 0), ("c", 3), ("d", 4)]


def test_merges(spark: Any, tmp_path: Path, target: str) -> None:
    spark.createDataFrame(
        [("a", -1), ("b", 0), ("e", -5)], ["key", "value"]
    ).createOrReplaceTempView("news")
    reported = dr_spark.sql(
        spark,
        f"""
        MERGE INTO {target} t
        USING (SELECT * FROM news WHERE value <> 7) AS s ON t.key = s.key
        WHEN MATCHED AND s.value = 0 THEN DELETE
        WHEN MATCHED THEN UPDATE SET t.value = s.value, key = concat(t.key, '!')
        WHEN NOT MATCHED BY TARGET THEN INSERT (key, value) VALUES (s.key, abs(s.value))
        WHEN NOT MATCHED BY SOURCE AND t.value = 4 THEN UPDATE SET value = t.value + 1
        WHEN NOT MATCHED BY SOURCE THEN DELETE
        """,
    )
    assert [tuple(row) for row in reported.collect()] == [(5, 2, 2, 1)]
    assert left(spark, tmp_path) == [("a!", -1), ("d", 5), ("e", 5)]


@pytest.mark.parametrize("by", ["view", "path", "name", "version"])
def test_a_source_is_a_view_or_a_delta_table(
    spark: Any, tmp_path: Path, name: str, by: str
) -> None:
    write_table(spark, tmp_path / "t")
    table = write_table(spark, tmp_path / "u", [("a", -1), ("e", -5)])
    source = f"delta.`{tmp_path / 'u'}`"
    if by == "view":
        table.toDF().createOrReplaceTempView("news")
        source = "news"
    if by == "name":
        spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 'u'}'")
        source = name
    if by == "version":
        write_table(spark, tmp_path / "u", [("z", 0)])
        source += " VERSION AS OF 0"
    alias = "" if by in ("view", "name") else " AS s"
    called = {"view": "news", "name": name}.get(by, "s")
    dr_spark.sql(
        spark,
        f"MERGE INTO delta.`{tmp_path / 't'}` AS t USING {source}{alias} ON t.key = {called}.key "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )
    assert left(spark, tmp_path) == [("a", -1), *ROWS[1:], ("e", -5)]


def test_a_merge_adds_columns(spark: Any, tmp_path: Path, target: str) -> None:
    dr_spark.sql(
        spark,
        f"MERGE WITH SCHEMA EVOLUTION INTO {target} AS t "
        "USING (SELECT 'a' AS key, 'x' AS note) AS s "
        "ON t.key = s.key WHEN MATCHED THEN UPDATE SET *",
    )
    rows = dr_spark.read(spark, tmp_path / "t").select("key", "value", "note")
    assert rows_of(rows) == [("a", 1, "x"), *((*row, None) for row in ROWS[1:])]


def test_vacuums(spark: Any, tmp_path: Path, target: str) -> None:
    write_table(spark, tmp_path / "t")
    old = {path.name for path in (tmp_path / "t").rglob("*.parquet")}
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.sql(spark, f"VACUUM {target} RETAIN 0 HOURS")
    assert caught.value.code == "vacuum.retention"
    assert rows_of(dr_spark.sql(spark, f"VACUUM {target} RETAIN 200 HOURS DRY RUN")) == []
    with conf(spark, spark__databricks__delta__retentionDurationCheck__enabled="false"):
        dry = rows_of(dr_spark.sql(spark, f"VACUUM {target} RETAIN 0 HOURS DRY RUN"))
        reported = rows_of(dr_spark.sql(spark, f"VACUUM {target} RETAIN 0 HOURS"))
    assert reported == [(f"file:{tmp_path / 't'}",)]
    remaining = {path.name for path in (tmp_path / "t").rglob("*.parquet")}
    listed = {Path(path.removeprefix("file:")).name for (path,) in dry if path.endswith(".parquet")}
    assert listed == old - remaining
    assert len(listed) == len(old) // 2 > 0


def test_describes(spark: Any, tmp_path: Path, target: str) -> None:
    write_table(spark, tmp_path / "t")
    for text in (f"desc history {target}", f"DESCRIBE HISTORY '{tmp_path / 't'}'"):
        assert [row["version"] for row in dr_spark.sql(spark, text).collect()] == [1, 0]
    [last] = dr_spark.sql(spark, f"DESCRIBE HISTORY {target} LIMIT 1").collect()
    assert last["version"] == 1
    [detail] = dr_spark.sql(spark, f"DESCRIBE DETAIL {target}").collect()
    assert detail["location"] == f"file:{tmp_path / 't'}"
    assert detail["name"] == (None if "`" in target else f"spark_catalog.default.{target}")


def test_optimizes(spark: Any, tmp_path: Path, target: str) -> None:
    dr_spark.write(spark.createDataFrame([("z", 9)], ["key", "value"]), tmp_path / "t")
    rows = left(spark, tmp_path)
    [reported] = dr_spark.sql(spark, f"OPTIMIZE {target} ZORDER BY (key, value)").collect()
    assert reported["metrics"]["zOrderStats"]["strategyName"] == "all"
    assert reported["metrics"]["numFilesAdded"] == 1
    assert left(spark, tmp_path) == rows
    [again] = dr_spark.sql(spark, f"OPTIMIZE '{tmp_path / 't'}'").collect()
    assert (again["metrics"]["numFilesAdded"], again["metrics"]["filesAdded"]["min"]) == (0, None)
    for columns, allowed in [(None, False), ("(key)", True), ("NONE", False)]:
        if columns:
            dr_spark.sql(spark, f"ALTER TABLE {target} CLUSTER BY {columns}")
        with nullcontext() if allowed else pytest.raises(dr.InvalidArgumentError) as caught:
            dr_spark.sql(spark, f"OPTIMIZE {target} FULL")
        if not allowed:
            assert caught.value.code == "sql.full"


def test_partitions_to_optimize_may_depend_on_the_current_time(spark: Any, tmp_path: Path) -> None:
    """An example of REORG in Delta's documentation."""
    rows = spark.sql("SELECT 1 AS id, current_date() AS day UNION ALL SELECT 2, DATE '2020-01-01'")
    for _ in range(2):
        dr_spark.write(rows.repartition(1), tmp_path / "t", partition_columns=["day"])
    recent = "day >= current_timestamp() - INTERVAL '5' DAY"
    table = f"delta.`{tmp_path / 't'}`"
    for statement in (
        f"REORG TABLE {table} WHERE {recent} APPLY (PURGE)",
        f"OPTIMIZE {table} WHERE {recent}",
    ):
        [reported] = dr_spark.sql(spark, statement).collect()
    assert (reported["metrics"]["numFilesAdded"], reported["metrics"]["numFilesRemoved"]) == (1, 2)


def test_purges(spark: Any, tmp_path: Path) -> None:
    dr_spark.write(
        spark.range(20).coalesce(1),
        tmp_path / "t",
        properties={"delta.enableDeletionVectors": "true"},
    )
    dr.Table(tmp_path / "t").delete("id = 7")
    [reported] = dr_spark.sql(
        spark, f"REORG TABLE delta.`{tmp_path / 't'}` APPLY (PURGE)"
    ).collect()
    metrics = reported["metrics"]
    assert (metrics["numFilesAdded"], metrics["numFilesRemoved"]) == (1, 1)
    assert metrics["deletionVectorStats"].asDict() == {
        "numDeletionVectorsRemoved": 1,
        "numDeletionVectorRowsRemoved": 1,
    }
    files = dr.Table(tmp_path / "t").snapshot().files()
    assert files["deletionVector"].to_pylist() == [None]
    assert left(spark, tmp_path) == sorted(
        [(number,) for number in range(20) if number != 7], key=repr
    )


@pytest.mark.parametrize("clause", ["VERSION AS OF 0", "TIMESTAMP AS OF '{at}'"])
def test_restores(spark: Any, tmp_path: Path, target: str, clause: str) -> None:
    [first] = dr.Table(tmp_path / "t").history().to_pylist()
    write_table(spark, tmp_path / "t", [("z", 0)])
    at = first["timestamp"].strftime("%Y-%m-%d %H:%M:%S.%f")
    [reported] = dr_spark.sql(spark, f"RESTORE TABLE {target} TO {clause.format(at=at)}").collect()
    assert reported["num_restored_files"] == dr.Table(tmp_path / "t").snapshot().num_files
    assert left(spark, tmp_path) == ROWS


def test_generates_a_manifest(spark: Any, tmp_path: Path, target: str) -> None:
    dr_spark.sql(spark, f"GENERATE SYMLINK_FORMAT_MANIFEST FOR TABLE {target}")
    manifest = tmp_path / "t" / "_symlink_format_manifest" / "manifest"
    files = dr.Table(tmp_path / "t").snapshot().num_files
    assert len(manifest.read_text().splitlines()) == files > 0


def test_converts_no_delta_table(spark: Any, tmp_path: Path, name: str) -> None:
    write_table(spark, tmp_path / "t")
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 't'}'")
    for convert in (spark.sql, lambda text: dr_spark.sql(spark, text)):
        if convert != spark.sql or capabilities.has_delta(spark):
            assert convert(f"CONVERT TO DELTA default.{name}").collect() == []
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.sql(spark, "CONVERT TO DELTA no_such_table")
    assert caught.value.code == "name.parquet"
    assert dr.Table(tmp_path / "t").snapshot().version == 0


@pytest.mark.parametrize("partitions", [[], ["p", "q"]])
def test_converts_a_table_of_the_catalog(spark: Any, name: str, partitions: list[str]) -> None:
    frame = spark.sql("SELECT id, id % 2 AS p, CAST(id % 3 AS STRING) AS q FROM range(6)")
    frame.write.partitionBy(*partitions).format("parquet").saveAsTable(name)
    if not capabilities.is_classic(spark):
        with pytest.raises(dr.InvalidArgumentError, match="Spark Connect"):
            dr_spark.sql(spark, f"CONVERT TO DELTA {name}")
        return
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.sql(spark, f"CONVERT TO DELTA {name} PARTITIONED BY (p STRING, q STRING)")
    assert caught.value.code == "convert.partition_schema"
    clause = "PARTITIONED BY (p BIGINT, q STRING)" if partitions else ""
    dr_spark.sql(spark, f"CONVERT TO DELTA default.{name} {clause}")
    table = DeltaTable.convertToDelta(spark, name)  # it is one already
    assert rows_of(table.toDF()) == rows_of(frame) == rows_of(spark.table(name))
    [detail] = dr_spark.sql(spark, f"DESCRIBE DETAIL {name}").collect()
    assert (detail["format"], detail["partitionColumns"]) == ("delta", partitions)
    dr_spark.sql(spark, f"DELETE FROM {name} WHERE p = 1")
    assert dr_spark.history(spark, name).count() == 2


def test_converts_no_partitions_elsewhere(spark: Any, tmp_path: Path, name: str) -> None:
    if not capabilities.is_classic(spark):
        pytest.skip("Spark Connect converts no names")
    frame = spark.sql("SELECT id, id % 2 AS p FROM range(4)")
    frame.write.partitionBy("p").format("parquet").saveAsTable(name)
    spark.range(2).write.parquet(str(tmp_path / "p"))
    spark.sql(f"ALTER TABLE {name} PARTITION (p = 1) SET LOCATION '{tmp_path / 'p'}'")
    with pytest.raises(dr.InvalidArgumentError, match="outside its directory") as caught:
        dr_spark.sql(spark, f"CONVERT TO DELTA {name}")
    assert caught.value.code == "name.parquet"
    assert spark.table(name).count() == 4


def test_converts(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(ROWS, ["key", "value"])
    frame.write.parquet(str(tmp_path / "t"))
    dr_spark.sql(spark, f"CONVERT TO DELTA parquet.`{tmp_path / 't'}`")
    dr_spark.sql(spark, f"CONVERT TO DELTA delta.`{tmp_path / 't'}`")  # it is one already
    assert left(spark, tmp_path) == ROWS
    assert None not in dr.Table(tmp_path / "t").snapshot().files()["stats"].to_pylist()
    frame.write.partitionBy("value").parquet(str(tmp_path / "u"))
    text = f"CONVERT TO DELTA parquet.`{tmp_path / 'u'}` NO STATISTICS PARTITIONED BY (value INT)"
    dr_spark.sql(spark, text)
    assert set(dr.Table(tmp_path / "u").snapshot().files()["stats"].to_pylist()) == {None}
    assert rows_of(dr_spark.read(spark, tmp_path / "u")) == ROWS


def test_clones(spark: Any, tmp_path: Path, target: str) -> None:
    copy = f"delta.`{tmp_path / 'u'}`"
    text = f"TABLE {copy} SHALLOW CLONE {target} TBLPROPERTIES ('foo' = 'bar')"
    [reported] = dr_spark.sql(spark, f"CREATE {text}").collect()
    snapshot = dr.Table(tmp_path / "t").snapshot()
    assert reported["source_num_of_files"] == snapshot.num_files
    assert reported["source_table_size"] == snapshot.size_in_bytes
    assert dr.Table(tmp_path / "u").snapshot().properties["foo"] == "bar"
    # the clone refers to files of the other table, which ``allowed_roots`` must name
    clone = dr.Table(tmp_path / "u", allowed_roots=[tmp_path / "t"])
    assert rows_of(DeltaTable.forPath(spark, clone).toDF()) == ROWS
    with pytest.raises(dr.CorruptTableError) as caught:
        DeltaTable.forName(spark, copy).toDF()
    assert caught.value.code == "path.escapes_root"
    write_table(spark, tmp_path / "t", [("z", 0)])
    dr_spark.sql(spark, f"CREATE TABLE IF NOT EXISTS {copy} SHALLOW CLONE {target}")
    assert rows_of(DeltaTable.forPath(spark, clone).toDF()) == ROWS
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.sql(spark, f"CREATE TABLE {copy} SHALLOW CLONE {target}")
    assert caught.value.code == "table.exists"
    dr_spark.sql(spark, f"REPLACE TABLE {copy} SHALLOW CLONE {target}")
    assert rows_of(DeltaTable.forPath(spark, clone).toDF()) == [("z", 0)]


def test_clones_under_a_name(spark: Any, tmp_path: Path, name: str) -> None:
    # Spark shows no option with a text such as token
    write_table(spark, tmp_path / "it's, a token")
    source = f"delta.`{tmp_path}/it's, a token`"
    dr_spark.sql(spark, f"CREATE TABLE {name} SHALLOW CLONE {source} LOCATION '{tmp_path / 't'}'")
    if capabilities.has_delta(spark):  # the catalog does not store our options
        assert rows_of(spark.table(name)) == ROWS
        return
    assert rows_of(dr_spark.read(spark, name)) == ROWS
    dr_spark.sql(spark, f"UPDATE {name} SET value = 9 WHERE key = 'd'")
    assert rows_of(DeltaTable.forName(spark, name).toDF()) == [*ROWS[:3], ("d", 9)]
    assert rows_of(dr_spark.read(spark, source)) == ROWS


def test_leaves_the_rest_to_spark(spark: Any, name: str) -> None:
    spark.range(3).createOrReplaceTempView("numbers")
    assert rows_of(dr_spark.sql(spark, "SELECT max(id) FROM numbers")) == [(2,)]
    spark.sql(f"CREATE TABLE {name} (id INT) USING parquet")
    kept = "CREATE TABLE IF NOT EXISTS {} SHALLOW CLONE delta.`/not/there`"
    assert dr_spark.sql(spark, kept.format(name)).count() == 1
    # Parquet has no such statements, and the error is Spark's
    for text in (f"DELETE FROM {name}", f"UPDATE {name} SET id = 1", "DELETE FROM no_such_table"):
        with pytest.raises(Exception, match=r"\S") as caught:
            dr_spark.sql(spark, text)
        assert not isinstance(caught.value, dr.DeltaReplayError)
    with pytest.raises(dr.TableNotFoundError) as missing:
        dr_spark.sql(spark, f"VACUUM {name}")
    assert missing.value.code == "name.not_delta"


def test_syntax_errors_have_a_position(spark: Any, target: str) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="line 1, column") as caught:
        dr_spark.sql(spark, f"DELETE FROM {target} WHERE key = 'a' )")
    assert caught.value.code == "sql.syntax"


def test_alters(spark: Any, tmp_path: Path, target: str) -> None:
    reported = dr_spark.sql(spark, f"ALTER TABLE {target} SET TBLPROPERTIES ('a' = 'b')")
    assert (reported.columns, reported.collect()) == ([], [])
    dr_spark.sql(spark, f"ALTER TABLE {target} ADD COLUMNS (note STRING COMMENT 'why')")
    dr_spark.sql(spark, f"ALTER TABLE {target} ADD CONSTRAINT positive CHECK (value > 0)")
    dr_spark.sql(spark, f"COMMENT ON TABLE {target} IS 'letters'")
    snapshot = dr.Table(tmp_path / "t").snapshot()
    assert snapshot.properties == {"a": "b", "delta.constraints.positive": "value > 0"}
    assert snapshot.metadata.description == "letters"
    assert snapshot.schema.names == ["key", "value", "note"]
    assert left(spark, tmp_path) == [(*row, None) for row in ROWS]


def test_alters_several_columns_at_once(spark: Any, tmp_path: Path, target: str) -> None:
    for form in (
        "SET TBLPROPERTIES ('comment' = 'c', 'delta.feature.allowColumnDefaults' = 'supported')",
        "ADD COLUMNS (note STRING FIRST, other INT AFTER key)",
        "ALTER COLUMN value SET DEFAULT 10 * 10, key DROP NOT NULL, other FIRST",
    ):
        dr_spark.sql(spark, f"ALTER TABLE {target} {form}")
    table = dr.Table(tmp_path / "t")
    assert table.snapshot().version == 3
    assert table.snapshot().schema.names == ["other", "note", "key", "value"]
    dr_spark.sql(spark, f"INSERT INTO {target} (key) VALUES ('z')")
    assert left(spark, tmp_path) == [*((None, None, *row) for row in ROWS), (None, None, "z", 100)]


def test_renames_the_entry_in_the_catalog(
    spark: Any, tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "`" in target:
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            dr_spark.sql(spark, f"ALTER TABLE {target} RENAME TO other")
        assert caught.value.code == "sql.alter"
        return
    with monkeypatch.context() as patch, pytest.raises(dr.UnsupportedFeatureError) as caught:
        patch.setattr("deltareplay.spark.session.capabilities.has_delta", lambda _: False)
        dr_spark.sql(spark, f"ALTER TABLE {target} SET LOCATION '{tmp_path / 'elsewhere'}'")
    assert caught.value.code == "sql.alter"
    dr_spark.sql(spark, f"ALTER TABLE {target} RENAME TO {target}_renamed")
    try:
        assert rows_of(DeltaTable.forName(spark, f"{target}_renamed").toDF()) == ROWS
        with pytest.raises(dr.TableNotFoundError) as caught:
            DeltaTable.forName(spark, target)
        assert caught.value.code == "name.not_delta"
    finally:
        spark.sql(f"DROP TABLE {target}_renamed")


def test_describes_a_table(spark: Any, target: str) -> None:
    columns = [("key", "string", None), ("value", "bigint", None)]
    assert [tuple(row) for row in dr_spark.sql(spark, f"DESCRIBE {target}").collect()] == columns
    names = dr_spark.sql(spark, f"SHOW COLUMNS IN {target}").collect()
    assert [tuple(row) for row in names] == [("key",), ("value",)]
    reported = dr_spark.sql(spark, f"SHOW TBLPROPERTIES {target}").collect()
    assert ("delta.minReaderVersion", "1") in [tuple(row) for row in reported]
    extended = dr_spark.sql(spark, f"DESCRIBE TABLE EXTENDED {target}").collect()
    assert {"col_name": "Provider", "data_type": "delta", "comment": ""} in [
        row.asDict() for row in extended
    ]


def test_refuses_show_create_table(
    spark: Any, tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltareplay.spark.session.capabilities.has_delta", lambda _: False)
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.sql(spark, f"SHOW CREATE TABLE {target}")
    assert caught.value.code == "sql.catalog"


def test_creates_a_name_for_an_existing_table(spark: Any, tmp_path: Path, name: str) -> None:
    write_table(spark, tmp_path / "t")
    dr_spark.sql(spark, f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 't'}'")
    assert rows_of(DeltaTable.forName(spark, name).toDF()) == ROWS
    dr_spark.sql(spark, f"DROP TABLE {name}")
    assert left(spark, tmp_path) == ROWS


def test_leaves_definitions_of_other_formats_to_spark(spark: Any, name: str) -> None:
    dr_spark.sql(spark, f"CREATE TABLE {name} (id INT) USING parquet TBLPROPERTIES ('a' = 'b')")
    dr_spark.sql(spark, f"ALTER TABLE {name} ADD COLUMNS (note STRING)")
    dr_spark.sql(spark, f"ALTER TABLE {name} SET SERDEPROPERTIES ('c' = 'd')")
    dr_spark.sql(spark, f"COMMENT ON TABLE {name} IS 'why'")
    dr_spark.sql(spark, f"TRUNCATE TABLE {name}")
    columns = dr_spark.sql(spark, f"DESCRIBE {name}").collect()
    assert [row["col_name"] for row in columns] == ["id", "note"]
    reported = {
        row["key"]: row["value"]
        for row in dr_spark.sql(spark, f"SHOW TBLPROPERTIES {name}").collect()
    }
    assert reported["a"] == "b"
