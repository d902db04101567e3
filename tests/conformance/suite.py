"""Where the conformance suite lies, and which of its cases exist."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
VARIABLE = "DELTAREPLAY_CONFORMANCE"


@dataclass(frozen=True)
class Case:
    """One table of the suite, with what the reference read from it."""

    name: str
    directory: Path
    contested: str | None

    def __str__(self) -> str:
        return self.name

    @property
    def expected(self) -> dict[str, Any]:
        """``case.json``: what is to be checked."""
        loaded: dict[str, Any] = json.loads((self.directory / "expected/case.json").read_text())
        return loaded

    def state(self, version: int) -> dict[str, Any]:
        """The snapshot that the reference found at ``version``."""
        path = self.directory / f"expected/v{version}.json"
        loaded: dict[str, Any] = json.loads(path.read_text())
        return loaded


def root() -> Path | None:
    """The directory of the suite, or ``None`` on a machine that does not have it."""
    named = os.environ.get(VARIABLE)
    candidates = [Path(named)] if named else [REPOSITORY.parent / "shared/conformance"]
    return next((path for path in candidates if (path / "index.json").is_file()), None)


def cases() -> list[Case]:
    """Every case; none where the suite is absent."""
    suite = root()
    if suite is None:
        return []
    index = json.loads((suite / "index.json").read_text())["cases"]
    return [
        Case(entry["case"], suite / "cases" / entry["case"], entry.get("contested"))
        for entry in index
    ]


@cache
def runner() -> ModuleType:
    """The suite's own runner, as a module."""
    suite = root()
    if suite is None:
        raise LookupError("the conformance suite is not on this machine")
    spec = importlib.util.spec_from_file_location(
        "conformance_runner", suite / "run_conformance.py"
    )
    if spec is None or spec.loader is None:
        raise LookupError("the conformance suite has no runner")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def table_of(case: Case) -> Iterator[str]:
    """The case's table; a temporary copy where the log holds absolute paths."""
    import shutil

    directory, copy = runner().materialize(str(case.directory))
    try:
        yield f"{directory}/table"
    finally:
        if copy:
            shutil.rmtree(copy, ignore_errors=True)


def materialized_state(table: str, version: int) -> dict[str, Any]:
    """What the reference found at ``version`` of a table that ``table_of`` gave."""
    state = Path(table).parent / f"expected/v{version}.json"
    loaded: dict[str, Any] = json.loads(state.read_text())
    return loaded
