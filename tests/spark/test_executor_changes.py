"""``deltareplay.spark.changes``: executors return the same rows as delta-spark and one process."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from spark.support import delta_spark_changes
from spark.support.tiers import pairs
from spark.test_changes import CHANGE_COLUMNS, rows
from support import data, logs

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.row_changes.splits import PackedSplits

pytestmark = pytest.mark.spark

NET_KINDS = ["min-delta", "upsert", "append-only"]
#: Tables that are also read without Spark's Parquet reader.
READ_BY_RUST = {"widened", "mor_partitioned_mapped"}


def size_for(changes: dr.Changes, tasks: int = 3) -> int:
    """Return the size of splits that results in about this many tasks."""
    return max(1, sum(changes.explain()["bytes"].to_pylist()) // tasks)


def frame_rows(frame: Any) -> Counter[str]:
    return rows(frame.toArrow())


@pytest.mark.parametrize("name", delta_spark_changes.NAMES)
def test_changes_agree_with_delta_spark(spark: Any, changed: Any, name: str) -> None:
    path = changed(name)
    first = delta_spark_changes.FIRST.get(name, 0)
    theirs = (
        spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", first)
        .load(str(path))
    )
    expected = frame_rows(theirs)
    size = size_for(dr.Table(path).changes(first), tasks=6)
    readers = (True, False) if name in READ_BY_RUST else (True,)
    for native in readers:
        ours = dr_spark.changes(spark, str(path), first, split_size=size, native=native)
        assert ours.schema.simpleString() == theirs.schema.simpleString()
        assert ours.rdd.getNumPartitions() > 3
        assert frame_rows(ours) == expected
        assert ("FileScan parquet" in ours._jdf.queryExecution().toString()) == native


@pytest.mark.parametrize(
    ("kind", "name"), pairs(NET_KINDS, ["cow_tracked", "mor_tracked_in_commit"])
)
def test_split_net_changes_are_those_of_one_process(
    spark: Any, changed: Any, name: str, kind: Any
) -> None:
    table = dr.Table(changed(name))
    local = table.changes(2, 8, kind=kind)
    frame = dr_spark.changes(spark, table, 2, 8, kind=kind, split_size=size_for(local))
    assert frame.rdd.getNumPartitions() > 1
    assert frame_rows(frame) == rows(local.to_arrow())


@pytest.mark.parametrize(
    ("kind", "name"), pairs(NET_KINDS, ["cow_tracked", "mor_tracked_in_commit", "cow"])
)
def test_shuffled_net_changes_are_those_of_one_process(
    spark: Any, changed: Any, name: str, kind: Any
) -> None:
    table = dr.Table(changed(name))
    for key in (None, ["k"]):
        chosen: Any = {"kind": kind, "key": key}
        if name == "cow" and key is None:
            if kind != "min-delta":
                continue  # nothing identifies rows
            chosen["filter"] = "v > 10"
        local = table.changes(2, 8, **chosen)
        size = size_for(local)
        frame = dr_spark.changes(spark, table, 2, 8, **chosen, split_size=size, shuffle=True)
        plan = frame._jdf.queryExecution().toString()
        assert plan.count("Exchange hashpartitioning(identity") > 0
        assert frame_rows(frame) == rows(local.to_arrow())


def test_net_changes_turn_the_first_state_into_the_last(spark: Any, changed: Any) -> None:
    path = changed("mor_tracked_in_commit")

    def state(version: int) -> Counter[str]:
        frame = spark.read.format("delta").option("versionAsOf", version).load(str(path))
        return Counter(map(repr, frame.toArrow().to_pylist()))

    result = state(2)
    net = dr_spark.changes(spark, path, 3, 8, kind="min-delta")
    for row in net.toArrow().to_pylist():
        is_added = row["_change_type"] in ("insert", "update_postimage")
        image = repr({key: row[key] for key in row if key not in CHANGE_COLUMNS})
        result[image] += 1 if is_added else -1
    assert {row: count for row, count in result.items() if count} == state(8)


def test_columns_and_filter(spark: Any, changed: Any) -> None:
    table = dr.Table(changed("mor_partitioned_mapped"))
    chosen: Any = {"columns": ["P", "k"], "filter": "v > 10 AND _change_type <> 'insert'"}
    frame = dr_spark.changes(spark, table, 2, 8, **chosen)
    assert frame.columns == ["p", "k", *CHANGE_COLUMNS]
    local = table.changes(2, 8, **chosen).to_arrow()
    assert 0 < local.num_rows == frame.count()
    assert frame_rows(frame) == rows(local)
    unfiltered = dr_spark.changes(spark, table, 2, 8, columns=["P", "k"])
    assert frame_rows(unfiltered) == rows(table.changes(2, 8, columns=["P", "k"]).to_arrow())
    without_columns = dr_spark.changes(spark, table, 2, 8, columns=[])
    assert without_columns.columns == CHANGE_COLUMNS
    assert without_columns.count() == unfiltered.count()


def test_removed_files_without_a_size_are_read(spark: Any, tmp_path: Any) -> None:
    log = logs.LogBuilder(tmp_path / "table")
    log.create(logs.schema(id="long"))
    log.commit(data.write(log.table, "1.parquet", {"id": [1, 2]}))
    log.commit(logs.remove("1.parquet", size=None))
    table = dr.Table(log.uri)
    for kind in ("full-delta", "min-delta"):
        frame = dr_spark.changes(spark, table, 2, kind=kind)  # type: ignore[arg-type]
        assert frame_rows(frame) == rows(table.changes(2).to_arrow())
        assert frame.count() == 2


def test_later_commits_are_not_in_a_frame(spark: Any, tmp_path: Any) -> None:
    path = str(tmp_path / "grows")
    spark.range(3).write.format("delta").save(path)
    frame = dr_spark.changes(spark, path, 0)
    snapshot = dr.Table(path).snapshot()
    spark.range(3, 5).write.format("delta").mode("append").save(path)
    assert frame.count() == 3
    assert dr_spark.changes(spark, path, 0).count() == 5
    assert dr_spark.changes(spark, snapshot, 0).count() == 3  # a snapshot ends the range
    assert dr_spark.changes(spark, snapshot, 0, 1).count() == 5


def test_removed_rows_keep_the_values_of_later_partition_columns(spark: Any, tmp_path: Any) -> None:
    for value, columns in enumerate([(), ("a",), ("b",), ()]):
        dr.write(
            tmp_path,
            pa.table({"a": [value], "b": [value]}),
            mode="overwrite",
            schema_mode="overwrite",
            partition_columns=columns,
        )
    for end in range(4):
        frame = dr_spark.changes(spark, tmp_path, 0, end)
        assert {
            (row.a, row.b, row._change_type, row._commit_version) for row in frame.collect()
        } == {
            *((value, value, "insert", value) for value in range(end + 1)),
            *((value, value, "delete", value + 1) for value in range(end)),
        }


def test_a_range_after_the_last_version_has_no_rows(spark: Any, changed: Any) -> None:
    frame = dr_spark.changes(spark, changed("cow"), 99, allow_out_of_range=True)
    assert (frame.columns, frame.count()) == (["k", "n", "v", "p", *CHANGE_COLUMNS], 0)
    with pytest.raises(dr.VersionNotFoundError) as caught:
        dr_spark.changes(spark, changed("cow"), 99)
    assert caught.value.code == "changes.start"


def test_types_comments_and_values_are_those_of_the_table(spark: Any, tmp_path: Any) -> None:
    path = tmp_path / "typed"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (s STRUCT<d: DECIMAL(9, 2), t: TIMESTAMP_NTZ>, "
        "m MAP<STRING, ARRAY<DATE>>, v VARIANT, b BINARY COMMENT 'bytes') USING delta"
    )
    spark.sql(
        f"INSERT INTO delta.`{path}` SELECT named_struct('d', 1.5BD, 't', TIMESTAMP_NTZ "
        "'2026-01-01 00:00:00'), map('a', array(DATE '2026-01-02', NULL)), "
        "parse_json('{\"a\": [1]}'), X'00FF' UNION ALL SELECT NULL, NULL, NULL, NULL"
    )
    frame = dr_spark.changes(spark, path, 1)
    names = ["s", "m", "v", "b"]
    table = spark.read.format("delta").load(str(path))
    assert frame.select(names).schema == table.schema
    values, expected = (
        sorted(source.selectExpr("s", "m", "to_json(v)", "b").collect(), key=str)
        for source in (frame, table)
    )
    assert values == expected


def test_ambiguous_changes_fail_on_the_driver(spark: Any, changed: Any) -> None:
    path = changed("cow")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.changes(spark, path, 0, kind="upsert")
    assert caught.value.code == "changes.identity"
    with_key = dr_spark.changes(spark, path, 0, 8, kind="upsert", key=["k"])
    assert frame_rows(with_key) == rows(
        dr.Table(path).changes(0, 8, kind="upsert", key=["k"]).to_arrow()
    )


def test_unknown_columns_fail_on_the_driver(spark: Any, changed: Any) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.changes(spark, changed("cow"), 0, columns=["nothing"])
    assert caught.value.code == "columns.unknown"


def test_a_missing_file_is_named_by_the_task(spark: Any, tmp_path: Any) -> None:
    path = tmp_path / "gone"
    spark.range(3).coalesce(1).write.format("delta").save(str(path))
    frame = dr_spark.changes(spark, path, 0)
    (file,) = path.glob("*.parquet")
    file.unlink()
    with pytest.raises(Exception, match=f"(?s)FAILED_READ_FILE.*{re.escape(file.name)}"):
        frame.collect()
    by_rust = dr_spark.changes(spark, path, 0, native=False)
    with pytest.raises(Exception, match=f"(?s)CorruptTableError.*{re.escape(file.name)}"):
        by_rust.collect()


def test_options_do_not_show_in_a_plan(spark: Any, changed: Any) -> None:
    table = dr.Table(changed("cow"), {"aws_secret_access_key": "s3cr3t"})
    frame = dr_spark.changes(spark, table, 0)
    assert frame.count()
    assert "s3cr3t" not in frame._jdf.queryExecution().toString() + repr(frame)


@pytest.mark.parametrize("kind", ["full-delta", "min-delta"])
def test_packed_splits_have_the_same_rows(changed: Any, kind: Any) -> None:
    table = dr.Table(changed("cow_tracked"))
    splits = table.changes(1, 10, kind=kind).splits(1)
    packed = PackedSplits.of(table, splits)
    for number, split in enumerate(splits):
        assert packed.split(number).to_arrow() == split.to_arrow()
    assert PackedSplits.of(table, splits[:1]).split(0).paths == splits[0].paths
    assert pa.schema(splits[0].schema) == table.changes(1).schema


def test_shared_parts_of_splits_are_sent_once(changed: Any) -> None:
    table = dr.Table(changed("cow_tracked"))
    splits = table.changes(1, 10, kind="min-delta").splits(1)
    packed = PackedSplits.of(table, splits)
    assert len(splits) > 8
    assert max(map(len, packed.differences)) < 20 < len(splits[0].to_json())
