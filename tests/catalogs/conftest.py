"""A Unity Catalog server for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.unity_server import UnityServer

from deltareplay.catalogs import UnityCatalog


@pytest.fixture
def server(tmp_path: Path) -> Iterator[UnityServer]:
    """A server that accepts the token ``secret``."""
    made = UnityServer(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def unity(server: UnityServer) -> UnityCatalog:
    """Its client."""
    return UnityCatalog(server.uri, "secret", timeout=5)
