"""Geometries in Spark: WKB in binary columns, in every way of reading rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.support.settings import conf
from support import data, logs
from support.shapes import annotated, line, point

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable

pytestmark = pytest.mark.spark

HOME, AWAY, PATH = point(13.4, 52.5), point(-122.4, 37.8), line((0, 0), (3, 4), (5, 0))
SCHEMA = logs.schema(id="long", g="geometry(OGC:CRS84)", e="geography(OGC:CRS84, spherical)")


def typed(ids: list[int], g: list[bytes | None], e: list[bytes | None]) -> pa.Table:
    return pa.table(
        {
            "id": ids,
            "g": annotated(g, b'{"crs":"OGC:CRS84"}'),
            "e": annotated(e, b'{"crs":"OGC:CRS84","edges":"spherical"}'),
        }
    )


@pytest.fixture
def shapes(log: logs.LogBuilder) -> dr.Table:
    """Version 1 appends a row; version 2 removes the first file, one of whose rows is deleted."""
    rows = typed([1, 2, 3, 4], [HOME, AWAY, None, PATH], [PATH, None, HOME, AWAY])
    first = data.write(log.table, "f.parquet", rows, deleted=[0])
    vector = first["add"]["deletionVector"]
    log.create(
        SCHEMA,
        first,
        protocol_action=logs.features("geospatial", "deletionVectors"),
    )
    more = data.write(log.table, "g.parquet", typed([5], [PATH], [HOME]))
    log.commit(logs.commit_info(), more)
    log.commit(logs.commit_info(), logs.remove("f.parquet", deletion_vector=vector))
    return dr.Table(log.uri)


def as_bytes(value: Any) -> Any:
    return None if value is None else bytes(value)


def test_rows_hold_the_bytes_of_shapes(spark: Any, shapes: dr.Table) -> None:
    frame = dr_spark.read(spark, shapes.snapshot(1))

    assert [field.dataType.simpleString() for field in frame.schema] == [
        "bigint",
        "binary",
        "binary",
    ]
    rows = {row["id"]: (as_bytes(row["g"]), as_bytes(row["e"])) for row in frame.collect()}
    assert rows == {2: (AWAY, None), 3: (None, HOME), 4: (PATH, AWAY), 5: (PATH, HOME)}
    assert [row["id"] for row in frame.where("g IS NULL").collect()] == [3]
    assert frame.where("id > 3").select("g").distinct().count() == 1


def test_changes_hold_the_bytes_of_shapes(spark: Any, shapes: dr.Table) -> None:
    changes = dr_spark.changes(spark, shapes, 1).collect()

    result = {(row["_change_type"], row["id"]): as_bytes(row["g"]) for row in changes}
    assert result == {
        ("insert", 5): PATH,
        ("delete", 2): AWAY,
        ("delete", 3): None,
        ("delete", 4): PATH,
    }


def test_the_data_source_holds_the_bytes_of_shapes(spark: Any, shapes: dr.Table) -> None:
    dr_spark.register(spark)
    rows = spark.read.format("deltareplay").load(shapes.uri).collect()

    assert [(row["id"], as_bytes(row["g"]), as_bytes(row["e"])) for row in rows] == [
        (5, PATH, HOME)
    ]


def test_delta_sparks_own_types_are_read_as_wkb(spark: Any, tmp_path: Path) -> None:
    """delta-spark 4.4 writes ``geography(OGC:CRS84, SPHERICAL)``, the protocol ``spherical``."""
    types = pytest.importorskip("pyspark.sql.types")
    if not hasattr(types, "GeographyType"):
        pytest.skip("this PySpark has no types of shapes")
    settings = ("spark.sql.geospatial.enabled", "spark.databricks.delta.geo.preview.enabled")
    with conf(spark, **dict.fromkeys(settings, "true")):
        columns = "(id INT, g GEOMETRY(4326), e GEOGRAPHY(4326))"
        spark.sql(f"CREATE TABLE delta.`{tmp_path / 't'}` {columns} USING delta")
        builder = DeltaTable.create(spark).location(str(tmp_path / "ours"))
        builder = builder.addColumn("g", "geometry(4326)")
        builder = builder.addColumn("e", types.GeographyType(4326))
        with pytest.raises(dr.UnsupportedFeatureError, match="geospatial") as caught:
            builder.execute()
        assert caught.value.code == "protocol.writer_features"
    assert not (tmp_path / "ours").exists()
    snapshot = dr.Table(tmp_path / "t").snapshot()
    assert b'"edges":"spherical"' in (snapshot.schema.field("e").metadata or {}).get(
        b"ARROW:extension:metadata", b""
    )
    kinds = [field.dataType.simpleString() for field in dr_spark.read(spark, snapshot).schema]
    assert kinds == ["int", "binary", "binary"]
