"""Tables that somebody wrote to break readers: each one right, or refused with a name.

Every table is read in a process that may take 1 GiB and 10 seconds.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults import pool
from hostile import (
    beside,
    checkpoints,
    data_files,
    json_lines,
    listings,
    metadata,
    pages,
    paths,
    vectors_,
)
from hostile.bench import CASES, Case, Refused, build

PATIENCE_S = 10
#: There is nothing to look at: verification raises.
NOT_LISTED = {
    "listing: no log",
    "listing: an empty log",
    "listing: a commit that is a link in a loop",
}
#: What is wrong with a line, not with what the lines add up to.
UNREADABLE = {"commit.json", "commit.torn", "commit.line_too_long"}
#: Where the cases are registered.
MODULES = (beside, checkpoints, data_files, json_lines, listings, metadata, pages, paths, vectors_)


def request(case: Case, table: Path) -> str:
    return json.dumps({"table": str(table), "filter": case.filter, "columns": case.columns})


def worker() -> pool.Worker:
    return pool.Worker(Path(__file__).with_name("worker.py"), patience=PATIENCE_S)


@pytest.fixture(scope="module")
def answers() -> Iterator[dict[str, dict[str, Any]]]:
    """What each table says, asked once by two processes."""
    root = Path(tempfile.mkdtemp(prefix="hostile-"))
    found: dict[str, dict[str, Any]] = {}
    guard = threading.Lock()

    def work(process: pool.Worker, number: int, numbered: tuple[int, Case]) -> None:
        index, case = numbered
        table = root / str(index)
        build(case, table)
        answer = process.ask(request(case, table))
        with guard:
            found[str(case)] = answer
        shutil.rmtree(table)

    complaints = pool.over(list(enumerate(CASES)), work, make=worker)
    assert not complaints
    yield found
    shutil.rmtree(root)


def test_there_are_many_and_each_has_a_name() -> None:
    assert len(CASES) >= 166
    assert len({str(case) for case in CASES}) == len(CASES)
    assert len(Counter(case.kind for case in CASES)) >= 14


@pytest.mark.parametrize("case", CASES, ids=str)
def test_hostile_table(case: Case, answers: dict[str, dict[str, Any]]) -> None:
    answer = answers[str(case)]
    assert "untyped" not in answer, answer
    check(answer["snapshot"], case.snapshot)
    expected = case.rows if isinstance(case.rows, Refused) else ordered(case.rows)
    check(answer["rows"], expected)
    told = answer["verify"].get("ok", [])
    if "error" in answer["verify"]:
        told = [["error", answer["verify"]["code"], answer["verify"]["path"], ""]]
    if not case.verify and not isinstance(case.rows, Refused):
        assert [one for one in told if one[0] in ("error", "warning")] == []
    for code in case.verify:
        of_code = [one for one in told if one[1] == code or (code[-1] == "." and code in one[1])]
        assert of_code, (code, answer["verify"])
        assert any(case.found in one[2] + one[3] for one in of_code), (case.found, of_code)
    sound = answer["verified"]
    assert "untyped" not in sound, sound
    if isinstance(case.snapshot, Refused):
        assert "error" in sound, "a verified snapshot of what no snapshot can be had of"


@pytest.mark.parametrize(
    "case", [case for case in CASES if isinstance(case.rows, Refused)], ids=str
)
def test_verification_names_what_is_refused(case: Case, answers: dict[str, dict[str, Any]]) -> None:
    """The file at fault, and the line of a commit that cannot be read."""
    verified = answers[str(case)]["verify"]
    if str(case) in NOT_LISTED:
        assert verified["path"]
        return
    [refused] = {one for one in (case.snapshot, case.rows) if isinstance(one, Refused)}
    severe = {"error", "warning"}
    if refused.error == "UnsupportedFeatureError":
        severe.add("info")  # newer than this release, not wrong
    named = [one for one in verified["ok"] if one[0] in severe]
    where = case.found or refused.file
    assert any(where in one[2] + one[3] for one in named), verified
    for _, code, path, _, line, offset in named:
        if code in UNREADABLE and path.endswith(".json"):
            assert line is not None or offset is not None, (code, path)


def ordered(ids: tuple[int | None, ...]) -> list[int | None]:
    return sorted(ids, key=lambda one: (one is None, one or 0))


def check(found: dict[str, Any], expected: Any) -> None:
    """Right, or refused with a name."""
    assert "untyped" not in found, found
    if not isinstance(expected, Refused):
        assert found.get("ok") == expected, found
        return
    assert found.get("error") == expected.error, found
    assert found["code"]
    assert expected.file in found["path"] or expected.file in found["message"], found
    if found["code"].startswith("commit.") and found["path"].endswith(".json"):
        assert found["line"] is not None or found["offset"] is not None, found
