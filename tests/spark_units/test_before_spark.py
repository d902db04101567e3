"""Decisions of ``deltareplay.spark`` before it uses Spark; without a session."""

from __future__ import annotations

import json
import re
import types
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay._protocol.schema import Array
from deltareplay.spark.scan import by_paths
from deltareplay.spark.scan.files import _PLAIN, Files, located
from deltareplay.spark.scan.frame import check_types, materialized_columns
from deltareplay.spark.scan.partition_values import constants
from deltareplay.spark.schema.fields import Column, columns_of
from deltareplay.spark.session import capabilities
from deltareplay.spark.storage.credentials import HadoopCredentials
from deltareplay.spark.storage.hadoop_path import hadoop_root

NO_SESSION: Any = None


class OldSession:
    version = "3.4.1"

    def createDataFrame(self) -> None:
        raise AssertionError("never asked")


def raises(code: str, kind: type[dr.DeltaReplayError], call: Any) -> dr.DeltaReplayError:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.code == code
    return caught.value


def test_unsupported_sessions_are_refused() -> None:
    raises("argument.session", dr.InvalidArgumentError, lambda: dr_spark.read("t", "t"))
    error = raises(
        "spark.version", dr.UnsupportedFeatureError, lambda: capabilities.check(OldSession())
    )
    assert "3.4.1" in str(error)
    assert "3.5" in str(error)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("file:///a%20b/c%2525", "file:///a b/c%25"),
        ("s3://bucket/t/", "s3a://bucket/t"),
        ("abfss://c@x.dfs.core.windows.net/t", "abfss://c@x.dfs.core.windows.net/t"),
        ("gs://b/t", "gs://b/t"),
    ],
)
def test_roots_are_spelled_as_in_hadoop(uri: str, expected: str) -> None:
    assert hadoop_root(uri) == expected


@pytest.mark.parametrize("name", ["_b", ".b", ".b=1", "b._COPYING_"])
def test_names_that_sparks_reader_hides_are_refused(name: str) -> None:
    table = pa.table({"p": ["file:/t/_a=1", f"file:/t/{name}"], "n": [1, 1]})
    files = Files("file:/t", table["p"], table["n"], table["n"], HadoopCredentials())
    error = raises(
        "spark.hidden_file",
        dr.UnsupportedFeatureError,
        lambda: by_paths.frame(NO_SESSION, files, [], False),
    )
    assert error.path == f"file:/t/{name}"


@pytest.mark.parametrize(
    ("path", "expected"),
    [  # as Hadoop's Path(...).toUri().toString() has them
        ("file:///t/a b/%20%", "file:/t/a%20b/%2520%25"),
        ("file:/t/x=1,c:d;e+f@g!h~i*j'k(l)m&n$o-_.", "file:/t/x=1,c:d;e+f@g!h~i*j'k(l)m&n$o-_."),
        ('file:/t/"#<>?[]\\^`{|}', "file:/t/%22%23%3C%3E%3F%5B%5D%5C%5E%60%7B%7C%7D"),
        ("file:/t/ä猫", "file:/t/ä猫"),
        ("file:/t/a\u00a0b\u0085c\x7f\u2000", "file:/t/a%C2%A0b%C2%85c%7F%E2%80%80"),
        ("s3a://bucket/t/a b", "s3a://bucket/t/a%20b"),
    ],
)
def test_paths_are_spelled_as_in_sparks_metadata(path: str, expected: str) -> None:
    assert by_paths.as_metadata_path(path) == expected


def test_roots_that_spark_cannot_read_are_refused() -> None:
    for uri in ("memory://m/t", "az://c/t", "https://x/t"):
        error = raises("spark.root", dr.InvalidArgumentError, lambda uri=uri: hadoop_root(uri))
        assert "root=" in str(error)


def test_paths_are_resolved(tmp_path: Path) -> None:
    table = dr.Table(tmp_path)
    base = hadoop_root(table.uri)

    def resolved(*paths: str) -> list[str]:
        listing = pa.table(
            {"path": list(paths), "size": [1] * len(paths), "modificationTime": [0] * len(paths)}
        )
        return located(NO_SESSION, table, listing, None).paths.to_pylist()

    assert resolved("a/b.parquet", "c") == [f"{base}/a/b.parquet", f"{base}/c"]
    others = ["p=a%20b/x", "p=%2541", "./a", f"{table.uri}/y", "ä"]
    assert resolved(*others) == [f"{base}/{name}" for name in ("p=a b/x", "p=%41", "a", "y", "ä")]
    for bad in ("../x", "a/../../x", "/etc/passwd", "s3://b/x", "a/%2e%2e/%2e%2e/x"):
        with pytest.raises(dr.CorruptTableError) as caught:
            resolved("good", bad)
        assert caught.value.path == bad


def test_links_out_of_allowed_roots_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "away").mkdir()
    (tmp_path / "t" / "p=1").symlink_to(tmp_path / "away")
    (tmp_path / "away" / "x.parquet").touch()
    listing = pa.table(
        {"path": ["p=1/x.parquet", "missing"], "size": [1, 1], "modificationTime": [0, 0]}
    )
    for roots in (None, [str(tmp_path / "away")]):
        table = dr.Table(tmp_path / "t", allowed_roots=roots)
        assert len(located(NO_SESSION, table, listing, None)) == 2
    with pytest.raises(dr.CorruptTableError) as caught:
        located(NO_SESSION, dr.Table(tmp_path / "t", allowed_roots=[]), listing, None)
    assert (caught.value.code, caught.value.path) == ("path.escapes_root", "p=1/x.parquet")


@pytest.mark.parametrize(
    "path", ["..", "a/..", ".", "./a", "/a", "a//b", "a%20b", "x:y", "", "a\\b"]
)
def test_paths_that_the_core_must_resolve_are_not_plain(path: str) -> None:
    assert not re.search(_PLAIN, path)


def hour_in(zone: str, text: str) -> int:
    """Return the hour since the epoch of a partition value in a session with this zone."""
    listing = pa.table(
        {
            "partitionValues": pa.array([[("t", text)]], pa.map_(pa.string(), pa.string())),
            "partitionValues_parsed": pa.StructArray.from_arrays(
                [pa.array([0], pa.timestamp("us", "UTC"))], names=["t"]
            ),
        }
    )
    column = Column("t", "t", "timestamp", "timestamp", {}, True)
    [result] = constants(listing, [column], zone)
    [micros] = result.values.cast(pa.int64()).to_pylist()
    return int(micros) // (3600 * 10**6)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("1970-01-01 00:00:00", 8),
        ("1970-01-01", 8),
        ("1970-1-1", 8),
        ("1970-01-01T00:00:00.000000Z", 0),
        ("1970-01-01T00:00:00Z ", 0),
        ("1970-01-01 00:00:00 UTC", 0),
        ("1970-01-01 00:00:00+00:00", 0),
        ("1970-01-01 00:00+00", 0),
        ("1970-01-01 00:00:00.5 -0", 0),
    ],
)
def test_timestamps_without_a_zone_are_those_of_the_session(text: str, hour: int) -> None:
    assert hour_in("America/Los_Angeles", text) == hour
    assert hour_in("Etc/UTC", text) == 0


def test_an_unknown_time_zone_is_refused() -> None:
    error = raises(
        "spark.time_zone",
        dr.UnsupportedFeatureError,
        lambda: hour_in("Mars/Olympus", "1970-01-01 00:00:00"),
    )
    assert "Mars/Olympus" in str(error)


def test_row_tracking_without_its_columns_is_refused() -> None:
    snapshot: Any = types.SimpleNamespace(properties={"delta.enableRowTracking": "true"}, version=3)
    error = raises(
        "spark.row_tracking", dr.UnsupportedFeatureError, lambda: materialized_columns(snapshot)
    )
    assert error.version == 3


def snapshot_of(*fields: dict[str, Any], **properties: str) -> Any:
    schema = json.dumps({"type": "struct", "fields": list(fields)})
    return types.SimpleNamespace(schema_json=schema, properties=properties, partition_columns=["P"])


def test_types_that_spark_lacks_are_named() -> None:
    inner = {"type": "array", "elementType": "timestamp_nanos", "containsNull": True}
    error = raises(
        "spark.type",
        dr.UnsupportedFeatureError,
        lambda: columns_of(snapshot_of({"name": "g", "type": inner})),
    )
    assert "g.element" in str(error)
    assert "columns=" in str(error)


def test_geospatial_types_are_binary() -> None:
    inner = {"type": "array", "elementType": "geography(OGC:CRS84, karney)", "containsNull": True}
    columns = columns_of(
        snapshot_of({"name": "g", "type": "geometry(EPSG:3857)"}, {"name": "l", "type": inner})
    )
    assert [column.logical_type for column in columns] == ["binary", Array("binary")]
    assert [column.physical_type for column in columns] == [
        column.logical_type for column in columns
    ]


def test_types_of_spark_4_are_refused_in_older_versions() -> None:
    old: Any = types.SimpleNamespace(version="3.5.7")
    change = {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}
    wide = {"name": "w", "type": "long", "metadata": change}
    for field, message in (
        (wide, "w had a narrower type"),
        ({"name": "v", "type": "variant"}, "v is of"),
    ):
        columns = columns_of(snapshot_of(field))
        check_types(types.SimpleNamespace(version="4.0.1"), columns)  # type: ignore[arg-type]
        error = raises(
            "spark.too_old",
            dr.UnsupportedFeatureError,
            lambda columns=columns: check_types(old, columns),
        )
        assert message in str(error)


def test_physical_names_of_mapped_columns() -> None:
    mapping = {"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "col-1"}
    field = {"name": "a", "type": "long", "metadata": {**mapping, "comment": "c"}}
    part = {"name": "p", "type": "string", "metadata": {}}
    [plain, partition] = columns_of(snapshot_of(field, part))
    assert (plain.physical, partition.is_partition) == ("a", True)
    [mapped, _] = columns_of(snapshot_of(field, part, **{"delta.columnMapping.mode": "name"}))
    assert (mapped.physical, mapped.metadata) == ("col-1", {"comment": "c"})
    [by_id, _] = columns_of(snapshot_of(field, part, **{"delta.columnMapping.mode": "id"}))
    assert by_id.metadata == {"comment": "c", "parquet.field.id": 7}
