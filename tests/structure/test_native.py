"""The native module: typed by its stub, frozen, final, and documented."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types
from pathlib import Path

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay import _native

CLASSES = [value for value in vars(_native).values() if isinstance(value, type)]
FUNCTIONS = [
    value for value in vars(_native).values() if isinstance(value, types.BuiltinFunctionType)
]


def test_classes_and_functions_are_found() -> None:
    assert {cls.__name__ for cls in CLASSES} >= {"Table", "Snapshot", "BatchIterator"}
    assert FUNCTIONS


@pytest.mark.slow  # mypy parses the package again
def test_stub_agrees_with_the_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "deltareplay._native"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_classes_are_final(cls: type) -> None:
    assert cls.__module__ == "deltareplay._native"
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Sub", (cls,), {})


V2 = {"delta.checkpointPolicy": "v2"}


def test_classes_are_frozen(table: dr.Table, rows: dr.Table, tmp_path: Path) -> None:
    snapshot = table.native.snapshot()
    batches = snapshot.file_batches()
    scan = rows.native.snapshot().scan()
    changes = rows.native.changes(0)
    pieces, tail, _ = snapshot.replay_plan(piece_size=1, keyed=True)
    v2 = dr.create_table(tmp_path, pa.schema({"id": pa.int64()}), (), V2).native
    target = dr.Table(f"{tmp_path}-clone").native
    words = pa.table({"file": pa.array([0], pa.int32()), "word": [0], "bits": [1]})
    one_of_each = [
        *(table.native, snapshot, batches, batches.schema, batches.next_batch(), snapshot.files()),
        *(scan, scan.splits(1)[0]),
        table.native.transaction(snapshot, "WRITE"),
        *(changes, changes.splits(1)[0], rows.follow()._native),
        rows.native.changes(0, kind="min-delta", key=["id"]).shuffle(),
        *(pieces[0], tail),
        _native.CheckpointPlan(v2, v2.snapshot(), 1),
        _native.OptimizePlan(v2, v2.snapshot(), None, [], False, False, None),
        _native.MarkedRows(words),
        _native.Conversion('{"type":"struct","fields":[]}', {}, True),
        _native.Cloning(v2, v2.snapshot(), target, True, False, {}),
        _native.DeletionVector.decode(b"\xd1\xd3\x39\x64" + bytes(8)),
    ]
    assert {type(item) for item in one_of_each} == set(CLASSES)
    for item in one_of_each:
        for name in [*(name for name in vars(type(item)) if not name.startswith("_")), "new"]:
            with pytest.raises(AttributeError):
                setattr(item, name, 1)


@pytest.mark.parametrize("thing", [*CLASSES, *FUNCTIONS], ids=lambda thing: thing.__name__)
def test_everything_is_documented(thing: object) -> None:
    assert inspect.getdoc(thing)
    if isinstance(thing, type):
        for name, member in vars(thing).items():
            if not name.startswith("_"):
                assert inspect.getdoc(member), f"{thing.__name__}.{name}"
