"""Geometry and geography: WKB is returned as stored, with GeoArrow's metadata."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from support import data, logs
from support.shapes import annotated, line, point

import deltareplay as dr

duckdb = pytest.importorskip("duckdb", reason="the other engines are not installed")
pl = pytest.importorskip("polars", reason="the other engines are not installed")

HOME, AWAY, PATH = point(13.4, 52.5), point(-122.4, 37.8), line((0, 0), (3, 4), (5, 0))
CRS84 = {"crs": "OGC:CRS84", "crs_type": "authority_code"}
SPHERE = {**CRS84, "edges": "spherical"}
SCHEMA = logs.schema(id="long", g="geometry(OGC:CRS84)", e="geography(OGC:CRS84, spherical)")
ROWS = {"id": [1, 2, 3, 4], "g": [HOME, AWAY, None, PATH], "e": [PATH, None, HOME, AWAY]}
#: Bounding boxes instead of minimum and maximum, as in the RFC.
BOX = {
    "minValues": {"id": 1, "g": "POINT(-122.4 0)", "e": "POINT(-122.4 0)"},
    "maxValues": {"id": 4, "g": "POINT(13.4 52.5)", "e": "POINT(13.4 52.5)"},
    "nullCount": {"id": 0, "g": 1, "e": 1},
}


def untyped(rows: dict[str, Any] = ROWS) -> pa.Table:
    return pa.table({**rows, **{name: pa.array(rows[name], pa.binary()) for name in ("g", "e")}})


def typed(rows: dict[str, Any] = ROWS) -> pa.Table:
    return pa.table(
        {
            "id": rows["id"],
            "g": annotated(rows["g"], b'{"crs":"OGC:CRS84"}'),
            "e": annotated(rows["e"], b'{"crs":"OGC:CRS84","edges":"spherical"}'),
        }
    )


def shapes_table(log: logs.LogBuilder, *files: logs.Action, **options: Any) -> dr.Table:
    options.setdefault("protocol_action", logs.features("geospatial"))
    log.create(options.pop("schema", SCHEMA), *files, **options)
    return dr.Table(log.uri)


@pytest.fixture
def shapes(log: logs.LogBuilder) -> dr.Table:
    return shapes_table(log, data.write(log.table, "f.parquet", typed(), stats=BOX))


def geo_metadata(field: pa.Field[Any]) -> Any:
    """Return GeoArrow's metadata of a field, after checking its name."""
    assert field.type == pa.binary()
    assert field.metadata[b"ARROW:extension:name"] == b"geoarrow.wkb"
    return json.loads(field.metadata[b"ARROW:extension:metadata"])


# -- rows and types


@pytest.mark.parametrize("feature", ["geospatial", "geospatial-dev"])
@pytest.mark.parametrize("written", [untyped, typed])
def test_shapes_are_read_as_wkb(log: logs.LogBuilder, feature: str, written: Any) -> None:
    table = shapes_table(
        log,
        data.write(log.table, "f.parquet", written()),
        protocol_action=logs.features(feature),
    )
    snapshot = table.snapshot()
    rows = snapshot.scan().to_arrow()

    kinds = [
        str(column.logical_type) for column in pq.read_metadata(log.table / "f.parquet").schema
    ]
    annotations = [kind.split("(")[0] for kind in kinds]
    assert annotations == (
        ["None"] * 3 if written is untyped else ["None", "Geometry", "Geography"]
    )
    assert rows.to_pydict() == ROWS
    for schema in (snapshot.schema, rows.schema, pa.table(snapshot.scan()).schema):
        assert geo_metadata(schema.field("g")) == CRS84
        assert geo_metadata(schema.field("e")) == SPHERE


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("geometry", CRS84),
        ("geometry(EPSG:3857)", {"crs": "EPSG:3857", "crs_type": "authority_code"}),
        ("geometry(srid:5070)", {"crs": "5070", "crs_type": "srid"}),
        ("geometry(projjson:shapes.crs)", {"crs": "projjson:shapes.crs"}),
        ("geography", SPHERE),
        ("geography(OGC:CRS84)", SPHERE),
        ("geography(karney)", {**CRS84, "edges": "karney"}),
        *[(f"geography(OGC:CRS84, {e})", {**CRS84, "edges": e}) for e in ("thomas", "andoyer")],
        ("geography(OGC:CRS84,vincenty)", {**CRS84, "edges": "vincenty"}),
    ],
)
def test_every_spelling_of_a_type(log: logs.LogBuilder, type_: str, expected: object) -> None:
    file = data.write(log.table, "f.parquet", {"g": pa.array([PATH, None])})
    snapshot = shapes_table(log, file, schema=logs.schema(g=type_)).snapshot()

    assert geo_metadata(snapshot.schema.field("g")) == expected
    assert snapshot.scan().to_arrow()["g"].to_pylist() == [PATH, None]


@pytest.mark.parametrize(
    "type_",
    [
        "geometry(",
        "geometry()",
        "geometry(4326)",
        "geometry(:)",
        "geometry(OGC:CRS84",
        "geometry(OGC:CRS84))(",
        "geometry\0",
        "geography(,)",
        "geography(OGC:CRS84,)",
        "geography(OGC:CRS84, flat)",
        "geography(OGC:CRS84, karney, karney)",
        "geography(é",
        "GEOMETRY",
        "geometry" + "(" * 10_000,
    ],
)
def test_invalid_types_are_refused(log: logs.LogBuilder, type_: str) -> None:
    table = shapes_table(log, schema=logs.schema(g=type_))

    with pytest.raises(dr.CorruptTableError) as caught:
        table.snapshot()
    assert caught.value.code == "schema.type"


def test_a_reference_system_of_unusual_letters_is_quoted(log: logs.LogBuilder) -> None:
    crs = 'a:"\\,}é\x01' + "x" * 5_000
    result = shapes_table(log, schema=logs.schema(g=f"geometry({crs})")).snapshot()

    assert geo_metadata(result.schema.field("g"))["crs"] == crs


def test_nested_shapes_with_column_mapping(log: logs.LogBuilder) -> None:
    def mapped(name: str, number: int, type_: Any) -> dict[str, Any]:
        names = {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": f"col-{number}",
        }
        return {"name": name, "type": type_, "nullable": True, "metadata": names}

    many = {"type": "array", "elementType": "geography", "containsNull": True}
    keyed = {
        "type": "map",
        "keyType": "geometry(EPSG:2)",
        "valueType": "geometry(EPSG:3)",
        "valueContainsNull": True,
    }
    inner = {"type": "struct", "fields": [mapped("g", 2, "geometry")]}
    fields = [mapped("s", 1, inner), mapped("l", 3, many), mapped("m", 4, keyed)]
    shapes = annotated([HOME, None, PATH])
    rows = pa.table(
        {
            "col-1": pa.StructArray.from_arrays([shapes], names=["col-2"]),
            "col-3": pa.ListArray.from_arrays([0, 2, 2, 3], shapes),
            "col-4": pa.MapArray.from_arrays([0, 1, 1, 2], annotated([HOME, AWAY]), shapes[1:]),
        }
    )
    table = shapes_table(
        log,
        data.write(log.table, "f.parquet", rows),
        logs.add("gone"),
        logs.remove("gone"),
        schema=json.dumps({"type": "struct", "fields": fields}),
        protocol_action=logs.features("geospatial", "columnMapping"),
        configuration={"delta.columnMapping.mode": "name"},
    )
    result = table.snapshot().scan().to_arrow()

    assert result.to_pylist() == [
        {"s": {"g": HOME}, "l": [HOME, None], "m": [(HOME, None)]},
        {"s": {"g": None}, "l": [], "m": []},
        {"s": {"g": PATH}, "l": [PATH], "m": [(AWAY, PATH)]},
    ]
    kinds = [result.schema.field(name).type for name in ("s", "l", "m")]
    assert geo_metadata(kinds[0].field(0)) == CRS84
    assert geo_metadata(kinds[1].value_field) == SPHERE
    assert geo_metadata(kinds[2].key_field)["crs"] == "EPSG:2"
    assert geo_metadata(kinds[2].item_field)["crs"] == "EPSG:3"


def test_a_file_without_the_column_has_nulls(log: logs.LogBuilder) -> None:
    files = [
        data.write(log.table, "a.parquet", {"id": [9]}),
        data.write(log.table, "b.parquet", typed(), deleted=[0]),
    ]
    protocol = logs.features("geospatial", "deletionVectors")
    result = shapes_table(log, *files, protocol_action=protocol).snapshot().scan().to_arrow()

    rows = dict(zip(result["id"].to_pylist(), result["g"].to_pylist(), strict=True))
    assert rows == {9: None, 2: AWAY, 3: None, 4: PATH}


def test_a_file_of_another_type_is_refused(log: logs.LogBuilder) -> None:
    file = data.write(log.table, "f.parquet", {"id": [1], "g": [7]})
    scan = shapes_table(log, file).snapshot().scan()

    with pytest.raises(dr.CorruptTableError) as caught:
        scan.to_arrow()
    assert caught.value.code == "data.type"


# -- statistics and filters


@pytest.mark.parametrize("kind", ["commit", "classic", "v2-json", "v2-parquet"])
@pytest.mark.parametrize("of", ["text", "struct"])
def test_bounding_boxes_are_ignored(log: logs.LogBuilder, kind: str, of: str) -> None:
    boxed = {
        "text": BOX,
        "struct": {
            **BOX,
            "minValues": {"id": 1, "g": {"x": -122.4, "y": 0}, "e": {"x": -122.4, "y": 0}},
            "maxValues": {"id": 4, "g": {"x": 13.4, "y": 52.5}, "e": [13.4, 52.5]},
        },
    }[of]
    file = data.write(log.table, "f.parquet", typed(), stats=boxed)
    rows = {"id": [5], "g": [HOME], "e": [HOME]}
    other = data.write(log.table, "g.parquet", untyped(rows), stats={"nullCount": {"g": 0, "e": 0}})
    snapshot = shapes_table(log, file, other).snapshot()
    if kind != "commit":
        log.checkpoint(kind=kind)
        snapshot = dr.Table(log.uri).snapshot()

    assert len(snapshot.scan().to_arrow()) == 5
    assert snapshot.num_rows == 5
    assert snapshot.scan(filter="id >= 4").to_arrow()["g"].to_pylist() == [PATH, HOME]
    for column in ("g", "e"):
        with pytest.warns(dr.DeltaReplayWarning):
            assert snapshot.min_max(column) is None
        nulls = snapshot.scan(filter=f"{column} IS NULL")
        assert nulls.files(columns=["path"])["path"].to_pylist() == ["f.parquet"]
        assert nulls.to_arrow()["id"].to_pylist() == [ROWS["id"][ROWS[column].index(None)]]  # type: ignore[attr-defined]
        assert snapshot.scan(filter=f"{column} IS NOT NULL").count() == 4
    parsed = snapshot.files(columns=["path", "stats_parsed"]).to_pylist()
    (stats,) = [row["stats_parsed"] for row in parsed if row["path"] == "f.parquet"]
    assert stats["minValues"] == {"id": 1}
    assert stats["nullCount"] == BOX["nullCount"]


def test_typed_bounds_in_a_checkpoint_are_ignored(log: logs.LogBuilder) -> None:
    """Statistics under the name of the column may have any type."""
    box = pa.struct([("x", pa.float64()), ("y", pa.float64())])
    bounds = pa.struct([("id", pa.int64()), ("g", box), ("e", pa.string())])
    counts = pa.struct([("g", pa.int64()), ("e", pa.int64())])
    shape = pa.struct(
        [
            ("numRecords", pa.int64()),
            ("minValues", bounds),
            ("maxValues", bounds),
            ("nullCount", counts),
        ]
    )
    corner = {"id": 1, "g": {"x": 0.0, "y": 0.0}, "e": "POINT(0 0)"}
    stats = {
        "minValues": corner,
        "maxValues": {**corner, "id": 4},
        "nullCount": {"g": 1, "e": 1},
    }
    shapes_table(log, data.write(log.table, "f.parquet", typed(), stats=stats))
    log.checkpoint(stats_type=shape, drop=["add.stats"])
    log.commit(logs.add("later"), logs.remove("later"))
    log.delete_commits(below=1)
    snapshot = dr.Table(log.uri).snapshot()

    assert snapshot.scan(filter="id > 4").files().num_rows == 0
    assert snapshot.scan(filter="g IS NULL").to_arrow()["id"].to_pylist() == [3]
    assert snapshot.num_rows == 4
    with pytest.warns(dr.DeltaReplayWarning):
        assert snapshot.min_max("e") is None


@pytest.mark.parametrize(
    "filter",
    [
        "g = 'POINT(0 0)'",
        "e < X'00'",
        "g = e",
        "g IN (X'00')",
        "g BETWEEN X'00' AND X'01'",
        "g LIKE 'P%'",
        "g <=> X'00'",
        [("g", "=", HOME)],
        [("e", "in", [HOME])],
    ],
    ids=str,
)
def test_shapes_do_not_compare(shapes: dr.Table, filter: Any) -> None:
    with pytest.raises((dr.UnsupportedFeatureError, dr.InvalidArgumentError)) as caught:
        shapes.snapshot().scan(filter=filter).to_arrow()
    assert caught.value.code.startswith("filter.")
    assert "geo" in str(caught.value)


def test_a_table_is_not_partitioned_by_shapes(log: logs.LogBuilder) -> None:
    file = data.write(log.table, "f.parquet", {"id": [1]}, partition_values={"g": "POINT(0 0)"})
    snapshot = shapes_table(log, file, partition_columns=["g"]).snapshot()

    for read in (
        lambda: snapshot.scan().to_arrow(),
        lambda: snapshot.files(columns=["partitionValues_parsed"]),
        lambda: snapshot.scan(filter="g IS NULL").files(),
    ):
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            read()
        assert caught.value.code == "partition_value.type"
    assert snapshot.scan(columns=["id"]).to_arrow()["id"].to_pylist() == [1]
    assert snapshot.files(columns=["partitionValues"]).to_pylist() == [
        {"partitionValues": [("g", "POINT(0 0)")]}
    ]


# -- other interfaces


def test_changes_streams_and_splits_have_shapes(log: logs.LogBuilder) -> None:
    first = data.write(log.table, "f.parquet", typed())
    table = shapes_table(log, first)
    more = {"id": [5], "g": [PATH], "e": [HOME]}
    log.commit(logs.commit_info(), data.write(log.table, "g.parquet", typed(more)))
    log.commit(logs.commit_info(), logs.remove("f.parquet"))

    changes = table.changes(1, 2).to_arrow()
    assert geo_metadata(changes.schema.field("g")) == CRS84
    kinds = zip(changes["_change_type"].to_pylist(), changes["g"].to_pylist(), strict=True)
    assert sorted(kinds, key=str) == sorted(
        [("insert", PATH), *(("delete", g) for g in ROWS["g"])], key=str
    )
    follow = table.follow(starting_version=1, available_now=True, ignore_changes=True)
    batches = pa.concat_tables([batch.data for batch in follow])
    assert batches["g"].to_pylist() == [PATH]
    assert geo_metadata(batches.schema.field("e")) == SPHERE
    snapshot = table.snapshot(version=1)
    rows = [row for split in snapshot.scan().splits() for row in pa.table(split).to_pylist()]
    assert sorted(row["id"] for row in rows) == [1, 2, 3, 4, 5]
    assert {row["id"]: row["e"] for row in rows}[5] == HOME


def test_frames_and_engines_accept_geometries(shapes: dr.Table) -> None:
    snapshot = shapes.snapshot()

    assert snapshot.scan().to_pandas()["g"].tolist() == ROWS["g"]
    assert snapshot.scan().to_polars()["g"].to_list() == ROWS["g"]
    assert pl.DataFrame(snapshot.scan())["e"].to_list() == ROWS["e"]
    lazy = snapshot.scan().to_polars_lazy()
    assert lazy.filter(pl.col("id") > 3).collect()["g"].to_list() == [PATH]
    assert lazy.filter(pl.col("g").is_null()).collect()["id"].to_list() == [3]
    dataset = snapshot.dataset()
    assert dataset.to_table(filter=pc.field("g").is_valid())["id"].to_pylist() == [1, 2, 4]
    assert geo_metadata(dataset.schema.field("g")) == CRS84


def test_duckdb_accepts_geometry(shapes: dr.Table) -> None:
    """DuckDB does not support geography."""
    rows = shapes.snapshot().scan(columns=["id", "g"])

    result = duckdb.sql("SELECT id, typeof(g) AS kind FROM rows WHERE g IS NULL").fetchall()
    assert [number for number, _ in result] == [3]
    assert result[0][1].startswith("GEOMETRY")
    del rows


def test_registered_extension_types_are_used(shapes: dr.Table) -> None:
    pa.register_extension_type(annotated([]).type)
    try:
        rows = shapes.snapshot().scan().to_arrow()
        assert isinstance(rows.schema.field("g").type, pa.ExtensionType)
        assert rows["g"].to_pylist() == ROWS["g"]
    finally:
        pa.unregister_extension_type("geoarrow.wkb")


# -- writing


@pytest.mark.parametrize("feature", ["geospatial", "geospatial-dev"])
def test_writes_are_refused(log: logs.LogBuilder, feature: str) -> None:
    table = shapes_table(
        log,
        data.write(log.table, "f.parquet", typed()),
        protocol_action=logs.features(feature),
    )
    obstacles = table.snapshot().protocol.why_not_writable()

    assert [obstacle.feature for obstacle in obstacles] == [feature]
    for write in (
        lambda: table.append(table.snapshot().scan().to_arrow()),
        lambda: table.delete("id = 1"),
        lambda: table.set_properties({"delta.appendOnly": "true"}),
        lambda: table.optimize(),
    ):
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            write()
        assert caught.value.code == "protocol.writer_features"
        assert feature in str(caught.value)
    assert table.snapshot().version == 0


def test_rows_are_written_to_a_new_table_as_binary(shapes: dr.Table, tmp_path: Any) -> None:
    rows = shapes.snapshot().scan().to_arrow()
    dr.write(str(tmp_path / "copy"), rows)

    copy = dr.Table(str(tmp_path / "copy")).snapshot()
    assert copy.schema.field("g").type == pa.binary()
    assert copy.schema.field("g").metadata is None
    assert copy.scan().to_arrow().to_pydict() == ROWS
