"""The partitions that a condition replaces: the core decides, without a job."""

from __future__ import annotations

import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay.spark.dml import overwrite


def session(zone: str) -> Any:
    """Return a session that only has settings."""
    settings = {"spark.sql.session.timeZone": zone}
    return SimpleNamespace(conf=SimpleNamespace(get=settings.get))


#: Conditions, and the partitions that they select; None if only Spark can decide, or each row.
CONDITIONS: dict[str, set[str | None] | None] = {
    "p = 'b'": {"b"},
    "p IN ('a', 'b') AND p < 'b'": {"a"},
    "p IS NULL OR p = 'a'": {None, "a"},
    "p = 'nothing'": set(),
    "id = 1": None,
    "p = 'a' AND id = 1": None,
    "p = 'a' OR id = 1": None,
    "soundex(p) = 'A000'": None,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_partitions_of_a_condition(tmp_path: Path, condition: str) -> None:
    rows = pa.table({"id": [1, 2, 3], "p": ["a", "b", None]})
    dr.write(tmp_path / "t", rows, partition_columns=["p"])
    files = overwrite.files(session("UTC"), dr.Table(tmp_path / "t").snapshot(), condition)
    partitions = None
    if files is not None:
        values: list[Any] = files["partitionValues"].to_pylist()
        partitions = {dict(entries)["p"] for entries in values}
    assert partitions == CONDITIONS[condition]


def test_a_condition_selects_no_partitions_of_an_unpartitioned_table(tmp_path: Path) -> None:
    dr.write(tmp_path / "t", pa.table({"id": [1]}))
    assert overwrite.files(session("UTC"), dr.Table(tmp_path / "t").snapshot(), "true") is None


def test_timestamps_of_partitions_depend_on_the_session(tmp_path: Path) -> None:
    """Delta protocol, "Partition Value Serialization": without a zone they are in the session's."""
    time = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    rows = pa.table({"id": [1], "p": pa.array([time], pa.timestamp("us", "UTC"))})
    dr.write(tmp_path / "t", rows, partition_columns=["p"])
    snapshot = dr.Table(tmp_path / "t").snapshot()
    condition = "p = TIMESTAMP '2020-01-01T00:00:00Z'"
    files = overwrite.files(session("UTC"), snapshot, condition)
    assert files is not None
    assert files.num_rows == 1
    assert overwrite.files(session("America/Los_Angeles"), snapshot, condition) is None
