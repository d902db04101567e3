"""The tables in the repository have the same state here as in the reference.

A part of ``test_conformance.py`` for machines with only a clone.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from conformance import adapter
from conformance.refusals import CLASSES
from conformance.same_state import assert_same_state, file_key

import deltareplay as dr

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
SOURCES = json.loads((FIXTURES / "sources.json").read_text())
READABLE = [
    (name, version)
    for name, source in SOURCES.items()
    if source["expect"] == "ok"
    for version in source["versions"]
]
REFUSED = [name for name, source in SOURCES.items() if source["expect"] == "error"]


def table(name: str) -> str:
    return str(FIXTURES / "tables" / name / "table")


def expected(name: str, version: int) -> dict[str, object]:
    path = FIXTURES / "tables" / name / f"expected/v{version}.json"
    loaded: dict[str, object] = json.loads(path.read_text())
    return loaded


@pytest.fixture(autouse=True)
def _quiet() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        yield


@pytest.mark.parametrize(("name", "version"), READABLE, ids=lambda value: str(value))
def test_reads_the_state_that_the_reference_read(name: str, version: int) -> None:
    assert_same_state(adapter.snapshot(table(name), version), expected(name, version))


@pytest.mark.parametrize("name", sorted({name for name, _ in READABLE}))
def test_the_latest_version_is_found_and_updates_lead_to_it(name: str) -> None:
    versions = [version for other, version in READABLE if other == name]
    latest = adapter.snapshot(table(name))
    assert_same_state(latest, expected(name, max(versions)))

    updated = adapter.state(dr.Table(table(name)).snapshot(version=min(versions)).update())
    updated["files"].sort(key=file_key)
    assert updated == {**latest, "files": sorted(latest["files"], key=file_key)}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_with_the_right_class(name: str) -> None:
    with pytest.raises(CLASSES[name]):
        dr.Table(table(name)).snapshot().files()


def test_the_fixtures_are_complete() -> None:
    assert len(SOURCES) == len(list((FIXTURES / "tables").iterdir()))
    assert len(READABLE) > 100
    assert len(REFUSED) >= 8
