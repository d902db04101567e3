"""Rows that the table writes: delta-spark reads them, skips by their statistics, and continues."""

from __future__ import annotations

import datetime
import decimal
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr

pytestmark = pytest.mark.spark

UTC = datetime.timezone.utc
NOON = datetime.datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=UTC)
TYPES = pa.schema(
    [
        ("id", pa.int64()),
        ("b", pa.bool_()),
        ("i8", pa.int8()),
        ("f", pa.float64()),
        ("dec", pa.decimal128(20, 3)),
        ("s", pa.string()),
        ("bin", pa.binary()),
        ("d", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("ntz", pa.timestamp("us")),
        ("list", pa.list_(pa.struct([("x", pa.int32())]))),
        ("map", pa.map_(pa.string(), pa.int64())),
        ("st", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("p", pa.string()),
        ("q", pa.timestamp("us", "UTC")),
    ]
)


def row(number: int, part: str | None) -> dict[str, Any]:
    return {
        "id": number,
        "b": number % 2 == 0,
        "i8": -number,
        "f": number / 3,
        "dec": decimal.Decimal(number) / 8,
        "s": "ä" * 40 + str(number),
        "bin": bytes([number]),
        "d": NOON.date() + datetime.timedelta(days=number),
        "ts": NOON + datetime.timedelta(days=number),
        "ntz": (NOON + datetime.timedelta(days=number)).replace(tzinfo=None),
        "list": [{"x": number}, None],
        "map": [("k", number), ("none", None)],
        "st": {"x": number, "y": None},
        "p": part,
        "q": NOON,
    }


@pytest.mark.parametrize("mode", ["none", "name"])
def test_every_type_and_every_partition(spark: Any, tmp_path: Path, mode: str) -> None:
    properties = {"delta.columnMapping.mode": mode}
    table = dr.create_table(tmp_path / "t", TYPES, ["p", "q"], properties)
    parts = ["a b:c/%", "", None, "ä=1", "{x}#?"]
    rows = [row(number, part) for number, part in enumerate(parts)]
    table.append(pa.Table.from_pylist(rows, schema=TYPES))
    frame = spark.read.format("delta").load(str(tmp_path / "t"))
    result = {item.id: item for item in frame.collect()}
    for number, expected in enumerate(rows):
        read = result[number]
        for name in ("p", "b", "i8", "f", "s", "d", "ntz", "dec"):
            assert read[name] == expected[name]
        assert read.ts.astimezone(UTC) == expected["ts"]
        assert read.q.astimezone(UTC) == NOON
        assert bytes(read.bin) == expected["bin"]
        assert [element and element.x for element in read.list] == [number, None]
        assert read.map == {"k": number, "none": None}
        assert (read.st.x, read.st.y) == (number, None)
        # files that Spark skips by our statistics have no such row
        for condition in (
            f"s = '{expected['s']}'",
            f"ts = TIMESTAMP '{expected['ts'].strftime('%Y-%m-%d %H:%M:%S.%f')}'",
            f"dec = {expected['dec']} AND d = DATE '{expected['d']}' AND i8 = {expected['i8']}",
            f"st.x = {number} AND f >= {expected['f'] - 0.01}",
        ):
            assert [item.id for item in frame.where(condition).collect()] == [number], condition
    assert frame.where("p IS NULL").count() == 1
    assert frame.where("p = ''").count() == 1


TABLES: dict[str, dict[str, str]] = {
    "copies": {"delta.enableChangeDataFeed": "true"},
    "all": {
        "delta.enableChangeDataFeed": "true",
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
        "delta.enableInCommitTimestamps": "true",
        "delta.columnMapping.mode": "name",
        "delta.constraints.c": "id >= 0",
    },
}
SMALL = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("p", pa.string())])


@pytest.mark.parametrize("name", TABLES if os.environ.get("DELTAREPLAY_SLOW") else ["all"])
def test_statements_of_both_engines_alternate(spark: Any, tmp_path: Path, name: str) -> None:
    """Each verb here, then in delta-spark, with equal rows after each."""
    from delta.tables import DeltaTable

    path = str(tmp_path / "t")
    table = dr.create_table(path, SMALL, ["p"], TABLES[name])
    table.append([{"id": number, "v": number, "p": "ab"[number % 2]} for number in range(20)])
    theirs = DeltaTable.forPath(spark, path)

    def same() -> set[tuple[int, int, str]]:
        ours = {tuple(row.values()) for row in pa.table(table.snapshot(strict=True)).to_pylist()}
        read = spark.read.format("delta").load(path).collect()
        assert len(read) == len(ours)
        assert {(item.id, item.v, item.p) for item in read} == ours
        return ours

    steps = [
        lambda: table.delete("id = 3 OR id > 17"),
        lambda: theirs.delete("id IN (4, 17)"),
        lambda: table.update("id < 6", {"v": "v + 100"}),
        lambda: theirs.update("id = 7", {"v": "v + 1000"}),
        lambda: (
            table.merge(pa.table({"id": [8, 50], "v": [-8, -50], "p": ["a", "b"]}), "id")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .when_not_matched_by_source_delete("target.id = 9")
            .execute()
        ),
        lambda: (
            theirs.alias("t")
            .merge(
                spark.createDataFrame([(50, 5), (51, 6)], "id long, v long").alias("s"),
                "t.id = s.id",
            )
            .whenMatchedUpdate(set={"v": "s.v"})
            .whenNotMatchedInsert(values={"id": "s.id", "v": "s.v", "p": "'a'"})
            .execute()
        ),
        lambda: table.overwrite([{"id": 60, "v": 6, "p": "b"}], "p = 'b'"),
        lambda: (
            spark.createDataFrame([(61, 7, "c")], "id long, v long, p string")
            .write.format("delta")
            .mode("append")
            .save(path)
        ),
        lambda: table.overwrite([{"id": 62, "v": 8, "p": "c"}], partition_overwrite="dynamic"),
    ]
    for run in steps:
        run()
        left = same()
    assert {item for item, *_ in left} == {0, 2, 6, 8, 10, 12, 14, 16, 51, 60, 62}
    last = table.snapshot().version
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 2)
    reported = sorted(
        (item["_commit_version"], item["_change_type"], item.id, item.v)
        for item in feed.load(path).collect()
    )
    ours = sorted(
        (row["_commit_version"], row["_change_type"], row["id"], row["v"])
        for row in table.changes(2, last).to_arrow().to_pylist()
    )
    assert reported == ours
    if name == "all":
        ids = spark.read.format("delta").load(path).selectExpr("id", "_metadata.row_id AS r")
        rows = pa.table(table.snapshot().scan(with_row_id=True)).to_pylist()
        assert {number.id: number.r for number in ids.collect()} == {
            row["id"]: row["_row_id"] for row in rows
        }


def test_parts_of_columns_are_set_as_by_delta_spark(spark: Any, tmp_path: Path) -> None:
    """A null struct becomes one, too."""
    inner = pa.struct([("x", pa.int32()), ("y", pa.string())])
    schema = pa.schema([("id", pa.int64()), ("s", pa.struct([("a", pa.int64()), ("in", inner)]))])
    rows = [
        {"id": 1, "s": {"a": 1, "in": {"x": 1, "y": "one"}}},
        {"id": 2, "s": {"a": 2, "in": None}},
        {"id": 3, "s": None},
    ]
    ours, theirs = (dr.create_table(tmp_path / name, schema) for name in ("ours", "theirs"))
    for table in (ours, theirs):
        table.append(pa.Table.from_pylist(rows, schema))
    ours.update(None, {"s.a": "id * 10", "s.in.y": "'new'"})
    ours.merge([{"id": 3, "n": 7}], "id").when_matched_update({"s.in.x": "source.n"}).execute()
    path = tmp_path / "theirs"
    spark.sql(f"UPDATE delta.`{path}` SET s.a = id * 10, s.in.y = 'new'")
    spark.sql(
        f"MERGE INTO delta.`{path}` t USING (SELECT 3 AS id, 7 AS n) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET t.s.in.x = s.n"
    )
    result = [table.snapshot().scan().to_arrow().sort_by("id") for table in (ours, theirs)]
    assert result[0].equals(result[1])


PARTS: dict[str, list[str]] = {"some": ["b", "c"], "all and more": ["a", "b", "c"]}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS.keys())
def test_merges_evolve_as_in_delta_spark(spark: Any, tmp_path: Path, parts: list[str]) -> None:
    struct = pa.struct([("a", pa.int32()), ("b", pa.int32())])
    schema = pa.schema([("id", pa.int64()), ("v", pa.int32()), ("s", struct)])
    rows: list[dict[str, Any]] = [
        {"id": number, "v": number, "s": {"a": number, "b": number}} for number in range(3)
    ]
    rows += [{"id": 3, "v": 3, "s": None}, {"id": 4, "v": 4, "s": None}]
    ours, theirs = (dr.create_table(tmp_path / name, schema) for name in ("ours", "theirs"))
    for table in (ours, theirs):
        table.append(pa.Table.from_pylist(rows, schema))
    more = pa.struct([(name, pa.int32()) for name in parts])
    kinds = pa.schema([("id", pa.int64()), ("s", more), ("note", pa.string())])
    argument = [
        {"id": item, "s": dict.fromkeys(parts, item * 10), "note": "n"} for item in (2, 3, 9)
    ]
    argument += [{"id": item, "s": None, "note": None} for item in (1, 4, 8)]
    source = pa.Table.from_pylist(argument, kinds)
    spark.createDataFrame(source).createOrReplaceTempView("given")

    def both(merge: Any, sql: str) -> None:
        merge.execute()
        spark.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO delta.`{tmp_path / 'theirs'}` t USING given "
            f"ON t.id = given.id {sql}"
        )
        result = [table.snapshot().scan().to_arrow().sort_by("id") for table in (ours, theirs)]
        assert result[0].schema == result[1].schema
        assert result[0].to_pylist() == result[1].to_pylist()
        assert ours.snapshot().version == theirs.snapshot().version

    def merge() -> Any:
        return ours.merge(source, "id", schema_mode="merge")

    both(
        merge().when_matched_update({"note": "source.note"}, "source.id > 100"),
        "WHEN MATCHED AND given.id > 100 THEN UPDATE SET note = given.note",
    )
    both(
        merge().when_matched_update_all().when_not_matched_insert_all(),
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )
