"""``create_table(or_replace=True)`` has the effect of ``CREATE OR REPLACE TABLE``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.writing import bodies

import deltareplay as dr

pytestmark = pytest.mark.spark

LONG, INT, TEXT = pa.int64(), pa.int32(), pa.string()

#: Properties of the first table and of the second.
CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "plain": ({"k": "v"}, {"z": "v"}),
    "vectors": ({"delta.enableDeletionVectors": "true"}, {}),
    "vectors end": (
        {"delta.enableDeletionVectors": "true"},
        {"delta.enableDeletionVectors": "false"},
    ),
    "mapping": ({"delta.columnMapping.mode": "name"}, {"delta.columnMapping.mode": "name"}),
    "mapping ends": ({"delta.columnMapping.mode": "name"}, {}),
    "mapping begins": ({}, {"delta.columnMapping.mode": "id"}),
    "tracking": ({"delta.enableRowTracking": "true"}, {}),
    "tracking begins": ({}, {"delta.enableRowTracking": "true"}),
    "timestamps": ({"delta.enableInCommitTimestamps": "true"}, {}),
    "timestamps begin": ({}, {"delta.enableInCommitTimestamps": "true"}),
}


@pytest.mark.parametrize("case", CASES)
def test_replaces_as_delta_spark_does(spark: Any, tmp_path: Path, case: str) -> None:
    first, second = CASES[case]
    paths = {"theirs": tmp_path / "theirs", "ours": tmp_path / "ours"}
    listed = _clause(first)
    for path in paths.values():
        name = f"delta.`{path}`"
        spark.sql(f"CREATE TABLE {name} (id LONG, s STRING, day DATE) USING delta {listed}")
        spark.sql(f"INSERT INTO {name} VALUES (1, 'a', NULL)")
    columns = f"(id LONG, s INT, n INT) USING delta {_clause(second)}"
    spark.sql(f"REPLACE TABLE delta.`{paths['theirs']}` {columns}")
    schema = pa.schema([("id", LONG), ("s", INT), ("n", INT)])
    dr.create_table(paths["ours"], schema, properties=second, or_replace=True)

    theirs, ours = (dr.Table(path).snapshot() for path in paths.values())
    assert ours.version == theirs.version == 2
    assert ours.num_files == theirs.num_files == 0
    assert _shape(ours) == _shape(theirs)
    assert {key: _plain(key, value) for key, value in ours.properties.items()} == {
        key: _plain(key, value) for key, value in theirs.properties.items()
    }
    assert set(ours.protocol.writer_features or ()) == set(theirs.protocol.writer_features or ())
    assert ours.protocol.min_writer_version == theirs.protocol.min_writer_version
    facts = []
    for path in paths.values():
        before, after = dr.Table(path).snapshot(1), dr.Table(path).snapshot()
        [info] = bodies(dr.Table(path), 2, "commitInfo")
        [remove] = bodies(dr.Table(path), 2, "remove")
        facts.append(
            (
                before.metadata.id == after.metadata.id,
                info["isBlindAppend"],
                "inCommitTimestamp" in info,
                set(info["operationParameters"]),
                remove["dataChange"],
            )
        )
    assert facts[0] == facts[1]
    spark.sql(f"INSERT INTO delta.`{paths['ours']}` VALUES (7, 8, 9)")
    assert spark.read.format("delta").load(str(paths["ours"])).collect()[0].n == 9
    assert dr.Table(paths["ours"]).verify(rows=True).ok


def _clause(listed: dict[str, str]) -> str:
    argument = ", ".join(f"'{key}' = '{value}'" for key, value in listed.items())
    return f"TBLPROPERTIES ({argument})" if argument else ""


def _plain(key: str, value: str) -> str:
    """Return a value without random parts."""
    return "?" if "materialized" in key or "Enablement" in key else value


def _shape(snapshot: dr.Snapshot) -> list[Any]:
    return [
        (field["name"], field["type"], field["metadata"].get("delta.columnMapping.id"))
        for field in json.loads(snapshot.schema_json)["fields"]
    ]
