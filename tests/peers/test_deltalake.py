"""Small logs read by deltalake, as an independent reader."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from property.histories import History, histories
from property.test_replay import thorough, written
from support import logs

import deltareplay as dr

deltalake = pytest.importorskip("deltalake")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def theirs(path: str, version: int | None = None) -> list[tuple[str, int]]:
    table = deltalake.DeltaTable(path, version=version)
    actions = table.get_add_actions(flatten=True)
    return sorted(zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True))


def ours(path: str, version: int | None = None) -> list[tuple[str, int]]:
    files = dr.Table(path).snapshot(version=version).files(columns=["path", "size"])
    return sorted(zip(files["path"].to_pylist(), files["size"].to_pylist(), strict=True))


@pytest.mark.parametrize("kind", ["none", "classic", "multipart", "v2-json", "v2-parquet"])
def test_versions_of_a_small_log(tmp_path: Path, kind: str) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(
        logs.schema(id="long"),
        protocol_action=logs.features("v2Checkpoint") if "v2" in kind else logs.protocol(),
    )
    for version in range(1, 8):
        log.commit(
            logs.add(f"f{version}", size=version, stats=logs.stats(version)),
            *([logs.remove(f"f{version - 1}")] if version % 3 == 0 else []),
        )
    if kind != "none":
        log.checkpoint(5, kind=kind)
    for version in range(8):
        assert ours(log.uri, version) == theirs(log.uri, version)
    assert ours(log.uri) == theirs(log.uri)


def comparable(history: History) -> History:
    """Return the history without wrong hints, leftovers or compacted files, for deltalake 1.6."""
    hint = history.hint if history.hint == "newest" else "none"
    return replace(history, hint=hint, leftovers=[], compactions=[])


@thorough(20)
@given(history=histories().map(comparable))
def test_random_histories(history: History) -> None:
    with written(history) as table:
        assert ours(table) == theirs(table)
