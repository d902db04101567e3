"""Appends, updates, deletes and merges of many processes, and tests of their check."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from concurrency import mixed, verdict

WRITERS = int(os.environ.get("DELTAREPLAY_WRITERS", "4"))
COMMITS = int(os.environ.get("DELTAREPLAY_COMMITS", "12"))


# two checkpoints at once: the hint of the older one may be written last
@pytest.mark.filterwarnings("ignore:the hint names version:deltareplay.DeltaReplayWarning")
@pytest.mark.parametrize("kind", mixed.KINDS)
def test_every_version_agrees_with_the_acknowledgements(tmp_path: Path, kind: str) -> None:
    table = mixed.create_table(tmp_path / "table", kind)
    race = mixed.Race(table, tmp_path / "journals")
    try:
        race.start_writers(WRITERS, COMMITS, 0.01)
        journals, seen = race.end()
    finally:
        race.kill()
    result = verdict.check(tmp_path / "table", mixed.INITIAL, journals, seen)
    print(kind, len(result.authors), "commits", result.conflicts, result.reads, "reads")
    assert len(result.authors) == WRITERS * COMMITS
    assert result.reads > 0
    scanned = table.snapshot().scan(columns=["key", "half", "v"]).to_arrow()
    assert sorted(zip(*scanned.to_pydict().values(), strict=True)) == result.rows


@dataclass(frozen=True)
class Run:
    """The result of a race: the table, and a journal of each kind."""

    root: Path

    def commit(self, version: int) -> Path:
        return self.root / f"table/_delta_log/{version:020}.json"

    @property
    def last(self) -> int:
        return len(list(self.root.glob("table/_delta_log/*.json"))) - 1

    @property
    def writer(self) -> Path:
        return self.root / "journals/writer-w0"

    @property
    def reader(self) -> Path:
        return self.root / "journals/reader-0"

    def checked(self) -> verdict.Result:
        return verdict.check(self.root / "table", mixed.INITIAL, [self.writer], [self.reader])


@pytest.fixture(scope="module")
def valid_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A race of one process, without a fault."""
    run = Run(tmp_path_factory.mktemp("race"))
    race = mixed.Race(
        mixed.create_table(run.root / "table", "vectors and row ids"), run.root / "journals"
    )
    try:
        race.start_writers(1, 8, 0.1)
        race.end()
    finally:
        race.kill()
    return run


def edit(path: Path, at: int, change: Callable[[dict[str, Any]], object]) -> None:
    """Change one line of JSON."""
    result = verdict.lines(path)
    change(result[at])
    path.write_text("".join(json.dumps(line) + "\n" for line in result), encoding="utf-8")


def overwrite_commit(run: Run) -> None:
    """Overwrite a commit, like a rename that comes too late."""
    shutil.copy(run.commit(run.last), run.commit(4))


def report_another_version(run: Run) -> None:
    def other(entry: dict[str, Any]) -> None:
        entry["version"] += 1

    edit(run.writer, 1, other)


def report_a_conflict(run: Run) -> None:
    def failed(entry: dict[str, Any]) -> None:
        del entry["version"]
        entry["failed"] = "CommitConflictError"

    edit(run.writer, -1, failed)


def lose_files(run: Run) -> None:
    path = run.commit(2)
    kept = [line for line in path.read_text().splitlines() if '"add"' not in line]
    path.write_text("\n".join(kept) + "\n")


def repeat_row_ids(run: Run) -> None:
    """Give the rows of the race's first append the ids of earlier ones."""
    result = verdict.lines(run.commit(2))
    at = next(number for number, line in enumerate(result) if "add" in line)
    edit(run.commit(2), at, lambda line: line["add"].update(baseRowId=0))


def repeat_a_timestamp(run: Run) -> None:
    time = verdict.lines(run.commit(3))[0]["commitInfo"]["inCommitTimestamp"]
    edit(run.commit(4), 0, lambda line: line["commitInfo"].update(inCommitTimestamp=time))


FAULTS: dict[str, tuple[Callable[[Run], object], str]] = {
    "the last commit lost": (lambda run: run.commit(run.last).unlink(), "in the log 0 times"),
    "a commit lost": (lambda run: run.commit(4).unlink(), "a version is missing"),
    "a commit overwritten": (overwrite_commit, "in the log [02] times"),
    "a commit doubled": (
        lambda run: shutil.copy(run.commit(run.last), run.commit(run.last + 1)),
        "in the log 2 times",
    ),
    "a commit without a journal entry": (
        lambda run: shutil.copy(run.commit(0), run.commit(run.last + 1)),
        "no writer committed",
    ),
    "acknowledged with another version": (report_another_version, "has another version"),
    "refused and committed": (report_a_conflict, "was refused and is in the log"),
    "files lost": (lose_files, "version 2 has . rows"),
    "row ids twice": (repeat_row_ids, "row ids of another file"),
    "a timestamp twice": (repeat_a_timestamp, "in-commit timestamps do not increase"),
    "a reader saw half a commit": (
        lambda run: edit(run.reader, -1, lambda line: line["rows"].pop()),
        "saw other rows",
    ),
}


def test_a_valid_race_passes(valid_run: Run) -> None:
    assert len(valid_run.checked().authors) == 8


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(valid_run: Run, tmp_path: Path, fault: str) -> None:
    run = Run(tmp_path / "race")
    shutil.copytree(valid_run.root, run.root)
    inject, message = FAULTS[fault]
    inject(run)
    with pytest.raises(AssertionError, match=message):
        run.checked()
