"""The cases of the conformance suite with rows, for each way in which Spark reads them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conformance import suite

import deltareplay as dr

#: Reads a version of a table as Spark returns it.
Reader = Callable[[dr.Table, int], pa.Table]


@dataclass(frozen=True)
class Rows:
    """The expected rows of a case's versions."""

    case: suite.Case
    versions: dict[int, dict[str, Any]]

    def __str__(self) -> str:
        return self.case.name

    def few(self) -> Rows:
        """Return the last version only, or all with ``DELTAREPLAY_SLOW``."""
        if os.environ.get("DELTAREPLAY_SLOW"):
            return self
        number = max(self.versions)
        return Rows(self.case, {number: self.versions[number]})


def some_cases() -> list[Rows]:
    """Return every fourth case, or all with ``DELTAREPLAY_SLOW``."""
    return cases() if os.environ.get("DELTAREPLAY_SLOW") else cases()[::4]


def cases() -> list[Rows]:
    """Return the cases with rows that a reader must return, or refuse."""
    result = []
    for case in suite.cases():
        expected = case.expected
        if expected["expect"] != "ok" or case.contested:
            continue
        versions = {
            int(version): rows
            for version, rows in expected["rows"].items()
            if rows and (rows.get("file") or rows.get("must_fail") or rows.get("num_rows"))
        }
        if versions:
            result.append(Rows(case, versions))
    return result


def check(rows: Rows, read: Reader) -> int:
    """Compare all versions of a case; return their number."""
    runner = suite.runner()
    void = rows.case.expected.get("void_columns") or ()
    with suite.table_of(rows.case) as path, warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        table = dr.Table(path, allowed_roots=["/"])
        for version, expected in rows.versions.items():
            where = f"{rows.case.name} at version {version}"
            if expected.get("must_fail"):
                with pytest.raises(Exception) as caught:
                    read(table, version)
                assert len(str(caught.value)) > 20
                continue
            result = read(table, version)
            if expected.get("file"):
                stored = pq.read_table(f"{path}/../expected/{expected['file']}")
                runner.compare_tables(stored, result, where, void)
            else:
                assert result.num_rows == expected["num_rows"], where
    return len(rows.versions)
