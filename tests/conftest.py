"""Fixtures for all tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support import logs, samples
from support.unity_server import UnityServer

import deltareplay as dr

# the duration of an example depends on the load of the machine
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

#: Files of tests that each start Spark themselves: any process may run them, one by one.
ALONE = {"test_spark_versions.py", "test_vended.py", "test_requests.py", "test_memory.py"}


#: Files that take much longer than their number of tests suggests, the longest first.
LONG = [
    *("test_read.py", "test_session_settings.py", "test_read_by_paths.py", "test_memory.py"),
    *("test_executor_statements.py", "test_replace_matching.py", "test_without_jar_on_connect.py"),
    *("test_vended.py", "test_spark_versions.py", "test_optimize.py", "test_examples.py"),
    *("test_without_jar.py", "test_escaped_strings.py", "test_executors.py", "test_race.py"),
    *("test_requests.py", "test_hostile_glue.py", "test_endless_responses.py"),
    *("test_file_sizes.py", "test_hostile_responses.py", "test_large_listings.py"),
    *("test_slow_writers.py", "test_type_widening.py", "test_insert_matrix.py"),
    *("test_statements.py", "test_changes.py"),
    *("test_legacy_calendar.py", "test_write.py", "test_native.py", "test_sql_alter.py"),
    *("test_reads.py", "test_every_call.py", "test_delta_statements.py", "test_replay.py"),
    *("test_sql_insert.py", "test_sql_create.py", "test_rows.py", "test_hostile_tables.py"),
    *("test_matrix.py", "test_services.py", "test_statement_types.py"),
    *("test_sql_select.py", "test_damage.py", "test_streams.py", "test_defaults.py"),
    *("test_expressions.py", "test_hive_metastore.py", "test_sequences.py", "test_hdfs.py"),
]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort files for processes: long ones first, so that all end at about the same time."""
    if hasattr(config, "workerinput"):
        tests = Counter(item.path for item in items)
        items.sort(
            key=lambda item: ([*LONG, item.path.name].index(item.path.name), -tests[item.path])
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile``, one process runs a file: its tests share their tables."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return nodeid if Path(file).name in ALONE else file

    config.option.loadscopereorder = False  # by number of tests alone
    return Files(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture
def log(tmp_path: Path) -> logs.LogBuilder:
    """A table directory without a commit."""
    return logs.LogBuilder(tmp_path / "table")


@pytest.fixture
def events(tmp_path: Path) -> logs.LogBuilder:
    """The log of the sample table."""
    return samples.events(tmp_path / "events")


@pytest.fixture
def table(events: logs.LogBuilder) -> dr.Table:
    """The sample table."""
    return dr.Table(events.uri)


@pytest.fixture
def rows(tmp_path: Path) -> dr.Table:
    """The sample table that has a data file, with a deleted row."""
    return dr.Table(samples.rows(tmp_path / "rows").uri)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[UnityServer]:
    """A Unity Catalog server that accepts the token ``secret``."""
    created = UnityServer(tmp_path)
    yield created
    created.stop()
