"""``DeltaTable``: files, their layout, and copies; behaviours of delta-spark's own tests.

``test_without_jar.py`` runs this file again in sessions without delta-spark's jar.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark.support.delta_tables import ROWS, rows_of, write_table
from spark.support.settings import conf

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable

pytestmark = pytest.mark.spark


def three_files(spark: Any, path: Path, partition_by: list[str]) -> DeltaTable:
    """Write three files: two of ``a``, one of ``b``."""
    for rows in ([("a", 1), ("a", 2)], [("a", 3), ("a", 4)], [("b", 1), ("b", 2)]):
        frame = spark.createDataFrame(rows, ["key", "value"]).coalesce(1)
        dr_spark.write(frame, path, partition_columns=partition_by)
    return DeltaTable.forPath(spark, str(path))


def test_optimizes(spark: Any, tmp_path: Path) -> None:
    table = three_files(spark, tmp_path / "t", [])
    before = rows_of(table.toDF())
    result = table.optimize().executeCompaction()
    [row] = result.collect()
    assert row["path"] == f"file:{tmp_path / 't'}"
    assert (row["metrics"]["numFilesAdded"], row["metrics"]["numFilesRemoved"]) == (1, 3)
    assert row["metrics"]["filesRemoved"]["totalFiles"] == 3
    assert row["metrics"]["totalConsideredFiles"] == 3
    assert table.history(1).first()["operationParameters"]["predicate"] == "[]"
    assert rows_of(table.toDF()) == before
    with pytest.raises(dr.InvalidArgumentError, match="key") as caught:
        table.optimize().where("key = 'a'").executeCompaction()
    assert caught.value.code == "optimize.where"


def test_optimizes_with_a_number_of_columns_that_is_none(spark: Any, tmp_path: Path) -> None:
    """Another writer may store any text; delta-spark then fails with ``NumberFormatException``."""
    property = '"configuration":{"delta.dataSkippingNumIndexedCols":"many"}'
    table = three_files(spark, tmp_path / "t", [])
    log = tmp_path / "t/_delta_log/00000000000000000000.json"
    text = log.read_text()
    log.write_text(text.replace('"configuration":{}', property))
    for checksum in log.parent.glob("*.crc"):
        checksum.unlink()
    assert log.read_text() != text
    [row] = table.optimize().executeCompaction().collect()
    assert (row["metrics"]["numTableColumns"], row["metrics"]["numTableColumnsWithStats"]) == (2, 2)


def test_optimizes_partitions(spark: Any, tmp_path: Path) -> None:
    table = three_files(spark, tmp_path / "t", ["key"])
    [row] = table.optimize().where("key = 'a'").executeCompaction().collect()
    metrics = row["metrics"]
    assert (metrics["numFilesAdded"], metrics["numFilesRemoved"]) == (1, 2)
    assert metrics["partitionsOptimized"] == 1
    with pytest.raises(dr.InvalidArgumentError, match="value") as caught:
        table.optimize().where("value = 1").executeCompaction()
    assert caught.value.code == "optimize.where"


def test_combines_conditions(spark: Any, tmp_path: Path) -> None:
    """As in delta-spark since 2.1, and the builder need not be assigned anew."""
    frame = spark.range(8).selectExpr("id", "id % 2 AS p", "id % 4 DIV 2 AS q").repartition(4)
    dr_spark.write(frame, tmp_path / "t", partition_columns=["p", "q"])
    optimizer = DeltaTable.forPath(spark, str(tmp_path / "t")).optimize()
    optimizer.where("p = 1 OR p = 9 -- not all")
    assert optimizer.where("q = 0") is optimizer
    [row] = optimizer.executeZOrderBy("id").collect()
    assert row["metrics"]["partitionsOptimized"] == 1


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Niue"])
def test_optimizes_partitions_of_today(spark: Any, tmp_path: Path, zone: str) -> None:
    """The condition in the documentation of ``OPTIMIZE``: the days since a time before now."""
    path, saved = tmp_path / "t", spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        days = "date_sub(current_date(), CAST(id % 3 AS INT)) AS day"
        frame = spark.range(6).selectExpr("id", days).repartition(4)
        dr_spark.write(frame, path, partition_columns=["day"])
        for where, partitions in (
            ("day = current_date()", 1),
            ("day >= current_timestamp() - INTERVAL 1 DAY", 1),
            ("day >= now() - INTERVAL 2 DAYS AND day < current_date", 1),
        ):
            sql = f"OPTIMIZE delta.`{path}` WHERE {where} ZORDER BY (id)"
            [row] = dr_spark.sql(spark, sql).collect()
            assert row["metrics"]["partitionsOptimized"] == partitions, where
    finally:
        spark.conf.set("spark.sql.session.timeZone", saved)


@pytest.mark.parametrize("where", [None, "p = 2"], ids=["all", "a partition"])
def test_optimizes_by_z_order(spark: Any, tmp_path: Path, where: str | None) -> None:
    frame = spark.range(40).selectExpr("id", "id % 7 AS col1", "id % 9 AS col2", "id % 3 AS p")
    dr_spark.write(frame.repartition(4), tmp_path / "t", partition_columns=["p"])
    table = DeltaTable.forPath(spark, str(tmp_path / "t"))
    rows = rows_of(table.toDF())
    files = table._table.snapshot().files(filter=where).num_rows
    optimizer = table.optimize() if where is None else table.optimize().where(where)
    metrics = optimizer.executeZOrderBy(["col1", "col2"]).select("metrics.*").first()
    partitions = 3 if where is None else 1
    assert (metrics["numFilesAdded"], metrics["numFilesRemoved"]) == (partitions, files)
    assert (metrics["totalFilesSkipped"], metrics["totalConsideredFiles"]) == (0, files)
    assert metrics["zOrderStats"]["strategyName"] == "all"
    assert metrics["zOrderStats"]["numOutputCubes"] == partitions
    assert rows_of(table.toDF()) == rows
    with pytest.raises(dr.InvalidArgumentError) as caught:
        optimizer.executeZOrderBy(["p"])
    assert caught.value.code == "optimize.z_order"
    with pytest.raises(TypeError, match="Z-order columns must be str"):
        optimizer.executeZOrderBy([1])  # type: ignore[list-item]


def test_generates_manifests(spark: Any, tmp_path: Path) -> None:
    dr_spark.write(spark.range(20).repartition(4), tmp_path / "t")
    table = DeltaTable.forPath(spark, str(tmp_path / "t"))
    table.generate("SYMLINK_format_manifest")
    manifest = tmp_path / "t" / "_symlink_format_manifest" / "manifest"
    assert len(manifest.read_text().splitlines()) == table._table.snapshot().num_files == 4
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.generate("another")
    assert caught.value.code == "generate.mode"


def test_vacuums(spark: Any, tmp_path: Path) -> None:
    table = write_table(spark, tmp_path / "t")
    unknown = tmp_path / "t" / "abc.txt"
    unknown.write_text("abcde")
    assert table.vacuum().columns == []
    table.vacuum(1000)  # integers, too
    assert unknown.exists()
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.vacuum(0.0)
    assert caught.value.code == "vacuum.retention"
    with conf(spark, spark__databricks__delta__retentionDurationCheck__enabled="false"):
        assert table.vacuum(0.0).collect() == []
    assert not unknown.exists()
    assert rows_of(table.toDF()) == ROWS


def test_converts(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql.types import IntegerType, StructType

    frame = spark.createDataFrame(ROWS, ["key", "value"])
    schemas = [None, StructType().add("value", IntegerType(), True), "value int"]
    for number, schema in enumerate(schemas):
        path = tmp_path / str(number)
        writer = frame.write if schema is None else frame.write.partitionBy("value")
        writer.parquet(str(path))
        table = DeltaTable.convertToDelta(spark, f"parquet.`{path}`", schema)
        assert isinstance(table, DeltaTable)
        assert rows_of(DeltaTable.forPath(spark, str(path)).toDF()) == ROWS
    with pytest.raises(dr.InvalidArgumentError) as caught:
        DeltaTable.convertToDelta(spark, f"orc.`{tmp_path}`")
    assert caught.value.code == "name.parquet"


def test_clones(spark: Any, tmp_path: Path) -> None:
    write_table(spark, tmp_path / "t", [("a", 1)])
    table = write_table(spark, tmp_path / "t", [("d", 4)])
    first, second, third = (str(tmp_path / name) for name in ("one", "two", "three"))
    clone = table.clone(first, True, False, {"foo": "bar"})
    assert isinstance(clone, DeltaTable)
    assert clone._table.snapshot().properties["foo"] == "bar"
    assert rows_of(clone.toDF()) == [("d", 4)]
    assert rows_of(table.cloneAtVersion(0, second, True).toDF()) == [("a", 1)]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.clone(second, True)
    assert caught.value.code == "table.exists"
    assert rows_of(table.clone(second, True, True).toDF()) == [("d", 4)]
    at = dr.Table(tmp_path / "t").history().to_pylist()[-1]["timestamp"]
    text = at.strftime("%Y-%m-%d %H:%M:%S.%f")
    assert rows_of(table.cloneAtTimestamp(text, third).toDF()) == [("a", 1)], "deep"


def test_clones_under_a_name(spark: Any, table: DeltaTable, name: str) -> None:
    assert rows_of(table.clone(name, True).toDF()) == ROWS
    clone = DeltaTable.forName(spark, name)
    assert clone._table.snapshot().num_files == table._table.snapshot().num_files


def test_cloning_checks_types(table: DeltaTable, tmp_path: Path) -> None:
    target = str(tmp_path / "u")
    wrong: list[tuple[str, Callable[[], Any]]] = [
        ("target needs to be a string", lambda: table.clone(10)),  # type: ignore[arg-type]
        ("isShallow needs to be a boolean", lambda: table.clone(target, isShallow=10)),  # type: ignore[arg-type]
        ("replace needs to be a boolean", lambda: table.clone(target, False, replace=10)),  # type: ignore[arg-type]
        ("properties needs to be a dict", lambda: table.clone(target, properties=10)),  # type: ignore[arg-type]
        ("'key' needs to be a string", lambda: table.clone(target, properties={"key": 10})),  # type: ignore[dict-item]
        ("version needs to be an int", lambda: table.cloneAtVersion("0", target)),  # type: ignore[arg-type]
        ("timestamp needs to be a string", lambda: table.cloneAtTimestamp(10, target)),  # type: ignore[arg-type]
    ]
    for message, call in wrong:
        with pytest.raises(ValueError, match=message):
            call()
    assert not Path(target).exists()
