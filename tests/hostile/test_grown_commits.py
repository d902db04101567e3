"""A commit that grows to 1 TiB after a snapshot has listed it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import deltareplay as dr


def test_a_commit_of_a_tebibyte_is_not_read(tmp_path: Path) -> None:
    dr.write(tmp_path, [{"id": 1}])
    snapshot = dr.Table(tmp_path).snapshot()
    os.truncate(tmp_path / "_delta_log/00000000000000000000.json", 1 << 40)
    with pytest.raises(dr.CorruptTableError, match=r"00000000000000000000\.json") as raised:
        snapshot.scan().to_arrow()
    assert raised.value.code == "storage.file_too_large"
