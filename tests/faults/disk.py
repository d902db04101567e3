"""A disk in a file that can lose power: its content at that moment, mounted elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: mkfs.xfs refuses less than 300 MiB.
SIZE = 320 << 20
FILE_SYSTEMS = ("ext4", "xfs")


def missing(system: str) -> str | None:
    """Return why no disk can be created; None if one can."""
    if os.geteuid() != 0:
        return "only root may mount"
    for tool in ("losetup", "mount", f"mkfs.{system}"):
        if shutil.which(tool) is None:
            return f"there is no {tool}"
    probe = subprocess.run(["losetup", "-f"], capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else "there is no loop device"


def call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def mounted(image: Path, at: Path, system: str) -> Iterator[Path]:
    """Mount the file system of an image; recovered as after a power failure if it was in use."""
    at.mkdir(exist_ok=True)
    options = "loop,nouuid" if system == "xfs" else "loop"  # a copy has the id of its original
    call("mount", "-t", system, "-o", options, str(image), str(at))
    try:
        yield at
    finally:
        call("umount", str(at))


@contextmanager
def disk(directory: Path, system: str) -> Iterator[tuple[Path, Path]]:
    """Create and mount a disk; yield its image and its directory."""
    image = directory / "disk.img"
    with image.open("wb") as file:
        file.truncate(SIZE)
    call(f"mkfs.{system}", "-q", str(image))
    with mounted(image, directory / "disk", system) as path:
        yield image, path


def cut(image: Path, copy: Path) -> Path:
    """Copy the content of the disk, without data that is only in memory."""
    call("cp", "--sparse=always", str(image), str(copy))
    return copy
