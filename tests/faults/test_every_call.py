"""Every call that changes a file fails once, in every way, for every verb that writes.

Afterwards the table opens at the old version or at the new one, with exactly its rows; acknowledged
versions exist; an error correctly states whether something was committed; the next write
works. ``DELTAREPLAY_SLOW=1`` tests all calls; otherwise a sample, by ``DELTAREPLAY_SEED``.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults import shim
from faults.operations import CREATE, OPERATIONS, ROWS, Operation, as_rows, rows_of

import deltareplay as dr

SLOW = os.environ.get("DELTAREPLAY_SLOW") == "1"
SEED = int(os.environ.get("DELTAREPLAY_SEED", "20262"))
#: The number of calls of each verb in the sample.
SAMPLE = 6
NEXT = {999: 9}
#: Verbs that write in different ways; the others are slow tests.
QUICK = {"append", "delete by vectors", "merge", "checkpoint", "set_properties", "vacuum"}

pytestmark = pytest.mark.skipif(shim.missing() is not None, reason=shim.missing() or "")


@pytest.fixture
def workspace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=shim.memory()) as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def shimmed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[shim.Shimmed]:
    process = shim.Shimmed(shim.compiled(tmp_path_factory.mktemp("shim")))
    yield process
    process.close()


def cases(calls: list[tuple[str, str]]) -> list[tuple[int, str]]:
    """Return each call with each kind of failure; only calls that write bytes can be torn."""
    return [
        (at, how)
        for at, (name, _) in enumerate(calls)
        for how in shim.HOW
        if how != "torn" or name == "write"
    ]


def judge(operation: Operation, root: Path, outcome: shim.Outcome, last: int) -> str | None:
    """Return the problem, or None."""
    table = dr.Table(root)
    new = operation.after(ROWS)
    old = ROWS if operation.commits == 1 else new
    version, rows, count = rows_of(table)
    if count != len(rows):
        return f"version {version} has duplicate rows"
    if not last <= version <= last + operation.commits:
        return f"version {version} is neither {last} nor {last + operation.commits}"
    if rows != (old if version == last else new):
        return f"version {version} has other rows"
    if outcome.acknowledged:
        if version != last + operation.commits:
            return f"acknowledged, but the version is {version}"
    elif outcome.result is not None:
        if "DeltaReplayError" not in outcome.result["error"]:
            return f"an error without a type: {outcome.result}"
        unknown = "CommitStateUnknownError" in outcome.result["error"]
        if operation.commits == 1 and not unknown and version != last:
            return f"reported as failed, but version {version} exists: {outcome.result}"
    for older in range(operation.oldest, last):
        rows_of(table, older)
    table.append(as_rows(NEXT), durable=False)
    _, rows, count = rows_of(table)
    if rows != {**(old if version == last else new), **NEXT} or count != len(rows):
        return "the next write left other rows"
    return None


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(operation, marks=() if operation.name in QUICK else pytest.mark.slow)
        for operation in OPERATIONS
    ],
    ids=str,
)
def test_a_failed_call_leaves_the_old_or_the_new_version(
    operation: Operation, shimmed: shim.Shimmed, workspace: Path
) -> None:
    template = workspace / "template"
    table = operation.build(template)
    last, before, _ = rows_of(table)
    assert before == (ROWS if operation.commits == 1 else operation.after(ROWS))

    root = workspace / "table"
    shutil.copytree(template, root)
    whole = shimmed.perform(operation.name, root)
    assert whole.acknowledged, whole.result
    assert whole.result is not None
    assert whole.result["warnings"] == []
    assert judge(operation, root, whole, last) is None
    assert len(whole.calls) >= 3

    failures = []
    chosen = cases(whole.calls)
    if not SLOW:
        chosen = random.Random(f"{SEED} {operation}").sample(chosen, min(SAMPLE, len(chosen)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        for at, how in chosen:
            shutil.rmtree(root)
            shutil.copytree(template, root)
            outcome = shimmed.perform(operation.name, root, at, how)
            assert outcome.killed == how.startswith(("kill", "torn")) or at >= len(outcome.calls)
            try:
                wrong = judge(operation, root, outcome, last)
            except dr.DeltaReplayError as error:
                wrong = f"{type(error).__name__} {error.code}: {error}"
            if wrong:
                name, path = whole.calls[at]
                failures.append(f"{how} at call {at}, {name} of {path}: {wrong}")
    print(f"{operation}: {len(whole.calls)} calls, {len(chosen)} faults")
    assert not failures, f"{len(failures)} of {len(chosen)}:\n" + "\n".join(failures[:20])


def test_a_table_is_created_or_not(shimmed: shim.Shimmed, workspace: Path) -> None:
    whole = shimmed.perform(CREATE.name, workspace / "whole")
    assert whole.acknowledged, whole.result
    chosen = cases(whole.calls)
    if not SLOW:
        chosen = random.Random(SEED).sample(chosen, SAMPLE)
    for number, (at, how) in enumerate(chosen):
        root = workspace / f"{number}"
        outcome = shimmed.perform(CREATE.name, root, at, how)
        where = f"{how} at {whole.calls[at]}: {outcome.result}"
        if dr.is_table(root):
            assert rows_of(dr.Table(root)) == (0, {}, 0), where
            unknown = outcome.result and "CommitStateUnknownError" in outcome.result.get(
                "error", []
            )
            assert outcome.killed or outcome.acknowledged or unknown, where
            table = dr.Table(root)
        else:
            assert not outcome.acknowledged, where
            assert outcome.killed or "DeltaReplayError" in outcome.result["error"], where
            table = dr.create_table(root, dr.Table(workspace / "whole").snapshot().schema)
        table.append(as_rows(NEXT), durable=False)
        assert rows_of(table)[1] == NEXT, where


@pytest.mark.parametrize("how", ["no space", "I/O error"])
def test_failed_syncs_of_directories(how: str, shimmed: shim.Shimmed, workspace: Path) -> None:
    """Data that is not synced is not committed; the state of an unsynced commit is unknown."""
    append = OPERATIONS[0]
    append.build(workspace / "template")
    shutil.copytree(workspace / "template", workspace / "whole")
    calls = shimmed.perform(append.name, workspace / "whole").calls
    synced = [at for at, (name, path) in enumerate(calls) if name == "fsync" and "." not in path]
    assert [calls[at][1] for at in synced[:2]] == ["", "/_delta_log"], "the data, then the commit"
    expected = [("storage.unsynced", 2), ("commit.unknown", 3)]
    for at, (code, version) in zip(synced, expected, strict=False):
        root = workspace / code
        shutil.copytree(workspace / "template", root)
        output = shimmed.perform(append.name, root, at, how).result
        assert output is not None
        assert output["code"] == code
        assert ("CommitStateUnknownError" in output["error"]) == (code == "commit.unknown")
        assert rows_of(dr.Table(root))[:2] == (
            version,
            append.after(ROWS) if version == 3 else ROWS,
        )


def test_a_full_disk_is_reported(shimmed: shim.Shimmed, workspace: Path) -> None:
    append = OPERATIONS[0]
    append.build(workspace / "template")
    shutil.copytree(workspace / "template", workspace / "whole")
    calls = shimmed.perform(append.name, workspace / "whole").calls
    writes = [at for at, (name, _) in enumerate(calls) if name == "write"]
    in_log = ["/_delta_log/" in calls[at][1] for at in writes[:2]]
    assert in_log == [False, True], "the data, then the commit"
    for at in writes[:2]:
        root = workspace / f"{at}"
        shutil.copytree(workspace / "template", root)
        output = shimmed.perform(append.name, root, at, "no space").result
        assert output is not None
        assert output["code"] == "storage.full"
        assert rows_of(dr.Table(root))[:2] == (2, ROWS)
        left = [path for path in root.rglob("*") if path.is_file()]
        assert len(left) == len(
            [path for path in (workspace / "template").rglob("*") if path.is_file()]
        )
