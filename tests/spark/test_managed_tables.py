"""Tables whose commits a catalog manages, in Spark: the driver queries it, executors read files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from support.unity_server import UnityServer

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.catalogs import UnityCatalog
from deltareplay.spark import DeltaTable

pytestmark = pytest.mark.spark
NAME = "main.sales.orders"


@pytest.fixture
def table(server: UnityServer) -> dr.Table:
    """A table of four rows in two files."""
    unity = UnityCatalog(server.uri, "secret", timeout=5)
    properties = {"delta.enableChangeDataFeed": "true"}
    created = dr.create_table(
        NAME, pa.schema([("id", pa.int64())]), properties=properties, catalog=unity
    )
    created.append({"id": [0, 1]})
    created.append({"id": [2, 3]})
    return dr.Table.from_name(NAME, unity)


def rows(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.collect())


def latest(server: UnityServer) -> int:
    result = server.table(NAME)["latest-table-version"]
    assert isinstance(result, int)
    return result


def test_reads_and_statements(spark: Any, server: UnityServer, table: dr.Table) -> None:
    assert rows(dr_spark.read(spark, table)) == [0, 1, 2, 3]
    dr_spark.write(spark.range(4, 6), table)
    dr_spark.delete(spark, table, "id = 1")
    dr_spark.update(spark, table, "id = 2", {"id": "id + 10"})
    merge = dr_spark.merge(spark, table, spark.range(5, 8), "target.id = source.id")
    merge.when_matched_delete().when_not_matched_insert_all().execute()

    assert latest(server) == 6
    assert rows(dr_spark.read(spark, table)) == [0, 3, 4, 6, 7, 12]
    assert rows(dr_spark.read(spark, table, version=2)) == [0, 1, 2, 3]
    assert dr_spark.changes(spark, table, 4, 4).count() == 1
    assert dr_spark.history(spark, table).count() == 7


def test_maintenance_that_a_managed_table_allows(
    spark: Any, server: UnityServer, table: dr.Table
) -> None:
    files = dr_spark.files(spark, table)
    assert files.count() == 2
    dr_spark.write_checkpoint(spark, table)
    assert dr_spark.verify(spark, table, rows=True).ok
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.vacuum(spark, table, dry_run=False)
    assert caught.value.code == "catalog.maintenance"
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.optimize(spark, table)
    assert caught.value.code == "catalog.maintenance"
    assert latest(server) == 2


def test_delta_table(spark: Any, server: UnityServer, table: dr.Table) -> None:
    result = DeltaTable.forPath(spark, table)
    result.delete("id = 0")
    result.alias("t").merge(
        spark.range(9, 10).alias("s"), "t.id = s.id"
    ).whenNotMatchedInsertAll().execute()

    assert rows(result.toDF()) == [1, 2, 3, 9]
    assert latest(server) == 4


def test_the_path_alone_is_refused(spark: Any, table: dr.Table) -> None:
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.read(spark, table.uri)
    assert caught.value.code == "catalog.required"


def test_plans_do_not_contain_the_token(spark: Any, table: dr.Table) -> None:
    for frame in (dr_spark.read(spark, table), dr_spark.files(spark, table)):
        execution = frame._jdf.queryExecution()
        plan = frame._sc._jvm.PythonSQLUtils.explainString(execution, "extended")
        assert "secret" not in plan


def test_tables_are_created_by_name(
    spark: Any, server: UnityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNITY_CATALOG_URI", server.uri)
    monkeypatch.setenv("UNITY_CATALOG_TOKEN", "secret")
    assert dr_spark.write(spark.range(3), "uc://main.sales.written").version == 0
    assert dr_spark.write(spark.range(3, 4), "uc://main.sales.written").version == 1
    assert rows(dr_spark.read(spark, "uc://main.sales.written")) == [0, 1, 2, 3]

    built = DeltaTable.create(spark).location("uc://main.sales.built").addColumn("id", "long")
    built.execute()
    assert dr_spark.write(spark.range(1), "uc://main.sales.built").version == 1
    with pytest.raises(dr.InvalidArgumentError) as caught:
        built.execute()
    assert caught.value.code == "table.exists"
    assert server.table("main.sales.built")["latest-table-version"] == 1
