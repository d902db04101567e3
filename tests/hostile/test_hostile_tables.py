"""Tables made to break readers: each one is read correctly, or refused with a typed error.

Every table is read in a separate process, in at most 10 seconds and 1 GiB of memory.
"""

from __future__ import annotations

import json
import shutil
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

TIMEOUT_S = 10
#: Tables for which ``Table.verify()`` raises an error instead of returning findings.
UNVERIFIABLE = {
    "listing: no log",
    "listing: an empty log",
    "listing: a commit that is a link in a loop",
}
#: Codes of commits that cannot be read: these findings have a line or an offset.
UNREADABLE = {"commit.json", "commit.torn", "commit.line_too_long"}
#: The modules that register the cases when they are imported.
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
    return pool.Worker(Path(__file__).with_name("worker.py"), timeout=TIMEOUT_S)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the worker's response for each table."""
    root = tmp_path_factory.mktemp("hostile")
    result: dict[str, dict[str, Any]] = {}

    def work(process: pool.Worker, number: int, numbered: tuple[int, Case]) -> None:
        index, case = numbered
        table = root / str(index)
        build(case, table)
        result[str(case)] = process.ask(request(case, table))
        shutil.rmtree(table)

    failures = pool.run_jobs(list(enumerate(CASES)), work, make=worker)
    assert not failures
    return result


def test_all_cases_are_registered_under_unique_names() -> None:
    assert len(CASES) >= 166
    assert len({str(case) for case in CASES}) == len(CASES)
    assert len({case.kind for case in CASES}) >= 14


@pytest.mark.parametrize("case", CASES, ids=str)
def test_hostile_table(case: Case, answers: dict[str, dict[str, Any]]) -> None:
    answer = answers[str(case)]
    assert "untyped" not in answer, answer
    check(answer["snapshot"], case.snapshot)
    check(answer["rows"], case.rows if isinstance(case.rows, Refused) else ordered(case.rows))
    check_findings(answer["findings"], case)
    verified = answer["verified_snapshot"]
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
    result = answers[str(case)]["findings"]
    if str(case) in UNVERIFIABLE:
        assert result["path"]
        return
    outcomes = (case.snapshot, case.rows)
    [refused] = {outcome for outcome in outcomes if isinstance(outcome, Refused)}
    severities = {"error", "warning"}
    if refused.error == "UnsupportedFeatureError":
        severities.add("info")  # newer than this release, not wrong
    findings = [item for item in result["ok"] if item[0] in severities]
    where = case.finding or refused.file
    assert any(where in item[2] + item[3] for item in findings), result
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


def check_findings(result: dict[str, Any], case: Case) -> None:
    """Check that verification finds all that the case expects, and nothing in an intact table."""
    assert "untyped" not in result, result
    found: list[tuple[Any, ...]]
    if "error" in result:
        found = [("error", result["code"], result["path"], "")]
    else:
        found = [tuple(finding[:4]) for finding in result["ok"]]
    if not case.verify and not isinstance(case.rows, Refused):
        assert [item for item in found if item[0] in ("error", "warning")] == []
    for expected in case.verify:
        texts = [path + message for _, code, path, message in found if fits(code, expected)]
        assert texts, (expected, result)
        assert any(case.finding in text for text in texts), (case.finding, texts)


def fits(code: str, expected: str) -> bool:
    return code.startswith(expected) if expected.endswith(".") else code == expected
