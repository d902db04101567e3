"""The stored tables and results equal those that delta-spark writes now."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from spark.support import delta_spark_logs, stored
from spark.support.references import Reference, references
from spark.support.tiers import NIGHTLY
from spark.test_rows import lines, versions

import deltareplay as dr

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not NIGHTLY, reason="delta-spark writes the tables anew at night"),
]


def described(path: Path) -> list[tuple[Any, ...]]:
    """Return operation, protocol, columns, properties and rows of each version."""
    table = dr.Table(path)
    operations = {row["version"]: row["operation"] for row in table.history().to_pylist()}
    return [
        (
            operations.get(version),
            _features(snapshot := table.snapshot(version=version)),
            without_uuids(snapshot.schema_json),
            sorted(snapshot.properties),
            lines(snapshot.scan().to_arrow()),
        )
        for version in range(table.snapshot().version + 1)
    ]


def _features(snapshot: dr.Snapshot) -> tuple[Any, ...]:
    protocol = snapshot.protocol
    features = (protocol.reader_features or (), protocol.writer_features or ())
    return (protocol.min_reader_version, protocol.min_writer_version, *map(sorted, features))


def log_files(path: Path) -> list[str]:
    """Return the names of the files of the log, without their random parts."""
    names = (str(file.relative_to(path)) for file in (path / "_delta_log").rglob("[!.]*"))
    return sorted(map(without_uuids, names))


def without_uuids(text: str) -> str:
    """Return a text without UUIDs."""
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", text)


@pytest.mark.parametrize("name", stored.TABLES["rows"])
def test_stored_tables_of_rows_are_what_spark_writes(
    spark: Any, tables: Any, stored_tables: Path, name: str
) -> None:
    path = stored_tables / "rows" / name
    assert described(path) == described(tables(name))
    assert log_files(path) == log_files(tables(name))
    for version in versions(path):
        assert stored.stored_read(stored_tables, name, version) == stored.read(spark, path, version)


@pytest.mark.parametrize("name", stored.TABLES["changed"])
def test_stored_tables_of_changes_are_what_spark_writes(
    changed: Any, stored_tables: Path, name: str
) -> None:
    path = stored_tables / "changed" / name
    assert described(path) == described(changed(name))
    assert log_files(path) == log_files(changed(name))


@pytest.mark.parametrize("name", delta_spark_logs.TABLES)
def test_stored_snapshots_are_what_spark_reads(spark: Any, stored_tables: Path, name: str) -> None:
    snapshots = references(spark, stored_tables / "rows" / name)
    assert in_order(stored.stored_references(stored_tables, name)) == in_order(snapshots)


def in_order(snapshots: list[Reference]) -> list[Reference]:
    """Return snapshots with the rows of their states sorted."""
    return [
        replace(
            snapshot, state=sorted(snapshot.state, key=lambda row: json.dumps(row, sort_keys=True))
        )
        for snapshot in snapshots
    ]
