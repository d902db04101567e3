"""Files that another program leaves, changes or removes between Spark's write and the commit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.writing.staged_write import StagedWrite

pytestmark = pytest.mark.spark


def first(staged: Path) -> Path:
    return min(staged.rglob("*.parquet"))


def renamed(name: str) -> Callable[[Path], object]:
    """Rename the directory of a partition."""
    return lambda staged: first(staged).parent.rename(first(staged).parent.with_name(name))


def foreign(staged: Path) -> None:
    pq.write_table(pa.table({"id": [7]}), first(staged).with_name("part-9.parquet"))


def truncated(staged: Path) -> None:
    first(staged).write_bytes(first(staged).read_bytes()[:-20])


def huge_footer(staged: Path) -> None:
    """Write a footer that claims a length of two gigabytes."""
    first(staged).write_bytes(b"PAR1" + bytes(50) + b"\xff\xff\xff\x7fPAR1")


#: A change to the directory, and the code of the error; none if the change is harmless.
CHANGES: dict[str, tuple[Callable[[Path], object], str | None]] = {
    "another file": (foreign, "write.uncommitted_files"),
    "a truncated file": (truncated, "data.footer"),
    "a huge footer": (huge_footer, "data.footer"),
    "no file": (lambda staged: first(staged).unlink(), "write.uncommitted_files"),
    "no directory": (shutil.rmtree, "write.uncommitted_files"),
    "a pipe": (lambda staged: os.mkfifo(first(staged).with_name("a.parquet")), None),
    "a link to itself": (lambda staged: (first(staged).parent / "x").symlink_to(staged), None),
    "a manifest": (lambda staged: (staged / "_committed_1").write_text("{}"), None),
    "another column": (renamed("x=1"), "transaction.partition_values"),
    "a value of another type": (renamed("p=x"), "transaction.partition_values"),
    "a value with parent directories": (renamed("p=..%2F..%2F1"), "transaction.partition_values"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_to_the_directory_of_a_write(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    act, code = CHANGES[change]
    path = tmp_path / "t"
    dr.write(path, pa.table({"id": [1], "p": pa.array([1], pa.int32())}), partition_columns=["p"])
    before = {file.relative_to(path) for file in path.rglob("*")}
    listed = StagedWrite._files

    def changed(self: StagedWrite, *arguments: Any) -> Any:
        act(path / self._directory.name)
        return listed(self, *arguments)

    monkeypatch.setattr(StagedWrite, "_files", changed)
    rows = spark.sql("SELECT * FROM VALUES (2L, 1), (3L, 2) AS t(id, p)")
    expected = [1]
    if code is None:
        dr_spark.write(rows, path)
        expected = [1, 2, 3]
    else:
        with pytest.raises(dr.DeltaReplayError) as caught:
            dr_spark.write(rows, path)
        assert caught.value.code == code
        assert {file.relative_to(path) for file in path.rglob("*")} == before
    assert sorted(dr.Table(path).snapshot().to_arrow()["id"].to_pylist()) == expected
    assert dr.Table(path).verify().ok
