"""The subcommands why and verify."""

from __future__ import annotations

import csv
import io

import pytest
from support import logs


def test_why_of_a_supported_table(run, orders) -> None:
    done = run("why", orders)
    assert done.code == 0
    assert "reads and writes" in done.out
    assert run("why", orders, "--json").out == ""


def test_why_of_a_table_that_cannot_be_opened(run, log: logs.LogBuilder) -> None:
    features = {"reader_features": ["fancyFeature"], "writer_features": ["fancyFeature"]}
    log.create(logs.schema(id="long"), protocol_action=logs.protocol(3, 7, **features))
    log.commit(logs.commit_info())

    done = run("why", log.uri, "--json")

    assert done.code == 1
    assert [(row["prevents"], row["feature"]) for row in done.lines] == [
        ("reading", "fancyFeature"),
        ("writing", "fancyFeature"),
    ]
    assert all(row["remedy"] for row in done.lines)
    text = run("why", log.uri)
    assert (text.code, text.err) == (1, "")
    assert text.out.count("try: ") == 2
    displayed = run("show", log.uri)
    assert displayed.code == 3
    assert "fancyFeature" in displayed.err
    assert "deltareplay why" in displayed.err


def test_why_of_an_older_version(run, log: logs.LogBuilder) -> None:
    features = {"reader_features": ["fancyFeature"], "writer_features": ["fancyFeature"]}
    log.create(logs.schema(id="long"), protocol_action=logs.protocol(3, 7, **features))
    log.commit(logs.protocol(1, 2))
    done = run("why", log.uri, "--version", 0, "--json")
    assert [row["feature"] for row in done.lines] == ["fancyFeature", "fancyFeature"]
    assert run("why", log.uri).code == 0


@pytest.mark.parametrize("kept_commits", [0, 1, 2, 6, 7, 14])
def test_why_after_log_cleanup(run, log: logs.LogBuilder, kept_commits: int) -> None:
    log.create(logs.schema(id="long"))
    for _ in range(9):
        log.commit(logs.commit_info())
    log.checkpoint()
    features = {"reader_features": ["fancyFeature"], "writer_features": ["fancyFeature", "other"]}
    log.commit(logs.protocol(3, 7, **features))
    for _ in range(kept_commits):
        log.commit(logs.commit_info())
    log.delete_commits(10)
    assert [row["feature"] for row in run("why", log.uri, "--json").lines] == [
        "fancyFeature",
        "fancyFeature",
        "other",
    ]


def test_verify_of_a_sound_table(run, orders) -> None:
    done = run("verify", orders)
    assert (done.code, done.err) == (0, "")
    assert "nothing is wrong" in done.out
    (facts,) = run("verify", orders, "--json").lines
    assert facts["ok"]
    assert facts["num_files"] == 16


def test_verify_lists_findings(run, events: logs.LogBuilder) -> None:
    assert run("verify", events.uri, "--log-only").code == 0

    done = run("verify", events.uri)

    assert done.code == 1
    assert done.out.count("[file.missing]") == 2
    assert "try: " in done.out
    assert "nothing is wrong" not in done.out
    as_json = run("verify", events.uri, "--json")
    assert as_json.code == 1
    assert [finding["code"] for finding in as_json.lines[0]["findings"]] == ["file.missing"] * 2
    rows = list(csv.DictReader(io.StringIO(run("verify", events.uri, "--csv").out)))
    assert [row["severity"] for row in rows] == ["error", "error"]
