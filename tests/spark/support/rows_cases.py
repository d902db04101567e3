"""The rows cases of the conformance suite, for the ways in which Spark reads them here."""

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

#: Reads a version of a table as Spark gives it.
Reader = Callable[[dr.Table, int], pa.Table]


@dataclass(frozen=True)
class Rows:
    """What a case says of the rows of its versions."""

    case: suite.Case
    versions: dict[int, dict[str, Any]]

    def __str__(self) -> str:
        return self.case.name

    def few(self) -> Rows:
        """The last version alone; all by wish (``DELTAREPLAY_SLOW``)."""
        if os.environ.get("DELTAREPLAY_SLOW"):
            return self
        number = max(self.versions)
        return Rows(self.case, {number: self.versions[number]})


def some_cases() -> list[Rows]:
    """Every fourth case; all by wish (``DELTAREPLAY_SLOW``)."""
    return cases() if os.environ.get("DELTAREPLAY_SLOW") else cases()[::4]


def cases() -> list[Rows]:
    """The cases with rows that a reader gives, or that it must refuse to give."""
    found = []
    for case in suite.cases():
        expected = case.expected
        if expected["expect"] != "ok" or case.contested:
            continue
        told = {
            int(version): rows
            for version, rows in expected["rows"].items()
            if rows and (rows.get("file") or rows.get("must_fail") or rows.get("num_rows"))
        }
        if told:
            found.append(Rows(case, told))
    return found


def check(rows: Rows, read: Reader) -> int:
    """Compares all versions of a case; how many were compared."""
    runner = suite.runner()
    void = rows.case.expected.get("void_columns") or ()
    with suite.table_of(rows.case) as place, warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        table = dr.Table(place, allowed_roots=["/"])
        for version, told in rows.versions.items():
            where = f"{rows.case.name} at version {version}"
            if told.get("must_fail"):
                with pytest.raises(Exception) as caught:
                    read(table, version)
                assert len(str(caught.value)) > 20
                continue
            found = read(table, version)
            if told.get("file"):
                expected = pq.read_table(f"{place}/../expected/{told['file']}")
                runner.compare_tables(expected, found, where, void)
            else:
                assert found.num_rows == told["num_rows"], where
    return len(rows.versions)
