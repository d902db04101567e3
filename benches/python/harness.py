"""Time a task of an engine in a fresh process, and compare its result with the generator's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import engines
import generate

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


class FailedError(Exception):
    """An engine failed, took too long, or returned a wrong result."""


@dataclass(frozen=True)
class Figures:
    """The measurements of one task.

    Attributes:
        cpu: CPU seconds.
        wall: Seconds.
        peak: The peak memory of the process in MB.
        beyond: The part of ``peak`` beyond the libraries; None for an engine in its own process.
        version: The version of the engine.
    """

    cpu: float
    wall: float
    peak: float
    beyond: float | None
    version: str

    def minimum(self, other: Figures | None) -> Figures:
        """Return the smaller of each number; ``other`` is of the same engine and task."""
        if other is None:
            return self
        beyond = None
        if self.beyond is not None and other.beyond is not None:
            beyond = min(self.beyond, other.beyond)
        return Figures(
            min(self.cpu, other.cpu),
            min(self.wall, other.wall),
            min(self.peak, other.peak),
            beyond,
            self.version,
        )


def generated(name: str, shape: generate.Shape, data: Path) -> Path:
    """Return a log, generating it the first time."""
    if not (data / name / "_next_commit").is_dir():  # the last that is generated
        print(f"generating {name}", file=sys.stderr)
        generate.generate(data / name, shape)
    return data / name


def timed(engine: str, task: str, log: Path, seconds: float | None = None) -> Figures:
    """Run the task in a fresh process, which is killed after ``seconds``.

    Raises:
        FailedError: The engine failed, took too long, or returned a wrong result.
        MissingError: The engine cannot run on this machine.
    """
    expected = json.loads((log / "_expected.json").read_text())
    command = [sys.executable, str(HERE / "worker.py"), engine, task]
    if task == "update":
        [commit] = (log / "_next_commit").glob("*.json")
        with tempfile.TemporaryDirectory() as copy:
            mirror(log / "_delta_log", Path(copy) / "_delta_log")
            answer = _answer([*command, copy, str(commit)], seconds)
        actions = [line for line in commit.read_text().splitlines() if line]
        added = sum(line.startswith('{"add":') for line in actions)
        removed = sum(line.startswith('{"remove":') for line in actions)
        expected_result = expected["live_files"] + added - removed
    else:
        answer = _answer([*command, str(log)], seconds)
        expected_result = expected["version"] if task == "open" else expected["live_files"]
    result = answer.pop("found")
    if result != expected_result and not engines.load(engine).floor:
        raise FailedError(
            f"{engine}, {task}, {log.name}: found {result}, expected {expected_result}"
        )
    return Figures(**answer)


def mirror(source: Path, target: Path) -> None:
    """Create a log of links to the files of another, to which commits can be added."""
    target.mkdir()
    for file in source.iterdir():
        try:
            os.link(file, target / file.name)
        except OSError:  # another file system
            shutil.copy2(file, target / file.name)


def _answer(command: list[str], seconds: float | None) -> dict:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise FailedError(f"took more than {seconds:,.0f} s") from None
    if done.returncode:
        raise FailedError(f"{' '.join(command)} failed:\n{done.stderr}")
    answer = json.loads(done.stdout)
    if "missing" in answer:
        raise engines.MissingError(answer["missing"])
    return answer
