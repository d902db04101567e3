"""Writes do not change the user's session; a table is created with its first rows."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from spark.support.delta_spark_logs import properties
from spark.support.settings import conf

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

#: Settings of users, and those that a table's files need.
SETTINGS = {
    "spark__sql__sources__partitionOverwriteMode": "dynamic",
    "spark__sql__parquet__outputTimestampType": "INT96",
    "spark__sql__parquet__writeLegacyFormat": "true",
    "spark__sql__parquet__fieldId__write__enabled": "false",
    "spark__sql__parquet__datetimeRebaseModeInWrite": "EXCEPTION",
}

ROWS = """SELECT id, DATE'0001-01-01' AS day, TIMESTAMP'1500-01-01 00:00:00' AS at,
CAST(1 AS DECIMAL(9, 2)) AS n FROM range(4)"""


def settings_of(spark: Any) -> dict[str, str]:
    return dict(spark.conf.getAll)


def test_writes_never_change_settings(spark: Any, tmp_path: Path) -> None:
    mapped = tmp_path / "mapped"
    mode = properties(columnMapping__mode="id")
    spark.sql(f"CREATE TABLE delta.`{mapped}` (id LONG, at TIMESTAMP) USING delta {mode}")
    with conf(spark, **SETTINGS):
        before = settings_of(spark)
        seen: list[dict[str, str]] = []
        failures: list[BaseException] = []
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(0.01):
                seen.append(settings_of(spark))

        def write(name: str) -> None:
            try:
                for _ in range(3):
                    dr_spark.write(spark.sql(ROWS), tmp_path / name)
            except BaseException as error:
                failures.append(error)

        watcher = threading.Thread(target=watch)
        writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
        for writer in [watcher, *writers]:
            writer.start()
        for writer in writers:
            writer.join()
        dr_spark.write(spark.sql("SELECT id, current_timestamp() AS at FROM range(3)"), mapped)
        assert dr_spark.read(spark, mapped, filter="id > 0").count() == 2
        stop.set()
        watcher.join()
        assert not failures
        assert len(seen) > 5
        assert all(state == before for state in seen)
        files = [path for name in "ab" for path in (tmp_path / name).rglob("*.parquet")]
        assert len(files) >= 6
        for file in files:
            columns = {column.name: column for column in pq.ParquetFile(file).schema}
            assert columns["at"].physical_type == "INT64"
            assert columns["n"].physical_type == "INT32"
            assert b"org.apache.spark.legacyDateTime" not in pq.read_metadata(file).metadata
        for name in "ab":
            rows = dr.Table(tmp_path / name).snapshot().scan().to_arrow()
            assert rows.num_rows == 12
            assert {value.isoformat() for value in rows["at"].to_pylist()} == {
                "1500-01-01T00:00:00+00:00"
            }
    for file in mapped.rglob("*.parquet"):
        ids = [field.metadata.get(b"PARQUET:field_id") for field in pq.read_schema(file)]
        assert ids == [b"1", b"2"]


def test_a_failed_first_write_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    dr_spark.register(spark)
    failing = spark.sql("SELECT IF(id = 3, raise_error('half-way'), id) AS id FROM range(4)")
    with pytest.raises(Exception, match="half-way"):
        dr_spark.write(failing, tmp_path / "new")
    with pytest.raises(Exception, match="half-way"):
        failing.write.format("deltareplay").mode("append").save(str(tmp_path / "format"))
    stream = spark.readStream.format("rate").load()
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.write(stream, tmp_path / "stream")
    assert caught.value.code == "write.stream"
    for name in ("new", "format", "stream"):
        assert not dr.is_table(tmp_path / name)
    # a task that Spark kills before its result arrives leaves its file to VACUUM
    assert not list((tmp_path / "new").rglob("*"))
    assert not (tmp_path / "stream").exists()
    # columns that would have been added
    dr_spark.write(spark.range(2), tmp_path / "there")
    wider = failing.selectExpr("id", "id AS more")
    with pytest.raises(Exception, match="half-way"):
        dr_spark.write(wider, tmp_path / "there", schema_mode="merge")
    assert dr.Table(tmp_path / "there").snapshot().schema.names == ["id"]


def test_a_table_appears_with_its_first_rows(spark: Any, tmp_path: Path) -> None:
    dr_spark.register(spark)
    rows = spark.sql("SELECT id, id % 2 AS p FROM range(4)")
    mapped = {"delta.columnMapping.mode": "name", "delta.enableRowTracking": "true"}
    for name, write in {
        "write": lambda path: dr_spark.write(
            rows, path, partition_columns=["P"], properties=mapped, txn=("a", 1)
        ),
        "format": lambda path: (
            rows.write.format("deltareplay").option("partitionBy", "p").mode("append").save(path)
        ),
        "overwrite": lambda path: dr_spark.write(
            rows, path, mode="overwrite", partition_columns=["p"], schema_mode="merge"
        ),
        "empty": lambda path: (
            rows.limit(0).write.format("deltareplay").option("partitionBy", "p").mode("append")
        ).save(path),
    }.items():
        path = str(tmp_path / name)
        write(path)
        table = dr.Table(path)
        assert table.history().column("operation").to_pylist() == ["WRITE"]
        assert table.snapshot().partition_columns == ["p"]
        theirs = spark.read.format("delta").load(path)
        assert theirs.count() == (0 if name == "empty" else 4)
        assert dr_spark.read(spark, path).count() == theirs.count()
        assert not table.verify().findings
    assert dr.Table(tmp_path / "write").snapshot().transactions == {"a": 1}
    more = spark.sql("SELECT id, id % 2 AS p, 'x' AS extra FROM range(4)")
    assert dr_spark.write(more, tmp_path / "write", schema_mode="merge").version == 1
    assert dr_spark.write(more, tmp_path / "write", txn=("a", 1)).version is None
    assert spark.read.format("delta").load(str(tmp_path / "write")).count() == 8


NESTED = """SELECT id, array(named_struct('a', id, 'b', array('x'))) AS items,
map('k', named_struct('n', id)) AS by_key, named_struct('m', map(1, array(id))) AS deep
FROM range(3)"""


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_arrays_and_maps_with_every_mapping(spark: Any, tmp_path: Path, mode: str) -> None:
    rows = spark.sql(NESTED)
    path = tmp_path / "t"
    dr_spark.write(rows, path, properties={"delta.columnMapping.mode": mode})
    dr_spark.write(spark.sql("SELECT 9L AS id"), path)  # lacks every column of arrays and maps
    expected = [*rows.collect(), (9, None, None, None)]
    for frame in (spark.read.format("delta").load(str(path)), dr_spark.read(spark, path)):
        assert sorted(map(tuple, frame.collect())) == sorted(map(tuple, expected))
