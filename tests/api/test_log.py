"""The logger ``deltareplay``: reads, skipped problems, commits and retries, without secrets."""

from __future__ import annotations

import logging
import subprocess
import sys

import pyarrow as pa
import pytest
from support import logs

import deltareplay as dr


@pytest.fixture
def debug_log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The records of the logger ``deltareplay``, of all levels."""
    caplog.set_level(logging.DEBUG, logger="deltareplay")
    return caplog


def test_listed_and_read_files(events: logs.LogBuilder, debug_log) -> None:
    dr.Table(events.uri).snapshot().files()
    assert {record.name for record in debug_log.records} == {"deltareplay"}
    assert "opened version 2 of Table('file://" in debug_log.text
    listed = [record.args for record in debug_log.records if "files listed" in record.msg]
    assert sum(files for files, _, _ in listed) == 3
    sizes = sum(path.stat().st_size for path in (events.table / "_delta_log").glob("*.json"))
    assert sum(read for _, read, _ in listed) >= sizes


def test_skipped_problems_are_warnings(events: logs.LogBuilder, debug_log) -> None:
    (events.table / "_delta_log" / "_last_checkpoint").write_text("nonsense")
    with pytest.warns(dr.DeltaReplayWarning):
        dr.Table(events.uri).snapshot()
    (warning,) = [record for record in debug_log.records if record.levelname == "WARNING"]
    assert "_last_checkpoint" in warning.getMessage()


def test_commits_and_retries(tmp_path, debug_log) -> None:
    table = dr.create_table(tmp_path, pa.schema([("id", pa.int64())]))
    transaction = table.transaction()
    table.append([{"id": 1}])
    transaction.add("a.parquet", size=1)
    assert transaction.commit() == 2
    assert "committed version 1: {" in debug_log.text
    assert "retried: other writers were first 1 times" in debug_log.text
    assert "committed version 2 of Table(" in debug_log.text


def test_secrets_are_not_logged(events: logs.LogBuilder, debug_log) -> None:
    options = {"aws_secret_access_key": "s3cret"}
    dr.Table(events.uri, options).snapshot().files()
    assert "storage_options=<aws_secret_access_key>" in debug_log.text
    assert "s3cret" not in debug_log.text


def test_logging_is_silent_unless_configured(events: logs.LogBuilder) -> None:
    (events.table / "_delta_log" / "_last_checkpoint").write_text("nonsense")
    code = "import logging, sys, deltareplay as dr; dr.Table(sys.argv[1]).snapshot()"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, events.uri],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout + done.stderr == ""


def test_num_rows_counts_files_and_bytes_too(events: logs.LogBuilder, debug_log) -> None:
    snapshot = dr.Table(events.uri).snapshot()
    assert snapshot.num_rows == 6
    assert "bytes read" in debug_log.text
    debug_log.clear()
    assert (snapshot.num_files, snapshot.size_in_bytes) == (2, 500)
    assert "bytes read" not in debug_log.text
