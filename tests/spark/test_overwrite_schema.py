"""Columns that replace those of a table with column mapping: their ids, and the change feed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.support.statements import run_statement

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

#: The columns of a table, then those that replace them, one after the other.
COLUMNS = {
    "more, another type, another case": [
        "id int, s struct<a:int,b:string>",
        "z int, id int, s struct<a:int,b:string,c:int>",
        "id bigint, s struct<a:int>",
        "ID bigint, s struct<a:int>",
    ],
    "in maps and arrays": [
        "id int, m map<string,struct<a:int>>, l array<struct<a:int>>",
        "m map<string,struct<a:int,b:int>>, l array<struct<a:int>>, id int",
    ],
    "away and back": ["id int, x int", "x int", "id int, x int"],
}


def fields(type_: Any, path: str = "") -> Iterator[tuple[str, int, str]]:
    """Yield the path, the id and the physical name of each field, at any depth."""
    if not isinstance(type_, dict):
        return
    for field in type_.get("fields", ()):
        own = field["metadata"]
        yield (
            f"{path}{field['name']}",
            own["delta.columnMapping.id"],
            own["delta.columnMapping.physicalName"],
        )
        yield from fields(field["type"], f"{path}{field['name']}.")
    for part in ("elementType", "keyType", "valueType"):
        yield from fields(type_.get(part), f"{path}{part}.")


def mapped(path: Path) -> list[tuple[str, int, str]]:
    return list(fields(json.loads(dr.Table(path).snapshot().schema_json)))


def overwrite(rows: Any, way: str, path: Path) -> None:
    """Replace the columns and the rows of a table, by ``write`` or by a format."""
    if way == "write":
        dr_spark.write(rows, path, mode="overwrite", schema_mode="overwrite")
    else:
        writer = rows.write.format(way).mode("overwrite")
        writer.option("overwriteSchema", "true").save(str(path))


@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("way", ["write", "deltareplay"])
@pytest.mark.parametrize("case", COLUMNS)
def test_column_ids_are_those_of_delta_spark(
    spark: Any, tmp_path: Path, case: str, way: str, mode: str
) -> None:
    dr_spark.register(spark)
    first, *others = COLUMNS[case]
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for path in (ours, theirs):
        new = spark.createDataFrame([], first).write.format("delta")
        new.option("delta.columnMapping.mode", mode).save(str(path))
    before = {path: mapped(path) for path in (ours, theirs)}
    for columns in others:
        rows = spark.createDataFrame([], columns)
        overwrite(rows, way, ours)
        overwrite(rows, "delta", theirs)
        after = {path: mapped(path) for path in (ours, theirs)}
        names = {
            path: [
                (name, id_, physical in {known for *_, known in before[path]})
                for name, id_, physical in after[path]
            ]
            for path in after
        }
        assert names[ours] == names[theirs]
        before = after


@pytest.mark.parametrize("way", ["write", "deltareplay", "replace"])
def test_changes_show_the_old_rows(spark: Any, tmp_path: Path, way: str) -> None:
    # delta-spark's readChangeFeed shows them, as unchanged columns keep their physical names
    dr_spark.register(spark)
    path = tmp_path / "t"
    properties = {"delta.columnMapping.mode": "name", "delta.enableChangeDataFeed": "true"}
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    table = dr.create_table(path, schema, properties=properties)
    table.append(pa.table({"id": [1, 2], "name": ["a", "b"]}))
    rows = spark.createDataFrame([(3, "c", 1.5)], "id long, name string, price double")
    if way != "replace":
        overwrite(rows, way, path)
    else:
        rows.createOrReplaceTempView("replacing")
        text = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        statement = (
            f"CREATE OR REPLACE TABLE delta.`{path}` USING delta TBLPROPERTIES ({text}) "
            "AS SELECT * FROM replacing"
        )
        run_statement(spark, statement)  # ``sql`` leaves it to the jar
    result = pa.table(table.changes(1)).to_pylist()
    deleted = sorted((row["id"], row["name"]) for row in result if row["_change_type"] == "delete")
    assert deleted == [(1, "a"), (2, "b")]
