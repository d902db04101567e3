"""Versions of tables for functions of ``deltareplay.spark``; without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.catalog.table_argument import snapshot_at

SESSION: Any = SimpleNamespace(version="4.1.0", createDataFrame=None)

#: The ends of paths, and the versions that they name.
VERSIONS = {"": 1, "@v0": 0, "@V1": 1}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A table with two versions: of two rows, and of three."""
    for ids in ([1, 2], [3]):
        dr.write(tmp_path / "t", {"id": ids})
    return tmp_path / "t"


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_ends_with_a_version(path: Path, kind: Callable[[str], Any]) -> None:
    versions = [snapshot_at(SESSION, kind(f"{path}{end}"), None, None).version for end in VERSIONS]
    assert versions == list(VERSIONS.values())


def test_functions_take_a_path_with_a_version(path: Path) -> None:
    assert dr_spark.count(SESSION, path) == 3
    assert dr_spark.count(SESSION, f"{path}@v0") == 2
    clone = dr_spark.clone(SESSION, f"{path}@v0", path.parent / "clone")
    assert clone.snapshot().num_rows == 2


def test_a_table_at_the_whole_path_has_precedence(path: Path) -> None:
    dr.write(f"{path}@v0", {"id": [7]})
    assert dr_spark.count(SESSION, f"{path}@v0") == 1


def test_a_second_version_is_an_error(path: Path) -> None:
    for table in (f"{path}@v0", dr.Table(path).snapshot()):
        with pytest.raises(dr.InvalidArgumentError, match="already has a version") as caught:
            dr_spark.count(SESSION, table, version=1)
        assert caught.value.code == "argument.version"


def test_functions_that_change_a_table_take_no_version(path: Path) -> None:
    """As in delta-spark, whose DELETE and UPDATE fail."""
    for call in (dr_spark.delete, dr_spark.optimize, dr_spark.write_checkpoint, dr_spark.vacuum):
        with pytest.raises(dr.TableNotFoundError):
            call(SESSION, f"{path}@v0")
    assert dr.Table(path).snapshot().version == 1
