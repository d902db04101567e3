"""PySpark's writers and streams by the name of a Delta table, as with delta-spark's jar.

``test_without_jar.py`` runs this file in sessions without the jar.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spark.support.delta_tables import rows_of
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


def test_write_to_matches_columns_by_name(delta: Any, named: str) -> None:
    frame(delta).select("p", "v", "id").writeTo(named).append()
    assert rows(delta, named) == ROWS
    delta.sql("SELECT 7 AS id, 2 AS p").writeTo(named).overwritePartitions()
    assert rows(delta, named) == [ROWS[0], (7, None, 2)]
    for verb in ("create", "replace", "createOrReplace"):  # Spark would drop it first
        writer = frame(delta).writeTo(named if verb != "create" else f"{named}_new")
        with pytest.raises(dr.InvalidArgumentError) as caught:
            getattr(writer.using("delta"), verb)()
        assert caught.value.code == "option.path"
    assert rows(delta, named) == [ROWS[0], (7, None, 2)]


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
