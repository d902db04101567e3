"""``verify``: a check of a table whose data files the executors read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay._support.arguments import checked
from deltareplay._table.verify import Finding, Verification
from deltareplay.spark.catalog.table_argument import TableLike, resolved, table_of
from deltareplay.spark.executors import run
from deltareplay.spark.executors.worker import Batches, results
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._snapshot.split import Split
    from deltareplay._table.table import Table

#: The maximum number of listed findings per code.
MAX_LISTED = 1000

_SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class VerifyRows:
    """A task that checks the rows of some splits."""

    table: Table
    version: int
    splits: list[Split]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return a report of each numbered split."""
        table, version = self.table.native, self.version
        return results(
            batches,
            lambda part: _native.verify_split(table, version, self.splits[part].native),
        )


@checked
def verify(spark: SparkSession, table: TableLike, *, rows: bool = False) -> Verification:
    """Check a table; the executors read the rows of its data files.

    The checks and the result are those of ``Table.verify``. The driver checks the log, and that all
    data files and deletion vectors exist; with ``rows``, tasks read all rows.

    Args:
        spark: As in ``read``.
        table: As in ``read``; all of its log is checked, whatever the version of a ``Snapshot``.
        rows: Also read every row of the latest version.

    Returns:
        The checks that were made, and the findings.

    Raises:
        TableNotFoundError: As in ``read``.
        UnsupportedFeatureError: With ``rows``, Spark is older than 4.0 (``spark.too_old``), or the
            executors lack deltareplay (``spark.executors``).

    >>> verify(spark, "s3://lake/events", rows=True).ok  # doctest: +SKIP
    True
    """
    delta_table = table_of(resolved(spark, table))
    if rows:
        capabilities.require_spark_4(spark, "verifying rows")
        run.check(spark)  # before the log is read, which may take long
    verification = delta_table.verify()
    if not rows or verification.num_files is None:
        return verification
    snapshot = delta_table.snapshot(version=verification.version, strict=False)
    splits = snapshot.scan(on_error="skip").splits()
    task = VerifyRows(delta_table, snapshot.version, splits)
    parts = [json.loads(part) for part in run.results(spark, task, len(splits))]
    return _with_row_findings(verification, parts)


def _with_row_findings(verification: Verification, parts: list[dict[str, Any]]) -> Verification:
    """Add the findings on rows, except on files that already have errors; sort the worst first."""
    listed = verification.findings
    damaged = {finding.path for finding in listed if finding.severity == "error"}
    counts = Counter(finding.code for finding in listed)
    omitted = verification.omitted + sum(part["omitted"] for part in parts)
    new = []
    for finding in (Finding(**fields) for part in parts for fields in part["findings"]):
        if finding.path in damaged:
            continue
        counts[finding.code] += 1
        if counts[finding.code] > MAX_LISTED:
            omitted += 1
        else:
            new.append(finding)
    ranked = sorted([*listed, *new], key=_rank)
    return replace(verification, findings=tuple(ranked), omitted=omitted)


def _rank(finding: Finding) -> tuple[int, int]:
    version = -1 if finding.version is None else finding.version
    return _SEVERITIES.index(finding.severity), version
