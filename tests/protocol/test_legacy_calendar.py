"""Files whose footers say that Spark used the hybrid Julian/Gregorian calendar.

The pairs of values are from the comments of Spark's ``RebaseDateTime`` and from
apache/spark#28067. The markers in footers are those that Spark's ``DataSourceUtils`` reads, in
``datetimeRebaseSpec`` and ``int96RebaseSpec``.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import data, logs

import deltareplay as dr

VERSION = "org.apache.spark.version"
ZONE = "org.apache.spark.timeZone"
DATETIME = "org.apache.spark.legacyDateTime"
INT96 = "org.apache.spark.legacyINT96"
SPARK_2 = {VERSION: "2.4.8", ZONE: "UTC"}

#: Days as stored and as rebased: 0001-01-01, 1500-03-01, the last day of the Julian calendar and
#: the next one, 2024-05-17.
DAYS = {
    -719_164: -719_162,
    -171_595: -171_605,
    -141_428: -141_438,
    -141_427: -141_427,
    19_860: 19_860,
}
#: Microseconds as stored and as rebased: 1582-01-01 00:00:00.123456 in Los Angeles, the example of
#: ``RebaseDateTime``.
LOS_ANGELES = (-12_243_196_799_876_544, -12_244_061_221_876_544)
#: A day in microseconds.
DAY = 86_400_000_000

DATES = logs.schema(id="long", d="date", t="timestamp")


def dates(days: Any = tuple(DAYS)) -> pa.Table:
    """Return ids from 0, these days, and their midnights in UTC."""
    stored = list(days)
    midnights = pa.array([day * DAY for day in stored], pa.int64())
    return pa.table(
        {
            "id": pa.array(range(len(stored)), pa.int64()),
            "d": pa.array(stored, pa.int32()).cast(pa.date32()),
            "t": midnights.cast(pa.timestamp("us", "UTC")),
        }
    )


def days_and_micros(rows: Any) -> tuple[list[int], list[int]]:
    """Return the days and the microseconds of rows, ordered by id."""
    rows = pa.table(rows).sort_by("id")
    instants = rows["t"].cast(pa.timestamp("us")).cast(pa.int64())
    return rows["d"].cast(pa.int32()).to_pylist(), instants.to_pylist()


REBASED = (list(DAYS.values()), [day * DAY for day in DAYS.values()])
STORED = (list(DAYS), [day * DAY for day in DAYS])


def table_of(
    log: logs.LogBuilder,
    meta: dict[str, str],
    rows: pa.Table | None = None,
    schema: str = DATES,
    stats: bool = True,
    **options: Any,
) -> dr.Table:
    """Create a table of one file with this metadata in its footer."""
    marked = (dates() if rows is None else rows).replace_schema_metadata(meta)
    log.create(schema, data.write(log.table, "f.parquet", marked, stats=stats, options=options))
    return dr.Table(log.uri)


def files_of(table: dr.Table) -> list[Path]:
    """Return the live files."""
    root = Path(table.uri.removeprefix("file://"))
    return [root / path for path in table.snapshot().files(["path"])["path"].to_pylist()]


# -- affected files


@pytest.mark.parametrize(
    ("meta", "datetime", "int96"),
    [
        ({}, False, False),
        # without its version, Spark uses its configuration, whose default is the current calendar
        ({DATETIME: "", INT96: "", ZONE: "UTC"}, False, False),
        ({VERSION: "2.4.8", ZONE: "UTC"}, True, True),
        ({VERSION: "3.0.1", ZONE: "UTC"}, False, True),
        ({VERSION: "3.1.0", ZONE: "UTC"}, False, False),
        ({VERSION: "3.5.0", DATETIME: "", ZONE: "UTC"}, True, False),
        ({VERSION: "4.2.0", INT96: "", ZONE: "UTC"}, False, True),
        ({VERSION: "4.2.0", DATETIME: "", INT96: "", ZONE: "UTC"}, True, True),
        # versions are compared as strings, as in Spark
        ({VERSION: "10.0.0", ZONE: "UTC"}, True, True),
        ({VERSION: "snapshot", ZONE: "UTC"}, False, False),
        ({VERSION: "", ZONE: "UTC"}, True, True),
    ],
    ids=str,
)
@pytest.mark.parametrize("deprecated", [False, True], ids=["int64", "int96"])
def test_footers_determine_the_calendar(
    log: logs.LogBuilder, meta: dict[str, str], datetime: bool, int96: bool, deprecated: bool
) -> None:
    table = table_of(log, meta, use_deprecated_int96_timestamps=deprecated)

    days, instants = days_and_micros(table.snapshot().scan().to_arrow())

    assert days == (REBASED if datetime else STORED)[0]
    assert instants == (REBASED if (int96 if deprecated else datetime) else STORED)[1]


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_instants_keep_their_local_time(log: logs.LogBuilder, unit: str) -> None:
    stored, rebased = LOS_ANGELES
    if unit == "ms":
        stored, rebased = stored // 1000 * 1000, rebased // 1000 * 1000
    times = pa.array([stored, 0, None], pa.int64()).cast(pa.timestamp("us", "UTC"))
    rows = pa.table({"t": times})
    meta = {VERSION: "3.4.1", DATETIME: "", ZONE: "America/Los_Angeles"}
    table = table_of(log, meta, rows, logs.schema(t="timestamp"), coerce_timestamps=unit)

    result = table.snapshot().scan().to_arrow()["t"].cast(pa.timestamp("us")).cast(pa.int64())

    assert result.to_pylist() == [rebased, 0, None]


def test_local_times_are_not_rebased(log: logs.LogBuilder) -> None:
    """TIMESTAMP_NTZ is newer than the legacy calendar: Spark never rebases it."""
    stored, _ = LOS_ANGELES
    rows = pa.table({"t": pa.array([stored], pa.int64()).cast(pa.timestamp("us"))})
    schema = logs.schema(t="timestamp_ntz")
    log.create(
        schema,
        data.write(log.table, "f.parquet", rows.replace_schema_metadata(SPARK_2)),
        protocol_action=logs.features("timestampNtz"),
    )

    result = dr.Table(log.uri).snapshot().scan().to_arrow()["t"].cast(pa.int64())

    assert result.to_pylist() == [stored]


def test_nested_values_are_rebased(log: logs.LogBuilder) -> None:
    struct = {"type": "struct", "fields": [logs.field_json("d", "date")]}
    schema = logs.schema(
        s=struct,
        a={"type": "array", "elementType": "date", "containsNull": True},
        m={"type": "map", "keyType": "date", "valueType": struct, "valueContainsNull": True},
    )
    date, with_date = pa.date32(), pa.struct([("d", pa.date32())])

    def rows(day: int) -> pa.Table:
        value = pa.array([day], pa.int32()).cast(date)[0]
        return pa.table(
            {
                "s": pa.array([{"d": value}, None], with_date),
                "a": pa.array([[value, None], []], pa.list_(date)),
                "m": pa.array([[(value, {"d": value})], None], pa.map_(date, with_date)),
            }
        )

    table = table_of(log, SPARK_2, rows(-171_595), schema)

    result = table.snapshot().scan().to_arrow()

    expected = rows(-171_605)
    assert result["s"].to_pylist() == expected["s"].to_pylist()
    assert result["a"].to_pylist() == expected["a"].to_pylist()
    assert result["m"].to_pylist() == expected["m"].to_pylist()


def test_shredded_variants_are_rebased(log: logs.LogBuilder) -> None:
    """Shredded dates are rebased like others; a date in a variant has the type 11, in six bits."""
    binary = pa.binary()
    parts = pa.struct([("metadata", binary), ("value", binary), ("typed_value", pa.date32())])
    shredded = {"metadata": b"\x01\x00\x00", "value": None}
    stored = pa.array([-171_595], pa.int32()).cast(pa.date32())[0]
    rows = pa.table({"v": pa.array([{**shredded, "typed_value": stored}], parts)})
    log.create(
        logs.schema(v="variant"),
        data.write(log.table, "f.parquet", rows.replace_schema_metadata(SPARK_2)),
        protocol_action=logs.features("variantType"),
    )

    [result] = dr.Table(log.uri).snapshot().scan().to_arrow()["v"].to_pylist()

    assert result["value"] == b"\x2c" + (-171_605).to_bytes(4, "little", signed=True)


# -- filters and bounds


@pytest.mark.parametrize("bounds", [True, False], ids=["bounds", "no bounds"])
@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("d = DATE '1500-03-01'", [1]),
        ("d = DATE '1500-03-11'", []),
        ("d < DATE '1500-03-02'", [0, 1]),
        ("d = DATE '1582-10-04'", [2]),
        ("t = TIMESTAMP '1500-03-01 00:00:00Z'", [1]),
        ("t < TIMESTAMP '1500-03-01 00:00:01Z'", [0, 1]),
        ("t >= TIMESTAMP '1582-10-04 00:00:00Z' AND d < DATE '1600-01-01'", [2, 3]),
    ],
)
def test_filters_use_rebased_values(
    log: logs.LogBuilder, condition: str, ids: list[int], bounds: bool
) -> None:
    """Row groups have one row, so that Parquet's bounds, if there are any, can exclude each row."""
    marked = dates().replace_schema_metadata(SPARK_2)
    options = {"write_page_index": True, "write_statistics": bounds}
    action = data.write(log.table, "f.parquet", marked, row_group_size=1, options=options)
    log.create(DATES, action)

    scan = dr.Table(log.uri).snapshot().scan(columns=["id"], filter=condition)

    assert scan.to_arrow()["id"].to_pylist() == ids
    assert scan.count() == len(ids)


def test_filters_on_instants_around_a_skipped_day(log: logs.LogBuilder) -> None:
    """Noon of the Julian 0100-02-29 becomes noon of 0100-03-01: later than the next midnight."""
    march = -682_945 * DAY  # 0100-03-01, where the difference changes in Spark's table
    times = pa.array([march - DAY // 2, march], pa.int64()).cast(pa.timestamp("us", "UTC"))
    rows = pa.table({"id": pa.array([0, 1], pa.int64()), "t": times})
    schema = logs.schema(id="long", t="timestamp")
    table = table_of(log, SPARK_2, rows, schema, write_page_index=True)

    def ids(filter: str) -> list[int]:
        return table.snapshot().scan(filter=filter).to_arrow()["id"].to_pylist()

    assert ids("t = TIMESTAMP '0100-03-01 12:00:00Z'") == [0]
    assert ids("t = TIMESTAMP '0100-03-01 00:00:00Z'") == [1]


def test_converted_files_have_rebased_bounds(log: logs.LogBuilder, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    marked = dates([-171_595, -141_428]).replace_schema_metadata(SPARK_2)
    pq.write_table(marked, files / "f.parquet")

    table = dr.convert(files)

    [stats] = map(json.loads, table.snapshot().files(["stats"])["stats"].to_pylist())
    assert (stats["minValues"]["d"], stats["maxValues"]["d"]) == ("1500-03-01", "1582-10-04")
    # timestamps may change their order where days are skipped: their bounds are unknown
    assert "t" not in stats["minValues"]
    assert stats["nullCount"]["t"] == 0
    assert days_and_micros(table.snapshot().scan().to_arrow())[0] == [-171_605, -141_438]


@pytest.mark.parametrize(
    ("kind", "text"), [("classic", True), ("classic", False), ("v2-parquet", True)]
)
def test_typed_statistics_of_checkpoints_are_rebased(
    log: logs.LogBuilder, kind: str, text: bool
) -> None:
    """Spark converts them as in data files: the stored 1500-03-11 becomes 1500-03-01."""
    stored = logs.stats(1, id=(0, 0, 0), d=("1500-03-11", "1500-03-11", 0))
    marked = dates([-171_595]).replace_schema_metadata(SPARK_2)
    file = data.write(log.table, "f.parquet", marked, stats=False)["add"]
    log.create(logs.schema(id="long", d="date"), {"add": {**file, "stats": stored}})
    drop = () if text else ("add.stats",)
    log.checkpoint(kind=kind, stats_type=log.stats_type(), drop=drop)
    for path in (log.table / "_delta_log").rglob("*.parquet"):
        checkpoint = pq.read_table(path)
        if text:
            rebased = logs.stats(1, id=(0, 0, 0), d=("1500-03-01", "1500-03-01", 0))
            # only the typed statistics are in the legacy calendar
            checkpoint = with_stats(checkpoint, rebased)
        pq.write_table(checkpoint.replace_schema_metadata(SPARK_2), path)
    log.delete_commits(1)
    snapshot = dr.Table(log.uri).snapshot()

    assert snapshot.files(["path"], filter="d = DATE '1500-03-01'").num_rows == 1
    # old bounds may be off by ten days
    assert snapshot.files(["path"], filter="d = DATE '1500-03-12'").num_rows == 0
    [stats] = map(json.loads, snapshot.files(["stats"])["stats"].to_pylist())
    assert stats["minValues"]["d"] == stats["maxValues"]["d"] == "1500-03-01"
    bounds = snapshot.files(["stats_parsed"])["stats_parsed"].to_pylist()[0]
    assert str(bounds["minValues"]["d"]) == "1500-03-01"


def with_stats(checkpoint: pa.Table, text: str) -> pa.Table:
    """Return the checkpoint with these statistics in each `add`."""
    adds = checkpoint["add"].combine_chunks()
    fields = [pa.field(field.name, field.type) for field in adds.type]
    at = adds.type.get_field_index("stats")
    parts = [adds.field(number) for number in range(len(fields))]
    parts[at] = pa.array([text if add.is_valid else None for add in adds], pa.string())
    new = pa.StructArray.from_arrays(parts, fields=fields, mask=adds.is_null())
    return checkpoint.set_column(checkpoint.column_names.index("add"), "add", new)


# -- written values


def values_without_markers(table: dr.Table) -> tuple[list[int], list[int]]:
    """Check that no live file has a marker; return the values in the files."""
    files = files_of(table)
    markers = {VERSION.encode(), DATETIME.encode(), INT96.encode()}
    for path in files:
        assert markers.isdisjoint(pq.read_metadata(path).metadata or {})
    return days_and_micros(pa.concat_tables(map(pq.read_table, files)))


def test_statements_write_rebased_dates(log: logs.LogBuilder) -> None:
    table_of(log, SPARK_2)

    def copy(name: str) -> dr.Table:
        return dr.Table(shutil.copytree(log.table, log.table.parent / name))

    updated = copy("updated")
    updated.update("id >= 0", {"id": "id"})
    assert values_without_markers(updated) == REBASED

    deleted = copy("deleted")
    deleted.delete("d = DATE '1500-03-01'")
    assert values_without_markers(deleted) == tuple(item[:1] + item[2:] for item in REBASED)

    merged = copy("merged")
    source = pa.table({"day": pa.array([-171_605], pa.int32()).cast(pa.date32())})
    merge = merged.merge(source, "d = day")
    merge.when_matched_update({"id": "id"}).execute()
    assert values_without_markers(merged) == REBASED


def test_optimize_writes_rebased_dates(log: logs.LogBuilder) -> None:
    table = table_of(log, SPARK_2)
    marked = dates().replace_schema_metadata(SPARK_2)
    log.commit(data.write(log.table, "g.parquet", marked))

    table.optimize()

    [file] = files_of(table)
    days = pq.read_table(file)["d"].cast(pa.int32()).to_pylist()
    assert sorted(days) == sorted(2 * REBASED[0])
    [stats] = map(json.loads, table.snapshot().files(["stats"])["stats"].to_pylist())
    assert stats["minValues"]["d"] == "0001-01-01"
    assert stats["minValues"]["t"].startswith("0001-01-01T00:00:00")


def test_changes_have_rebased_dates(log: logs.LogBuilder) -> None:
    table = table_of(log, SPARK_2)
    marked = dates([-171_595]).replace_schema_metadata(SPARK_2)
    log.commit(data.write(log.table, "g.parquet", marked))

    changes = table.changes(1, 1).to_arrow()

    assert changes["d"].cast(pa.int32()).to_pylist() == [-171_605]


def test_splits_read_rebased_dates(log: logs.LogBuilder) -> None:
    table = table_of(log, SPARK_2)

    batches = [batch for split in table.snapshot().scan().splits() for batch in split.to_batches()]

    assert days_and_micros(pa.Table.from_batches(batches)) == REBASED


def test_deep_clones_keep_bytes_and_markers(log: logs.LogBuilder, tmp_path: Path) -> None:
    table = table_of(log, SPARK_2)

    clone = table.clone(str(tmp_path / "clone"), shallow=False)

    assert [path.read_bytes() for path in files_of(clone)] == [
        path.read_bytes() for path in files_of(table)
    ]
    assert days_and_micros(clone.snapshot().scan().to_arrow()) == REBASED


# -- unknown time zones


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({VERSION: "2.4.8"}, "does not name"),
        ({VERSION: "2.4.8", ZONE: "Mars/Olympus"}, "'Mars/Olympus'"),
        ({VERSION: "2.4.8", ZONE: "GMT+25:00"}, "'GMT+25:00'"),
        ({VERSION: "2.4.8", ZONE: ""}, "''"),
    ],
)
@pytest.mark.parametrize("deprecated", [False, True], ids=["int64", "int96"])
def test_instants_of_unknown_zones_are_refused_and_never_written(
    log: logs.LogBuilder, meta: dict[str, str], message: str, deprecated: bool
) -> None:
    table = table_of(log, meta, use_deprecated_int96_timestamps=deprecated)

    def assert_refused(action: Any) -> None:
        with pytest.raises(dr.UnsupportedFeatureError, match="the column t") as error:
            action()
        assert error.value.code == "data.calendar"
        assert error.value.path == "f.parquet"
        assert message in str(error.value).replace('"', "'")

    assert_refused(lambda: table.snapshot().scan().to_arrow())
    assert_refused(
        lambda: table.snapshot().scan(filter="t < TIMESTAMP '1600-01-01 00:00:00Z'").count()
    )
    assert_refused(lambda: table.update("id >= 0", {"id": "id + 1"}))
    assert_refused(lambda: table.delete("id = 1"))
    assert_refused(lambda: table.changes(0, 0).to_arrow())
    assert table.snapshot().version == 0
    # dates have no time zone
    scan = table.snapshot().scan(columns=["d"], filter="d = DATE '1500-03-01'")
    assert scan.to_arrow()["d"].cast(pa.int32()).to_pylist() == [-171_605]


def test_instants_since_1900_need_no_zone(log: logs.LogBuilder) -> None:
    """Spark's tables of differences end at 1900-01-01."""
    days = [-25_567, 0, 19_860]
    table = table_of(log, {VERSION: "2.4.8"}, dates(days))

    assert days_and_micros(table.snapshot().scan().to_arrow()) == (
        days,
        [day * DAY for day in days],
    )


def test_the_environment_sets_the_zone_of_files_without_one(
    log: logs.LogBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, rebased = LOS_ANGELES
    rows = pa.table({"t": pa.array([stored], pa.int64()).cast(pa.timestamp("us", "UTC"))})
    table = table_of(log, {VERSION: "2.4.8"}, rows, logs.schema(t="timestamp"))
    monkeypatch.setenv("DELTAREPLAY_LEGACY_TIME_ZONE", "America/Los_Angeles")

    result = table.snapshot().scan().to_arrow()["t"].cast(pa.timestamp("us")).cast(pa.int64())

    assert result.to_pylist() == [rebased]
    monkeypatch.setenv("DELTAREPLAY_LEGACY_TIME_ZONE", "Mars/Olympus")
    with pytest.raises(dr.UnsupportedFeatureError, match="Mars/Olympus"):
        table.snapshot().scan().to_arrow()


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        ("UTC", 0),
        ("GMT+3", 3),
        ("GMT+03:00", 3),
        ("GMT-0330", -3.5),
        # Spark uses java.util.TimeZone, which interprets other spellings of offsets as UTC
        ("+03:00", 0),
        ("UTC+3", 0),
        ("Z", 0),
        ("PST", -8),
    ],
)
def test_zones_are_spelled_as_in_spark(log: logs.LogBuilder, zone: str, offset: float) -> None:
    """The Julian calendar ends at local midnight: one second earlier, it is 1582-10-04."""
    midnight = -141_427 * 86_400 - int(offset * 3600)
    seconds = [midnight - 1, midnight]
    times = pa.array([item * 1_000_000 for item in seconds], pa.int64())
    rows = pa.table({"t": times.cast(pa.timestamp("us", "UTC"))})
    table = table_of(log, {VERSION: "2.4.8", ZONE: zone}, rows, logs.schema(t="timestamp"))
    # the local mean time of Los Angeles is 7:52:58 behind UTC
    mean = -422 if zone == "PST" else 0

    result = table.snapshot().scan().to_arrow()["t"].cast(pa.timestamp("us")).cast(pa.int64())

    expected = [seconds[0] - 10 * 86_400 + mean, seconds[1] + mean]
    assert [micros // 1_000_000 for micros in result.to_pylist()] == expected


def test_years_before_the_first_are_rebased(log: logs.LogBuilder) -> None:
    """1 BC ends two days earlier in the Julian calendar; the earliest day is in 5,877,521 BC."""
    stored = pa.array([-719_165, -(2**31)], pa.int32()).cast(pa.date32())
    table = table_of(log, SPARK_2, pa.table({"d": stored}), logs.schema(d="date"))

    days = table.snapshot().scan().to_arrow()["d"].cast(pa.int32()).to_pylist()

    assert days == [-719_163, -(2**31) + 44_084]
