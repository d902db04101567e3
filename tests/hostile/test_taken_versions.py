"""A directory or a pipe has the name of the next commit, so that no writer can create it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import deltareplay as dr


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_an_append_fails_if_the_next_version_is_taken(tmp_path: Path, kind: str) -> None:
    """It is not retried until the timeout; readers see the previous version."""
    if kind == "pipe" and sys.platform == "win32":
        pytest.skip("Windows has no named pipes")
    dr.write(tmp_path / "t", {"id": [1]})
    table = dr.Table(tmp_path / "t")
    taken = tmp_path / "t" / "_delta_log" / f"{1:020d}.json"
    if kind == "directory":
        taken.mkdir()
    else:
        os.mkfifo(taken)
    with pytest.raises(dr.StorageError) as caught:
        table.append({"id": [2]})
    assert caught.value.code == "storage.not_a_file"
    assert caught.value.path == f"_delta_log/{taken.name}"
    assert table.snapshot().scan().to_arrow()["id"].to_pylist() == [1]
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 1, (
        "the data file of the append is deleted"
    )
