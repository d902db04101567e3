"""``Table.append``: values, partitions, statistics, and rows that are refused."""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs

import deltareplay as dr

UTC = datetime.timezone.utc
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

TYPES = pa.schema(
    [
        ("b", pa.bool_()),
        ("i8", pa.int8()),
        ("i16", pa.int16()),
        ("i32", pa.int32()),
        ("i64", pa.int64()),
        ("f32", pa.float32()),
        ("f64", pa.float64()),
        ("dec", pa.decimal128(20, 3)),
        ("s", pa.string()),
        ("bin", pa.binary()),
        ("d", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("ntz", pa.timestamp("us")),
        ("list", pa.list_(pa.int64())),
        ("map", pa.map_(pa.string(), pa.int64())),
        ("st", pa.struct([("x", pa.int32()), ("y", pa.string())])),
    ]
)
ROWS: list[dict[str, Any]] = [
    {
        "b": True,
        "i8": -1,
        "i16": 2,
        "i32": 3,
        "i64": 2**53 + 1,
        "f32": 0.5,
        "f64": 1.25,
        "dec": decimal.Decimal("12345678901234567.125"),
        "s": "ä",
        "bin": b"\x00",
        "d": datetime.date(2026, 1, 2),
        "ts": NOW,
        "ntz": NOW.replace(tzinfo=None),
        "list": [1, None],
        "map": [("k", 1)],
        "st": {"x": 1, "y": "z"},
    },
    dict.fromkeys(TYPES.names),
]


def sorted_rows(table: dr.Table, by: str) -> list[dict[str, Any]]:
    rows = pa.table(table.snapshot(strict=True)).to_pylist()
    return sorted(rows, key=lambda row: (row[by] is None, row[by]))


def stats_of(table: dr.Table) -> dict[str, Any]:
    [text] = table.snapshot().files(columns=["stats"])["stats"].to_pylist()
    result: dict[str, Any] = json.loads(text)
    return result


def test_every_type_is_read_back(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", TYPES)
    data = pa.Table.from_pylist(ROWS, schema=TYPES)
    assert table.append(data).version == 1

    assert sorted_rows(table, "i64") == data.to_pylist()
    stats = stats_of(table)
    assert stats["numRecords"] == 2
    expected = {
        "i8": -1,
        "i16": 2,
        "i32": 3,
        "i64": 2**53 + 1,
        "f32": 0.5,
        "f64": 1.25,
        "s": "ä",
        "d": "2026-01-02",
        "ts": "2026-01-02T03:04:05.678Z",
        "ntz": "2026-01-02T03:04:05.678",
        "st": {"x": 1, "y": "z"},
    }
    for bounds in ("minValues", "maxValues"):
        result = stats[bounds]
        assert result.pop("dec") == pytest.approx(12345678901234567.125)
        assert result == expected
    counts = dict.fromkeys(TYPES.names, 1)
    assert stats["nullCount"] == {**counts, "st": {"x": 1, "y": 1}}
    assert "12345678901234567.125" in table.snapshot().files()["stats"][0].as_py()
    peer = pytest.importorskip("deltalake").DeltaTable(table.uri)
    assert peer.to_pyarrow_table().num_rows == 2


PARTITIONS: list[tuple[pa.DataType, Any, str | None]] = [
    (pa.string(), "a b:c/ä", "a b:c/ä"),
    (pa.string(), "", ""),
    (pa.string(), None, None),
    (pa.int32(), -5, "-5"),
    (pa.bool_(), True, "true"),
    (pa.date32(), datetime.date(2026, 1, 2), "2026-01-02"),
    (pa.timestamp("us", "UTC"), NOW, "2026-01-02T03:04:05.678901Z"),
    (pa.timestamp("us"), NOW.replace(tzinfo=None), "2026-01-02 03:04:05.678901"),
    (pa.decimal128(10, 2), decimal.Decimal("1.50"), "1.50"),
    (pa.float64(), 1.0, "1.0"),
    (pa.float64(), float("inf"), "Infinity"),
    (pa.binary(), b"\x01\x02", "\x01\x02"),
]


@pytest.mark.parametrize(("kind", "value", "text"), PARTITIONS, ids=str)
def test_partition_values_are_written_as_text(
    kind: pa.DataType, value: Any, text: str | None, tmp_path: Path
) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", kind)])
    table = dr.create_table(tmp_path / "t", schema, ["p"])
    table.append(pa.table({"id": [1], "p": pa.array([value], kind)}))

    [row] = table.snapshot().files().to_pylist()
    assert dict(row["partitionValues"]) == {"p": text}
    assert row["path"].startswith("p=")
    [read] = sorted_rows(table, "id")
    assert read == {"id": 1, "p": value}
    [file] = (tmp_path / "t").rglob("*.parquet")
    assert pq.read_schema(file).names == ["id"]


def test_bytes_that_are_not_utf8_are_refused_as_partition_values(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.binary())])
    table = dr.create_table(tmp_path / "t", schema, ["p"])
    with pytest.raises(dr.InvalidArgumentError, match="not UTF-8") as caught:
        table.append([{"id": 1, "p": b"\xff"}])
    assert caught.value.code == "rows.partition"


def test_each_partition_gets_a_file(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("c", pa.string())])
    table = dr.create_table(tmp_path / "t", schema, ["c", "day"])
    days = [datetime.date(2026, 1, 1 + number % 3) for number in range(60)]
    data = pa.table({"day": days, "id": list(range(60)), "c": ["x", "y"] * 30})
    table.append(data)

    assert table.snapshot().num_files == 6
    rows = sorted_rows(table, "id")
    assert rows == [{name: row[name] for name in schema.names} for row in data.to_pylist()]
    assert table.snapshot().files(filter="day = DATE '2026-01-01' AND c = 'x'").num_rows == 1
    [info] = table.history(limit=1).to_pylist()
    assert dict(info["operationMetrics"])["numOutputRows"] == "60"
    assert info["isBlindAppend"] is True


@pytest.mark.parametrize("mode", ["name", "id"])
def test_files_have_physical_names_and_ids(mode: str, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("a b", pa.string()), ("p", pa.string())])
    table = dr.create_table(tmp_path / "t", schema, ["p"], {"delta.columnMapping.mode": mode})
    table.append(pa.table({"id": [1], "a b": ["x"], "p": ["q"]}))

    fields = json.loads(table.snapshot().schema_json)["fields"]
    physical = [field["metadata"]["delta.columnMapping.physicalName"] for field in fields]
    [file] = (tmp_path / "t").rglob("*.parquet")
    result = pq.ParquetFile(file).schema_arrow
    assert result.names == physical[:2]
    assert [result.field(name).metadata[b"PARQUET:field_id"] for name in result.names] == [
        b"1",
        b"2",
    ]
    assert set(stats_of(table)["minValues"]) == set(physical[:2])
    [row] = table.snapshot().files().to_pylist()
    assert dict(row["partitionValues"]) == {physical[2]: "q"}
    assert sorted_rows(table, "id") == [{"id": 1, "a b": "x", "p": "q"}]


@pytest.mark.parametrize(("length", "expected"), [("3", 3), ("0", 2), ("many", 2)])
def test_directories_have_random_names_of_a_length(
    length: str, expected: int, tmp_path: Path
) -> None:
    """Other writers may set any length: one that is not positive counts as the default."""
    random = {"delta.randomizeFilePrefixes": "true", "delta.randomPrefixLength": length}
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"), configuration=random)
    table = dr.Table(log.uri)
    table.append({"id": [1]})
    [path] = table.snapshot().files(["path"])["path"].to_pylist()
    directory, _ = path.split("/")
    assert len(directory) == expected
    assert table.snapshot().scan().to_arrow()["id"].to_pylist() == [1]


def test_rows_are_cast_to_the_schema(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("s", pa.string())]))
    table.append(pa.table({"ID": pa.array([1], pa.int8())}))
    table.append(pa.table({"s": pa.array(["x"]).dictionary_encode(), "id": [2]}))
    assert sorted_rows(table, "id") == [{"id": 1, "s": None}, {"id": 2, "s": "x"}]
    assert table.append(pa.table({"id": pa.array([], pa.int64())})).version is None


STRUCT = [{"x": 1}]
REFUSED = {
    "an unknown column": (pa.table({"id": [1], "st": STRUCT, "x": [1]}), "rows.column"),
    "a type that does not fit": (pa.table({"id": [[1]], "st": STRUCT}), "rows.type"),
    "text that is not an integer": (pa.table({"id": ["1.5"], "st": STRUCT}), "rows.value"),
    "a column twice": (pa.table({"id": [1], "ID": [2], "st": STRUCT}), "rows.column"),
    "a field twice": (pa.table({"id": [1], "st": [{"x": 1, "X": 2}]}), "rows.column"),
    "an unknown field": (pa.table({"id": [1], "st": [{"x": 1, "z": 2}]}), "rows.column"),
    "plain text for a number": ([{"id": "one", "st": STRUCT[0]}], "rows.value"),
    "a plain number too large": ({"id": [2**70], "st": STRUCT}, "rows.type"),
    "a value that does not fit": (
        pa.table({"id": [1], "small": [300], "st": STRUCT}),
        "rows.value",
    ),
    "a null": (pa.table({"id": [1, None], "st": STRUCT * 2}), "rows.null"),
    "a null field": (pa.table({"id": [1], "st": [{"x": None}]}), "rows.null"),
    # as delta-spark, which refuses it (DELTA_NOT_NULL_CONSTRAINT_VIOLATED)
    "a null struct with a required field": (
        pa.table({"id": [1, 2], "st": [{"x": 1}, None]}),
        "rows.null",
    ),
    "a null struct with a required field, as a dict": ([{"id": 1, "st": None}], "rows.null"),
    "a missing struct with a required field": (pa.table({"id": [1]}), "rows.null"),
    "a missing column": (pa.table({"small": [1], "st": STRUCT}), "rows.missing"),
    "a missing field": (pa.table({"id": [1], "st": [{"y": "a"}]}), "rows.missing"),
}


def files_below(table: Path) -> list[Path]:
    return [file for file in table.rglob("*") if file.is_file() and "_delta_log" not in file.parts]


@pytest.mark.parametrize("case", REFUSED)
def test_rows_that_do_not_fit_the_schema_are_refused(case: str, tmp_path: Path) -> None:
    data, code = REFUSED[case]
    part = pa.struct([pa.field("x", pa.int32(), nullable=False), ("y", pa.string())])
    schema = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), ("small", pa.int8()), ("st", part)]
    )
    table = dr.create_table(tmp_path / "t", schema)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append(data)
    assert caught.value.code == code
    assert table.snapshot().version == 0
    assert files_below(tmp_path / "t") == []


def test_the_first_row_that_is_refused_is_shown(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])
    table = dr.create_table(tmp_path / "t", schema)
    batches = [pa.record_batch({"id": [1, 2], "s": ["a", "b"]}) for _ in range(3)]
    wrong = pa.record_batch({"id": pa.array([7, None, None]), "s": ["c", "this one", "d"]})
    with pytest.raises(dr.InvalidArgumentError, match=r"row 7 .*\{id: null, s: this one\}"):
        table.append(pa.Table.from_batches([*batches, wrong]), target_file_size=1)
    assert files_below(tmp_path / "t") == []


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        ("id > 0", [1, 2], [1, 0]),
        ("id > 0", [1], [None]),
        ("id IS NOT NULL AND id < 10", [9], [10]),
        ("id in (1, 2)", [1], [3]),
    ],
)
def test_constraints_hold(
    constraint: str, good: list[int], bad: list[int | None], tmp_path: Path
) -> None:
    schema = pa.schema([("id", pa.int64())])
    properties = {"delta.constraints.mine": constraint}
    table = dr.create_table(tmp_path / "t", schema, properties=properties)
    table.append(pa.table({"id": good}))
    with pytest.raises(dr.InvalidArgumentError, match='CHECK constraint "mine"') as caught:
        table.append(pa.table({"id": pa.array(bad, pa.int64())}))
    assert caught.value.code == "rows.constraint"
    assert table.snapshot().version == 1


def test_invariants_hold(tmp_path: Path) -> None:
    rule = json.dumps({"expression": {"expression": "id < 5"}})
    field = pa.field("id", pa.int64(), metadata={"delta.invariants": rule})
    table = dr.create_table(tmp_path / "t", pa.schema([field]))
    table.append(pa.table({"id": [4]}))
    with pytest.raises(dr.InvalidArgumentError, match='invariant of the column "id"'):
        table.append(pa.table({"id": [5]}))


def test_constraints_that_cannot_be_evaluated_are_refused(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    properties = {"delta.constraints.c": "my_own_function(id) > 0"}
    table = dr.create_table(tmp_path / "t", schema, properties=properties)
    with pytest.raises(dr.UnsupportedFeatureError, match=r"my_own_function\(id\)") as caught:
        table.append(pa.table({"id": [1]}))
    assert caught.value.code == "rows.expression"
    assert files_below(tmp_path / "t") == []


def test_void_fields_cannot_be_written(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("st", pa.struct([("x", pa.null())]))])
    table = dr.create_table(tmp_path / "t", schema)
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        table.append([{"id": 1}])
    assert caught.value.code == "rows.unsupported"


def test_append_accepts_dicts(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32())])
    table = dr.create_table(tmp_path / "t", schema)
    table.append([{"id": 1}, {"id": 2, "day": datetime.date(2026, 1, 2)}])
    table.append({"ID": [3]})
    table.append(pa.record_batch({"id": [4]}))
    result = {row["id"]: row["day"] for row in pa.table(table.snapshot()).to_pylist()}
    assert result == {1: None, 2: datetime.date(2026, 1, 2), 3: None, 4: None}
    with pytest.raises(TypeError, match="list of dicts"):
        table.append("id")  # type: ignore[arg-type]


def test_streams_of_other_libraries_are_appended(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    schema = pa.schema([("id", pa.int64()), ("s", pa.string())])
    table = dr.create_table(tmp_path / "t", schema)
    table.append(polars.DataFrame({"id": [1], "s": ["x"]}))
    table.append(
        pa.RecordBatchReader.from_batches(
            schema, iter([pa.record_batch([[2], ["y"]], schema=schema)])
        )
    )
    table.append(table.snapshot().scan(filter="id = 1"))
    duckdb = pytest.importorskip("duckdb")
    table.append(duckdb.sql("SELECT 3::BIGINT AS id, 'z' AS s"))
    result = [(row["id"], row["s"]) for row in sorted_rows(table, "id")]
    assert result == [(1, "x"), (1, "x"), (2, "y"), (3, "z")]


def test_polars_columns_of_nulls(tmp_path: Path) -> None:
    """Polars exports them with a buffer that Arrow's type does not have (pola-rs/polars 22934)."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"id": [1, 2], "s": [None, None], "l": [{"x": None}, None]})
    kind = pa.struct([("x", pa.int64())])
    schema = pa.schema([("id", pa.int64()), ("s", pa.string()), ("l", kind)])
    table = dr.create_table(tmp_path / "t", schema)
    table.append(frame)
    table.overwrite(frame.slice(1))
    merge = table.merge(frame, "id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute()
    assert sorted_rows(table, "id") == [
        {"id": 1, "s": None, "l": {"x": None}},
        {"id": 2, "s": None, "l": None},
    ]


def test_a_stream_that_fails_leaves_no_files(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    table = dr.create_table(tmp_path / "t", schema)

    def batches() -> Any:
        yield pa.record_batch([list(range(1000))], schema=schema)
        raise OSError("the source is gone")

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    with pytest.raises(dr.InvalidArgumentError, match="the source is gone") as caught:
        table.append(reader, target_file_size=1)
    assert caught.value.code == "rows.source"
    assert files_below(tmp_path / "t") == []
    assert table.snapshot().version == 0


def test_rows_are_divided_by_the_target_file_size(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("p", pa.int32())]))
    data = pa.table({"id": pa.array(range(300_000)), "p": pa.array([1] * 300_000, pa.int32())})
    written = table.append(data, target_file_size=100_000)
    files = table.snapshot().files(columns=["size", "numRecords"])
    assert written.metrics["numFiles"] == files.num_rows > 2
    assert written.metrics["numOutputRows"] == 300_000
    assert written.metrics["numOutputBytes"] == sum(files["size"].to_pylist())
    assert sum(files["numRecords"].to_pylist()) == 300_000
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append(data, target_file_size=0)
    assert caught.value.code == "argument.range"


@pytest.mark.parametrize("mode", ["none", "name"])
def test_columns_are_added_if_requested(mode: str, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("st", pa.struct([("x", pa.int32())]))])
    properties = {"delta.columnMapping.mode": mode}
    table = dr.create_table(tmp_path / "t", schema, properties=properties)
    table.append([{"id": 1, "st": {"x": 1}}])
    more = pa.table({"st": [{"y": "a", "x": 2}], "id": [2], "new": [1.5]})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append(more)
    assert caught.value.code == "rows.column"
    assert table.append(more, schema_mode="merge").version == 2
    [info] = table.history(limit=1).to_pylist()
    assert dict(info["operationParameters"])["canMergeSchema"] == "true"
    assert table.append([{"id": 3}], schema_mode="merge").version == 3
    result = sorted_rows(table, "id")
    assert result == [
        {"id": 1, "st": {"x": 1, "y": None}, "new": None},
        {"id": 2, "st": {"x": 2, "y": "a"}, "new": 1.5},
        {"id": 3, "st": None, "new": None},
    ]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append(more, schema_mode="overwrite")  # type: ignore[arg-type]
    assert caught.value.code == "rows.schema_mode"


STORED = [
    (pa.array([1, 2], pa.uint8()), pa.int64(), [1, 2]),
    (
        pa.array([1, 2], pa.int64()),
        pa.decimal128(10, 2),
        [decimal.Decimal("1.00"), decimal.Decimal("2.00")],
    ),
    (pa.array([1.5], pa.float32()), pa.float64(), [1.5]),
    (pa.array([7], pa.int32()), pa.string(), ["7"]),
    (pa.array([True]), pa.string(), ["true"]),
    (
        pa.array([-1], pa.timestamp("ns")),  # rounded down, also before 1970
        pa.timestamp("us", "UTC"),
        [datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)],
    ),
    (
        pa.array([0], pa.timestamp("ms", "Europe/Berlin")),
        pa.timestamp("us", "UTC"),
        [datetime.datetime(1970, 1, 1, tzinfo=UTC)],
    ),
    (
        pa.array([0], pa.timestamp("s", "America/New_York")),
        pa.timestamp("us"),
        [datetime.datetime(1970, 1, 1)],
    ),
    (pa.array([86_400], pa.timestamp("s", "Asia/Tokyo")), pa.date32(), [datetime.date(1970, 1, 2)]),
    (pa.array([1], pa.date32()), pa.timestamp("us"), [datetime.datetime(1970, 1, 2)]),
    # the ends of Spark's types
    (pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), pa.string(), ["+5881580-07-11"]),
    (
        pa.array([-(2**63)]).cast(pa.timestamp("us", "UTC")),
        pa.string(),
        ["-290308-12-21 19:59:05.224192"],
    ),
    (pa.array(["x"], pa.large_string()), pa.string(), ["x"]),
    (pa.array(["x"], pa.string_view()), pa.string(), ["x"]),
    (pa.array([b"xy"], pa.binary(2)), pa.binary(), [b"xy"]),
    (pa.array([[1]], pa.large_list(pa.int8())), pa.list_(pa.int64()), [[1]]),
    (pa.array([None], pa.null()), pa.int64(), [None]),
    # by its decimal digits, as in Spark: the double 1.005 is slightly less
    (
        pa.array([1.005, -0.145, 2.5e-9]),
        pa.decimal128(9, 2),
        [decimal.Decimal(text) for text in ("1.01", "-0.15", "0.00")],
    ),
    (pa.array([1234567.891]), pa.decimal128(38, 18), [decimal.Decimal("1234567.891")]),
    (pa.array([0.1], pa.float32()), pa.decimal128(20, 12), [decimal.Decimal("0.100000001490")]),
    (pa.array(["a"]).dictionary_encode(), pa.string(), ["a"]),
]


@pytest.mark.parametrize(("values", "kind", "expected"), STORED, ids=str)
def test_values_are_stored_in_the_types_of_the_table(
    values: pa.Array, kind: pa.DataType, expected: list[Any], tmp_path: Path
) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("x", kind)]))
    table.append(pa.table({"x": values}))
    assert pa.table(table.snapshot())["x"].to_pylist() == expected


@pytest.mark.parametrize("number", [float("nan"), float("-inf"), 1e300, 99.995])
def test_doubles_that_no_decimal_of_the_type_is(number: float, tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("x", pa.decimal128(4, 2))]))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append(pa.table({"x": [number]}))
    assert caught.value.code == "rows.value"


def test_statistics_cover_the_chosen_columns(tmp_path: Path) -> None:
    part = pa.struct([("x", pa.int64()), ("y", pa.int64())])
    schema = pa.schema([("a", pa.int64()), ("st", part), ("b c", pa.string())])
    properties = {
        "delta.columnMapping.mode": "name",
        "delta.dataSkippingStatsColumns": "st.y, `b c`",
    }
    table = dr.create_table(tmp_path / "t", schema, properties=properties)
    table.append([{"a": 1, "st": {"x": 2, "y": 3}, "b c": "z"}, {"a": 2, "st": None, "b c": None}])
    names = {field["name"]: field for field in json.loads(table.snapshot().schema_json)["fields"]}
    physical = {
        name: field["metadata"]["delta.columnMapping.physicalName"] for name, field in names.items()
    }
    inner = names["st"]["type"]["fields"][1]["metadata"]["delta.columnMapping.physicalName"]
    bounds = {physical["st"]: {inner: 3}, physical["b c"]: "z"}
    counts = {physical["st"]: {inner: 1}, physical["b c"]: 1}
    expected = {"numRecords": 2, "minValues": bounds, "maxValues": bounds, "nullCount": counts}
    assert stats_of(table) == expected


def test_a_lost_race_leaves_no_file(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    table = dr.create_table(tmp_path / "t", schema)

    def batches() -> Any:
        yield pa.record_batch([[1]], schema=schema)
        table.add_columns(pa.schema([("new", pa.string())]))

    with pytest.raises(dr.CommitConflictError) as caught:
        table.append(pa.RecordBatchReader.from_batches(schema, batches()))
    assert caught.value.conflict == "MetadataChangedException"
    assert files_below(tmp_path / "t") == []


def test_bounds_follow_the_properties(tmp_path: Path) -> None:
    schema = pa.schema([("s", pa.string()), ("n", pa.float64()), ("x", pa.int64())])
    properties = {
        "delta.dataSkippingStringPrefixLength": "3",
        "delta.dataSkippingNumIndexedCols": "2",
        "delta.enableDeletionVectors": "true",
    }
    table = dr.create_table(tmp_path / "t", schema, properties=properties)
    table.append(pa.table({"s": ["abcdef", "xyzzy"], "n": [1.0, float("nan")], "x": [1, 2]}))
    assert stats_of(table) == {
        "numRecords": 2,
        "tightBounds": True,
        "minValues": {"s": "abc"},
        "maxValues": {"s": "xyz\x7f"},
        "nullCount": {"s": 0, "n": 0},
    }


def test_a_transaction_version_is_appended_once(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    versions = [table.append([{"id": 1}], txn=("app", number)).version for number in (1, 1, 2)]
    assert versions == [1, None, 2]
    assert table.snapshot().num_files == len(list((tmp_path / "t").rglob("*.parquet"))) == 2


def test_tracked_rows_get_ids(tmp_path: Path) -> None:
    properties = {"delta.enableRowTracking": "true"}
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), properties=properties)
    table.append(pa.table({"id": [1, 2]}))
    table.append(pa.table({"id": [3]}))
    rows = pa.table(table.snapshot().scan(with_row_id=True)).to_pylist()
    assert {row["id"]: row["_row_id"] for row in rows} == {1: 0, 2: 1, 3: 2}


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_infinities_are_bounds(kind: pa.DataType, tmp_path: Path) -> None:
    """As delta-spark 4.4 writes them.

    deltalake 1.6 loses the rows of a file that only has bounds of other columns.
    """
    path = str(tmp_path / "t")
    inf = float("inf")
    for values in ([1.0, inf], [-inf, 2.0], [float("nan"), 1.0]):
        dr.write(path, pa.table({"f": pa.array(values, kind), "id": [1, 2]}))
    snapshot = dr.Table(path).snapshot()
    stats = [json.loads(text) for text in snapshot.files(["stats"])["stats"].to_pylist()]
    bounds = [(file["minValues"].get("f"), file["maxValues"].get("f")) for file in stats]
    assert (1.0, "Infinity") in bounds
    assert ("-Infinity", 2.0) in bounds
    assert (None, None) in bounds
    for condition, count in {"f = 1": 2, "f > 5": 2, "f < 0": 1, "f = double('inf')": 1}.items():
        assert snapshot.scan(filter=condition).count() == count, condition
    deltalake = pytest.importorskip("deltalake")
    read = deltalake.DeltaTable(path).to_pyarrow_table(filters=[("f", "=", 2.0)])
    assert read["f"].to_pylist() == [2.0]


@pytest.mark.parametrize(
    ("kind", "value", "year", "rest"),
    [
        (pa.date32(), 2**31 - 1, 5_881_580, "month(v) = 7 AND day(v) = 11"),
        (pa.date32(), -(2**31), -5_877_641, "month(v) = 6 AND day(v) = 23"),
        (pa.timestamp("us", "UTC"), 2**63 - 1, 294_247, "month(v) = 1 AND hour(v) = 4"),
        (pa.date32(), 0, 1970, "quarter(v) = 1 AND dayofyear(v) = 1"),
        (pa.date32(), -1, 1969, "quarter(v) = 4 AND dayofyear(v) = 365"),
    ],
)
def test_conditions_on_years_of_any_date(
    tmp_path: Path, kind: pa.DataType, value: int, year: int, rest: str
) -> None:
    """The ends of Spark's types, as Java's calendar has them."""
    table = dr.create_table(tmp_path, pa.schema([("v", kind)]))
    table.add_constraint("c", f"year(v) = {year} AND {rest}")
    bits = pa.int32() if kind == pa.date32() else pa.int64()
    table.append(pa.table({"v": pa.array([value, None], bits).cast(kind)}).slice(0, 1))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append(pa.table({"v": pa.array([value // 2 + 9000], bits).cast(kind)}))
    assert caught.value.code == "rows.constraint"
