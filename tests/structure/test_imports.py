"""Modules import each other in one direction only, also in functions and for type checkers."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
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
SPARK_ORDER = (
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
    "definition",
    "format",
    "delta_table",
    "statements",
)


def modules() -> dict[str, Path]:
    """Return the file of each module; that of a package is its ``__init__.py``."""
    return {
        ".".join(path.relative_to(PYTHON).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PYTHON.rglob("*.py")
    }


def imported(node: ast.AST, names: Collection[str]) -> Iterator[str]:
    """Yield the imports of these modules, wherever they are in a file."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names if alias.name in names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            assert child.module
            for alias in child.names:
                submodule = f"{child.module}.{alias.name}"
                if submodule in names:
                    yield submodule
                elif child.module in names:
                    yield child.module
        yield from imported(child, names)


def imports() -> dict[str, set[str]]:
    """Return the modules that each module imports."""
    files = modules()
    return {
        name: {*imported(ast.parse(path.read_text(encoding="utf-8")), files.keys())} - {name}
        for name, path in files.items()
    }


def topological_order(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules, each after those that it imports.

    Raises:
        CycleError: Modules import each other.
    """
    return list(TopologicalSorter(graph).static_order())


def imports_of_later_packages(
    graph: dict[str, set[str]], parent: str, packages: tuple[str, ...]
) -> list[str]:
    """Return the imports within ``parent`` by which a package imports one that comes after it."""

    def is_inside(module: str) -> bool:
        return module.startswith(f"{parent}.")

    def rank(module: str) -> int:
        return packages.index(module.removeprefix(f"{parent}.").split(".")[0])

    return [
        f"{name} imports {other}"
        for name, others in graph.items()
        for other in others
        if is_inside(name) and is_inside(other) and rank(other) > rank(name)
    ]


def test_imports_have_no_cycles() -> None:
    graph = imports()
    assert len(topological_order(graph)) == len(modules()) > 100
    assert sum(map(len, graph.values())) > 500

    # a snapshot that imports the table, which imports it
    graph["deltareplay._snapshot.snapshot"].add("deltareplay._table.table")
    with pytest.raises(CycleError):
        topological_order(graph)


def test_imports_from_a_package_count() -> None:
    names = {"a", "a.b", "a.b.c"}
    tree = ast.parse("from a.b import c\ndef f():\n    from a import function\n    import other")
    assert [*imported(tree, names)] == ["a.b.c", "a"]


def test_packages_import_those_before_them() -> None:
    graph = imports()
    assert not imports_of_later_packages(graph, "deltareplay", PYTHON_ORDER)
    assert {name.split(".")[1] for name in graph if "." in name} == {*PYTHON_ORDER}

    # a snapshot that imports a module of transactions
    graph["deltareplay._snapshot.scan"].add("deltareplay._transaction.written")
    assert imports_of_later_packages(graph, "deltareplay", PYTHON_ORDER) == [
        "deltareplay._snapshot.scan imports deltareplay._transaction.written"
    ]


def test_packages_of_spark_import_those_before_them() -> None:
    graph = imports()
    assert not imports_of_later_packages(graph, "deltareplay.spark", SPARK_ORDER)

    # a scan that imports a module of statements
    graph["deltareplay.spark.scan.read"].add("deltareplay.spark.dml.statement")
    assert imports_of_later_packages(graph, "deltareplay.spark", SPARK_ORDER) == [
        "deltareplay.spark.scan.read imports deltareplay.spark.dml.statement"
    ]


def test_merge_on_spark_is_in_few_modules() -> None:
    """The modules of ``dml`` that MERGE uses, and the one that converts and checks its rows."""
    graph = imports()
    result: set[str] = set()
    new = {"deltareplay.spark.dml.merge.builder"}
    while new:
        result |= new
        new = {name for module in new for name in graph[module]} - result
        new = {name for name in new if name.startswith("deltareplay.spark.dml.")}
    conversion = "deltareplay.spark.writing.table_rows"
    assert any(conversion in graph[module] for module in result)
    assert len(result | {conversion}) <= 9


def test_every_module_of_spark_is_in_a_package() -> None:
    spark = PYTHON / "deltareplay" / "spark"
    assert {path.name for path in spark.glob("*.py")} == {"__init__.py"}
    assert {path.parent.name for path in spark.glob("*/__init__.py")} == {*SPARK_ORDER}


def test_private_packages_only_have_a_docstring() -> None:
    python = PYTHON / "deltareplay"
    private = [*(python / "spark").glob("*/**/__init__.py"), *python.glob("_*/__init__.py")]
    assert len(private) > 20
    for path in private:
        (docstring,) = ast.parse(path.read_text(encoding="utf-8")).body
        assert isinstance(docstring, ast.Expr), str(path)


def test_the_design_shows_the_packages() -> None:
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    assert f"\n{' < '.join(PYTHON_ORDER[:-1])}\n" in design
    assert f"\n{' < '.join(SPARK_ORDER)}\n" in design
    table = design.partition("## The packages for Spark\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [*SPARK_ORDER]


def test_the_folders_of_spark_units_are_packages_of_spark() -> None:
    folders = {path.parent.name for path in (ROOT / "tests" / "spark_units").glob("*/test_*.py")}
    assert folders
    assert folders <= {*SPARK_ORDER}
