"""The public names: complete, documented, with examples that run."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from support import samples

import deltareplay as dr

#: Classes whose methods need no example: their class docstring or their caller has one.
WITHOUT_EXAMPLE = {
    "CommitConflictError",
    "CommitStateUnknownError",
    "CorruptTableError",
    "DeltaReplayWarning",
    "InvalidArgumentError",
    "StorageError",
    "TableNotFoundError",
    "UnsupportedFeatureError",
    "VersionNotFoundError",
}


def modules() -> list[ModuleType]:
    """Return every Python module of the package that can be imported here."""
    names = {info.name for info in pkgutil.walk_packages(dr.__path__, "deltareplay.")}
    names.remove("deltareplay._native")
    if importlib.util.find_spec("pyspark") is None:
        names.remove("deltareplay.spark.format.data_source")
    return [dr, *(importlib.import_module(name) for name in sorted(names))]


def is_internal(member: object) -> bool:
    """Return whether a member is for other packages of ours, and not part of the API."""
    return (inspect.getdoc(member) or "").startswith("Internal: ")


def internal() -> set[str]:
    return {
        f"{name}.{member}"
        for name in dr.__all__
        if isinstance(value := getattr(dr, name), type)
        for member, thing in inspect.getmembers(value)
        if not member.startswith("_") and is_internal(thing)
    }


def public() -> dict[str, Any]:
    """Return every public class and function, and the public members of the classes."""
    result: dict[str, Any] = {}
    for name in dr.__all__:
        value = getattr(dr, name)
        if not callable(value):
            continue
        result[name] = value
        if isinstance(value, type):
            bases = [base for base in value.__mro__ if base.__module__.startswith("deltareplay._")]
            members = [pair for part in (value, *bases) for pair in vars(part).items()]
            for member, thing in members:
                ours = isinstance(thing, property) or inspect.isfunction(thing)
                if ours and not member.startswith("_") and not is_internal(thing):
                    result[f"{name}.{member}"] = thing
    return result


PUBLIC = public()


def test_all_is_sorted_and_complete() -> None:
    assert dr.__all__ == sorted(dr.__all__)
    names = {
        name
        for name, value in vars(dr).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert names - {"import_module"} <= set(dr.__all__)
    stub = ast.parse(Path(dr.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = [
        (alias.name, alias.asname, node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    homes = [(name, home) for home, names in dr._EXPORTS.items() for name in names]
    # what type checkers see
    assert imported == [(name, name, f"deltareplay.{home}") for name, home in homes]
    assert all(hasattr(dr, name) for name in dr.__all__)
    assert {"Table", "Snapshot", "Table.snapshot", "Snapshot.files"} <= set(PUBLIC)


def test_public_modules_do_not_hide_names() -> None:
    import deltareplay.spark as dr_spark

    modules = [info.name for info in pkgutil.iter_modules(dr.__path__) if info.name[0] != "_"]
    assert sorted(modules) == ["catalogs", "cli", "exceptions", "spark", "viz"]
    assert not {info.name for info in pkgutil.iter_modules(dr_spark.__path__)} & {*dr_spark.__all__}


def test_the_package_is_imported_without_pyarrow() -> None:
    code = "import sys, deltareplay as dr; print('pyarrow' in sys.modules); dr.Table; dr.exceptions"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_internal_members_are_not_documented() -> None:
    names = internal()
    assert {"Table.native", "Snapshot.from_native", "Transaction.set_tag"} <= names
    assert not names & set(PUBLIC)
    api = (Path(__file__).resolve().parents[2] / "docs/reference/api.md").read_text("utf-8")
    sections = re.split(r"^## (\w+)$", api, flags=re.MULTILINE)
    documented = {
        f"{owner}.{member}"
        for owner, text in zip(sections[1::2], sections[2::2], strict=True)
        for member in re.findall(r"^\| `(\w+)", text, re.MULTILINE)
    }
    assert {"Table.uri", "Snapshot.log_segment", "Scan.explain"} <= documented
    assert not names & documented


@pytest.mark.parametrize("name", PUBLIC)
def test_has_a_docstring(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name])
    assert text
    assert text.splitlines()[0].endswith((".", ":")) or "\n" in text, "a whole sentence"


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in WITHOUT_EXAMPLE])
def test_has_an_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(PUBLIC[name]) or ""), f"{name} needs an example"


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if callable(value)])
def test_describes_every_argument(name: str) -> None:
    value = PUBLIC[name]
    if isinstance(value, type) and (
        dataclasses.is_dataclass(value) or issubclass(value, Exception)
    ):
        return  # attributes are documented instead
    if name == "Snapshot":
        return  # created by Table.snapshot alone
    text = inspect.getdoc(value) or ""
    for argument in inspect.signature(value).parameters:
        if argument != "self":
            assert f"{argument}: " in text, f"{name} does not describe {argument}"


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_examples_run(module: ModuleType, rows: dr.Table, tmp_path: Path) -> None:
    names = {**vars(module), "rows": rows, "dr": dr}
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in finder.find(module, globs=names):
        if example.examples:
            # a separate table: examples of writing must not affect the others
            example.globs["table"] = dr.Table(samples.events(tmp_path / example.name / "t").uri)
            schema = pa.schema([("id", pa.int64()), ("day", pa.date32())])
            example.globs["empty"] = dr.create_table(tmp_path / example.name / "e", schema)
            assert not runner.run(example).failed, f"{example.name}: see the captured output"


def test_dataclasses_are_frozen() -> None:
    result = [value for value in PUBLIC.values() if dataclasses.is_dataclass(value)]
    assert len(result) >= 8
    for value in result:
        assert value.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_tables_and_snapshots_have_no_other_attributes(table: dr.Table) -> None:
    for owner in (table, table.snapshot()):
        with pytest.raises(AttributeError):
            owner.something = 1  # type: ignore[attr-defined]


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert dr.__version__ == version("deltareplay")
