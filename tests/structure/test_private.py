"""Private attributes are only used in their package; members for other packages have public names.

Their docstrings begin with ``Internal:``, so that they are not part of the API
(``test_public.py``).
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[2] / "python"

#: Private attributes of other libraries without a public alternative, and the modules that use
#: them.
FOREIGN = {
    # the JVM, writers, and the plans of Spark Connect
    "deltareplay.spark.session.internals": {
        *("_alias", "_child", "_df", "_expr", "_gateway", "_jdf", "_jsparkSession", "_jvm"),
        *("_client", "_plan", "_session", "_spark", "_temp_views", "_write_stream"),
    },
    # a schema of pyarrow for expressions of other engines
    "deltareplay._arrow.arrow_expressions": {"_export_to_c"},
    "deltareplay.cli._values": {"_export_to_c", "_import_from_c"},
    # the caller of a function, for warnings
    "deltareplay._support.warnings": {"_getframe"},
}

Definitions = dict[str, set[str]]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def package(module: str) -> str:
    """Return the folder of a module."""
    parts = module.split(".")
    depth = 3 if parts[:2] == ["deltareplay", "spark"] else 2
    return ".".join(parts[:depth])


def trees() -> dict[str, ast.Module]:
    return {
        ".".join(path.relative_to(PYTHON).with_suffix("").parts): ast.parse(path.read_text("utf-8"))
        for path in PYTHON.rglob("*.py")
    }


def defined(owner: ast.ClassDef) -> Iterator[str]:
    """Return the private names that a class defines: in its body, in slots, and by ``self``."""
    for node in owner.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
            for value in ast.walk(node.value):  # __slots__
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value
    for node in ast.walk(owner):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node):
            yield node.attr


def is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def accesses(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    """Yield line and name of private attributes of other objects, and if these are variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node):
            yield node.lineno, node.attr, isinstance(node.value, ast.Name)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("getattr", "setattr", "hasattr", "delattr")
            and isinstance(name := node.args[1], ast.Constant)
            and is_private(str(name.value))
        ):
            yield node.lineno, str(name.value), False


def foreign_uses(modules: dict[str, ast.Module]) -> list[str]:
    """Return the uses of private attributes of other packages and libraries."""
    own: dict[str, Definitions] = {}
    defining_packages: Definitions = defaultdict(set)
    for module, tree in modules.items():
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        own[module] = {name: set() for part in classes for name in defined(part)}
        for name in own[module]:
            defining_packages[name].add(package(module))
    return [
        f"{module}:{line} {name}"
        for module, tree in modules.items()
        for line, name, is_of_name in accesses(tree)
        # of the package alone, or of a class of the same file as in `other._name`
        if defining_packages[name] != {package(module)}
        and not (is_of_name and name in own[module])
        and name not in FOREIGN.get(module, ())
    ]


def test_no_package_uses_private_attributes_of_another() -> None:
    modules = trees()
    assert len(modules) > 200
    assert foreign_uses(modules) == []

    # a statement that uses private attributes of a snapshot and of a transaction
    modules["deltareplay.spark.dml.delete"] = ast.parse("snapshot._table; t._description['tags']")
    assert foreign_uses(modules) == [
        "deltareplay.spark.dml.delete:1 _table",
        "deltareplay.spark.dml.delete:1 _description",
    ]


def test_private_attributes_of_other_libraries_are_listed() -> None:
    modules = trees()
    for module, names in FOREIGN.items():
        assert names == {name for _, name, _ in accesses(modules[module])} & names, module
