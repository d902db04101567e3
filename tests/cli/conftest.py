"""The command in this process, as called by a person or a script."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="needs the extra `cli`")

from deltareplay.cli import main

ORDERS = str(Path(__file__).resolve().parents[2] / "demo" / "orders")


@dataclass(frozen=True)
class Done:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """Return the objects of ``--json``."""
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("FORCE_COLOR", "COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: object) -> Done:
        capsys.readouterr()
        code = main([str(item) for item in arguments])
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture
def orders() -> str:
    """The sample table of the demo: read only."""
    return ORDERS
