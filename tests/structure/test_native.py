"""The native module: typed by its stub, frozen, final, and documented."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types

import pytest

import deltareplay as dr
from deltareplay import _native

CLASSES = [value for value in vars(_native).values() if isinstance(value, type)]
FUNCTIONS = [
    value for value in vars(_native).values() if isinstance(value, types.BuiltinFunctionType)
]


def test_looked_at_something() -> None:
    assert {cls.__name__ for cls in CLASSES} >= {"Table", "Snapshot", "BatchIterator"}
    assert FUNCTIONS


def test_stub_says_what_is_there() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "deltareplay._native"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_classes_are_frozen(cls: type) -> None:
    assert cls.__module__ == "deltareplay._native"
    assert "__dict__" not in dir(cls)
    for name, member in vars(cls).items():
        if inspect.isgetsetdescriptor(member):
            with pytest.raises(AttributeError):
                member.__set__(None, 1)  # type: ignore[arg-type]
        assert name != "__setattr__"
    with pytest.raises(TypeError):
        type("Sub", (cls,), {})


def test_an_instance_takes_no_attribute(table: dr.Table) -> None:
    snapshot = table._native.snapshot()
    for owner, name in ((snapshot, "version"), (snapshot, "new"), (table._native, "uri")):
        with pytest.raises(AttributeError):
            setattr(owner, name, 1)


@pytest.mark.parametrize("thing", [*CLASSES, *FUNCTIONS], ids=lambda thing: thing.__name__)
def test_everything_is_documented(thing: object) -> None:
    assert inspect.getdoc(thing)
    if isinstance(thing, type):
        for name, member in vars(thing).items():
            if not name.startswith("_"):
                assert inspect.getdoc(member), f"{thing.__name__}.{name}"
