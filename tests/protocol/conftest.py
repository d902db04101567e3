"""What every test of the protocol needs: an empty table, and silence about warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import deltareplay as dr

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from support import logs  # noqa: E402


@pytest.fixture
def log(tmp_path: Path) -> logs.LogBuilder:
    """A table directory without a commit."""
    return logs.LogBuilder(tmp_path / "table")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        yield
