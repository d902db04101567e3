"""Check a mixed race: its log, read as plain JSON, against the journals of its processes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from concurrency import plans
from property.model import Model

Row = tuple[str, int, int]
#: The last version before a race.
START = 1


@dataclass(frozen=True)
class Result:
    """The result of a race without a fault.

    Attributes:
        rows: The rows of the last version.
        authors: The writer of each version after ``START``.
        conflicts: The number of attempts that failed with a conflict, by writer.
        reads: The number of versions that readers recorded.
    """

    rows: list[Row]
    authors: list[str]
    conflicts: Counter[str]
    reads: int


def rows_of(state: plans.State) -> list[Row]:
    return sorted((key, half, v) for key, v in state.items() for half in (0, 1))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def check(
    table: Path, first: plans.State, journals: Iterable[Path], seen: Iterable[Path]
) -> Result:
    """Check that log, journals and reads are consistent.

    Args:
        table: The root of the table.
        first: The keys and values of version 1, after which the race begins.
        journals: The journals of the writers.
        seen: The journals of the readers.

    Raises:
        AssertionError: They are not consistent.
    """
    commits = commits_of(table)
    marks = [_commit_info(commit).get("userMetadata") for commit in commits]
    steps, versions, conflicts = {}, {}, Counter[str]()
    for journal in journals:
        running: dict[str, plans.Step] = {}
        for entry in lines(journal):
            mark = entry["mark"]
            if "step" in entry:
                running[mark] = entry["step"]
                continue
            step = running.pop(mark)
            if "failed" in entry:
                assert mark not in marks, f"{mark} was refused and is in the log"
                conflicts[mark.split()[0]] += 1
                continue
            assert marks.count(mark) == 1, f"{mark} is in the log {marks.count(mark)} times"
            steps[mark], versions[mark] = step, marks.index(mark)
            assert entry["version"] in (None, versions[mark]), f"{mark} has another version"
        assert not running, f"no result of {list(running)}"
    unknown = [mark for mark in marks[START + 1 :] if mark not in steps]
    assert not unknown, f"no writer committed {unknown}"

    state, states, replay = first, {START: first}, Model()
    for version, commit in enumerate(commits):
        replay.replay(commit)
        if version > START:
            state = states[version] = plans.applied(state, steps[str(marks[version])])
        if version >= START:
            counted = sum(map(_rows_in, replay.files.values()))
            assert counted == 2 * len(state), f"version {version} has {counted} rows"
    check_order(versions)
    check_ids_and_timestamps(commits)

    reads = 0
    for journal in seen:
        for entry in lines(journal):
            if entry["version"] < START:
                continue
            expected = [list(row) for row in rows_of(states[entry["version"]])]
            assert entry["rows"] == expected, f"{journal.stem} saw other rows in {entry['version']}"
            reads += 1
    authors = [str(mark).split()[0] for mark in marks[START + 1 :]]
    return Result(rows_of(state), authors, conflicts, reads)


def commits_of(table: Path) -> list[list[dict[str, Any]]]:
    """Return the actions of all commits; their versions have no gap."""
    result = sorted(table.glob("_delta_log/" + "[0-9]" * 20 + ".json"))
    assert [int(path.stem) for path in result] == list(range(len(result))), "a version is missing"
    return [lines(path) for path in result]


def check_order(versions: dict[str, int]) -> None:
    """Check that each writer's steps are in the log in the order of its journal."""
    last: dict[str, int] = {}
    for mark in sorted(versions, key=versions.__getitem__):
        name, number, _ = mark.split()
        assert last.get(name, -1) == int(number) - 1, f"{mark} is out of order"
        last[name] = int(number)


def check_ids_and_timestamps(commits: list[list[dict[str, Any]]]) -> None:
    """Check row ids and in-commit timestamps, if enabled: ids are unique, and timestamps ascend."""
    adds = [action["add"] for commit in commits for action in commit if "add" in action]
    files = {add["path"]: add for add in reversed(adds)}
    free = 0
    for add in sorted(
        (a for a in files.values() if "baseRowId" in a), key=lambda a: a["baseRowId"]
    ):
        assert add["baseRowId"] >= free, f"{add['path']} has row ids of another file"
        free = add["baseRowId"] + json.loads(add["stats"])["numRecords"]
    result = [_commit_info(commit).get("inCommitTimestamp") for commit in commits]
    times = [time for time in result if time is not None]
    assert times == sorted(set(times)), "in-commit timestamps do not increase"
    assert len(times) in (0, len(commits)), "a commit has no timestamp"


def _commit_info(commit: list[dict[str, Any]]) -> dict[str, Any]:
    return next((action["commitInfo"] for action in commit if "commitInfo" in action), {})


def _rows_in(add: dict[str, Any]) -> int:
    vector = add.get("deletionVector") or {"cardinality": 0}
    return int(json.loads(add["stats"])["numRecords"]) - int(vector["cardinality"])
