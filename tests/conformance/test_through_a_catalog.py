"""Every table of the suite, opened through a catalog, has the same state as by its path."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from conformance import adapter, suite
from conformance.same_state import assert_same_state
from support.memory_catalog import MemoryCatalog

import deltareplay as dr
from deltareplay.catalogs import RatifiedCommit

# the suite's own runner leaves files to the garbage collector
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CASES = [case for case in suite.cases() if case.expected["expect"] == "ok"]
#: The number of commits in the catalog.
TAIL = 3


def catalog_of(table: Path, latest: int, *, inline: bool) -> MemoryCatalog:
    """Return a catalog that has the newest commits, by content or by file name."""
    commits = []
    for version in range(latest, max(-1, latest - TAIL), -1):
        file = table / "_delta_log" / f"{version:020}.json"
        if not file.exists():
            break
        content = file.read_bytes() if inline else None
        commits.append(RatifiedCommit(version, None if inline else file.name, content=content))
    return MemoryCatalog(latest, tuple(commits))


@pytest.mark.parametrize("inline", [False, True], ids=["named", "inline"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_catalog_leads_to_the_same_state(case: suite.Case, inline: bool) -> None:
    versions = case.expected["versions"]
    with suite.table_of(case) as path, warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        catalog = catalog_of(Path(path), max(versions), inline=inline)
        table = dr.Table(path, allowed_roots=["/"], catalog=catalog)
        for version in versions:
            expected = suite.materialized_state(path, version)
            assert_same_state(adapter.state(table.snapshot(version=version)), expected)
        assert adapter.state(table.snapshot()) == adapter.snapshot(path)
