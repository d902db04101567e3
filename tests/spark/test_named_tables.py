"""PySpark's writers and streams by the name of a Delta table, as with delta-spark's jar.

``test_without_jar.py`` runs this file in sessions without the jar.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from spark.support.delta_tables import rows_of
from spark.support.settings import conf
from spark.test_delta_format import delta, without_jar

import deltareplay as dr
from deltareplay import spark as dr_spark

__all__ = ["delta"]  # a fixture

pytestmark = [pytest.mark.spark, without_jar]

ROWS = [(1, "a", 1), (2, "b", 2)]


@pytest.fixture
def named(delta: Any, name: str) -> Iterator[str]:
    """A partitioned table in the catalog, without rows."""
    columns = "(id BIGINT, v STRING, p INT) USING delta PARTITIONED BY (p)"
    dr_spark.sql(delta, f"CREATE TABLE {name} {columns}")
    yield name
    dr_spark.sql(delta, f"DROP TABLE IF EXISTS {name}")


def frame(delta: Any, columns: str = "id INT, v STRING, p INT") -> Any:
    return delta.createDataFrame(ROWS, columns)


def rows(delta: Any, name: str) -> list[tuple[Any, ...]]:
    return rows_of(dr_spark.sql(delta, f"SELECT * FROM {name}"))


def test_insert_into_matches_columns_by_position(delta: Any, named: str) -> None:
    frame(delta, "x INT, id STRING, v INT").write.insertInto(named)
    assert rows(delta, named) == ROWS
    frame(delta).where("id = 1").write.insertInto(named, overwrite=True)
    assert rows(delta, named) == ROWS[:1]
    for mode in ("error", "ignore"):  # Spark appends
        frame(delta).where("id = 1").write.mode(mode).insertInto(named)
    assert rows(delta, named) == ROWS[:1] * 3
    frame(delta).where("id = 1").write.mode("Overwrite").insertInto(named)
    assert rows(delta, named) == ROWS[:1]
    dynamic = frame(delta).where("id = 2").write.mode("overwrite")
    dynamic.option("partitionOverwriteMode", "dynamic").insertInto(named)
    assert rows(delta, named) == ROWS
    wider = frame(delta).selectExpr("*", "id * 2 AS twice").where("id = 2")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        wider.write.insertInto(named)
    assert caught.value.code == "write.columns"
    wider.write.option("mergeSchema", True).option("userMetadata", "why").insertInto(named)
    assert rows(delta, named) == [(1, "a", 1, None), (2, "b", 2, 4), (2, "b", 2, None)]
    [commit] = dr_spark.sql(delta, f"DESCRIBE HISTORY {named} LIMIT 1").collect()
    assert commit["userMetadata"] == "why"


def test_inserts_create_no_table(delta: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as sf

    for name in (f"delta.`{tmp_path / 't'}`", f"spark_catalog.delta.`{tmp_path / 't'}`"):
        for insert in (
            lambda name: frame(delta).write.insertInto(name),
            lambda name: frame(delta).write.insertInto(name, overwrite=True),
            lambda name: frame(delta).writeTo(name).append(),
            lambda name: frame(delta).writeTo(name).overwrite(sf.lit(True)),
            lambda name: frame(delta).writeTo(name).overwritePartitions(),
        ):
            with pytest.raises(dr.TableNotFoundError) as caught:
                insert(name)
            assert caught.value.code == "table.not_found"
    assert not dr.is_table(tmp_path / "t")


def test_write_to_matches_columns_by_name(delta: Any, named: str) -> None:
    frame(delta).select("p", "v", "id").writeTo(named).append()
    assert rows(delta, named) == ROWS
    delta.sql("SELECT 7 AS id, 2 AS p").writeTo(named).overwritePartitions()
    assert rows(delta, named) == [ROWS[0], (7, None, 2)]
    for verb in ("replace", "createOrReplace"):  # Spark would drop it first
        with pytest.raises(dr.InvalidArgumentError) as caught:
            getattr(frame(delta).writeTo(named).using("parquet"), verb)()
        assert caught.value.code == "option.write"
    assert rows(delta, named) == [ROWS[0], (7, None, 2)]


def test_write_to_overwrites_by_a_condition(delta: Any, named: str) -> None:
    from pyspark.sql import functions as sf

    frame(delta).writeTo(named).append()
    new = delta.sql("SELECT 3L AS id, 'c' AS v, 2L AS p")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        new.writeTo(named).overwrite(sf.col("p") == 1)
    assert caught.value.code == "write.constraint"
    new.writeTo(named).option("userMetadata", "why").overwrite((sf.col("p") == 2) & sf.lit(True))
    assert rows(delta, named) == [ROWS[0], (3, "c", 2)]
    new.writeTo(named).overwrite(sf.col("id") > 1)
    assert rows(delta, named) == [ROWS[0], (3, "c", 2)]
    new.writeTo(named).overwrite(sf.lit(True))
    assert rows(delta, named) == [(3, "c", 2)]
    history = dr_spark.sql(delta, f"DESCRIBE HISTORY {named} LIMIT 3").collect()
    assert [commit["userMetadata"] for commit in history] == [None, None, "why"]
    assert ["predicate" in commit["operationParameters"] for commit in history] == [
        False,
        True,
        True,
    ]


def test_write_to_creates_and_replaces_tables(delta: Any, name: str, tmp_path: Path) -> None:
    from pyspark.sql import functions as sf

    writer = frame(delta).writeTo(name).using("delta").partitionedBy(sf.col("P"))
    writer = writer.tableProperty("comment", "of the table").tableProperty("mine", "1")
    writer.option("delta.enableChangeDataFeed", "true").option("userMetadata", "why").create()
    assert rows(delta, name) == ROWS
    [detail] = dr_spark.sql(delta, f"DESCRIBE DETAIL {name}").collect()
    assert detail["partitionColumns"] == ["p"]
    assert detail["properties"] == {"delta.enableChangeDataFeed": "true", "mine": "1"}
    assert detail["description"] == "of the table"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        writer.create()
    assert caught.value.code == "table.exists"
    delta.range(1).writeTo(name).using("delta").clusterBy("id").replace()
    delta.range(2).writeTo(name).using("delta").createOrReplace()
    assert rows(delta, name) == [(0,), (1,)]
    history = dr_spark.sql(delta, f"DESCRIBE HISTORY {name}").collect()
    assert [(commit["operation"], commit["userMetadata"]) for commit in history] == [
        ("CREATE OR REPLACE TABLE AS SELECT", None),
        ("REPLACE TABLE AS SELECT", None),
        ("CREATE TABLE AS SELECT", "why"),
    ]
    path = tmp_path / "t"
    delta.range(3).writeTo(f"delta.`{path}`").using("delta").createOrReplace()
    assert dr.Table(path).snapshot().num_rows == 3
    for options in ({"replaceUsing": "id"}, {"replaceWhere": "true"}, {"overwriteSchema": "false"}):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            delta.range(3).writeTo(name).using("delta").options(**options).replace()
        assert caught.value.code == "option.write"
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        delta.range(3).writeTo(name).using("delta").partitionedBy(sf.bucket(2, "id")).replace()
    assert caught.value.code == "sql.create"
    with pytest.raises(dr.TableNotFoundError):
        delta.range(3).writeTo(f"{name}_none").using("delta").replace()
    assert rows(delta, name) == [(0,), (1,)]
    dr_spark.sql(delta, f"DROP TABLE {name}")


def test_rows_replace_those_that_match_them(delta: Any, named: str) -> None:
    """As delta-spark's suites of ``replaceUsing`` and ``replaceOn`` for named tables."""
    frame(delta).write.insertInto(named)
    new = delta.sql("SELECT '2' AS id, 'new' AS other, 2 AS p")  # cast, by position
    replaced = [ROWS[0], (2, "new", 2)]
    new.write.mode("overwrite").option("replaceUsing", "id").insertInto(named)
    assert rows(delta, named) == replaced
    on = new.alias("s").write.mode("overwrite").option("replaceOn", "t.id = s.id")
    on.option("targetAlias", "t").insertInto(named)
    assert rows(delta, named) == replaced
    newer = delta.sql("SELECT 2 AS p, 'newer' AS v, 2L AS id").write.format("delta")
    newer = newer.mode("overwrite").option("replaceUsing", "id")
    newer.saveAsTable(named)
    assert rows(delta, named) == [ROWS[0], (2, "newer", 2)]
    with pytest.raises(dr.InvalidArgumentError, match="different position") as caught:
        newer.insertInto(named)
    assert caught.value.code == "write.columns"


def test_the_option_precedes_the_session(delta: Any, named: str) -> None:
    wider = frame(delta).selectExpr("*", "5 AS more")
    strict = wider.write.format("delta").option("mergeSchema", "false")
    with conf(delta, spark__databricks__delta__schema__autoMerge__enabled="true"):
        for write in (
            lambda: strict.mode("append").saveAsTable(named),
            lambda: strict.insertInto(named),
            lambda: strict.mode("overwrite").option("replaceUsing", "id").insertInto(named),
            lambda: wider.writeTo(named).option("mergeSchema", False).append(),
        ):
            with pytest.raises(dr.InvalidArgumentError) as caught:
                write()
            assert caught.value.code == "write.columns"
        wider.writeTo(named).append()
    assert rows(delta, named) == [(*row, 5) for row in ROWS]


def test_appended_rows_are_cast_by_name(delta: Any, name: str) -> None:
    """Also fields of structs, as in delta-spark's suites ``DeltaInsertInto*``."""
    created = delta.sql("SELECT 0 AS k, named_struct('a', 'a0', 'b', 'b0') AS s")
    created.write.format("delta").saveAsTable(name)
    rest = "named_struct('b', 'first', 'a', 'second') AS s"
    first, second = delta.sql(f"SELECT {rest}, 1L AS k"), delta.sql(f"SELECT {rest}, '2' AS k")
    first.writeTo(name).append()
    second.write.format("delta").mode("append").saveAsTable(name)
    delta.sql("SELECT 3L AS k, named_struct('b', 4) AS s").writeTo(name).append()
    expected = [(0, ("a0", "b0")), (1, ("second", "first")), (2, ("second", "first"))]
    assert rows(delta, name) == [*expected, (3, (None, "4"))]
    with pytest.raises(dr.InvalidArgumentError) as caught:  # only appended rows are cast
        second.write.format("delta").mode("overwrite").saveAsTable(name)
    assert caught.value.code == "write.columns"
    with pytest.raises(dr.InvalidArgumentError, match="cannot be stored in k"):
        delta.sql(f"SELECT 3000000000L AS k, {rest}").writeTo(name).append()
    dr_spark.sql(delta, f"DROP TABLE {name}")


def test_save_as_table_creates_a_table(delta: Any, name: str) -> None:
    writer = frame(delta).write.format("delta").partitionBy("p")
    writer.option("delta.enableChangeDataFeed", "true").saveAsTable(name)
    [detail] = dr_spark.sql(delta, f"DESCRIBE DETAIL {name}").collect()
    assert detail["partitionColumns"] == ["p"]
    assert detail["properties"] == {"delta.enableChangeDataFeed": "true"}
    with pytest.raises(dr.InvalidArgumentError) as caught:
        writer.saveAsTable(name)
    assert caught.value.code == "table.exists"
    writer.mode("ignore").saveAsTable(name)
    frame(delta).write.saveAsTable(name, format="delta", mode="append")
    assert rows(delta, name) == [ROWS[0], *ROWS, ROWS[1]]
    narrow = frame(delta).select("id", "v").write.format("delta").mode("overwrite")
    narrow.option("overwriteSchema", "true").partitionBy("v").saveAsTable(name)
    assert rows(delta, name) == [(1, "a"), (2, "b")]
    again = frame(delta).select("id").write.format("delta").mode("overwrite")
    again.option("overwriteSchema", "true").saveAsTable(name)
    [detail] = dr_spark.sql(delta, f"DESCRIBE DETAIL {name}").collect()
    assert detail["partitionColumns"] == [], "as in delta-spark"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        frame(delta).write.format("delta").bucketBy(2, "id").saveAsTable(f"{name}_other")
    assert caught.value.code == "option.write"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        frame(delta).write.saveAsTable(f"{name}_other", format="delta", mode="other")
    assert caught.value.code == "write.mode"
    assert not delta.catalog.tableExists(f"{name}_other")
    dr_spark.sql(delta, f"DROP TABLE {name}")


def test_save_as_table_creates_a_table_at_a_path(delta: Any, name: str, tmp_path: Path) -> None:
    path = tmp_path / "a b"
    for mode in ("error", "append"):
        writer = frame(delta).write.format("delta").mode(mode).option("path", str(path))
        writer.saveAsTable(name)
    assert rows(delta, name) == [ROWS[0], *ROWS, ROWS[1]]
    assert dr_spark.count(delta, path) == 4
    with pytest.raises(dr.InvalidArgumentError) as caught:
        writer.option("path", str(tmp_path / "other")).saveAsTable(name)
    assert caught.value.code == "definition.place"
    writer.option("path", str(path))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        writer.mode("error").saveAsTable(f"{name}_other")
    assert caught.value.code == "table.exists"
    assert not delta.catalog.tableExists(f"{name}_other")
    dr_spark.sql(delta, f"DROP TABLE {name}")
    assert dr_spark.count(delta, path) == 4


def test_reads_by_name(delta: Any, named: str) -> None:
    frame(delta).write.insertInto(named)
    [path] = dr_spark.detail(delta, named).select("location").first()
    for table in (named, f"spark_catalog.default.{named}", f"delta.`{urlsplit(path).path}`"):
        assert rows_of(delta.table(table)) == rows_of(delta.read.table(table)) == ROWS
    columns = [f"{named}.id", f"default.{named}.v", f"spark_catalog.default.{named}.p"]
    reader, stream = delta.read.option("versionAsOf", 1), delta.readStream
    assert rows_of(delta.table(named).select(*columns)) == ROWS
    assert rows_of(reader.table(named).select(*columns)) == ROWS
    assert stream.table(named).select(*columns).columns == ["id", "v", "p"]
    reader = delta.read.format("delta").option("versionAsOf", 0)
    assert rows_of(reader.table(named)) == []
    changes = delta.read.options(readChangeFeed=True, startingVersion=0).table(named)
    assert rows_of(changes.select("id", "_change_type")) == [(1, "insert"), (2, "insert")]
    dr_spark.sql(delta, f"CREATE TABLE {named}_cloned SHALLOW CLONE {named}")
    cloned = delta.read.option("versionAsOf", 0).table(f"{named}_cloned")
    assert rows_of(cloned) == rows_of(delta.table(f"{named}_cloned")) == ROWS
    dr_spark.sql(delta, f"DROP TABLE {named}_cloned")
    delta.range(3).createOrReplaceTempView("shadow")
    assert delta.table("shadow").count() == delta.read.table("shadow").count() == 3
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        delta.table(f"{named}_none").collect()


def test_a_relative_path_does_not_hide_a_name(
    delta: Any, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame(delta).write.insertInto(named)
    monkeypatch.chdir(tmp_path)
    dr.write(named, [{"id": 7}])
    assert rows_of(delta.table(named)) == rows_of(delta.read.table(named)) == ROWS


def test_spark_writes_tables_of_other_formats(delta: Any, name: str) -> None:
    frame(delta).write.format("parquet").saveAsTable(name)
    frame(delta).write.insertInto(name)
    assert delta.table(name).count() == 4
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        frame(delta).write.insertInto(f"{name}_none")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        frame(delta).writeTo(f"{name}_none").append()


@pytest.mark.parametrize("format", ["parquet", "json", None])
def test_other_formats_do_not_write_into_delta_tables(
    delta: Any, name: str, tmp_path: Path, format: str | None
) -> None:
    """As in delta-spark, which replaces tables by those of other formats, though."""
    frame(delta).write.format("delta").saveAsTable(name)
    for mode in ("append", "overwrite"):  # Spark would drop the table, and then fail
        writer = frame(delta).write if format is None else frame(delta).write.format(format)
        with pytest.raises(dr.InvalidArgumentError, match=r"parquet|json") as caught:
            writer.mode(mode).saveAsTable(name)
        assert caught.value.code == "option.write"
    if format is not None:
        stream = delta.readStream.format("rate").load().writeStream.format(format)
        with pytest.raises(dr.InvalidArgumentError, match=format) as caught:
            stream.option("checkpointLocation", str(tmp_path / "checkpoint")).toTable(name)
        assert caught.value.code == "option.write"
    assert rows(delta, name) == ROWS
    dr_spark.sql(delta, f"DROP TABLE {name}")


def test_streams_read_and_write_tables_by_name(delta: Any, named: str, tmp_path: Path) -> None:
    frame(delta).write.insertInto(named)
    created = f"{named}_made"

    def run(format: str | None, **options: Any) -> None:
        stream = delta.readStream.table(named).select("id", "p").writeStream
        writer = stream if format is None else stream.format(format)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).toTable(created, **options).awaitTermination(120)

    run("delta", partitionBy="p")
    assert rows(delta, created) == [(1, 1), (2, 2)]
    [detail] = dr_spark.sql(delta, f"DESCRIBE DETAIL {created}").collect()
    assert detail["partitionColumns"] == ["p"]
    frame(delta).write.insertInto(named)
    run(None, outputMode="append")  # the catalog has the format of an existing table
    assert rows(delta, created) == [(1, 1), (1, 1), (2, 2), (2, 2)]
    dr_spark.sql(delta, f"DROP TABLE {created}")


def test_a_stream_creates_no_table_over_other_files(delta: Any, name: str, tmp_path: Path) -> None:
    """As in delta-spark (DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION): VACUUM would delete them."""
    path = str(tmp_path / "files")
    frame(delta).write.parquet(path)
    stream = delta.readStream.format("rate").load().writeStream.format("delta")
    writer = stream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        writer.toTable(f"delta.`{path}`")
    assert caught.value.code == "definition.files"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        writer.option("path", path).toTable(f"{name}_over")
    assert caught.value.code == "definition.files"


@pytest.mark.parametrize("as_argument", [False, True])
def test_a_stream_creates_its_table_at_the_path_of_the_option(
    delta: Any, named: str, tmp_path: Path, as_argument: bool
) -> None:
    """As Spark's ``toTable`` does for tables of its own formats."""
    frame(delta).write.insertInto(named)
    created, path = f"{named}_placed", tmp_path / "placed"

    def run(path: Path) -> None:
        stream = delta.readStream.table(named).writeStream.format("delta")
        writer = stream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        options = {"path": str(path)} if as_argument else {}
        writer = writer if as_argument else writer.option("path", str(path))
        writer.trigger(availableNow=True).toTable(created, **options).awaitTermination(120)

    run(path)
    assert dr.Table(path).snapshot().num_rows == 2
    assert rows(delta, created) == ROWS
    frame(delta).write.insertInto(named)
    run(path)
    assert rows(delta, created) == sorted(ROWS * 2)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        run(tmp_path / "other")
    assert caught.value.code == "definition.place"
    dr_spark.sql(delta, f"DROP TABLE {created}")
