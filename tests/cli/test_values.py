"""Values in the output of subcommands: old and far dates, time zones, intervals, maps."""

from __future__ import annotations

import datetime
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs

import deltareplay as dr


def test_dates_in_years_that_python_lacks(run, tmp_path) -> None:
    days = pa.array([2932897, -800000], pa.date32())
    schema = pa.schema([("day", pa.date32()), ("days", pa.list_(pa.date32())), ("p", pa.date32())])
    rows = [days, pa.array([[2932897], None], schema.field("days").type), days]
    dr.create_table(tmp_path, schema, "p").append(pa.table(rows, schema))
    assert run("head", tmp_path, "--json").lines == [
        {"day": "10000-01-01", "days": ["10000-01-01"], "p": "10000-01-01"},
        {"day": "-0221-09-04", "days": None, "p": "-0221-09-04"},
    ]
    assert "10000-01-01" in run("changes", tmp_path, 1).out
    assert "p=10000-01-01" in run("partitions", tmp_path).out
    (day, *_) = run("summary", tmp_path, "--json").lines
    assert (day["min"], day["max"]) == ("-0221-09-04", "10000-01-01")


def test_timestamps_in_years_that_python_lacks(run, tmp_path) -> None:
    kind = pa.timestamp("us", "UTC")
    at = pa.array([253_402_300_800_000_000], kind)
    dr.write(tmp_path, pa.table({"at": at, "all": pa.array([at.to_numpy()], pa.list_(kind))}))
    text = "10000-01-01 00:00:00.000000Z"
    assert run("head", tmp_path, "--json").lines == [{"at": text, "all": [text]}]
    assert text in run("head", tmp_path).out
    (facts, *_) = run("summary", tmp_path, "--json").lines
    assert (facts["min"], facts["max"]) == (text, text)


def test_history_of_a_commit_in_a_year_that_python_lacks(run, log: logs.LogBuilder) -> None:
    log.commit(
        logs.commit_info(inCommitTimestamp=253_402_300_800_000),
        logs.protocol(1, 7, writer_features=["inCommitTimestamp"]),
        logs.metadata(
            logs.schema(id="long"), configuration={"delta.enableInCommitTimestamps": "true"}
        ),
    )
    assert "10000-01-01 00:00:00" in run("history", log.uri).out
    assert run("history", log.uri, "--json").lines[0]["timestamp"].startswith("10000-01-01")
    assert "10000-01-01 00:00:00" in run("watch", log.uri, "--from", 0, "--limit", 1).out


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles", "XXX+99"])
def test_times_that_the_local_zone_cannot_represent(run, tmp_path, monkeypatch, zone) -> None:
    """The last and the first second that Python has, as of rows that are valid forever."""
    ends = [
        datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.timezone.utc),
        datetime.datetime(1, 1, 1, tzinfo=datetime.timezone.utc),
    ]
    dr.write(tmp_path, pa.table({"at": pa.array(ends, pa.timestamp("us", "UTC"))}))
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        rows = run("head", tmp_path, "--json").lines
        others = [run(*verb) for verb in (("head", tmp_path, "--csv"), ("summary", tmp_path))]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [datetime.datetime.fromisoformat(row["at"]) for row in rows] == ends
    assert [done.code for done in others] == [0, 0]


def test_times_are_in_the_local_zone(run, tmp_path, monkeypatch) -> None:
    kind = pa.timestamp("us", "UTC")
    schema = pa.schema([("at", kind), ("all", pa.list_(kind)), ("p", kind)])
    at = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
    dr.create_table(tmp_path, schema, "p").append([{"at": at, "all": [at], "p": at}])
    verbs = [
        ("head", tmp_path),
        ("changes", tmp_path, 1),
        ("partitions", tmp_path),
        ("watch", tmp_path, "--rows", "--from", 1, "--limit", 1),
    ]
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        local = [run(*verb).out for verb in verbs]
        utc = [run(*verb, "--utc").out for verb in verbs]
    finally:
        monkeypatch.undo()
        time.tzset()
    num_times = [3, 3, 1, 3]
    assert [out.count("2026-01-02 09:00:00+09:00") for out in local] == num_times
    assert [out.count("2026-01-02 00:00:00+00:00") for out in utc] == num_times


def test_intervals_of_months_are_numbers(run, tmp_path) -> None:
    interval = "interval year to month"
    nested = {
        "many": {"type": "array", "elementType": interval, "containsNull": True},
        "s": {"type": "struct", "fields": [logs.field_json("x", interval)]},
        "m": {
            "type": "map",
            "keyType": "string",
            "valueType": interval,
            "valueContainsNull": True,
        },
    }
    months = pa.array([14, None, -3], pa.int32())
    entries = [[("k", 1)], [], None]
    columns = {
        "months": months,
        "many": pa.array([[1, None], [], None], pa.list_(pa.int32())),
        "s": pa.StructArray.from_arrays([months], ["x"]),
        "m": pa.array(entries, pa.map_(pa.string(), pa.int32())),
    }
    pq.write_table(pa.table(columns), tmp_path / "f")
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(months=interval, **nested), logs.add("f"))
    rows = run("head", tmp_path, "--json").lines
    assert [row["months"] for row in rows] == [14, None, -3]
    assert rows[0] == {"months": 14, "many": [1, None], "s": {"x": 14}, "m": {"k": 1}}
    assert len(run("changes", tmp_path, 0, "--json").lines) == 3
    (facts, *_) = run("summary", tmp_path, "--json").lines
    assert (facts["min"], facts["max"], facts["nulls"]) == (-3, 14, 1)


def test_maps_whose_keys_are_nested(run, tmp_path) -> None:
    key = pa.struct([("a", pa.int64())])
    schema = pa.schema([("m", pa.map_(key, pa.string())), ("n", pa.map_(pa.string(), pa.string()))])
    rows = pa.Table.from_pylist([{"m": [({"a": 1}, "x")], "n": [("k", "v")]}, {}], schema)
    dr.create_table(tmp_path, schema).append(rows)
    assert run("head", tmp_path, "--json").lines == [
        {"m": [{"key": {"a": 1}, "value": "x"}], "n": {"k": "v"}},
        {"m": None, "n": None},
    ]
    assert run("changes", tmp_path, 1).code == 0


def test_maps_within_lists_and_maps(run, tmp_path) -> None:
    inner = pa.map_(pa.string(), pa.int64())
    schema = pa.schema(
        [
            ("l", pa.list_(inner)),
            ("s", pa.list_(pa.struct([("m", inner)]))),
            ("m", pa.map_(pa.string(), inner)),
        ]
    )
    pairs = [("k", 1), ("j", None)]
    nested = {"l": [pairs, None, []], "s": [None, {"m": pairs}], "m": [("x", pairs), ("y", None)]}
    rows = pa.Table.from_pylist([{"l": [], "s": None, "m": []}, nested, {}], schema)
    dr.create_table(tmp_path, schema).append(rows)
    m = {"k": 1, "j": None}
    assert run("head", tmp_path, "--json").lines == [
        {"l": [], "s": None, "m": {}},
        {"l": [m, None, {}], "s": [None, {"m": m}], "m": {"x": m, "y": None}},
        {"l": None, "s": None, "m": None},
    ]
    assert run("head", tmp_path, "--filter", "l IS NULL", "--json").lines == [
        {"l": None, "s": None, "m": None}
    ]


@pytest.mark.parametrize(
    ("kind", "key", "as_json", "as_text"),
    [
        (pa.binary(), b"\xff", "/w==", "ff"),
        (pa.bool_(), True, "true", "true"),
        (pa.float64(), 1.5, "1.5", "1.5"),
        (pa.timestamp("us"), datetime.datetime(2026, 1, 2), "2026-01-02T00:00:00", "2026-01-02 00"),
    ],
    ids=str,
)
def test_keys_of_maps_are_formatted_as_values_are(
    run, tmp_path, kind, key, as_json, as_text
) -> None:
    maps = pa.array([[(key, 1)]], pa.map_(kind, pa.int64()))
    dr.write(tmp_path, pa.table({"m": maps}))
    assert run("head", tmp_path, "--json").lines == [{"m": {as_json: 1}}]
    assert run("head", tmp_path).out.splitlines()[-1].startswith(as_text)
