"""What every test may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import logs, samples

import deltareplay as dr


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
