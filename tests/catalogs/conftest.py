"""A Unity Catalog server for each test."""

from __future__ import annotations

import pytest
from support.unity_server import UnityServer

from deltareplay.catalogs import UnityCatalog


@pytest.fixture
def unity(server: UnityServer) -> UnityCatalog:
    """The client of the server."""
    return UnityCatalog(server.uri, "secret", timeout=5)
