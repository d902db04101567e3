"""Tables made to break readers: each one is read correctly, or refused with a typed error.

Every table is read in a process with at most 1 GiB and 10 seconds.
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
    checkpoints,
    data_files,
    deletion_vectors,
    json_lines,
    listings,
    metadata,
    optional_files,
    pages,
    paths,
)
from hostile.cases import CASES, Case, Refused, build

PATIENCE_S = 10
#: Tables of which verification raises an error.
UNVERIFIABLE = {
    "listing: no log",
    "listing: an empty log",
    "listing: a commit that is a link in a loop",
}
#: Errors that have a line or an offset.
UNREADABLE = {"commit.json", "commit.torn", "commit.line_too_long"}
#: The modules in which the cases are registered.
MODULES = (
    optional_files,
    checkpoints,
    data_files,
    json_lines,
    listings,
    metadata,
    pages,
    paths,
    deletion_vectors,
)


def request(case: Case, table: Path) -> str:
    return json.dumps({"table": str(table), "filter": case.filter, "columns": case.columns})


def worker() -> pool.Worker:
    return pool.Worker(Path(__file__).with_name("worker.py"), patience=PATIENCE_S)


@pytest.fixture(scope="module")
def answers() -> Iterator[dict[str, dict[str, Any]]]:
    """Return the results for each table, read by two processes."""
    root = Path(tempfile.mkdtemp(prefix="hostile-"))
    result: dict[str, dict[str, Any]] = {}
    guard = threading.Lock()

    def work(process: pool.Worker, number: int, numbered: tuple[int, Case]) -> None:
        index, case = numbered
        table = root / str(index)
        build(case, table)
        answer = process.ask(request(case, table))
        with guard:
            result[str(case)] = answer
        shutil.rmtree(table)

    complaints = pool.run_jobs(list(enumerate(CASES)), work, make=worker)
    assert not complaints
    yield result
    shutil.rmtree(root)


def test_cases_have_unique_names() -> None:
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
    reported = answer["verify"].get("ok", [])
    if "error" in answer["verify"]:
        reported = [["error", answer["verify"]["code"], answer["verify"]["path"], ""]]
    if not case.verify and not isinstance(case.rows, Refused):
        assert [item for item in reported if item[0] in ("error", "warning")] == []
    for code in case.verify:
        of_code = [
            item for item in reported if item[1] == code or (code[-1] == "." and code in item[1])
        ]
        assert of_code, (code, answer["verify"])
        assert any(case.finding in item[2] + item[3] for item in of_code), (case.finding, of_code)
    verified = answer["verified"]
    assert "untyped" not in verified, verified
    if isinstance(case.snapshot, Refused):
        assert "error" in verified, "verify=True accepts a table that a plain snapshot refuses"


@pytest.mark.parametrize(
    "case", [case for case in CASES if isinstance(case.rows, Refused)], ids=str
)
def test_verification_reports_refused_tables(
    case: Case, answers: dict[str, dict[str, Any]]
) -> None:
    """A finding names the file with the error, and the line of a commit that cannot be read."""
    verified = answers[str(case)]["verify"]
    if str(case) in UNVERIFIABLE:
        assert verified["path"]
        return
    [refused] = {row for row in (case.snapshot, case.rows) if isinstance(row, Refused)}
    severe = {"error", "warning"}
    if refused.error == "UnsupportedFeatureError":
        severe.add("info")  # newer than this release, not wrong
    findings = [item for item in verified["ok"] if item[0] in severe]
    where = case.finding or refused.file
    assert any(where in item[2] + item[3] for item in findings), verified
    for _, code, path, _, line, offset in findings:
        if code in UNREADABLE and path.endswith(".json"):
            assert line is not None or offset is not None, (code, path)


def ordered(ids: tuple[int | None, ...]) -> list[int | None]:
    return sorted(ids, key=lambda row: (row is None, row or 0))


def check(result: dict[str, Any], expected: Any) -> None:
    """Compare with the expected result or error."""
    assert "untyped" not in result, result
    if not isinstance(expected, Refused):
        assert result.get("ok") == expected, result
        return
    assert result.get("error") == expected.error, result
    assert result["code"]
    assert expected.file in result["path"] or expected.file in result["message"], result
    if result["code"].startswith("commit.") and result["path"].endswith(".json"):
        assert result["line"] is not None or result["offset"] is not None, result
