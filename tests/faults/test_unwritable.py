"""Read-only and full disks, and invalid names: a prompt error, and no commit is in doubt."""

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
#: Rows whose data file is larger than the commits that record a vacuum.
LARGE = pa.table({"id": [number * 7919 % 65537 for number in range(20_000)]})
#: Much less than the minute during which an unconfirmed commit is retried.
AT_ONCE_S = 10


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory, of 4 MB."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not permitted")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def fill(disk: Path, *, free_pages: int = 0) -> Path:
    """Write a file that leaves so many pages free, and return it."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        space = os.statvfs(disk)
        file.write(b"x" * ((space.f_bavail - free_pages) * space.f_bsize))
    return ballast


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


@pytest.mark.parametrize("verb", ["vacuum", "vacuum lite", "cleanup_log"])
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
    fill(disk)
    assert_refused(lambda: dr.Table(disk / "t").append(LARGE), "storage.full")

    reopened = dr.Table(disk / "t")
    if verb == "cleanup_log":
        assert reopened.cleanup_log(dry_run=False).files
    else:
        assert len(reopened.vacuum(dry_run=False, lite=verb == "vacuum lite").files) == 3
        operations = reopened.history(2)["operation"].to_pylist()
        assert operations == ["VACUUM END", "VACUUM START"]
        assert reopened.snapshot().version == version + 2
    assert reopened.snapshot().scan().to_arrow().sort_by("id") == expected
    assert reopened.verify(rows=True).ok


@pytest.mark.parametrize("free_pages", [0, 1, 2])
def test_vacuum_with_nothing_to_delete_on_a_full_disk(disk: Path, free_pages: int) -> None:
    """It frees no space: commits that record it are left out if they do not fit."""
    table = dr.create_table(disk / "t", ROWS.schema)
    table.append(ROWS)
    ballast = fill(disk, free_pages=free_pages)
    assert table.vacuum(dry_run=False).files == ()
    reopened = dr.Table(disk / "t")
    if free_pages == 0:
        assert reopened.snapshot().version == 1
    assert reopened.snapshot().num_rows == 3
    assert reopened.verify(rows=True).ok
    ballast.unlink()
    reopened.append(ROWS)
    assert reopened.snapshot().num_rows == 6


def test_invalid_directory_names(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("x" * 300, "file/t", "loop/t"):
        assert_refused(
            lambda name=name: dr.create_table(tmp_path / name, ROWS.schema), "storage.name"
        )
