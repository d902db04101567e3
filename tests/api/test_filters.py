"""Filters: SQL text and tuples, on files and on rows."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import pyarrow as pa
import pytest
from support import data, logs
from support.mixed import ids

import deltareplay as dr

SCHEMA = logs.schema(id="long", price="decimal(10,2)", at="timestamp", name="string", day="date")
UTC = datetime.timezone.utc
MOMENT = datetime.datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def sales(log: logs.LogBuilder) -> logs.LogBuilder:
    """A table of ten files of ten rows, one per day, with statistics of all columns."""
    log.create(SCHEMA, partition_columns=["day"])
    adds = []
    for number in range(10):
        numbers = range(number * 10, number * 10 + 10)
        rows = {
            "id": list(numbers),
            "price": [decimal.Decimal(n) + decimal.Decimal("0.25") for n in numbers],
            "at": [MOMENT + datetime.timedelta(seconds=n) for n in numbers],
            "name": [f"n{n:03}" if n % 7 else None for n in numbers],
        }
        add = data.write(
            log.table,
            f"part-{number}.parquet",
            rows,
            partition_values={"day": f"2026-01-{number + 1:02}"},
        )
        present = [name for name in rows["name"] if name]
        bounds: dict[str, Any] = {
            "numRecords": 10,
            "nullCount": {"id": 0, "price": 0, "at": 0, "name": rows["name"].count(None)},
        }
        for key, pick in (("minValues", min), ("maxValues", max)):
            bounds[key] = {
                "id": pick(numbers),
                "price": float(pick(rows["price"])),
                "at": pick(rows["at"]).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                "name": pick(present),
            }
        add["add"]["stats"] = json.dumps(bounds)
        adds.append(add)
    log.commit(*adds)
    return log


#: Each filter, the ids that it selects, and the most files that remain.
FILTERS: list[tuple[Any, set[int], int]] = [
    ("id = 42", {42}, 1),
    ("42 = ID", {42}, 1),
    ("id >= 95 or id < 2", {0, 1, 95, 96, 97, 98, 99}, 2),
    ("id IN (5, 50, NULL)", {5, 50}, 2),
    ("id NOT IN (5, NULL)", set(), 10),
    ("id BETWEEN 18 AND 21", {18, 19, 20, 21}, 2),
    ("day = '2026-01-03' AND id > 27", {28, 29}, 1),
    ("day < DATE '2026-01-02'", set(range(10)), 1),
    ("day IS NULL", set(), 0),
    ("name IS NULL AND id < 10", {0, 7}, 1),
    ("name LIKE 'n09%'", {90, 92, 93, 94, 95, 96, 97, 99}, 2),
    ("price = 31.25", {31}, 1),
    ("at > TIMESTAMP '2026-01-01 12:01:37.5+00:00'", {98, 99}, 1),
    ("NOT (id <> 3)", {3}, 1),
    ("name <=> NULL AND id > 90", {91, 98}, 1),
    ("id % 10 = 3 AND day >= '2026-01-08'", {73, 83, 93}, 3),
    ("id * 2 + 1 > 193 AND NOT upper(name) = 'N099'", {97}, 10),
    ("length(name) = 4 AND id BETWEEN 6 AND 8", {6, 8}, 1),
    ("day(day) = id", {1}, 10),
    ("day(day) % 4 = 1 AND id % 10 = 0", {0, 40, 80}, 3),
    ("length(CAST(day AS STRING)) <> 10", set(), 0),
    ("day(day) <> 3 AND 100 / (day(day) - 3) > 90", {*range(30, 40)}, 9),
    ([("id", "=", 42)], {42}, 1),
    ([("id", ">", 10), ("id", "<=", 12)], {11, 12}, 1),
    ([[("id", "=", 1)], [("day", "=", datetime.date(2026, 1, 10)), ("id", ">", 98)]], {1, 99}, 2),
    ([("id", "in", {5, 50})], {5, 50}, 2),
    ([("name", "=", None), ("id", "<", 5)], {0}, 1),
    ([("price", "=", decimal.Decimal("31.25"))], {31}, 1),
    ([("at", ">", MOMENT + datetime.timedelta(seconds=97))], {98, 99}, 1),
    ([("name", "not in", ["n001", "n002"]), ("id", "<", 5)], {3, 4}, 1),
]


@pytest.mark.parametrize(("filter", "expected", "files"), FILTERS, ids=[str(f[0]) for f in FILTERS])
def test_filters_select_rows_exactly_and_files_conservatively(
    sales: logs.LogBuilder, filter: Any, expected: set[int], files: int
) -> None:
    snapshot = dr.Table(sales.uri).snapshot()
    scan = snapshot.scan(["id"], filter=filter)
    assert ids(scan) == sorted(expected)
    assert scan.count() == len(expected)
    left = scan.files(["path"])
    assert len(expected) == 0 or left.num_rows >= 1
    assert left.num_rows <= files, "files that cannot match are left out"
    assert snapshot.files(["path"], filter=filter) == left
    streamed = snapshot.file_batches(["path"], filter=filter).read_all()
    assert sorted(streamed["path"].to_pylist()) == sorted(left["path"].to_pylist())
    assert scan.explain()["files"].to_pylist()[2] == left.num_rows
    assert [row for split in scan.splits(1) for row in ids(split)] == sorted(expected)


@pytest.mark.parametrize("filter", [f[0] for f in FILTERS], ids=str)
def test_cached_files_are_filtered_equally(sales: logs.LogBuilder, filter: Any) -> None:
    fresh = dr.Table(sales.uri).snapshot().files(["path", "size"], filter=filter)
    snapshot = dr.Table(sales.uri).snapshot()
    assert snapshot.files(["path"]).num_rows == 10
    for _ in range(2):
        result = snapshot.files(["path", "size"], filter=filter)
        assert sorted(result.to_pylist(), key=str) == sorted(fresh.to_pylist(), key=str)
    assert snapshot.files(["path"]).num_rows == 10


def test_an_update_is_filtered_too(sales: logs.LogBuilder) -> None:
    snapshot = dr.Table(sales.uri).snapshot()
    snapshot.files(["path"])
    assert snapshot.files(["path"], filter="id = 1000").num_rows == 0
    sales.commit(
        logs.add(
            "new.parquet",
            partition_values={"day": "2026-02-01"},
            stats=json.dumps(
                {"numRecords": 1, "minValues": {"id": 1000}, "maxValues": {"id": 1000}}
            ),
        )
    )
    newer = snapshot.update()
    assert newer.files(["path"], filter="id = 1000")["path"].to_pylist() == ["new.parquet"]
    assert newer.files(["path"], filter="id = 1001").num_rows == 0


def test_pruning_and_skipping_are_counted_separately(sales: logs.LogBuilder) -> None:
    scan = dr.Table(sales.uri).snapshot().scan(filter="day >= '2026-01-06' AND id < 65")
    reported = scan.explain()
    assert reported["step"].to_pylist() == [
        "all files",
        "after partition pruning",
        "after data skipping",
    ]
    assert reported["files"].to_pylist() == [10, 5, 2]
    sizes = reported["bytes"].to_pylist()
    assert sizes[0] == dr.Table(sales.uri).snapshot().size_in_bytes
    assert sizes[0] > sizes[1] > sizes[2] > 0


@pytest.mark.parametrize("stats", ["{", "[]", '{"minValues":{"id":"x"}}', "", '{"numRecords":-5}'])
def test_a_file_with_malformed_statistics_is_read(log: logs.LogBuilder, stats: str) -> None:
    log.create(logs.schema(id="long"))
    add = data.write(log.table, "part-0.parquet", {"id": [1, 2, 3]})
    add["add"]["stats"] = stats
    log.commit(add)
    snapshot = dr.Table(log.uri).snapshot()
    assert ids(snapshot.scan(filter="id = 2")) == [2]
    assert snapshot.files(["path"], filter="id = 99").num_rows == 1


def test_columns_of_the_filter_need_not_be_selected(sales: logs.LogBuilder) -> None:
    snapshot = dr.Table(sales.uri).snapshot()
    result = snapshot.scan(["name"], filter="id = 41 AND day = '2026-01-05'").to_arrow()
    assert result.to_pylist() == [{"name": "n041"}]


def test_failing_expressions_are_errors(sales: logs.LogBuilder) -> None:
    snapshot = dr.Table(sales.uri).snapshot()
    with pytest.raises(dr.InvalidArgumentError) as caught:
        snapshot.scan(filter="10 / (id - 50) > 1").to_arrow()
    assert caught.value.code == "formula.value"
    kept = snapshot.scan(filter="id <> 50 AND 10 / (id - 50) > 1").to_arrow()
    assert ids(kept) == [*range(51, 60)]


@pytest.mark.parametrize(
    ("filter", "code", "message"),
    [
        ("id >", "filter.syntax", "^"),
        ("id = 1 AND AND id = 2", "filter.syntax", "^"),
        ("idd = 1", "filter.column", "id"),
        ("id = 'x'", "filter.literal", "x"),
        ("id = (SELECT 1)", "filter.unsupported", "subqueries"),
        ("mine(id) = 1", "formula.unsupported", "mine"),
        ("idd % 2 = 1", "formula.column", "id"),
        ("id + 1", "formula.type", "id + 1"),
        ("id > year(now())", "filter.unsupported", "year"),
        ([("id", "~", 1)], "filter.operator", "~"),
        ([], "filter.empty", ""),
    ],
)
def test_invalid_filters_are_refused(
    sales: logs.LogBuilder, filter: Any, code: str, message: str
) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.Table(sales.uri).snapshot().scan(filter=filter)
    assert caught.value.code == code
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        (5, "but got int"),
        ({"id": 1}, "but got dict"),
        ([5], "but got int"),
        ([("id", "=")], "each tuple of a filter must be"),
        ([("id", "=", object())], "not object"),
    ],
)
def test_filters_of_other_types_are_refused(
    sales: logs.LogBuilder, filter: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        dr.Table(sales.uri).snapshot().scan(filter=filter)


def test_num_rows_is_read_from_the_statistics(sales: logs.LogBuilder) -> None:
    snapshot = dr.Table(sales.uri).snapshot()
    assert snapshot.num_rows == 100
    assert snapshot.warnings == []
    sales.commit(logs.add("unknown.parquet", partition_values={"day": "2026-02-01"}))
    newer = snapshot.update()
    with pytest.warns(dr.DeltaReplayWarning, match="number of rows"):
        assert newer.num_rows is None
    assert [warning.code for warning in newer.warnings] == ["stats.num_records"]
    assert newer.warnings[0].path == "unknown.parquet"


def test_pyarrow_accepts_a_filtered_scan(sales: logs.LogBuilder) -> None:
    scan = dr.Table(sales.uri).snapshot().scan(filter="id < 3")
    assert pa.table(scan).num_rows == 3


def test_a_bad_partition_value_names_its_file(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long", part="integer"), partition_columns=["part"])
    for path, value in (("good.parquet", "1"), ("bad.parquet", "one")):
        log.commit(logs.add(path, partition_values={"part": value}))
    with pytest.raises(dr.CorruptTableError) as caught:
        dr.Table(log.uri).snapshot().files(["path"], filter="part = 1")
    assert (caught.value.code, caught.value.path) == ("partition_value.parse", "bad.parquet")


def test_skipped_pages_keep_columns_aligned(log: logs.LogBuilder) -> None:
    """Most pages of a checkpoint with a page index do not match the filter."""
    log.create(logs.schema(id="long", p="string"), partition_columns=["p"])
    adds = [
        logs.add(f"f{i:03}", partition_values={"p": "x" if i % 37 == 0 else f"other {i}"})
        for i in range(400)
    ]
    log.commit(*adds)
    log.checkpoint(
        write_page_index=True, data_page_size=1, write_batch_size=1, use_dictionary=False
    )
    log.delete_commits(log.version)
    result = dr.Table(log.table).snapshot().files(["path", "partitionValues"], filter="p = 'x'")
    assert sorted(result["path"].to_pylist()) == [f"f{i:03}" for i in range(0, 400, 37)]
    assert {dict(values)["p"] for values in result["partitionValues"].to_pylist()} == {"x"}
