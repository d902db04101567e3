"""Entries of a Hive Metastore or of Glue, as different writers leave them."""

from __future__ import annotations

from typing import Any

import pytest

import deltareplay as dr
from deltareplay.catalogs._hive_entry import HiveEntry

ROOT = "s3://lake/orders"
SPARK = {"spark.sql.sources.provider": "delta", "spark.sql.partitionProvider": "catalog"}
PATH = {"path": ROOT, "serialization.format": "1"}
ELSEWHERE = "s3://warehouse/orders-__PLACEHOLDER__"
SYMLINKS = "org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat"
PARQUET = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
ICEBERG = {"table_type": "ICEBERG", "metadata_location": f"{ROOT}/metadata/1.json"}


def entry(location: str = ROOT, **facts: Any) -> HiveEntry:
    return HiveEntry("sales.orders", **{"kind": "EXTERNAL_TABLE", "location": location, **facts})


@pytest.mark.parametrize(
    "facts",
    {
        "Spark, in the warehouse": {"parameters": SPARK, "kind": "MANAGED_TABLE"},
        "Spark, elsewhere": {
            "parameters": SPARK,
            "serde_parameters": PATH,
            "location": ELSEWHERE,
        },
        "Spark, moved": {
            "parameters": SPARK,
            "serde_parameters": PATH,
            "location": "s3://warehouse/before",
        },
        "Trino": {
            "parameters": {"EXTERNAL": "TRUE", "spark.sql.sources.provider": "DELTA"},
            "serde_parameters": {"path": ROOT},
        },
        "Athena": {"parameters": {"EXTERNAL": "TRUE", "table_type": "DELTA"}},
        "a crawler": {
            "parameters": {"classification": "parquet", **SPARK, "table_type": "delta"},
            "serde_parameters": PATH,
            "input_format": "org.apache.hadoop.mapred.SequenceFileInputFormat",
        },
        "a classification": {"parameters": {"classification": "delta"}},
        "a provider": {"parameters": {"Provider": "Delta"}},
        "a path among its own parameters": {
            "parameters": {**SPARK, "PATH": ROOT},
            "location": ELSEWHERE,
        },
        "UniForm": {"parameters": {**SPARK, **ICEBERG}},
        "Hive's connector": {
            "parameters": {"storage_handler": "io.delta.hive.DeltaStorageHandler"}
        },
        "an unknown kind": {"kind": "", "parameters": SPARK},
        "a path without a scheme": {"parameters": SPARK, "serde_parameters": {"path": "/orders"}},
    }.items(),
    ids=lambda case: case[0],
)
def test_a_delta_table_is_found(facts: tuple[str, dict[str, Any]]) -> None:
    assert entry(**facts[1]).root() == ROOT


@pytest.mark.parametrize(
    ("location", "root"),
    {
        "s3a://lake/a": "s3a://lake/a",
        "s3n://lake/a": "s3://lake/a",
        "S3N://lake/a": "s3://lake/a",
        "s3://lake/day=2026%3A01/é b": "s3://lake/day=2026%253A01/é b",
        "file:/lake/a%20b": "file:/lake/a%2520b",
        "/lake/a%20b": "/lake/a%20b",
        "hdfs://names/lake/a": "hdfs://names/lake/a",
        "abfss://c@a.dfs.core.windows.net/a": "abfss://c@a.dfs.core.windows.net/a",
    }.items(),
)
def test_a_hadoop_path_becomes_a_uri(location: str, root: str) -> None:
    assert entry(location, parameters=SPARK).root() == root


@pytest.mark.parametrize("location", ["dbfs:/lake/a", "viewfs://lake/a", "maprfs:/lake/a"])
def test_an_unreadable_location_has_a_remedy(location: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.Table(entry(location, parameters=SPARK).root())
    assert caught.value.code == "uri.scheme"


@pytest.mark.parametrize(
    ("facts", "ending"),
    [
        ({"kind": "VIRTUAL_VIEW", "location": ""}, "a view"),
        ({"kind": "VIRTUAL_VIEW", "parameters": SPARK}, "a view"),
        ({"kind": "MATERIALIZED_VIEW"}, "a view"),
        ({"parameters": ICEBERG}, "the format ICEBERG"),
        ({"parameters": {"spark.sql.sources.provider": "parquet"}}, "the format parquet"),
        ({"input_format": PARQUET}, "the format MapredParquetInputFormat"),
        ({"parameters": {"storage_handler": "org.apache.hadoop.hive.hbase.H"}}, "the format H"),
        ({}, "unknown"),
        ({"location": f"{ROOT}/_symlink_format_manifest", "input_format": SYMLINKS}, f": {ROOT}"),
        ({"location": f"{ROOT}/_symlink_format_manifest/", "parameters": SPARK}, f": {ROOT}"),
    ],
)
def test_other_tables_are_reported(facts: dict[str, Any], ending: str) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        entry(**facts).root()
    assert caught.value.code == "catalog.not_delta"
    assert "sales.orders" in str(caught.value)
    assert str(caught.value).removesuffix(", and not a Delta table").endswith(ending)


@pytest.mark.parametrize(
    "location", ["", ELSEWHERE, "orders", "hive://sales.orders", "GLUE://sales.orders"]
)
def test_a_delta_table_without_a_location_is_reported(location: str) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        entry(location, parameters=SPARK).root()
    assert caught.value.code == "catalog.no_location"
