"""``spark.read.format("deltareplay")``: the rows that delta-spark reads, by Python workers."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.support import rows_cases
from spark.support.settings import conf
from spark.test_read import arrow
from spark.test_rows import lines

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.format import pushdown, source

pytestmark = pytest.mark.spark
CASES = rows_cases.some_cases()


@pytest.fixture(scope="module", autouse=True)
def registered(spark: Any) -> None:
    dr_spark.register(spark)


def load(spark: Any, path: object, **options: Any) -> Any:
    reader = spark.read.format("deltareplay")
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load(str(path))


@pytest.mark.parametrize("rows", CASES, ids=str)
def test_conformance_suite(spark: Any, rows: rows_cases.Rows) -> None:
    def read(table: dr.Table, version: int) -> pa.Table:
        path = table.uri.removeprefix("file://")
        with conf(spark, spark__sql__readSideCharPadding="false"):  # as the suite was read
            return arrow(load(spark, path, versionAsOf=version, allowedRoots="/"))

    assert rows_cases.check(rows.few(), read)


def test_time_travel(spark: Any, tables: Any) -> None:
    path = tables("changed_with_vectors")
    table = dr.Table(path)
    expected = lines(table.snapshot(version=2).scan().to_arrow())
    assert lines(load(spark, path, versionAsOf=2).toArrow()) == expected
    timestamp = table.snapshot(version=2).timestamp + dt.timedelta(milliseconds=1)
    by_time = load(spark, path, timestampAsOf=timestamp.isoformat())
    assert lines(by_time.toArrow()) == expected


def test_sql_and_a_narrow_schema(spark: Any, tables: Any) -> None:
    path = tables("changed_with_vectors")
    scan = dr.Table(path).snapshot().scan(["s", "id"])
    narrow = spark.read.format("deltareplay").schema("S string, id bigint").load(str(path))
    assert narrow.columns == ["S", "id"]
    result = narrow.toArrow().rename_columns(["s", "id"])
    assert lines(result) == lines(scan.to_arrow())
    with pytest.raises(Exception, match="the column id has the type bigint, not string") as caught:
        spark.read.format("deltareplay").schema("s string, id string").load(str(path)).collect()
    assert "option.schema" in str(caught.value)
    load(spark, path).createOrReplaceTempView("by_format")
    result = spark.sql("SELECT count(*) AS n FROM by_format WHERE id > 100").first().n
    assert result == dr.Table(path).snapshot().scan(filter="id > 100").count()
    spark.catalog.dropTempView("by_format")


def test_filters_are_pushed(spark: Any, tables: Any, tmp_path: Path) -> None:
    """Files without matching rows are not even opened: here they are deleted."""
    target = "p = 1 AND id > 3000 AND s IN ('m', 'x')"
    expected = dr.Table(tables("changed_with_vectors")).snapshot().scan(filter=target).to_arrow()
    path = tmp_path / "t"
    shutil.copytree(tables("changed_with_vectors"), path)
    for file in path.glob("p=0/*.parquet"):
        file.unlink()
    with conf(spark, spark__sql__python__filterPushdown__enabled="true"):
        dr_spark.register(spark)
        assert lines(load(spark, path).where(target).toArrow()) == lines(expected)
    dr_spark.register(spark)
    with pytest.raises(Exception, match="p=0"):
        load(spark, path).where(target).collect()


def test_filters_of_spark_become_comparisons() -> None:
    from pyspark.sql import datasource

    for filter, expected in [
        (datasource.EqualTo(("p",), 1), ("`p`", "=", 1)),
        (datasource.GreaterThanOrEqual(("a", "b.c"), "x"), ("`a`.`b.c`", ">=", "x")),
        (datasource.In(("p",), (1, 2)), ("`p`", "in", [1, 2])),
        (datasource.In(("p",), (1, None)), None),
        (datasource.IsNull(("p",)), ("`p`", "=", None)),
        (datasource.IsNotNull(("p",)), ("`p`", "!=", None)),
        (datasource.LessThan(("t",), dt.datetime(2024, 1, 1)), None),
        (datasource.Not(datasource.EqualTo(("p",), 1)), None),
        (datasource.StringStartsWith(("p",), "x"), None),
    ]:
        assert pushdown.comparison(filter) == expected


def test_pushed_filters_skip_files(tables: Any) -> None:
    from pyspark.sql.types import StructType

    path = str(tables("changed_with_vectors"))
    options = {"path": path}
    schema: StructType = source.schema(options, 3)

    def files(pushed: list[Any]) -> int:
        return sum(len(split.paths) for split in source.splits(options, 3, schema, pushed))

    assert 0 < files([("`p`", "=", 1), ("`id`", ">", 3000)]) < files([])


def test_extra_columns(spark: Any, tables: Any) -> None:
    path = tables("tracked")
    frame = load(spark, path, withRowId=True, withFilePath=True, withRowIndex=True)
    scan = (
        dr.Table(path).snapshot().scan(with_row_id=True, with_file_path=True, with_row_index=True)
    )
    assert frame.columns == scan.schema.names
    assert lines(frame.toArrow()) == lines(scan.to_arrow())


def test_a_column_with_the_name_of_an_extra_column(spark: Any, tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, pa.schema([("id", pa.int64()), ("_file_path", pa.string())]))
    table.append([{"id": 1, "_file_path": "mine"}])
    frame = load(spark, tmp_path)
    assert lines(frame.toArrow()) == lines(table.snapshot().scan().to_arrow())


def test_invalid_options_are_refused(spark: Any, tables: Any) -> None:
    path = str(tables("plain"))
    for options, code in [
        ({"path": path, "versionOf": "1"}, "option.unknown"),
        ({}, "option.path"),
        ({"path": path, "versionAsOf": "one"}, "option.number"),
    ]:
        with pytest.raises(dr.InvalidArgumentError) as caught:
            source.schema(options, None)
        assert caught.value.code == code
    with pytest.raises(Exception, match="reading takes no option versionof"):
        load(spark, path, versionOf="1").collect()
    with pytest.raises(Exception, match="reading takes no option mergeschema: it takes"):
        load(spark, path, mergeSchema="true")
    with pytest.raises(Exception, match="VersionNotFoundError"):
        load(spark, path, versionAsOf="99").collect()


def test_options_of_the_storage_stay_hidden(spark: Any, tables: Any) -> None:
    frame = load(spark, tables("plain"), **{"storage.aws_secret_access_key": "hush-hush"})
    text = frame._jdf.queryExecution().toString() + repr(frame) + frame.schema.json()
    assert "hush-hush" not in text
    assert frame.count()


def test_options_of_a_stream_are_hidden_by_the_documented_setting(spark: Any, tables: Any) -> None:
    reader = spark.readStream.format("deltareplay")
    frame = reader.option("storage.azure_storage_account_key", "hush-hush").load(
        str(tables("plain"))
    )
    with conf(spark, spark__sql__redaction__options__regex="(?i)url|storage"):
        text = frame._jdf.queryExecution().toString()
    assert "azure_storage_account_key=" in text
    assert "hush-hush" not in text


def test_spark_before_4_is_refused() -> None:
    class Session:
        version = "3.5.4"

        def createDataFrame(self) -> None: ...

    with pytest.raises(dr.UnsupportedFeatureError, match=r"deltareplay\.spark\.read") as caught:
        dr_spark.register(Session())  # type: ignore[arg-type]
    assert caught.value.code == "spark.data_source"


def test_an_executor_without_the_wheel_is_reported(spark: Any, tmp_path: Path) -> None:
    import subprocess

    from pyspark import cloudpickle
    from pyspark.sql.types import StructType

    from deltareplay.spark.format.data_source import DeltaReplayDataSource

    spark.range(3).write.format("delta").save(str(tmp_path / "t"))
    source = DeltaReplayDataSource({"path": str(tmp_path / "t")})
    reader = source.reader(StructType().add("id", "long"))
    (tmp_path / "sent").write_bytes(cloudpickle.dumps((reader, reader.partitions()[0])))
    code = (
        "import pickle, sys; sys.modules['deltareplay'] = None; "
        f"reader, part = pickle.loads(open({str(tmp_path / 'sent')!r}, 'rb').read()); "
        "next(reader.read(part))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "has no deltareplay in" in done.stderr
    assert f"install deltareplay=={dr.__version__} there" in done.stderr
