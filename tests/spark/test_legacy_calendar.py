"""Tables of delta-spark in Spark's legacy calendar, changed here and read by delta-spark.

The expected rows are those that delta-spark read before, with the changes made by hand.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from spark.conftest import SESSION
from spark.support.settings import conf
from spark.support.tiers import pairs

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(SESSION != "delta-spark", reason="delta-spark writes and reads the tables"),
]

#: Local timestamps in the session's zone: the first day, the ends of the Julian calendar and of
#: local mean time in Los Angeles, and days on which both calendars agree.
MOMENTS = [
    "0001-01-01 00:00:00",
    "1582-10-04 23:59:59.999999",
    "1582-10-15 00:00:00",
    "1883-11-18 11:59:59",
    "1883-11-18 12:30:00",
    "1899-12-31 23:59:59",
    "2024-05-17 12:00:00",
]

Row = tuple[int, str, str, int, str]

#: The values of a ``Row``, as expressions.
COLUMNS = ["id", "string(d)", "string(t)", "unix_micros(t)", "string(s.d)"]


def frame(spark: Any, moments: list[str], first: int = 0) -> Any:
    """Return rows with ids from ``first``."""
    rows = [
        f"SELECT {first + number} AS id, DATE '{text[:10]}' AS d, TIMESTAMP '{text}' AS t, "
        f"NAMED_STRUCT('d', DATE '{text[:10]}') AS s"
        for number, text in enumerate(moments)
    ]
    return spark.sql(" UNION ALL ".join(rows)).coalesce(1)


def by_delta_spark(spark: Any, path: Path) -> list[Row]:
    rows = spark.read.format("delta").load(str(path)).selectExpr(*COLUMNS).collect()
    return sorted(tuple(row) for row in rows)


def by_core(path: Path) -> list[tuple[int, str, int]]:
    rows = dr.Table(path).snapshot().scan().to_arrow()
    days = [day.isoformat() for day in rows["d"].to_pylist()]
    micros = rows["t"].cast("int64").to_pylist()
    return sorted(zip(rows["id"].to_pylist(), days, micros, strict=True))


ZONES = ["UTC", "America/Los_Angeles"]
#: The stored types of timestamps.
FORMS = ["TIMESTAMP_MICROS", "INT96"]


@pytest.fixture(params=ZONES)
def zone(spark: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    with conf(spark, spark__sql__session__timeZone=request.param):
        yield request.param


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[Path]]:
    """A directory, and the tables that are written in it."""
    return tmp_path_factory.mktemp("legacy"), set()


@pytest.fixture(params=FORMS)
def legacy(
    spark: Any, zone: str, request: pytest.FixtureRequest, written: tuple[Path, set[Path]]
) -> Path:
    """A table of two files marked as legacy, whose checkpoint has struct statistics only."""
    home, tables = written
    path = home / zone.replace("/", "-") / request.param
    if path in tables:
        return path
    settings = {
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.outputTimestampType": request.param,
    }
    properties = {
        "delta.checkpoint.writeStatsAsJson": "false",
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpointInterval": "1",
    }
    with conf(spark, **settings):
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        spark.sql(
            f"CREATE TABLE delta.`{path}` (id INT, d DATE, t TIMESTAMP, s STRUCT<d: DATE>) "
            f"USING delta TBLPROPERTIES ({listed})"
        )
        for first, some in ((0, MOMENTS[:4]), (4, MOMENTS[4:])):
            rows = frame(spark, some, first)
            rows.write.format("delta").mode("append").save(str(path))
    marks = [pq.read_metadata(file).metadata or {} for file in path.glob("*.parquet")]
    assert len(marks) == 2
    assert all(b"org.apache.spark.legacyDateTime" in mark for mark in marks)
    tables.add(path)
    return path


def test_rows_and_filters_agree_with_delta_spark(spark: Any, legacy: Path) -> None:
    rows = by_delta_spark(spark, legacy)
    assert [row[1] for row in rows] == [timestamp[:10] for timestamp in MOMENTS]
    assert by_core(legacy) == [(id, day, micros) for id, day, _, micros, _ in rows]
    snapshot = dr.Table(legacy).snapshot()
    for id, day, _, micros, _ in rows:
        timestamp = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)
        conditions: list[Any] = [
            f"d = DATE '{day}'",
            f"s.d = DATE '{day}'",
            [("t", "=", timestamp)],
        ]
        for condition in conditions:
            result = snapshot.scan(filter=condition).to_arrow()["id"].to_pylist()
            same = [row[0] for row in rows if row[1] == day or row[0] == id]
            assert id in result, condition
            assert set(result) <= set(same), condition


def changed_by_core(spark: Any, path: Path, statement: str, source: Any) -> None:
    table = dr.Table(path)
    if statement == "update":
        table.update("d = DATE '0001-01-01'", {"id": "id + 100"})
    elif statement == "delete":
        table.delete("d = DATE '1582-10-04'")
    elif statement == "merge":
        merge = table.merge(source.toArrow(), "target.d = source.d AND target.t = source.t")
        merge.when_matched_update({"id": "source.id"}).when_not_matched_insert_all().execute()
    elif statement == "optimize":
        table.optimize()
    else:
        table.optimize(z_order_by=["d", "t"])


def changed_by_spark(spark: Any, path: Path, statement: str, source: Any) -> None:
    if statement == "update":
        dr_spark.update(spark, path, "d = DATE '0001-01-01'", {"id": "id + 100"})
    elif statement == "delete":
        dr_spark.delete(spark, path, "d = DATE '1582-10-04'")
    elif statement == "merge":
        merge = dr_spark.merge(spark, path, source, "target.d = source.d AND target.t = source.t")
        merge.when_matched_update({"id": "source.id"}).when_not_matched_insert_all().execute()
    elif statement == "optimize":
        dr_spark.optimize(spark, path)
    else:
        dr_spark.optimize(spark, path, z_order_by=["d", "t"])


WAYS: dict[str, Callable[[Any, Path, str, Any], None]] = {
    "core": changed_by_core,
    "executors": changed_by_spark,
}


REWRITTEN = [(zone, form, "core") for zone in ZONES for form in FORMS]
REWRITTEN += [(zone, form, "executors") for zone, form in pairs(ZONES, FORMS)]


@pytest.mark.parametrize(("zone", "legacy", "way"), REWRITTEN, indirect=["zone", "legacy"])
def test_rewritten_rows_are_unchanged(spark: Any, legacy: Path, tmp_path: Path, way: str) -> None:
    path = tmp_path / "t"
    shutil.copytree(legacy, path)
    rows = {row[0]: row for row in by_delta_spark(spark, path)}
    # matches 1582-10-15 and sets 1883-11-17, which the table lacks
    source = frame(spark, [MOMENTS[2], "1883-11-17 00:00:00"], 200)
    new = tuple(source.selectExpr(*COLUMNS).collect()[1])

    for statement in ("update", "delete", "merge", "optimize", "order"):
        WAYS[way](spark, path, statement, source)
        if statement == "update":
            rows[100] = (100, *rows.pop(0)[1:])
        elif statement == "delete":
            del rows[1]
        elif statement == "merge":
            rows[200] = (200, *rows.pop(2)[1:])
            rows[201] = new
        expected = sorted(rows.values())
        assert by_delta_spark(spark, path) == expected, statement
        assert by_core(path) == [(id, day, micros) for id, day, _, micros, _ in expected], statement
    result = dr.Table(path).snapshot().scan(filter="d <= DATE '1582-10-15'").to_arrow()
    assert sorted(result["id"].to_pylist()) == [100, 200]
    legacy_days = spark.read.format("delta").load(str(path)).where("d <= DATE '1582-10-15'")
    assert sorted(row.id for row in legacy_days.select("id").collect()) == [100, 200]
