"""Clones under new names, and their metrics; without Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import deltareplay as dr
from deltareplay.spark.catalog.lookup import CatalogEntry
from deltareplay.spark.definition import clones
from deltareplay.spark.definition.definition import Mode

SESSION: Any = SimpleNamespace(version="4.1.0", createDataFrame=None)

NEW_NAME = CatalogEntry(("orders",))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The names that were registered in a catalog that accepts every name and path."""
    names: list[tuple[str, ...]] = []
    registration = "deltareplay.spark.definition.clones.registration"
    monkeypatch.setattr(f"{registration}.check_takes_delta", lambda _: None)
    monkeypatch.setattr(f"{registration}.new_location", lambda _, __, location: location)
    monkeypatch.setattr(f"{registration}.add", lambda _, parts, *__, **___: names.append(parts))
    return names


@pytest.fixture
def source(tmp_path: Path) -> dr.Snapshot:
    dr.write(tmp_path / "source", {"id": [1, 2]})
    return dr.Table(tmp_path / "source").snapshot()


@pytest.mark.parametrize("mode", ["create", "create_if_not_exists"])
def test_a_new_name_does_not_take_the_table_at_its_path(
    source: dr.Snapshot, registered: list[tuple[str, ...]], tmp_path: Path, mode: Mode
) -> None:
    """As in delta-spark: DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION."""
    dr.write(tmp_path / "t", {"id": [7]})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        clones.run(SESSION, source, NEW_NAME, mode=mode, shallow=True, location=str(tmp_path / "t"))
    assert caught.value.code == "table.exists"
    assert registered == []


@pytest.mark.parametrize("exists", [False, True])
def test_the_metrics_are_those_of_the_clone_between_commits_of_others(
    source: dr.Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    target = dr.Table(tmp_path / "t")
    if exists:
        for _ in range(3):
            dr.write(tmp_path / "t", {"id": [7]})
    other = dr.Table(tmp_path / "other")
    for _ in range(2):
        dr.write(tmp_path / "other", {"id": [5]})
    commit_clone = clones.commit_clone

    def clone_between_commits(*args: Any, **kwargs: Any) -> Any:
        if exists:
            other.clone(target.uri, shallow=False, or_replace=True)
            target.append({"id": [8]})
        cloned = commit_clone(*args, **kwargs)
        later = dr.Table(tmp_path / "source")
        later.append({"id": [3]})
        later.clone(target.uri, or_replace=True)
        return cloned

    monkeypatch.setattr(clones, "commit_clone", clone_between_commits)
    entry = CatalogEntry(("delta", target.uri), provider="delta", location=target.uri)
    _, metrics = clones.run(SESSION, source, entry, mode="create_or_replace", shallow=True)
    assert (metrics["sourceNumOfFiles"], metrics["numRemovedFiles"]) == (1, 3 if exists else 0)
