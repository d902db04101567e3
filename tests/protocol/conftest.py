"""Ignores warnings in all tests of the protocol."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

import deltareplay as dr


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        yield
