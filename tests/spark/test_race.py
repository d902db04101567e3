"""Processes of deltareplay and one of delta-spark write one table at the same time."""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from concurrency import mixed, plans, verdict
from spark.support import java_classes

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # processes of delta-spark

WRITERS = int(os.environ.get("DELTAREPLAY_WRITERS", "4"))
COMMITS = int(os.environ.get("DELTAREPLAY_COMMITS", "10"))
KINDS = list(mixed.KINDS)[0 if os.environ.get("DELTAREPLAY_SLOW") else -1 :]
#: Seconds for delta-spark to start, and for each of its commits during the race.
TIMEOUT = 120


def jars(spark: Any, root: Path) -> str:
    """Return the session's jars, and one with the log store that is safe with other processes."""
    theirs = spark.sparkContext.getConf().get("spark.jars").split(",")
    theirs = [item.removeprefix("file://") for item in theirs]
    home = spark._jvm.System.getProperty("java.home")
    return ",".join([*theirs, java_classes.jar("LinkLogStore", root, home, theirs)])


class DeltaSpark:
    """The process with delta-spark."""

    def __init__(self, jars: str, errors: Any) -> None:
        self.errors = errors
        self.process: Any = mixed.start_module("spark.support.delta_writer", jars, errors=errors)

    def ask(self, job: dict[str, Any]) -> None:
        print(json.dumps(job), file=self.process.stdin, flush=True)

    def answer(self, timeout: int) -> str:
        """Return its next line, within this many seconds."""
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            raise AssertionError(f"delta-spark did not answer within {timeout} seconds")
        line: str = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise AssertionError(self.errors.read()[-5000:])
        return line


@pytest.fixture(scope="module")
def delta(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeltaSpark]:
    root = tmp_path_factory.mktemp("log-store")
    with (root / "errors").open("w+") as errors:
        created = DeltaSpark(jars(spark, root), errors)
        try:
            assert created.answer(TIMEOUT) == "ready\n"
            yield created
        finally:
            created.process.kill()
            created.process.communicate()


# two checkpoints at once: the hint of the older one may be written last
@pytest.mark.filterwarnings("ignore:the hint names version:deltareplay.DeltaReplayWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_concurrent_writes_with_delta_spark(
    spark: Any, delta: DeltaSpark, tmp_path: Path, kind: str
) -> None:
    root = tmp_path / "table"
    names = ["d0", "d1"]
    theirs = len(names) * (COMMITS // 2)
    table = mixed.create_table(root, kind)
    race = mixed.Race(table, tmp_path / "journals")
    try:
        job = {
            "table": str(root),
            "names": names,
            "commits": COMMITS // 2,
            "journals": str(race.journals),
        }
        delta.ask(job)
        race.start_writers(WRITERS, COMMITS, 0.1, theirs)
        reported = json.loads(delta.answer(theirs * TIMEOUT))
        journals, seen = race.end()
    finally:
        race.kill()

    assert len(journals) == WRITERS + len(names)
    result = verdict.check(root, mixed.INITIAL, journals, seen)
    print(kind, len(result.authors), "commits", result.conflicts, result.reads, "reads", reported)
    assert len(result.authors) == WRITERS * COMMITS + theirs
    assert reported["put"] == theirs, "the log store is not the one that links"
    assert alternations(result.authors, names) > 1, "they wrote one after the other"
    assert result.reads > 0

    ours = table.snapshot().scan(columns=["key", "half", "v"]).to_arrow()
    seen_there = spark.read.format("delta").load(str(root)).select("key", "half", "v")
    assert sorted(zip(*ours.to_pydict().values(), strict=True)) == result.rows
    assert sorted(map(tuple, seen_there.collect())) == result.rows
    assert {finding.code for finding in table.verify(rows=True).findings} <= {"hint.stale"}
    counted = sum(step.get("key") == plans.SHARED for step in done_steps(journals))
    assert (plans.SHARED, 0, counted) in result.rows, "a count is lost"


# as above
@pytest.mark.filterwarnings("ignore:the hint names version:deltareplay.DeltaReplayWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_concurrent_merges_on_executors(
    spark: Any, delta: DeltaSpark, tmp_path: Path, kind: str
) -> None:
    root = tmp_path / "table"
    ours, theirs = ["e0", "e1"], ["d0", "d1"]
    commits = max(2, COMMITS // 4)
    table = mixed.create_table(root, kind)
    race = mixed.Race(table, tmp_path / "journals")
    try:
        job = {"table": str(root), "names": theirs, "commits": commits, "merges": True}
        delta.ask({**job, "journals": str(race.journals)})
        with ThreadPoolExecutor(len(ours)) as drivers:
            done = [drivers.submit(merges, spark, root, race, name, commits) for name in ours]
            reported = json.loads(delta.answer(len(theirs) * commits * TIMEOUT))
            for item in done:
                item.result()
        journals, seen = race.end()
    finally:
        race.kill()

    result = verdict.check(root, mixed.INITIAL, journals, seen)
    print(kind, len(result.authors), "commits", result.conflicts, result.reads, "reads", reported)
    assert len(result.authors) == (len(ours) + len(theirs)) * commits
    assert reported["put"] == len(theirs) * commits, "the log store is not the one that links"
    assert {item["operation"] for item in table.history(len(result.authors)).to_pylist()} == {
        "MERGE"
    }
    seen_there = spark.read.format("delta").load(str(root)).select("key", "half", "v")
    assert sorted(map(tuple, seen_there.collect())) == result.rows
    assert {item.code for item in table.verify(rows=True).findings} <= {"hint.stale"}
    counted = sum(step.get("key") == plans.SHARED for step in done_steps(journals))
    assert (plans.SHARED, 0, counted) in result.rows, "a count is lost"
    refused = {
        entry["failed"].split()[0]
        for journal in journals
        for entry in verdict.lines(journal)
        if "failed" in entry
    }
    assert refused <= CONFLICTS


#: The errors of a MERGE that lost a race.
CONFLICTS = {
    "ConcurrentAppendException",
    "ConcurrentDeleteReadException",
    "ConcurrentDeleteDeleteException",
}


def merges(spark: Any, root: Path, race: mixed.Race, name: str, commits: int) -> None:
    """Carry out the steps of a writer as merges on executors."""

    def carry_out(step: plans.Step, mark: str) -> int:
        upserts = step["kind"] in ("append", "merge")
        rows = plans.rows(step) if upserts else [{"key": step["key"], "more": 1}]
        on = "t.key = s.key" + (" AND t.half = s.half" if upserts else "")
        on += "" if step["wide"] else f" AND t.owner = '{step['owner']}'"
        source = spark.createDataFrame(rows).alias("s")
        merge = dr_spark.merge(spark, root, source, on, target_alias="t", user_metadata=mark)
        if upserts:
            merge = merge.when_matched_update_all().when_not_matched_insert_all()
        elif step["kind"] == "delete":
            merge = merge.when_matched_delete()
        else:
            merge = merge.when_matched_update({"v": "t.v + s.more"})
        version = merge.execute().version
        assert version is not None, f"{mark}: rows are missing"
        return version

    journal = race.journals / f"writer-{name}"
    steps = plans.planned(name, commits)
    plans.execute_steps(name, steps, journal, carry_out, dr.CommitConflictError)


def alternations(authors: list[str], names: list[str]) -> int:
    """Return how often commits of delta-spark and ours alternate."""
    theirs = [author in names for author in authors]
    return sum(item != next_ for item, next_ in pairwise(theirs))


def done_steps(journals: Iterable[Path]) -> list[plans.Step]:
    """Return the committed steps of all journals, each once."""
    entries = [entry for journal in journals for entry in verdict.lines(journal)]
    committed = {entry["mark"] for entry in entries if "version" in entry}
    return [item["step"] for item in entries if "step" in item and item["mark"] in committed]
