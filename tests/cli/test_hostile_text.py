"""Untrusted text in every output: nothing that a terminal interprets, forges a line, or computes.

These characters are the test's own list: C0, DEL and C1 (ECMA-48), separators of lines and marks
that reorder text (Unicode, "Bidirectional Character Types"), and the beginnings of formulas
(OWASP, "CSV Injection").
"""

from __future__ import annotations

import csv
import io
import logging
import pickle
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import actions, logs

import deltareplay as dr

TEXT = (
    "=cmd|'/c calc'!A1\x1b]52;c;cm0gLXJm\x07\x1b[2J\x9b31m\x85\u202eevil\u2066\u200f\u2028\x7f\r\n"
    "INFO:root:forged\tx<script>alert(1)</script>[red]r[/red]"
)
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
FORGED = re.compile("^INFO:root", re.MULTILINE)
NUMBER = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")


@pytest.fixture
def hostile(log: logs.LogBuilder) -> logs.LogBuilder:
    """A table whose every name and value is the text; the newest file does not exist."""
    name, part = f"c{TEXT}", f"p{TEXT}"
    pq.write_table(pa.table({"id": [1, 2], name: [TEXT, "x"]}), log.table / "ok.parquet")
    size = (log.table / "ok.parquet").stat().st_size
    schema = logs.schema(id="long", **{name: "string", part: "string"})
    described: dict[str, Any] = {
        "name": TEXT,
        "description": TEXT,
        "partition_columns": [part],
        "configuration": {f"k{TEXT}": TEXT},
    }
    info = {
        "commitInfo": {
            "timestamp": 1,
            "operation": TEXT,
            "operationParameters": {TEXT: TEXT},
            "operationMetrics": {"numOutputRows": TEXT, TEXT: TEXT},
            "userName": TEXT,
            "engineInfo": TEXT,
        }
    }
    values = {part: TEXT}
    log.create(schema, logs.add("ok.parquet", partition_values=values, size=size), **described)
    described["configuration"] = {f"other{TEXT}": TEXT}
    wider = logs.schema(id="long", **{name: "string", part: "string", f"new{TEXT}": "long"})
    log.commit(info, logs.metadata(wider, **described))
    log.commit(info, logs.add(quote(f"f{TEXT}.parquet"), partition_values=values, size=5))
    return log


def safe(text: str) -> bool:
    return not OBEYED.search(text) and not FORGED.search(text)


VERBS = [
    ("show",),
    ("history",),
    ("files",),
    ("partitions",),
    ("schema",),
    ("schema", "--history"),
    ("head", "--version", "0"),
    ("head",),
    ("summary", "--version", "0"),
    ("diff", "0", "2"),
    ("changes", "0", "1"),
    ("actions", "0", "2"),
    ("why",),
    ("verify",),
    ("explain", "id > 1"),
    ("vacuum", "--retain-hours", "0", "--force"),
    ("restore", "0"),
    ("optimize",),
    ("watch", "--from", "0", "-n", "3"),
    ("count",),
]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb(run, hostile: logs.LogBuilder, verb: tuple[str, ...]) -> None:
    for form in ([], ["--json"], ["--csv"]):
        done = run(verb[0], hostile.uri, *verb[1:], *form)
        assert "Traceback" not in done.err, done.err
        assert "as a bug" not in done.err, done.err
        assert safe(done.err), (form, done.err)
        assert not OBEYED.search(done.out.replace("\r\n", "\n")), (form, done.out)
        if form == ["--json"]:
            objects = done.lines  # parsing returns the original text
            assert verb[0] != "history" or objects[0]["operation"] == TEXT
        elif form == ["--csv"]:
            for cell in (cell for line in csv.reader(io.StringIO(done.out)) for cell in line):
                assert NUMBER.fullmatch(cell) or not cell.startswith(("=", "+", "-", "@", "\t")), (
                    cell
                )
        else:
            assert safe(done.out), done.out


def test_numbers_in_csv_stay_numbers(run, log: logs.LogBuilder) -> None:
    rows = pa.table({"n": [-5, 7], "x": [-1.5, 2e300], "t": ["-1.25", "-a"], "b": [b"\xf8", b"a"]})
    dr.write(log.table, rows)
    done = run("head", log.uri, "--csv")
    assert list(csv.reader(io.StringIO(done.out))) == [
        ["n", "x", "t", "b"],
        ["-5", "-1.5", "-1.25", "'+A=="],
        ["7", "2e+300", "'-a", "YQ=="],
    ]


def objects(log: logs.LogBuilder) -> Iterator[tuple[str, Any]]:
    table = dr.Table(log.uri)
    snapshot, first = table.snapshot(), table.snapshot(0)
    yield "Table", table
    yield "Snapshot", snapshot
    yield "Scan", snapshot.scan(filter="id > 1")
    yield "Split", snapshot.scan().splits()[0]
    yield "SnapshotDiff", first.diff(snapshot)
    yield "Changes", table.changes(0, 0)
    yield "Follow", table.follow(starting_version=0)
    verification = table.verify()
    yield "Verification", verification
    yield from (("Finding", finding) for finding in verification.findings)
    yield "Protocol", snapshot.protocol
    yield "Metadata", snapshot.metadata
    yield "ReplayPlan", snapshot.replay_plan()
    yield "LogWarning", dr.LogWarning("hint.stale", TEXT, 1, TEXT)
    yield "Vacuumed", table.vacuum()
    yield "LogCleanup", table.cleanup_log()
    yield "LogAdvice", table.optimize_log()
    yield "Transaction", table.transaction()


def test_every_public_class(hostile: logs.LogBuilder) -> None:
    for kind, value in objects(hostile):
        for text in (repr(value), str(value)):
            assert safe(text), (kind, text)


def readers(uri: str) -> dict[str, Callable[[], object]]:
    return {
        "a missing file": lambda: dr.Table(uri).snapshot().to_arrow(),
        "an unknown column": lambda: dr.Table(uri).snapshot().scan(["nope"]),
        "an invalid filter": lambda: dr.Table(uri).snapshot().scan(filter=TEXT).to_arrow(),
        "a missing version": lambda: dr.Table(uri).snapshot(99),
        "rows with other columns": lambda: dr.Table(uri).append({"nope": [1]}),
        "a missing table": lambda: dr.Table(f"/none/{TEXT}").snapshot(),
    }


def test_messages_are_safe_and_attributes_are_not_changed(hostile: logs.LogBuilder) -> None:
    for name, read in readers(hostile.uri).items():
        with pytest.raises(dr.DeltaReplayError) as caught:
            read()
        assert safe(str(caught.value)), (name, str(caught.value))
        assert safe("".join(traceback.format_exception_only(caught.value))), name
    with pytest.raises(dr.DeltaReplayError) as caught:
        dr.Table(hostile.uri).snapshot().to_arrow()
    assert caught.value.path == quote(f"f{TEXT}.parquet"), "as the log has it, for programs"


def test_long_names_do_not_flood_messages(log: logs.LogBuilder) -> None:
    """The beginning and the end of a message are kept: what is wrong, and what to do."""
    path = f"../{'x' * 1_000_000}"
    log.create(logs.schema(id="long"))
    log.commit(logs.add(path))
    with pytest.raises(dr.CorruptTableError, match=r"^the log points outside") as caught:
        dr.Table(log.uri).snapshot().scan().to_arrow()
    assert len(str(caught.value)) < 20_000
    assert caught.value.path == path
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    features = [f"feature{number}" for number in range(100_000)]
    log.commit(actions.features(*features))
    with pytest.raises(dr.UnsupportedFeatureError, match=r"feature0: .*feature99999") as refused:
        dr.Table(log.uri).snapshot()
    assert len(str(refused.value)) < 20_000


def test_a_filter_of_the_caller_is_quoted_with_a_caret(hostile: logs.LogBuilder) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.Table(hostile.uri).snapshot().scan(filter="id >")
    assert "\n  id >\n" in str(caught.value)


def test_warnings_and_the_logger(
    hostile: logs.LogBuilder, caplog: pytest.LogCaptureFixture
) -> None:
    from deltareplay._support.warnings import warn

    caplog.set_level(logging.DEBUG, "deltareplay")
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        warn(TEXT)
        dr.Table(hostile.uri).snapshot().files()
    assert reported
    assert all(safe(str(item.message)) for item in reported)
    assert caplog.messages
    assert all(map(safe, caplog.messages))


@pytest.mark.parametrize(
    "info",
    [
        {"operationMetrics": {"numOutputRows": "\u00b2", "numFiles": "3"}},
        {"operationMetrics": {"numOutputRows": "9" * 5000, "numFiles": "3"}},
        {"operationMetrics": {"numOutputRows": None, "numFiles": "3"}},
        {"operationMetrics": "none"},
        {"operationMetrics": ["a"]},
    ],
    ids=["superscript", "digits", "null", "text", "list"],
)
def test_metrics_may_be_anything(run, log: logs.LogBuilder, info: dict[str, Any]) -> None:
    log.commit(
        {"commitInfo": {"timestamp": 1, "operation": "WRITE", **info}},
        logs.protocol(),
        logs.metadata(logs.schema(id="long")),
    )
    for verb in (["show"], ["history"], ["watch", "--from", "0", "-n", "1"]):
        done = run(verb[0], log.uri, *verb[1:])
        assert done.code == 0, done.err
        if isinstance(info["operationMetrics"], dict):
            assert "+3 files" in done.out
