"""``verify``: a check of a table whose data files the executors read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay._support.arguments import checked
from deltareplay._table.finding import Finding
from deltareplay._table.verify import Verification
from deltareplay.spark.catalog.table_argument import TableLike, resolved, table_of
from deltareplay.spark.executors import run
from deltareplay.spark.executors.replay import files
from deltareplay.spark.executors.worker import Batches, answers, stream_of
from deltareplay.spark.maintenance.orphans import unnamed
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._snapshot.split import Split
    from deltareplay._table.table import Table

#: The maximum number of listed findings per code.
MAX_LISTED = 1000

_SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class VerifyFiles:
    """A task that checks live files and their deletion vectors."""

    table: Table
    version: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return a report of rows of ``files``: path, size, numRecords and deletionVector."""
        if (files := stream_of(batches)) is not None:
            report = _native.verify_files(self.table.native, self.version, files)
            yield pa.RecordBatch.from_pydict({"answer": pa.array([report], pa.string())})


@dataclass(frozen=True)
class VerifyRows:
    """A task that checks the rows of some splits."""

    table: Table
    version: int
    splits: list[Split]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return a report of each of the splits of these numbers."""
        table, version = self.table.native, self.version
        return answers(
            batches,
            lambda part: _native.verify_split(table, version, self.splits[part].native),
        )


@checked
def verify(spark: SparkSession, table: TableLike, *, rows: bool = False) -> Verification:
    """Check a table; the driver checks the log, the executors the data files.

    What is checked, and the result, are those of ``Table.verify``. The driver replays the commits.
    Tasks check each live file and decode its deletion vector, list the table for files that
    the log does not name, and with ``rows`` read all rows.

    Args:
        spark: As in ``read``.
        table: As in ``read``; all of its log is checked, whatever the version of a ``Snapshot``.
        rows: Also read every row of the latest version.

    Returns:
        The checks that were made, and the findings.

    Raises:
        TableNotFoundError: There is no Delta table.
        UnsupportedFeatureError: The executors lack deltareplay.

    >>> verify(spark, "s3://lake/events", rows=True).ok  # doctest: +SKIP
    True
    """
    capabilities.check_writing(spark, "verifying")
    of = table_of(resolved(spark, table))
    text, reported, orphaned = _native.verify_log(of.native)
    report = json.loads(text)
    log = Verification(**report | {"findings": tuple(_findings(report))})
    if log.num_files is None:
        return log  # there is no version to check
    snapshot = of.snapshot(strict=False)
    run.check(spark)
    parts = [{"findings": report["findings"], "omitted": report["omitted"]}]
    parts += _live(spark, snapshot)
    removed = _native.removed_files(of.native, snapshot.native, None)
    orphans, _ = unnamed(spark, snapshot, orphaned, [*removed, *reported])
    parts.append(json.loads(_native.orphan_findings(orphans)))
    if rows:
        parts.append(_rows(spark, snapshot, parts))
    return _joined(log, parts)


Part = dict[str, Any]


def _live(spark: SparkSession, snapshot: Snapshot) -> list[Part]:
    """Return the findings of each task on live files."""
    columns = ["path", "size", "numRecords", "deletionVector"]
    live = files(spark, snapshot, columns=columns)
    task = VerifyFiles(table_of(snapshot), snapshot.version)
    reports = run.over(live, task, "answer string").toArrow().column("answer")
    return [json.loads(str(report)) for report in reports.to_pylist()]


def _rows(spark: SparkSession, snapshot: Snapshot, earlier: list[Part]) -> Part:
    """Return the findings on rows of files that have no errors so far."""
    splits = snapshot.scan(on_error="skip").splits()
    task = VerifyRows(table_of(snapshot), snapshot.version, splits)
    parts = [json.loads(report) for report in run.answers(spark, task, len(splits))]
    damaged = {
        finding["path"]
        for part in earlier
        for finding in part["findings"]
        if finding["severity"] == "error"
    }
    new = [
        finding for part in parts for finding in part["findings"] if finding["path"] not in damaged
    ]
    return {"findings": new, "omitted": sum(part["omitted"] for part in parts)}


def _findings(part: Part) -> Iterable[Finding]:
    return (Finding(**finding) for finding in part["findings"])


def _joined(log: Verification, parts: list[Part]) -> Verification:
    """Combine all findings, the worst first."""
    omitted = sum(part["omitted"] for part in parts)
    counts: Counter[str] = Counter()
    distinct: dict[Finding, None] = {}
    for finding in (item for part in parts for item in _findings(part)):
        counts[finding.code] += 1
        if counts[finding.code] > MAX_LISTED:
            omitted += 1
        else:
            distinct[finding] = None
    ranked = sorted(distinct, key=_rank)
    return replace(log, findings=tuple(ranked), omitted=omitted)


def _rank(finding: Finding) -> tuple[int, int]:
    version = -1 if finding.version is None else finding.version
    return _SEVERITIES.index(finding.severity), version
