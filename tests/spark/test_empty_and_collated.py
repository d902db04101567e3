"""Empty strings in partition columns, and columns with a collation, compared with delta-spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import actions, logs

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("v", pa.int32()), pa.field("s", pa.string(), nullable=False)])


def pairs(frame: Any) -> list[tuple[int, str | None]]:
    return sorted((row.v, row.s) for row in frame.collect())


def added(path: Path) -> list[dict[str, str | None]]:
    [*_, newest] = sorted((path / "_delta_log").glob("*.json"))
    lines = [json.loads(line) for line in newest.read_text().splitlines()]
    return [line["add"]["partitionValues"] for line in lines if "add" in line]


@pytest.mark.parametrize("nullable", [True, False])
def test_empty_strings_stay(spark: Any, tmp_path: Path, nullable: bool) -> None:
    """delta-spark reads them correctly, and loses them when it writes."""
    path = tmp_path / "t"
    schema = SCHEMA.set(1, SCHEMA.field("s").with_nullable(nullable))
    table = dr.create_table(path, schema, ["s"])
    table.append([{"v": 0, "s": ""}, {"v": 1, "s": "x"}])
    theirs = spark.read.format("delta").load(str(path))
    for condition, rows in {
        "s = ''": [(0, "")],
        "s <> 'x'": [(0, "")],
        "s IS NULL": [],
        "v >= 0": [(0, ""), (1, "x")],
    }.items():
        assert pairs(theirs.where(condition)) == rows
        assert pairs(dr_spark.read(spark, table).where(condition)) == rows
        assert pairs(dr_spark.read(spark, table, filter=condition)) == rows
        query = f"SELECT * FROM delta.`{path}` WHERE {condition}"
        assert pairs(dr_spark.sql(spark, query)) == rows
    dr_spark.update(spark, table, "v = 0", {"v": "v + 10"})
    assert added(path) == [{"s": ""}]
    dr_spark.write(spark.createDataFrame([(20, "")], "v int, s string"), table)
    assert added(path) == [{"s": ""}]
    assert pairs(spark.read.format("delta").load(str(path))) == [(1, "x"), (10, ""), (20, "")]
    dr_spark.write(
        spark.createDataFrame([(30, "")], "v int, s string"),
        table,
        mode="overwrite",
        partition_overwrite="dynamic",
    )
    assert pairs(dr_spark.read(spark, table)) == [(1, "x"), (30, "")]
    dr_spark.delete(spark, table, "s = ''")
    assert pairs(spark.read.format("delta").load(str(path))) == [(1, "x")]


def test_strings_that_directories_encode_stay(spark: Any, tmp_path: Path) -> None:
    """As null, one of them would break the constraint of the column."""
    path = tmp_path / "t"
    table = dr.create_table(path, SCHEMA, ["s"])
    texts = ["__HIVE_DEFAULT_PARTITION__", "deltareplay_text_", "deltareplay_text_x", "a", ""]
    rows = list(enumerate(texts))
    dr_spark.write(spark.createDataFrame(rows, "v int, s string"), table)
    assert sorted(values["s"] for values in added(path)) == sorted(texts)
    assert pairs(dr_spark.read(spark, table)) == rows
    dr_spark.update(spark, table, "v < 9", {"v": "v + 10"})
    assert pairs(spark.read.format("delta").load(str(path))) == [(v + 10, s) for v, s in rows]


def test_filters_use_the_collation_of_a_column(spark: Any, tmp_path: Path) -> None:
    """No file is skipped by the bytes of bounds: delta-spark finds these rows, too.

    delta-spark 4.4 reads such tables, which Databricks writes, but cannot create them.
    """
    if int(spark.version.split(".")[0]) < 4:
        pytest.skip("Spark has collations from 4.0 on")
    fields = [logs.field_json("v", "integer"), logs.field_json("s", "string")]
    fields[1]["metadata"] = {"__COLLATIONS": {"s": "spark.UTF8_LCASE"}}
    log = logs.LogBuilder(tmp_path)
    log.create(logs.dumps({"type": "struct", "fields": fields}))
    adds = []
    for number, text in enumerate(["a", "A", "b"]):
        path = tmp_path / f"p{number}.parquet"
        pq.write_table(pa.table({"v": pa.array([number], pa.int32()), "s": [text]}), path)
        bounds = {"v": number, "s": text}
        stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": {"s": 0}}
        adds.append(actions.add(path.name, stats=actions.dumps(stats), size=path.stat().st_size))
    log.commit(*adds)
    expected = [(0, "a"), (1, "A")]
    frames = [
        spark.read.format("delta").load(str(tmp_path)).where("s = 'A'"),
        dr_spark.read(spark, tmp_path).where("s = 'A'"),
        dr_spark.read(spark, tmp_path, filter="s = 'A'"),
        dr_spark.read(spark, tmp_path, filter=[("s", "=", "A")]),
        dr_spark.sql(spark, f"SELECT * FROM delta.`{tmp_path}` WHERE s = 'A'"),
    ]
    for frame in frames:
        assert pairs(frame) == expected
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr.Table(tmp_path).snapshot().scan(filter="s = 'A'")
    assert caught.value.code == "expression.collation"
