"""A disk in a file, whose power can be cut: what it holds at a moment, mounted elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The least that mkfs.xfs takes.
SIZE = 320 << 20
SYSTEMS = ("ext4", "xfs")


def missing(system: str) -> str | None:
    """Why there can be no such disk; None where there can."""
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
    """The file system in an image; recovered as after a power cut where it was in use."""
    at.mkdir(exist_ok=True)
    options = "loop,nouuid" if system == "xfs" else "loop"  # a copy has the id of its original
    call("mount", "-t", system, "-o", options, str(image), str(at))
    try:
        yield at
    finally:
        call("umount", str(at))


@contextmanager
def disk(directory: Path, system: str) -> Iterator[tuple[Path, Path]]:
    """A new disk: its image, and where it is mounted."""
    image = directory / "disk.img"
    with image.open("wb") as file:
        file.truncate(SIZE)
    call(f"mkfs.{system}", "-q", str(image))
    with mounted(image, directory / "disk", system) as place:
        yield image, place


def cut(image: Path, copy: Path) -> Path:
    """What the disk holds now, with all that was never written to it left out."""
    call("cp", "--sparse=always", str(image), str(copy))
    return copy
