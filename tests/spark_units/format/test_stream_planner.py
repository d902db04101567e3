"""Planning of Spark's streams: without a session, by the calls that Spark would make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import data, feed, logs

import deltareplay as dr
from deltareplay.spark.format.options import ReadOptions
from deltareplay.spark.format.stream_planner import StreamPlanner

SIZE = 128 << 20


class Run:
    """A run of a query, with the calls of Spark 4.1; ``ends`` are the offsets in its checkpoint."""

    def __init__(self, table: dr.Table, ends: list[str], **options: str) -> None:
        self.ends = ends
        read = ReadOptions({"path": table.uri, **options})
        self.planner = StreamPlanner(table.snapshot(), read.start, read.rows, read.limits)

    def end(self, batch: int) -> Any:
        """Return the offset at the end of a batch; -1 is the start of the first."""
        return json.loads(self.ends[batch]) if batch >= 0 else self.planner.first()

    def restarted(self) -> Run:
        """Make Spark's first call after finding a checkpoint."""
        last = self.end(len(self.ends) - 1)
        assert self.planner.between(last, last, SIZE) == []
        return self

    def plan(self) -> bool:
        """Record the end of the next batch; return False if there is nothing new."""
        end = json.dumps(self.planner.next())
        if self.ends and json.loads(end) == json.loads(self.ends[-1]):
            return False
        self.ends.append(end)
        return True

    def rows(self, batch: int) -> list[Any]:
        """Return the rows of a batch, sorted."""
        splits = self.planner.between(self.end(batch - 1), self.end(batch), SIZE)
        return sorted(value for split in splits for value in split.to_arrow()["id"].to_pylist())

    def all(self) -> list[list[Any]]:
        """Plan until there is nothing new; return the rows of each batch."""
        while self.plan():
            pass
        return [self.rows(batch) for batch in range(len(self.ends))]


def grow(log: logs.LogBuilder, version: int) -> None:
    adds = (
        data.write(log.table, f"{version}-{n}.parquet", {"id": [version * 10 + n]})
        for n in range(2)
    )
    log.commit(logs.commit_info(), *adds)


@pytest.fixture
def table(log: logs.LogBuilder) -> dr.Table:
    """Versions 1 and 2 with two files each."""
    log.create(logs.schema(id="long"))
    grow(log, 1)
    grow(log, 2)
    return dr.Table(log.uri)


def test_a_stream_reads_the_state_then_commits(log: logs.LogBuilder, table: dr.Table) -> None:
    run = Run(table, [])
    assert run.all() == [[10, 11, 20, 21]]
    grow(log, 3)
    assert run.all() == [[10, 11, 20, 21], [30, 31]]
    assert not run.plan()
    assert Run(table, run.ends).restarted().all() == [[10, 11, 20, 21], [30, 31]]


def test_limits_hold_after_commits_and_restarts(log: logs.LogBuilder, table: dr.Table) -> None:
    options = {"maxFilesPerTrigger": "3"}
    run = Run(table, [], **options)
    assert run.plan()
    grow(log, 3)
    # the snapshot is version 2, whenever it is read, and no commit is mixed with it
    assert Run(table, run.ends, **options).rows(0) == [10, 11, 20]
    assert run.all() == [[10, 11, 20], [21], [30, 31]]
    grow(log, 4)
    grow(log, 5)
    again = Run(table, run.ends, **options).restarted()
    assert again.all()[3:] == [[40, 41, 50], [51]]
    size = (log.table / "1-0.parquet").stat().st_size
    small = {"maxBytesPerTrigger": f"{size}b", "startingVersion": "0"}
    assert [len(rows) for rows in Run(table, [], **small).all()] == [1] * 10


def test_a_batch_without_limits_has_everything(log: logs.LogBuilder, table: dr.Table) -> None:
    ends: list[str] = []
    run = Run(table, ends, maxFilesPerTrigger="3")
    run.plan()
    for version in (3, 4, 5):
        grow(log, version)
    # Trigger.AvailableNow makes one call
    assert Run(table, ends).restarted().all()[1:] == [[21, 30, 31, 40, 41, 50, 51]]


def test_the_first_batch_is_the_same_after_a_crash(log: logs.LogBuilder, table: dr.Table) -> None:
    for start in ({}, {"startingVersion": "1"}, {"startingTimestamp": "2001-01-01"}):
        ends: list[str] = []
        before = Run(table, ends, **start)
        assert before.plan()
        rows = before.rows(0)
        version = table.snapshot().version + 1
        grow(log, version)
        after = Run(table, ends, **start).restarted()
        assert after.rows(0) == rows == [row for row in rows if row < version * 10]
        assert after.all()[1:] == [[version * 10, version * 10 + 1]]


def test_a_start_at_the_latest_version_reads_new_commits(
    log: logs.LogBuilder, table: dr.Table
) -> None:
    ends: list[str] = []
    run = Run(table, ends, startingVersion="latest")
    assert run.plan()
    grow(log, 3)
    assert run.rows(0) == []
    # a crash before the first batch is done loses nothing
    assert Run(table, ends, startingVersion="latest").restarted().all() == [[], [30, 31]]


def test_a_start_after_the_latest_version(table: dr.Table) -> None:
    run = Run(table, [], startingVersion="9")
    with pytest.raises(dr.VersionNotFoundError) as caught:
        run.plan()
    assert caught.value.code == "changes.start"
    assert run.ends == []


def test_a_batch_has_the_rows_between_two_offsets(log: logs.LogBuilder, table: dr.Table) -> None:
    run = Run(table, [], maxFilesPerTrigger="1", startingVersion="0")
    single = run.all()
    for first in range(len(single)):
        for last in range(first, len(single)):
            splits = run.planner.between(run.end(first - 1), run.end(last), 1)
            result = [value for split in splits for value in split.to_arrow()["id"].to_pylist()]
            assert result == [value for rows in single[first : last + 1] for value in rows]


def test_commits_that_are_not_tolerated(log: logs.LogBuilder, table: dr.Table) -> None:
    run = Run(table, [])
    assert run.all() == [[10, 11, 20, 21]]
    log.commit(logs.commit_info("DELETE"), feed.removal(log.state().actions()[-1]))
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        run.all()
    assert caught.value.code == "follow.deletes"
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        Run(table, run.ends[:1], maxFilesPerTrigger="1").restarted().plan()
    assert caught.value.code == "follow.deletes"
    tolerant = Run(table, run.ends, ignoreDeletes="true").restarted()
    assert tolerant.all()[1:] == [[]]
    grow(log, 4)
    again = Run(table, run.ends, skipChangeCommits="true", startingVersion="0").restarted()
    assert again.all()[2:] == [[40, 41]]


def test_columns_that_change_end_the_run(log: logs.LogBuilder, table: dr.Table) -> None:
    run = Run(table, [])
    run.all()
    grow(log, 3)
    log.commit(logs.metadata(logs.schema(id="long", more="string")))
    for requested in (run.plan, lambda: run.rows(0)):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            requested()
        assert caught.value.code == "follow.schema"
    assert Run(table, run.ends).restarted().all()[1:] == [[30, 31]]


def test_an_offset_after_the_last_commit_is_refused(log: logs.LogBuilder, table: dr.Table) -> None:
    run = Run(table, [])
    grow(log, 3)
    run.all()
    grow(log, 4)
    run.all()
    Path(log.table, "_delta_log", f"{4:020}.json").unlink()
    with pytest.raises(dr.InvalidArgumentError) as caught:
        run.rows(1)
    assert caught.value.code == "follow.offset"


def test_net_changes_of_a_batch(log: logs.LogBuilder) -> None:
    feed.write_example(log, vectors=False, feed=True)
    table = dr.Table(log.uri)
    options = {"startingVersion": "0", "changeKind": "upsert", "changeKey": "name"}
    run = Run(table, [], **options)
    run.plan()
    [split] = run.planner.between(run.end(-1), run.end(0), SIZE)
    rows = split.to_arrow().select(["name", "fruit", "_change_type"]).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [
        ("jack", "banana", "insert"),
        ("sarah", "orange", "insert"),
    ]
