"""Rows of a table, as read by delta-spark and by the core.

``test_read.py`` covers every version of every table, with ``deltareplay.spark.read``.
"""

from __future__ import annotations

import os
import pickle
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.support.delta_spark_logs import TABLES
from spark.support.settings import conf

import deltareplay as dr

pytestmark = pytest.mark.spark


def spelled(type_: pa.DataType) -> str:
    """Return a type without arbitrary parts: names of list items, the order in variants."""
    if pa.types.is_struct(type_):
        children = [f"{child.name}: {spelled(child.type)}" for child in type_]
        variant = {child.name for child in type_} == {"metadata", "value"}
        return f"struct<{', '.join(sorted(children) if variant else children)}>"
    if pa.types.is_list(type_):
        return f"list<{spelled(type_.value_type)}>"
    if pa.types.is_map(type_):
        return f"map<{spelled(type_.key_type)}, {spelled(type_.item_type)}>"
    return str(type_)


def comparable(value: Any) -> Any:
    """Return a value that compares as in Spark: variants by their bytes, entries in any order."""
    if isinstance(value, dict):
        return {name: comparable(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        result = [comparable(item) for item in value]
        entries = bool(value) and all(isinstance(item, tuple) for item in value)
        return sorted(result, key=repr) if entries else result
    if isinstance(value, tuple):
        return tuple(comparable(item) for item in value)
    return value


def texts(table: pa.Table) -> list[str]:
    """Return the rows as text, in which -0.0 and 0.0 differ and NaN equals NaN."""
    columns = [column.cast(numbers(column.type)).to_pylist() for column in table.columns]
    return [repr([comparable(value) for value in row]) for row in zip(*columns, strict=True)]


def lines(table: pa.Table) -> list[str]:
    """Return the rows as sorted text."""
    return sorted(texts(table))


def numbers(type_: pa.DataType) -> pa.DataType:
    """Return the type with timestamps as numbers, which no library rounds or refuses."""
    if pa.types.is_timestamp(type_):
        return pa.int64()
    if pa.types.is_struct(type_):
        return pa.struct([(child.name, numbers(child.type)) for child in type_])
    if pa.types.is_list(type_):
        return pa.list_(numbers(type_.value_type))
    if pa.types.is_map(type_):
        return pa.map_(numbers(type_.key_type), numbers(type_.item_type))
    return type_


def read_by_spark(spark: Any, path: Path, version: int, *more: str) -> pa.Table:
    """Return all rows of a version; CHAR columns as stored, which Spark would pad."""
    with conf(spark, spark__sql__readSideCharPadding="false"):
        frame = spark.read.format("delta").option("versionAsOf", version).load(str(path))
        return (frame.select("*", *more) if more else frame).toArrow()


def versions(path: Path) -> list[int]:
    """Return all versions in the slow run, otherwise the first with rows, the last, and others."""
    latest = dr.Table(path).snapshot().version
    assert latest >= 1
    if os.environ.get("DELTAREPLAY_SLOW"):
        return list(range(latest + 1))
    if path.name in TABLES:  # they are about logs
        return sorted({max(latest // 2, 1), latest})
    return sorted({1, latest // 2, max(latest - 2, 1), latest})


def check_core(path: Path, version: int, theirs: Any) -> int:
    """Check that the core reads the same as delta-spark, a ``Read``; return the number of rows."""
    scan = dr.Table(path).snapshot(version=version).scan()
    ours = scan.to_arrow()
    assert [(field.name, spelled(field.type)) for field in ours.schema] == theirs.types
    assert lines(ours) == theirs.lines, f"version {version} of {path}"
    assert scan.count() == len(theirs.lines)
    splits = [split.to_arrow() for split in scan.splits(2_000)]
    assert [line for split in splits for line in texts(split)] == texts(ours)
    return ours.num_rows


def test_positions_are_those_that_delta_spark_reads(spark: Any, tables: Any) -> None:
    path = tables("changed_with_vectors")
    version = dr.Table(path).snapshot().version - 1
    metadata = ["_metadata.file_name", "_metadata.row_index"]
    theirs = read_by_spark(spark, path, version, *metadata)
    snapshot = dr.Table(path).snapshot(version=version)
    ours = snapshot.scan(with_file_path=True, with_row_index=True).to_arrow()
    names = [value.rpartition("/")[2] for value in ours["_file_path"].to_pylist()]
    ours = ours.set_column(ours.schema.get_field_index("_file_path"), "_file_path", [names])
    assert lines(ours) == lines(theirs)


def test_pages_that_hadoop_compressed_in_several_blocks(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = spark.range(20_000).selectExpr("id", "md5(CAST(id AS STRING)) AS text").coalesce(1)
    with conf(spark, spark__sql__parquet__compression__codec="lz4"):
        rows.write.format("delta").save(str(path))
    assert len(list(path.glob("*.lz4hadoop.parquet"))) == 1
    assert lines(dr.Table(path).snapshot().scan().to_arrow()) == lines(
        read_by_spark(spark, path, 0)
    )


def test_tables_have_the_files_of_their_feature(tables: Any) -> None:
    import pyarrow.parquet as pq

    def files(name: str) -> list[Path]:
        return [
            Path(table)
            for table in tables(name).rglob("*.parquet")
            if "_delta_log" not in str(table)
        ]

    def physical(name: str) -> set[str]:
        return {pq.ParquetFile(file).schema.column(1).physical_type for file in files(name)}

    assert physical("moments_int96") == {"INT96"}
    assert physical("moments_micros") == physical("moments_millis") == {"INT64"}
    snapshot = dr.Table(tables("changed_with_vectors")).snapshot(version=3)
    vectors = snapshot.files(columns=["deletionVector"])["deletionVector"]
    assert len(vectors) - vectors.null_count > 2
    assert (
        dr.Table(tables("nested_by_id")).snapshot().properties["delta.columnMapping.mode"] == "id"
    )


def test_executors_read_splits_as_the_guide_says(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).resolve().parents[2]
    text = (root / "docs" / "guide" / "rows.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(root)
    names: dict[str, Any] = {"spark": spark, "pickle": pickle}
    for block in blocks:
        if "snapshot = " in block or "mapInArrow" in block:
            exec(compile(block, "rows.md", "exec"), names)

    ours = names["snapshot"].scan(columns=["id", "country"]).to_arrow()
    assert lines(names["frame"].toArrow()) == lines(ours)
