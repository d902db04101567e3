"""The modules of the package import each other one way, inside of functions and for types, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parents[2] / "python"


def modules() -> dict[str, Path]:
    """The files of the package; those of packages only say what is in them."""
    found = {}
    for path in PYTHON.rglob("*.py"):
        if path.name != "__init__.py":
            found[".".join(path.relative_to(PYTHON).with_suffix("").parts)] = path
    return found


def imported(node: ast.AST) -> Iterator[str]:
    """What is imported, wherever in a file."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module and child.level == 0:
            yield child.module
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        yield from imported(child)


def in_order(graph: dict[str, set[str]]) -> list[str]:
    return list(TopologicalSorter(graph).static_order())


def test_no_circles() -> None:
    files = modules()
    graph = {
        name: set(imported(ast.parse(path.read_text(encoding="utf-8")))) & files.keys() - {name}
        for name, path in files.items()
    }
    assert len(in_order(graph)) == len(files) > 100
    assert sum(map(len, graph.values())) > 500

    # a table that a snapshot would import back
    graph["deltareplay._snapshot"].add("deltareplay._table")
    with pytest.raises(CycleError):
        in_order(graph)
