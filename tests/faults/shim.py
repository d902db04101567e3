"""The fault shim: compiled here, loaded into another process, and configured."""

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
#: The effects on a call, by the numbers of ``enum how``.
HOW = {"kill before": 1, "kill after": 2, "torn": 3, "no space": 4, "I/O error": 5}
COUNT = -1


def missing() -> str | None:
    """Return why the shim cannot be built; None if it can."""
    if sys.platform != "linux":
        return "the shim is for Linux"
    return None if shutil.which("cc") else "there is no C compiler (cc)"


def memory() -> str | None:
    """Return a directory in memory if one exists: tests of calls need no disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def compiled(directory: Path) -> Path:
    """Compile the shim to a shared library."""
    library = directory / "shim.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE)]
    subprocess.run([*command, "-ldl", "-lpthread"], check=True)
    return library


@dataclass(frozen=True)
class Outcome:
    """The result of an operation.

    Attributes:
        killed: The process ended in the middle.
        result: The result or the error of the operation; None if it was killed.
        calls: Name and path of the calls that change files.
    """

    killed: bool
    result: dict[str, Any] | None
    calls: list[tuple[str, str]]

    @property
    def acknowledged(self) -> bool:
        return self.result is not None and "done" in self.result


class Shimmed:
    """A process with the shim, which executes operations one after the other."""

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
        """Execute an operation; call number ``at`` fails."""
        job = {"operation": operation, "table": str(table), "at": at, "how": HOW.get(how, 0)}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        calls = [(name, path) for name, path in answer["calls"]]
        return Outcome(answer["status"] != 0, answer["result"], calls)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()
