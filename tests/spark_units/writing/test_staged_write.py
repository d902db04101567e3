"""The files of a write, as they are found in its directory."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay.exceptions import StorageError
from deltareplay.spark.writing import staged_write


@pytest.mark.parametrize("path", ["d/x.parquet", "d/p=1/q=2/x.parquet", "d/p/x.parquet"])
def test_a_file_of_another_program_is_an_error(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    listed = [(path, 1, 0, '{"numRecords": 1}')]
    native = SimpleNamespace(staged_statistics=lambda *arguments: listed)
    monkeypatch.setattr(staged_write, "_native", native)
    write = object.__new__(staged_write.StagedWrite)
    write._target = SimpleNamespace(table=SimpleNamespace(native=None), definition=None)
    write._directory = SimpleNamespace(name="d")
    with pytest.raises(StorageError, match="another program") as raised:
        write._files(["p"], {})
    assert raised.value.code == "write.uncommitted_files"


def test_files_of_a_batch_that_was_committed_before_are_discarded(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    first, second = (table.transaction(operation="STREAMING UPDATE") for _ in range(2))
    for transaction in (first, second):
        assert not transaction.set_transaction("stream", 7)
    discarded: list[int] = []
    assert staged_write.commit_or_discard(first, lambda: discarded.append(1)) == 1
    assert staged_write.commit_or_discard(second, lambda: discarded.append(2)) is None
    assert discarded == [2]
