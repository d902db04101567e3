"""The location of the conformance suite, and its cases."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
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
    """A table of the suite, with the results of the reference."""

    name: str
    directory: Path
    contested: str | None

    def __str__(self) -> str:
        return self.name

    @property
    def expected(self) -> dict[str, Any]:
        """Return ``case.json``: the expected results."""
        loaded: dict[str, Any] = json.loads((self.directory / "expected/case.json").read_text())
        return loaded

    def state(self, version: int) -> dict[str, Any]:
        """Return the snapshot of the reference at ``version``."""
        path = self.directory / f"expected/v{version}.json"
        loaded: dict[str, Any] = json.loads(path.read_text())
        return loaded


def root() -> Path | None:
    """Return the directory of the suite, or ``None`` if this machine does not have it."""
    named = os.environ.get(VARIABLE)
    candidates = [Path(named)] if named else [REPOSITORY.parent / "shared/conformance"]
    return next((path for path in candidates if (path / "index.json").is_file()), None)


def cases() -> list[Case]:
    """Return all cases; none without the suite."""
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
    """Return the suite's own runner as a module."""
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
    """Return the case's table; a temporary copy if the log has absolute paths."""
    directory, copy = runner().materialize(str(case.directory))
    try:
        yield f"{directory}/table"
    finally:
        if copy:
            shutil.rmtree(copy, ignore_errors=True)


def materialized_state(table: str, version: int) -> dict[str, Any]:
    """Return the reference's result at ``version`` of a table returned by ``table_of``."""
    state = Path(table).parent / f"expected/v{version}.json"
    loaded: dict[str, Any] = json.loads(state.read_text())
    return loaded
