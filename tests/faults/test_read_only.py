"""Writes to read-only locations: an immediate error, and the commit is not in doubt."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import deltareplay as dr

ROWS = pa.table({"id": [1, 2, 3]})
#: Files of these are larger than those that a vacuum writes.
LARGE = pa.table({"id": [number * 7919 % 65537 for number in range(20_000)]})
#: Much less than the minute during which an unconfirmed commit is retried.
AT_ONCE_S = 10


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A separate file system."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not permitted")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def assert_refused(write: Callable[[], object], code: str) -> None:
    started = time.monotonic()
    with pytest.raises(dr.StorageError) as caught:
        write()
    assert not isinstance(caught.value, dr.CommitStateUnknownError)
    assert caught.value.code == code
    assert time.monotonic() - started < AT_ONCE_S


def test_read_only_file_system(disk: Path) -> None:
    table = dr.create_table(disk / "t", ROWS.schema)
    table.append(ROWS)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for write in (
        lambda: dr.create_table(disk / "new", ROWS.schema),
        lambda: table.append(ROWS),
        lambda: table.delete("id = 1"),
        lambda: table.delete(),
        lambda: table.set_properties({"delta.appendOnly": "true"}),
        lambda: table.checkpoint(),
    ):
        assert_refused(write, "storage.read_only")
    assert dr.Table(disk / "t").snapshot().scan().to_arrow().num_rows == 3


@pytest.mark.parametrize("verb", ["vacuum", "lite", "cleanup"])
def test_maintenance_on_a_full_disk(disk: Path, verb: str) -> None:
    retention = {
        "delta.deletedFileRetentionDuration": "interval 0 seconds",
        "delta.logRetentionDuration": "interval 1 days",
    }
    table = dr.create_table(disk / "t", LARGE.schema, properties=retention)
    for _ in range(4):
        table.overwrite(LARGE)
    table.checkpoint(cleanup=False)
    old = time.time() - 40 * 86_400
    for path in (disk / "t").rglob("*"):
        os.utime(path, (old, old))
    table.append(LARGE)
    expected = table.snapshot().scan().to_arrow().sort_by("id")
    version = table.snapshot().version
    with (disk / "ballast").open("wb") as ballast:
        left = os.statvfs(disk)
        ballast.write(b"x" * (left.f_bavail * left.f_bsize))
    with pytest.raises(dr.StorageError) as caught:
        dr.Table(disk / "t").append(LARGE)
    assert caught.value.code == "storage.full"

    again = dr.Table(disk / "t")
    if verb == "cleanup":
        assert again.cleanup_log(dry_run=False).files
    else:
        assert len(again.vacuum(dry_run=False, lite=verb == "lite").files) == 3
        operations = again.history(2)["operation"].to_pylist()
        assert operations == ["VACUUM END", "VACUUM START"]
        assert again.snapshot().version == version + 2
    assert again.snapshot().scan().to_arrow().sort_by("id") == expected
    assert again.verify(rows=True).ok


@pytest.mark.parametrize("pages", [0, 1, 2])
def test_vacuum_with_nothing_to_delete_on_a_full_disk(disk: Path, pages: int) -> None:
    """The commits before and after the deletions do not fit."""
    table = dr.create_table(disk / "t", ROWS.schema)
    table.append(ROWS)
    with (disk / "ballast").open("wb") as ballast:
        left = os.statvfs(disk)
        ballast.write(b"x" * ((left.f_bavail - pages) * left.f_bsize))
    assert table.vacuum(dry_run=False).files == ()
    again = dr.Table(disk / "t")
    assert again.snapshot().num_rows == 3
    assert again.verify(rows=True).ok
    (disk / "ballast").unlink()
    again.append(ROWS)


def test_invalid_directory_names(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("x" * 300, "file/t", "loop/t"):
        assert_refused(
            lambda name=name: dr.create_table(tmp_path / name, ROWS.schema), "storage.name"
        )
