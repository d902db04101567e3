"""The modules of the package import each other one way, also inside of functions and for types."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "python"

#: The packages and modules of ``deltareplay``: each may import those before it.
PYTHON_ORDER = (
    "_names",
    "exceptions",
    "_support",
    "_deletion_vector",
    "_expressions",
    "_arrow",
    "_protocol",
    "catalogs",
    "_snapshot",
    "_changes",
    "_transaction",
    "_table",
    "viz",
    "spark",
    "cli",
    "__main__",
)

#: The packages of ``deltareplay.spark``: each may import those before it.
SPARK = (
    "syntax",
    "session",
    "schema",
    "storage",
    "catalog",
    "scan",
    "executors",
    "row_changes",
    "query",
    "writing",
    "dml",
    "maintenance",
    "format",
    "definition",
    "delta_table",
    "statements",
)


def modules() -> dict[str, Path]:
    """Return the files of the package; those of packages only have a docstring."""
    result = {}
    for path in PYTHON.rglob("*.py"):
        if path.name != "__init__.py":
            result[".".join(path.relative_to(PYTHON).with_suffix("").parts)] = path
    return result


def imported(node: ast.AST) -> Iterator[str]:
    """Return all imports, wherever in a file."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            assert child.module
            yield child.module
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        yield from imported(child)


def imports() -> dict[str, set[str]]:
    """Return the modules that each module imports."""
    files = modules()
    return {
        name: set(imported(ast.parse(path.read_text(encoding="utf-8")))) & files.keys() - {name}
        for name, path in files.items()
    }


def in_order(graph: dict[str, set[str]]) -> list[str]:
    return list(TopologicalSorter(graph).static_order())


def upwards(graph: dict[str, set[str]], parent: str, packages: tuple[str, ...]) -> list[str]:
    """Return the imports of a package by one that comes before it."""

    def rank(module: str) -> int | None:
        inside = module.startswith(f"{parent}.")
        return packages.index(module[len(parent) + 1 :].split(".")[0]) if inside else None

    return [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in others
        if (mine := rank(name)) is not None and (its := rank(other)) is not None and its > mine
    ]


def test_imports_have_no_cycles() -> None:
    graph = imports()
    assert len(in_order(graph)) == len(modules()) > 100
    assert sum(map(len, graph.values())) > 500

    # a table that a snapshot would import back
    graph["deltareplay._snapshot.snapshot"].add("deltareplay._table.table")
    with pytest.raises(CycleError):
        in_order(graph)


def test_packages_import_those_before_them() -> None:
    graph = imports()
    assert not upwards(graph, "deltareplay", PYTHON_ORDER)
    homes = {path.name.removesuffix(".py") for path in (PYTHON / "deltareplay").iterdir()}
    assert {*PYTHON_ORDER} <= homes

    # a snapshot that would know of transactions
    graph["deltareplay._snapshot.scan"].add("deltareplay._transaction.written")
    assert upwards(graph, "deltareplay", PYTHON_ORDER) == [
        "deltareplay._snapshot.scan imports deltareplay._transaction.written"
    ]


def test_packages_of_spark_import_those_before_them() -> None:
    graph = imports()
    assert not upwards(graph, "deltareplay.spark", SPARK)

    # types that a scan would take from a statement
    graph["deltareplay.spark.scan.read"].add("deltareplay.spark.dml.statement")
    assert upwards(graph, "deltareplay.spark", SPARK) == [
        "deltareplay.spark.scan.read imports deltareplay.spark.dml.statement"
    ]


def test_merge_on_spark_is_in_few_modules() -> None:
    """Everything that determines MERGE: its own modules, and the rows that they convert."""
    graph = imports()
    result: set[str] = set()
    new = {"deltareplay.spark.dml.merge.builder"}
    while new:
        result |= new
        new = {name for module in new for name in graph[module]} - result
        new = {name for name in new if name.startswith("deltareplay.spark.dml.")}
    converted = "deltareplay.spark.writing.table_rows"
    assert any(converted in graph[module] for module in result)
    assert len(result | {converted}) <= 9


def test_every_module_of_spark_is_in_a_package() -> None:
    spark = PYTHON / "deltareplay" / "spark"
    assert {path.name for path in spark.glob("*.py")} == {"__init__.py"}
    assert {path.parent.name for path in spark.glob("*/__init__.py")} == {*SPARK}


def test_packages_only_have_a_docstring() -> None:
    python = PYTHON / "deltareplay"
    private = [*(python / "spark").glob("*/**/__init__.py"), *python.glob("_*/__init__.py")]
    assert len(private) > 20
    for path in private:
        (docstring,) = ast.parse(path.read_text(encoding="utf-8")).body
        assert isinstance(docstring, ast.Expr), str(path)


def test_the_design_shows_the_packages() -> None:
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    assert f"\n{' < '.join(PYTHON_ORDER[:-1])}\n" in design
    assert f"\n{' < '.join(SPARK)}\n" in design
    table = design.partition("## The packages for Spark\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [*SPARK]


def test_tests_of_private_modules_are_in_their_packages() -> None:
    units = ROOT / "tests" / "spark_units"
    assert {path.parent.name for path in units.glob("*/test_*.py")} <= {*SPARK}
