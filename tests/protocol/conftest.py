"""Fixtures for all tests of the protocol: an empty table, without warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import logs

import deltareplay as dr


@pytest.fixture
def log(tmp_path: Path) -> logs.LogBuilder:
    """A table directory without a commit."""
    return logs.LogBuilder(tmp_path / "table")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        yield
