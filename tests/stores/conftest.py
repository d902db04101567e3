"""The stores, each started once for all the tests that use it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from stores import servers


@pytest.fixture(scope="session")
def _stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, servers.Store]]:
    with ExitStack() as running:
        yield _Started(running, tmp_path_factory.mktemp("stores"))


class _Started(dict[str, servers.Store]):
    """Starts a store when it is first requested."""

    def __init__(self, running: ExitStack, directory: Path) -> None:
        self.running, self.directory = running, directory

    def __missing__(self, name: str) -> servers.Store:
        if name == "moto":
            if importlib.util.find_spec("moto") is None:
                pytest.skip("moto is not installed: make test-stores")
            store = self.running.enter_context(servers.moto())
        elif name == "versitygw":
            if not servers.has("versitygw"):
                pytest.skip("versitygw is not installed: make test-stores, with Go")
            store = self.running.enter_context(servers.versitygw(self.directory / name))
        elif name == "azurite":
            if not servers.has("azurite-blob"):
                pytest.skip("Azurite is not installed: make test-stores")
            store = self.running.enter_context(servers.azurite(self.directory / name))
        elif name == "hdfs":
            if importlib.util.find_spec("pyspark") is None:
                pytest.skip("PySpark, which brings Hadoop, is not installed: make test-stores")
            store = self.running.enter_context(servers.hdfs(self.directory / name))
        else:
            store = self.running.enter_context(servers.gcs())
        self[name] = store
        return store


@pytest.fixture(params=["gcs", "moto", "versitygw", "azurite", "hdfs"])
def store(
    request: pytest.FixtureRequest,
    _stores: dict[str, servers.Store],
    monkeypatch: pytest.MonkeyPatch,
) -> servers.Store:
    """Each store in turn."""
    result = _stores[request.param]
    for name, value in result.environment.items():
        monkeypatch.setenv(name, value)
    return result
