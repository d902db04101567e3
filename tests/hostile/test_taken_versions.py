"""Something that is no commit has the name of the next one: no writer can ever replace it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import deltareplay as dr


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_a_version_that_no_commit_can_have(tmp_path: Path, kind: str) -> None:
    """Refused at once, instead of trying until the time is up; readers see the version before."""
    if kind == "pipe" and sys.platform == "win32":
        pytest.skip("there are no pipes with names")
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
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 1, "nothing of the write stays"
