"""The logger ``deltareplay``: listed, read, repaired and retried files, and never a secret."""

from __future__ import annotations

import logging
import subprocess
import sys

import pyarrow as pa
import pytest
from support import logs

import deltareplay as dr


@pytest.fixture
def log_of(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="deltareplay")
    return caplog


def test_listed_and_read_files(events: logs.LogBuilder, log_of) -> None:
    dr.Table(events.uri).snapshot().files()
    assert {record.name for record in log_of.records} == {"deltareplay"}
    assert "opened version 2 of Table('file://" in log_of.text
    listed = [record.args for record in log_of.records if "files listed" in record.msg]
    assert sum(files for files, _, _ in listed) == 3
    sizes = sum(path.stat().st_size for path in (events.table / "_delta_log").glob("*.json"))
    assert sum(read for _, read, _ in listed) >= sizes


def test_repairs(events: logs.LogBuilder, log_of) -> None:
    (events.table / "_delta_log" / "_last_checkpoint").write_text("nonsense")
    with pytest.warns(dr.DeltaReplayWarning):
        dr.Table(events.uri).snapshot()
    (warning,) = [record for record in log_of.records if record.levelname == "WARNING"]
    assert "_last_checkpoint" in warning.getMessage()


def test_commits_and_retries(tmp_path, log_of) -> None:
    empty = dr.create_table(tmp_path, pa.schema([("id", pa.int64())]))
    slow = empty.transaction()
    empty.append([{"id": 1}])
    slow.add("a.parquet", size=1)
    assert slow.commit() == 2
    assert "committed version 1: {" in log_of.text
    assert "retried: other writers were first 1 times" in log_of.text
    assert "committed version 2 of Table(" in log_of.text


def test_no_secret(events: logs.LogBuilder, log_of) -> None:
    options = {"aws_secret_access_key": "s3cret"}
    dr.Table(events.uri, options).snapshot().files()
    assert "storage_options=<aws_secret_access_key>" in log_of.text
    assert "s3cret" not in log_of.text


def test_nothing_is_written_unless_logging_is_configured(events: logs.LogBuilder) -> None:
    (events.table / "_delta_log" / "_last_checkpoint").write_text("nonsense")
    code = "import logging, sys, deltareplay as dr; dr.Table(sys.argv[1]).snapshot()"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, events.uri],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout + done.stderr == ""


def test_counting_rows_counts_files_and_bytes(events: logs.LogBuilder, log_of) -> None:
    snapshot = dr.Table(events.uri).snapshot()
    assert snapshot.num_rows == 6
    assert "bytes read" in log_of.text
    log_of.clear()
    assert (snapshot.num_files, snapshot.size_in_bytes) == (2, 500)
    assert "bytes read" not in log_of.text
