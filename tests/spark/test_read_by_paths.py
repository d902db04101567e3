"""``read`` by Spark's internals (``SnapshotFiles.java``) and by its public API: the same rows.

Other tests of reads use the first, which classic sessions support. These repeat some of them with
the second, and test when each is chosen.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import pyarrow as pa
import pytest
from spark.support import delta_spark_rows, rows_cases
from spark.support.settings import conf
from spark.test_read import FILTERS, arrow, plan
from spark.test_rows import lines, versions

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay._protocol.schema import schema_json
from deltareplay.spark.scan import by_file_index, driver_classes, hidden_columns
from deltareplay.spark.storage.credentials import HadoopCredentials

pytestmark = pytest.mark.spark


@pytest.fixture
def by_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read as if the driver's JVM were not available."""
    monkeypatch.setattr("deltareplay.spark.scan.relation.is_classic", lambda _: False)


def types(rows: Any) -> str:
    """Return the schema with all values nullable."""
    return re.sub(
        r'"(nullable|containsNull|valueContainsNull)":false', r'"\1":true', rows.schema.json()
    )


@pytest.mark.usefixtures("by_paths")
@pytest.mark.parametrize("rows", rows_cases.some_cases(), ids=str)
def test_conformance_suite(spark: Any, rows: rows_cases.Rows) -> None:
    def read(table: dr.Table, version: int) -> pa.Table:
        with conf(spark, spark__sql__readSideCharPadding="false"):  # as the suite was read
            return arrow(dr_spark.read(spark, table, version=version))

    assert rows_cases.check(rows.few(), read)


@pytest.mark.parametrize("name", delta_spark_rows.ROWS)
def test_rows_and_types(
    spark: Any, tables: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tables(name)
    version = max(versions(path))
    with conf(spark, spark__sql__readSideCharPadding="false"):
        first = dr_spark.read(spark, path, version=version)
        expected = lines(arrow(first))
        monkeypatch.setattr("deltareplay.spark.scan.relation.is_classic", lambda _: False)
        other = dr_spark.read(spark, path, version=version)
        # a list of paths has only nullable columns
        assert types(first) == types(other)
        assert lines(arrow(other)) == expected


@pytest.mark.usefixtures("by_paths")
@pytest.mark.parametrize("filter", FILTERS, ids=str)
def test_filters_select_the_rows_of_a_scan(spark: Any, tables: Any, filter: Any) -> None:
    snapshot = dr.Table(tables("changed_with_vectors")).snapshot()
    ours = dr_spark.read(spark, snapshot, filter=filter).toArrow()
    assert lines(ours) == lines(snapshot.scan(filter=filter).to_arrow())


@pytest.mark.usefixtures("by_paths")
def test_extra_columns_are_those_of_a_scan(spark: Any, tables: Any) -> None:
    snapshot = dr.Table(tables("tracked")).snapshot()
    extra = {"with_row_id": True, "with_file_path": True, "with_row_index": True}
    ours = dr_spark.read(spark, snapshot, **extra).toArrow()
    assert lines(ours) == lines(snapshot.scan(**extra).to_arrow())


def test_any_failure_falls_back_with_one_warning(
    spark: Any, tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkAttributeError, UnsupportedOperationException

    path = tables("changed_with_vectors")
    whole = dr_spark.read(spark, path, version=3)
    expected = lines(whole.toArrow())
    for error in (
        Py4JError("SimpleCompiler is not whitelisted"),
        TypeError("'JavaPackage' object is not callable"),
        PySparkAttributeError("[JVM_ATTRIBUTE_NOT_SUPPORTED]"),
        UnsupportedOperationException("no compiler"),
        FileNotFoundError("SnapshotFiles.java"),
        AttributeError("_gateway"),
    ):

        def fails(spark: Any, name: str, *arguments: Any, error: Exception = error) -> Any:
            raise error

        monkeypatch.setattr(driver_classes, "new", fails)
        by_file_index._warned.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", dr.DeltaReplayWarning)
            # files with vectors and without are separate branches; both are read twice
            result = [dr_spark.read(spark, path, version=3) for _ in range(2)]
        caught = [item for item in caught if issubclass(item.category, dr.DeltaReplayWarning)]
        assert [item.filename for item in caught] == [__file__]
        assert "look up each path" in str(caught[0].message)
        assert lines(result[1].toArrow()) == expected
    by_file_index._warned.clear()


def test_a_cached_read_is_reused(spark: Any, tables: Any) -> None:
    for name, version in (("plain", 1), ("changed_with_vectors", 3)):
        path = tables(name)
        cached = dr_spark.read(spark, path, version=version).cache()
        try:
            rows = cached.count()
            again = dr_spark.read(spark, path, version=version)
            assert "InMemoryTableScan" in plan(again)
            assert again.count() == rows
            other = dr_spark.read(spark, path, version=version - 1)
            assert "InMemoryTableScan" not in plan(other), "another version"
        finally:
            cached.unpersist()


def test_an_exchange_is_reused(spark: Any, tables: Any) -> None:
    path = tables("changed_with_vectors")
    sums = [dr_spark.read(spark, path, version=1).groupBy("s").count() for _ in range(2)]
    both = sums[0].join(sums[1].withColumnRenamed("count", "again"), "s")
    with conf(spark, spark__sql__autoBroadcastJoinThreshold="-1"):
        rows = both.collect()
        text = both._jdf.queryExecution().executedPlan().toString()
    assert rows
    assert all(row["count"] == row["again"] for row in rows)
    assert "ReusedExchange" in text


def test_lists_of_files_are_compared_by_content(spark: Any) -> None:
    from deltareplay.spark.scan.files import Constant, Files

    def index(
        *, root: str = "file:/t", path: str = "a", size: int = 1, time: int = 1, n: int = 1
    ) -> Any:
        def column(value: Any) -> Any:
            return pa.chunked_array([[value]])

        constant = Constant.of(hidden_columns.VECTOR, "long", column(n))
        files = Files(
            root,
            column(f"{root}/{path}"),
            column(size),
            column(time),
            HadoopCredentials(),
            (constant,),
        )
        parse = spark._jvm.org.apache.spark.sql.types.DataType.fromJson
        return by_file_index._index(spark, files, parse(schema_json([constant.field])))

    first = index()
    assert first.equals(index())
    assert first.hashCode() == index().hashCode()
    for other in ({"root": "file:/u"}, {"path": "b"}, {"size": 2}, {"time": 2}, {"n": 2}):
        assert not first.equals(index(**other)), other
    assert not first.equals("SnapshotFiles")
