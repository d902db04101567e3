"""``Table.update``: new values, row ids, the change data feed; generated columns."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs
from support.writing import MODES

import deltareplay as dr

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.float64())])


def filled(path: Path, properties: dict[str, str], partitions: list[str]) -> dr.Table:
    table = dr.create_table(path, SCHEMA, partitions, properties)
    for start in (0, 5):
        ids = range(start, start + 5)
        table.append([{"id": number, "p": "ab"[number % 2], "v": number / 2} for number in ids])
    return table


def by_id(table: dr.Table, **options: Any) -> dict[int, dict[str, Any]]:
    rows = pa.table(table.snapshot(strict=True).scan(**options)).to_pylist()
    return {row["id"]: row for row in rows}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("partitions", [[], ["p"]], ids=["plain", "partitioned"])
def test_update_evaluates_expressions(mode: str, partitions: list[str], tmp_path: Path) -> None:
    properties = {**MODES[mode], "delta.enableChangeDataFeed": "true"}
    table = filled(tmp_path / "t", properties, partitions)
    tracked = "ids" in mode
    before = by_id(table, with_row_id=True) if tracked else {}
    expected = by_id(table)

    done = table.update("id IN (1, 6) OR v > 4", {"v": "v * 10 + id", "p": "concat(p, '!')"})
    for item in (1, 6, 9):
        old = expected[item]
        expected[item] = {"id": item, "v": old["v"] * 10 + item, "p": old["p"] + "!"}
    assert by_id(table) == expected
    assert done.metrics["numUpdatedRows"] == 3
    if "copies" in mode:
        assert done.metrics["numCopiedRows"] == (4 if partitions else 7)
        files = (done.metrics["numRemovedFiles"], done.metrics["numAddedFiles"])
        assert files == ((3, 4) if partitions else (2, 1))
    else:
        assert done.metrics["numCopiedRows"] == 0
    if tracked:
        after = by_id(table, with_row_id=True)
        assert {key: row["_row_id"] for key, row in after.items()} == {
            key: row["_row_id"] for key, row in before.items()
        }
        changed = {key for key, row in after.items() if row["_row_commit_version"] == 3}
        assert changed == {1, 6, 9}
        assert after[2]["_row_commit_version"] == before[2]["_row_commit_version"]
    assert done.version is not None
    reported = table.changes(done.version, require_feed=True).to_arrow().to_pylist()
    images = sorted((row["id"], row["_change_type"], row["p"]) for row in reported)
    assert images == sorted(
        image
        for item in (1, 6, 9)
        for image in (
            (item, "update_preimage", "ab"[item % 2]),
            (item, "update_postimage", "ab"[item % 2] + "!"),
        )
    )
    assert table.update("id = 99", {"v": 0}).version is None
    assert table.update(None, {"v": None}).metrics["numUpdatedRows"] == 10
    [info] = table.history(limit=1).to_pylist()
    assert dict(info["operationParameters"]) == {"predicate": "[]"}
    assert {row["v"] for row in by_id(table).values()} == {None}


VALUES: list[tuple[pa.DataType, Any, Any]] = [
    (pa.int64(), 5, 5),
    (pa.int64(), -(2**62), -(2**62)),
    (pa.float64(), 0.1, 0.1),
    (pa.float64(), float("inf"), float("inf")),
    (pa.decimal128(10, 2), Decimal("1.5"), Decimal("1.50")),
    (pa.bool_(), True, True),
    (pa.date32(), datetime.date(2026, 1, 2), datetime.date(2026, 1, 2)),
    (
        pa.timestamp("us", "UTC"),
        datetime.datetime(2026, 1, 2, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
    ),
    (pa.timestamp("us"), datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 2)),
    (pa.string(), "'it''s'", "it's"),
    (pa.string(), 7, "7"),
    (pa.list_(pa.int64()), None, None),
    (pa.list_(pa.int64()), [1, None], [1, None]),
    (pa.list_(pa.int8()), [], []),
    (pa.list_(pa.string()), ("it's", "1 + 1"), ["it's", "1 + 1"]),
    (pa.list_(pa.list_(pa.decimal128(3, 1))), [[1], [2.5], None], [[1], [Decimal("2.5")], None]),
]


@pytest.mark.parametrize(("kind", "value", "expected"), VALUES, ids=str)
def test_plain_values(kind: pa.DataType, value: Any, expected: Any, tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("x", kind)]))
    table.append([{"id": 1}])
    table.update(None, {"x": value})
    assert by_id(table) == {1: {"id": 1, "x": expected}}


@pytest.mark.parametrize(
    ("set", "code"),
    [
        ({}, "rows.column"),
        ({"x": 1}, "rows.column"),
        ({"v": 1, "V": 2}, "rows.column"),
        ({"id": "p"}, "rows.value"),
        ({"id": "'2.5'"}, "rows.value"),
        ({"id": "DATE '2026-01-01'"}, "rows.type"),
        ({"v": "v +"}, "formula.syntax"),
        ({"v": "nothing + 1"}, "formula.column"),
        ({"v": "mine(v)"}, "formula.unsupported"),
        ({"v": "id AND true"}, "formula.type"),
        ({"v": "id / 0"}, "formula.value"),
        ({"id": "9223372036854775807 + id"}, "formula.value"),
    ],
)
def test_invalid_assignments_are_refused(set: dict[str, Any], code: str, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {}, [])
    before = sorted((tmp_path / "t").rglob("*.parquet"))
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.update("id > 0", set)
    assert caught.value.code == code
    assert table.snapshot().version == 2
    assert sorted((tmp_path / "t").rglob("*.parquet")) == before


def test_assigned_mappings_are_refused(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {}, [])
    with pytest.raises(TypeError, match="SQL string or a plain value"):
        table.update(None, {"v": {"a": 1}})  # type: ignore[dict-item]


def test_arrays_from_columns(tmp_path: Path) -> None:
    fields = [("id", pa.int64()), ("v", pa.int32()), ("x", pa.list_(pa.int64()))]
    table = dr.create_table(tmp_path / "t", pa.schema(fields))
    table.append([{"id": 1, "v": 5}, {"id": 2, "v": None}])
    table.update("id = 1", {"x": "array(id, v)"})
    table.update(None, {"x": "coalesce(x, array(id, NULL))"})
    assert {id: row["x"] for id, row in by_id(table).items()} == {1: [1, 5], 2: [2, None]}
    with pytest.raises(dr.InvalidArgumentError, match="abc") as caught:
        table.update(None, {"x": ["1", "abc"]})
    assert caught.value.code == "rows.value"


def test_constraints_hold_after_an_update(tmp_path: Path) -> None:
    properties = {"delta.constraints.c": "v + id < 100"}
    table = filled(tmp_path / "t", properties, [])
    with pytest.raises(dr.InvalidArgumentError, match='CHECK constraint "c"') as caught:
        table.update("id = 3", {"v": 97})
    assert caught.value.code == "rows.constraint"
    table.update("id = 3", {"v": 96})
    assert by_id(table)[3]["v"] == 96


def create(path: Path) -> dr.Table:
    """Create a table with a generated column and a column default."""
    day = {"delta.generationExpression": "CAST(ts AS DATE)"}
    fields = [
        pa.field("ts", pa.timestamp("us", "UTC")),
        pa.field("day", pa.date32(), metadata=day),
        pa.field("note", pa.string(), metadata={"CURRENT_DEFAULT": "'none ' || 'yet'"}),
    ]
    properties = {"delta.feature.allowColumnDefaults": "supported"}
    return dr.create_table(path, pa.schema(fields), ["day"], properties)


NOON = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.timezone.utc)


def test_generated_columns_and_defaults(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.append([{"ts": NOON}])
    table.append([{"ts": None, "note": None}])
    expected = [
        {"ts": NOON, "day": NOON.date(), "note": "none yet"},
        {"ts": None, "day": None, "note": None},
    ]
    assert pa.table(table.snapshot()).to_pylist() == expected
    assert table.append([{"ts": NOON, "day": NOON.date()}]).version == 3
    with pytest.raises(
        dr.InvalidArgumentError, match=r"generated column .*CAST\(ts AS DATE\)"
    ) as caught:
        table.append([{"ts": NOON, "day": datetime.date(2026, 1, 3)}])
    assert caught.value.code == "rows.generated"
    later = NOON + datetime.timedelta(days=1)
    table.update("ts IS NOT NULL", {"ts": later})
    days = pa.table(table.snapshot())["day"].to_pylist()
    assert sorted(days, key=str) == [later.date(), later.date(), None]


@pytest.mark.parametrize(
    ("data_type", "value", "generated"),
    [
        (pa.float64(), -0.0, 0.0),
        (pa.float64(), math.nan, -math.nan),
        (pa.struct({"a": pa.int64()}), {"a": None}, {"a": None}),
        (pa.list_(pa.float32()), [math.nan, None], [-math.nan, None]),
        (pa.map_(pa.string(), pa.int64()), [("k", 1)], [("k", 1)]),
    ],
    ids=str,
)
def test_generated_columns_may_have_all_values_that_are_equal_in_spark(
    data_type: pa.DataType, value: object, generated: object, tmp_path: Path
) -> None:
    copy = pa.field("copy", data_type, metadata={"delta.generationExpression": "x"})
    table = dr.create_table(tmp_path / "t", pa.schema([pa.field("x", data_type), copy]))
    rows = pa.Table.from_pylist([{"x": value, "copy": generated}], table.snapshot().schema)
    assert table.append(rows).version == 1
    with pytest.raises(dr.InvalidArgumentError, match='must be "x"') as caught:
        table.append(pa.Table.from_pylist([{"x": value, "copy": None}], rows.schema))
    assert caught.value.code == "rows.generated"


@pytest.mark.parametrize("expression", ["mine(ts)", "ts +", "date_format(ts, 'E')", "id"])
def test_generated_columns_that_cannot_be_computed(expression: str, tmp_path: Path) -> None:
    field = pa.field("x", pa.string(), metadata={"delta.generationExpression": expression})
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), field])
    table = dr.create_table(tmp_path / "t", schema)
    with pytest.raises(dr.UnsupportedFeatureError, match='generated column "x"') as caught:
        table.append([{"ts": NOON}])
    assert caught.value.code == "rows.expression"


def with_identity(path: Path, explicit: bool, step: int = 10) -> dr.Table:
    """Create a table with an identity column, as delta-spark declares it."""
    table = dr.create_table(path, pa.schema([("id", pa.int64()), ("s", pa.string())]))
    with logs.edited_commit(path, 0) as actions:
        for action in actions:
            if "metaData" in action:
                schema = json.loads(action["metaData"]["schemaString"])
                schema["fields"][0]["metadata"] = {
                    "delta.identity.start": 5,
                    "delta.identity.step": step,
                    "delta.identity.allowExplicitInsert": explicit,
                }
                action["metaData"]["schemaString"] = json.dumps(schema)
            if "protocol" in action:
                action["protocol"] = {"minReaderVersion": 1, "minWriterVersion": 6}
    return table


@pytest.mark.parametrize("step", [10, -10])
def test_identity_values_never_repeat(step: int, tmp_path: Path) -> None:
    """Neither after a restore nor after a clone into the table, as in delta-spark."""
    table = with_identity(tmp_path / "t", explicit=False, step=step)
    table.append([{"s": "a"}])
    table.append([{"s": "b"}, {"s": "c"}])
    table.restore(1)
    table.append([{"s": "d"}])
    assert set(by_id(table)) == {5, 5 + 3 * step}
    source = with_identity(tmp_path / "source", explicit=False, step=step)
    source.append([{"s": "x"}])
    clone = source.clone(table.uri, or_replace=True)
    clone.append([{"s": "e"}])
    assert set(by_id(clone)) == {5, 5 + 4 * step}
    source.append([{"s": str(number)} for number in range(9)])
    clone = source.clone(table.uri, or_replace=True)
    clone.append([{"s": "f"}])
    assert max(by_id(clone), key=lambda value: value * step) == 5 + 10 * step


def test_identity_values_continue(tmp_path: Path) -> None:
    table = with_identity(tmp_path / "t", explicit=False)
    table.append([{"s": "a"}, {"s": "b"}])
    table.append([{"s": "c"}])
    assert {row["s"]: row["id"] for row in by_id(table).values()} == {"a": 5, "b": 15, "c": 25}
    field = json.loads(table.snapshot().schema_json)["fields"][0]
    assert field["metadata"]["delta.identity.highWaterMark"] == 25
    table.update("s = 'a'", {"s": "'z'"})
    assert by_id(table)[5]["s"] == "z"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append([{"id": 1, "s": "d"}])
    assert caught.value.code == "rows.identity"


def test_explicit_identity_values(tmp_path: Path) -> None:
    table = with_identity(tmp_path / "t", explicit=True, step=-1)
    table.append([{"id": 100, "s": "a"}])
    table.append([{"s": "b"}])
    assert {row["s"]: row["id"] for row in by_id(table).values()} == {"a": 100, "b": 5}


@pytest.mark.parametrize("explicit", [True, False])
def test_identity_columns_are_not_updated(tmp_path: Path, explicit: bool) -> None:
    """As delta-spark (``DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED``)."""
    table = with_identity(tmp_path / "t", explicit)
    table.append([{"s": "a"}])
    source = pa.table({"id": [7], "s": ["a"]})
    on = "target.s = source.s"
    for statement in (
        lambda: table.update(None, {"id": "id + 1"}),
        lambda: table.merge(source, on).when_matched_update({"id": "source.id"}).execute(),
        lambda: table.merge(source, on).when_matched_update_all().execute(),
    ):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            statement()
        assert caught.value.code == "rows.identity"
    assert by_id(table).keys() == {5}


def test_identity_values_are_exhausted(tmp_path: Path) -> None:
    table = with_identity(tmp_path / "t", explicit=False, step=2**62)
    with pytest.raises(dr.InvalidArgumentError, match="no values left") as caught:
        table.append([{"s": "a"}] * 3)
    assert caught.value.code == "rows.identity"


def test_errors_display_timestamps(tmp_path: Path) -> None:
    timestamp = pa.timestamp("us", "UTC")
    schema = pa.schema([("at", timestamp), ("s", pa.struct([("all", pa.list_(timestamp))]))])
    table = dr.create_table(tmp_path / "t", schema)
    table.add_constraint("late", "at > TIMESTAMP '2026-01-01 00:00:00Z'")
    noon = datetime.datetime(2025, 1, 2, 12, tzinfo=datetime.timezone.utc)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append(pa.Table.from_pylist([{"at": noon, "s": {"all": [noon]}}], schema))
    assert "{at: 2025-01-02T12:00:00Z, s: {all: [2025-01-02T12:00:00Z]}}" in str(caught.value)


@pytest.mark.parametrize("expression", ["d + 1", "d - -1", "-d - 1", "d * 2"])
def test_decimals_of_more_than_38_digits_are_refused(tmp_path: Path, expression: str) -> None:
    """Sums of one digit more still fit into 128 bits, but not into the type."""
    largest = pa.array([Decimal("9" * 38)], pa.decimal128(38, 0))
    dr.write(tmp_path, pa.table({"d": largest}))
    table = dr.Table(tmp_path)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.update(None, {"d": expression})
    assert caught.value.code == "formula.value"
    with pytest.raises(dr.InvalidArgumentError):
        table.snapshot().scan(filter=f"{expression} > 0").count()
    assert table.update(None, {"d": "d - 1"}).version == 1


def test_intervals_are_not_rewritten(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "t")
    columns = logs.schema(id="long", i="interval year to month")
    log.commit(logs.protocol(), logs.metadata(columns))
    table = dr.Table(log.uri)
    pq.write_table(pa.table({"id": [1], "i": pa.array([14], pa.int32())}), tmp_path / "t" / "a")
    with table.transaction() as transaction:
        transaction.add("a", size=(tmp_path / "t" / "a").stat().st_size)
    for change in (
        lambda: table.update(None, {"id": 1}),
        table.merge([{"id": 1}], "id").when_matched_update({"id": 2}).execute,
    ):
        with pytest.raises(dr.UnsupportedFeatureError, match="intervals") as caught:
            change()
        assert caught.value.code == "rows.unsupported"
