"""The fault shim: compiled here, loaded into another process, and told where to strike."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("shim.c")
WORKER = Path(__file__).with_name("shim_worker.py")
#: What may happen to a call, by the numbers of ``enum how``.
HOW = {"kill before": 1, "kill after": 2, "torn": 3, "no space": 4, "I/O error": 5}
COUNT = -1


def missing() -> str | None:
    """Why there can be no shim; None where there can."""
    if sys.platform != "linux":
        return "the shim is for Linux"
    return None if shutil.which("cc") else "there is no C compiler (cc)"


def memory() -> str | None:
    """A directory in memory, if there is one: what counts is the call, not the disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def compiled(directory: Path) -> Path:
    """The shim as a shared library."""
    library = directory / "shim.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE)]
    subprocess.run([*command, "-ldl", "-lpthread"], check=True)
    return library


@dataclass(frozen=True)
class Outcome:
    """What became of one operation.

    Attributes:
        killed: The process ended in the middle.
        said: What the operation gave back or raised; None where it was killed.
        calls: Name and path of the calls that change files.
    """

    killed: bool
    said: dict[str, Any] | None
    calls: list[tuple[str, str]]

    @property
    def acknowledged(self) -> bool:
        return self.said is not None and "done" in self.said


class Shimmed:
    """A process with the shim, which carries out one operation after the other."""

    def __init__(self, library: Path) -> None:
        environment = {**os.environ, "LD_PRELOAD": str(library)}
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def perform(self, operation: str, table: Path, at: int = COUNT, how: str = "") -> Outcome:
        """Carries an operation out; call number ``at`` goes wrong."""
        job = {"operation": operation, "table": str(table), "at": at, "how": HOW.get(how, 0)}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        calls = [(name, path) for name, path in answer["calls"]]
        return Outcome(answer["status"] != 0, answer["said"], calls)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()
