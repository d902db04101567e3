"""The command, on tables by name."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from support.unity_server import UnityServer

import deltareplay as dr
from deltareplay.catalogs import UnityCatalog
from deltareplay.cli import main

pytest.importorskip("typer", reason="pip install deltareplay[cli]")
NAME = "main.sales.orders"


@pytest.fixture
def uri(server: UnityServer, unity: UnityCatalog, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a table of three rows; the environment configures its catalog."""
    monkeypatch.setenv("UNITY_CATALOG_URI", server.uri)
    monkeypatch.setenv("UNITY_CATALOG_TOKEN", "secret")
    table = dr.create_table(NAME, pa.schema([("id", pa.int64())]), catalog=unity)
    table.append({"id": [1, 2, 3]})
    return table.uri


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main([*arguments, "--json"])
    return code, capsys.readouterr().out


def test_accepts_a_name_instead_of_a_path(uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert uri.startswith("file://")
    code, out = run(capsys, "count", f"uc://{NAME}")
    assert (code, json.loads(out)) == (0, {"version": 1, "rows": 3})
    assert run(capsys, "verify", f"uc://{NAME}")[0] == 0


def test_why_shows_the_uri_of_the_catalog(uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run(capsys, "why", uri)
    assert code == 1
    assert "catalog.required" in result
    assert "uc://catalog.schema.table" in result
