"""Tests, benches and examples refer to modules and attributes of the package that exist.

Most tests of Spark run for minutes, after everything else: a name that a change has moved is found
here first.
"""

from __future__ import annotations

import ast
import functools
import importlib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("tests", "benches", "examples", "demo")


def ours(module: str | None) -> bool:
    return module is not None and module.split(".")[0] == "deltareplay"


@functools.cache
def resolved(name: str) -> Any:
    """Return the module or the attribute of a module or class that has this dotted name."""
    parts = name.split(".")
    value: Any = importlib.import_module(parts[0])
    for count, part in enumerate(parts[1:], start=2):
        if isinstance(value, types.ModuleType) and not hasattr(value, part):
            importlib.import_module(".".join(parts[:count]))
        value = getattr(value, part)
    return value


def references(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted name of each reference to a part of the package."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in filter(lambda alias: ours(alias.name), node.names):
                yield node.lineno, alias.name
                names[alias.asname or "deltareplay"] = alias.name if alias.asname else "deltareplay"
        elif isinstance(node, ast.ImportFrom) and ours(node.module):
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):  # names that are also variables or arguments are excluded
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.pop(node.id, None)
        elif isinstance(node, ast.arg):
            names.pop(node.arg, None)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name(name), attribute) if name in names:
                yield node.lineno, f"{names[name]}.{attribute}"
            case ast.Call(ast.Attribute(attr="setattr"), [ast.Constant(str(name)), *_]) if ours(
                name
            ):
                yield node.lineno, name
            case ast.Call(
                ast.Attribute(attr="setattr"), [ast.Name(owner), ast.Constant(str(name)), *_]
            ) if owner in names:
                yield node.lineno, f"{names[owner]}.{name}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_references_resolve(folder: str) -> None:
    pytest.importorskip("pyspark")
    missing = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for line, name in references(ast.parse(path.read_text("utf-8"))):
            try:
                resolved(name)
            except (AttributeError, ModuleNotFoundError) as error:
                missing.append(f"{path.relative_to(ROOT)}:{line}: {name}: {error}")
    assert not missing


def test_missing_names_do_not_resolve() -> None:
    text = """
from deltareplay.spark.scan import deletion_vectors as vectors
import deltareplay.no_such
monkeypatch.setattr("deltareplay.spark.scan.deletion_vectors._NO", 1)
monkeypatch.setattr(vectors, "_SUCH", 1)
vectors.name()
"""
    for _, name in references(ast.parse(text)):
        if name != "deltareplay.spark.scan.deletion_vectors":
            with pytest.raises((AttributeError, ModuleNotFoundError)):
                resolved(name)
    assert len({line for line, _ in references(ast.parse(text))}) == 5
