"""Our results for tables of delta-spark, compared with its own at every version."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from spark.support import delta_spark_logs, references, stored
from spark.support.tiers import NIGHTLY

import deltareplay as dr

pytestmark = pytest.mark.spark


def assert_agrees(snapshot: dr.Snapshot, reference: references.Reference) -> None:
    assert snapshot.version == reference.version
    metadata, protocol = reference.metadata, reference.protocol
    assert json.loads(snapshot.schema_json) == json.loads(metadata["schemaString"])
    assert dict(snapshot.properties) == metadata["configuration"]
    assert list(snapshot.partition_columns) == metadata["partitionColumns"]
    assert snapshot.metadata.id == metadata["id"]
    assert snapshot.metadata.description == metadata.get("description")
    assert snapshot.metadata.created_time == metadata["createdTime"]
    assert snapshot.protocol.min_reader_version == protocol["minReaderVersion"]
    assert snapshot.protocol.min_writer_version == protocol["minWriterVersion"]
    for ours, theirs in [
        (snapshot.protocol.reader_features, protocol.get("readerFeatures")),
        (snapshot.protocol.writer_features, protocol.get("writerFeatures")),
    ]:
        assert (ours is None) == (theirs is None)
        assert sorted(ours or []) == sorted(theirs or [])
    files = snapshot.files().to_pylist()
    assert sorted(map(references.comparable, files)) == reference.files
    assert snapshot.num_files == len(files)
    assert snapshot.size_in_bytes == sum(row["size"] for row in reference.of("add"))
    tombstones = snapshot.tombstones().to_pylist()
    assert (
        sorted((row["path"], row["deletionTimestamp"], row["size"]) for row in tombstones)
        == reference.tombstones
    )
    assert dict(snapshot.transactions) == reference.transactions
    assert dict(snapshot.domain_metadata) == reference.domains
    assert list(snapshot.warnings) == []


@pytest.fixture(scope="module")
def references_of(
    request: pytest.FixtureRequest, tables: Any
) -> Callable[[str], list[references.Reference]]:
    """Return a function from a table's name to delta-spark's snapshots: stored, or at night new."""
    if not NIGHTLY:
        directory = request.getfixturevalue("stored_tables")
        return lambda name: stored.stored_references(directory, name)
    spark = request.getfixturevalue("spark")
    return cache(lambda name: references.references(spark, tables(name)))


@pytest.mark.parametrize("name", delta_spark_logs.TABLES)
def test_every_version_agrees_with_delta_spark(tables: Any, references_of: Any, name: str) -> None:
    path = tables(name)
    expected = references_of(name)
    assert len(expected) > 1
    for version, reference in enumerate(expected):
        result = dr.Table(path).snapshot(version=version, strict=True)
        assert_agrees(result, reference)
    assert dr.Table(path).snapshot().version == expected[-1].version


@pytest.mark.parametrize("name", delta_spark_logs.TABLES)
def test_updated_snapshots_agree_with_delta_spark(
    tables: Any, references_of: Any, name: str
) -> None:
    path = tables(name)
    newest = references_of(name)[-1]
    for version in (0, newest.version // 2, newest.version):
        result = dr.Table(path).snapshot(version=version, strict=True).update()
        assert_agrees(result, newest)


@pytest.mark.parametrize("name", delta_spark_logs.TABLES)
def test_history_agrees_with_delta_spark(spark: Any, tables: Any, name: str) -> None:
    path = tables(name)
    described = spark.sql(f"DESCRIBE HISTORY delta.`{path}`").collect()
    history = dr.Table(path).history().to_pylist()

    assert [row["version"] for row in history] == [row.version for row in described]
    for ours, theirs in zip(history, described, strict=True):
        assert ours["operation"] == theirs.operation
        assert ours["isBlindAppend"] == theirs.isBlindAppend
        assert ours["engineInfo"] == theirs.engineInfo
        assert dict(ours["operationMetrics"] or {}) == (theirs.operationMetrics or {})
        expected = theirs.timestamp.replace(tzinfo=dt.timezone.utc)
        assert abs(ours["timestamp"] - expected) < dt.timedelta(milliseconds=1)
        assert present(ours["operationParameters"]) == present(theirs.operationParameters)


def present(parameters: Any) -> dict[str, Any]:
    """Return the parameters that have a value; those that contain JSON are parsed."""
    result = {}
    for name, text in dict(parameters or {}).items():
        try:
            result[name] = json.loads(text)
        except (TypeError, ValueError):
            result[name] = text
    return {name: value for name, value in result.items() if value is not None}


@pytest.mark.parametrize("name", delta_spark_logs.TABLES)
def test_timestamps_find_the_versions_that_delta_spark_finds(
    spark: Any, tables: Any, name: str
) -> None:
    path = tables(name)
    history = dr.Table(path).history().to_pylist()
    manager = spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
        spark._jsparkSession, str(path)
    ).history()
    none = spark._jvm.scala.Option.empty()
    for row in history[:6]:
        stamp = spark._jvm.java.sql.Timestamp(round(row["timestamp"].timestamp() * 1000))
        theirs = manager.getActiveCommitAtTime(stamp, none, False, False, False)
        assert dr.Table(path).snapshot(timestamp=row["timestamp"]).version == theirs.version()


@pytest.mark.parametrize("name", ["plain", "partitioned", "vectors", "v2_json", "clustered"])
def test_files_become_a_spark_dataframe(spark: Any, tables: Any, name: str) -> None:
    snapshot = dr.Table(tables(name)).snapshot()

    frame = spark.createDataFrame(snapshot.files())

    result = sorted(row.path for row in frame.select("path").collect())
    assert result == sorted(snapshot.files(columns=["path"])["path"].to_pylist())
    assert frame.selectExpr("sum(size)").first()[0] == snapshot.size_in_bytes
    assert frame.schema["partitionValues"].dataType.simpleString() == "map<string,string>"
    assert frame.schema["deletionVector"].dataType.simpleString().startswith("struct<storageType")


@pytest.mark.parametrize("name", ["plain", "struct_stats_only", "types", "mapped_by_name"])
def test_schemas_equal_those_of_sparks_reads(spark: Any, tables: Any, name: str) -> None:
    path = tables(name)
    schema = dr.Table(path).snapshot().schema

    frame = spark.read.format("delta").load(str(path))

    assert schema.names == frame.columns
    if name != "types":  # Arrow has no variant
        from pyspark.sql.pandas.types import from_arrow_schema

        spelled = from_arrow_schema(schema, prefer_timestamp_ntz=True).simpleString()
        assert spelled == frame.schema.simpleString()


def test_tables_have_the_files_of_their_feature(tables: Any) -> None:
    """The configuration keys and properties still produce the files that the tests are about."""

    def names(name: str) -> list[str]:
        log = tables(name) / "_delta_log"
        return [str(path.relative_to(log)) for path in log.rglob("*")]

    assert any(".0000000003.parquet" in name for name in names("multipart"))
    assert any("_sidecars/" in name for name in names("v2_json"))
    assert any(name.endswith(".json") and ".checkpoint." in name for name in names("v2_json"))
    assert any(
        name.count("-") == 4 and name.endswith(".parquet") and name.startswith("000")
        for name in names("v2_parquet")
    )
    assert any(name.endswith("checkpoint.parquet") for name in names("plain"))
    assert any(name.endswith(".crc") and name.startswith("0") for name in names("plain"))
    vectors = dr.Table(tables("vectors")).snapshot(version=4).files()["deletionVector"]
    assert vectors.null_count < len(vectors)
