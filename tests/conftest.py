"""What every test may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support import logs, samples
from support.unity_server import UnityServer

import deltareplay as dr

# how long an example takes says how busy the machine is
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

#: Files of tests that each start Spark by themselves: any process may take them, one by one.
ALONE = {"test_elsewhere.py", "test_vended.py"}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile`` a file is one process's: its tests share what they have written."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return nodeid if Path(file).name in ALONE else file

    return Files(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture
def log(tmp_path: Path) -> logs.LogBuilder:
    """A table directory without a commit."""
    return logs.LogBuilder(tmp_path / "table")


@pytest.fixture
def events(tmp_path: Path) -> logs.LogBuilder:
    """The log of the sample table."""
    return samples.events(tmp_path / "events")


@pytest.fixture
def table(events: logs.LogBuilder) -> dr.Table:
    """The sample table."""
    return dr.Table(events.uri)


@pytest.fixture
def rows(tmp_path: Path) -> dr.Table:
    """The sample table that has a data file, with a deleted row."""
    return dr.Table(samples.rows(tmp_path / "rows").uri)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[UnityServer]:
    """A Unity Catalog server that accepts the token ``secret``."""
    made = UnityServer(tmp_path)
    yield made
    made.stop()
