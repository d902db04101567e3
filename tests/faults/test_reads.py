"""Every call that reads fails once: the right result or an error, and no partial write.

An end before the file's size is an error, never a shorter file: a commit without its lines would
be a version without actions. ``DELTAREPLAY_SLOW=1`` tests every call; otherwise a sample.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults import shim

import deltareplay as dr

SLOW = os.environ.get("DELTAREPLAY_SLOW") == "1"
#: The approximate number of calls of each verb in the sample.
SAMPLE = 4
#: By the numbers of ``enum how`` in ``read_shim.c``.
HOW = {"I/O error": 1, "half": 2, "end": 3, "interrupt": 4, "stale": 5}
WORKER = Path(__file__).with_name("read_worker.py")
ROWS = sorted({*range(300), 900} - {7})
#: The result of each verb without a fault, and the rows afterwards.
VERBS: dict[str, tuple[Any, list[int]]] = {
    "scan": (ROWS, ROWS),
    "files": (4, ROWS),
    "history": (6, ROWS),
    "verify": (True, ROWS),
    "changes": (302, ROWS),
    "checkpoint": (5, ROWS),
    "append": (6, [*ROWS, 901]),
    "delete": (6, [row for row in ROWS if row != 8]),
}
QUICK = ("scan", "append")

pytestmark = pytest.mark.skipif(shim.missing() is not None, reason=shim.missing() or "")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("reads") / "t"
    for first in (0, 100, 200):
        dr.write(root, {"id": list(range(first, first + 100))})
    opened = dr.Table(root)
    opened.set_properties({"delta.enableDeletionVectors": "true"})
    opened.delete("id = 7")
    opened.checkpoint()
    dr.write(root, {"id": [900]})
    return root


class Worker:
    """A process with the shim, which forks a child for each job."""

    def __init__(self, directory: Path) -> None:
        library = directory / "read_shim.so"
        source = WORKER.with_name("read_shim.c")
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True)
        environment = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "DELTAREPLAY_THREADS": "1",
            "DELTAREPLAY_PROGRESS": "0",
        }
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, root: Path, verb: str, at: int, how: int) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(root), verb, at, how]) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    started = Worker(tmp_path_factory.mktemp("shim"))
    yield started
    started.close()


@pytest.mark.parametrize(
    "verb",
    [pytest.param(verb, marks=() if verb in QUICK else pytest.mark.slow) for verb in VERBS],
)
def test_each_read_fails_once(verb: str, table: Path, worker: Worker, tmp_path: Path) -> None:
    right, rows = VERBS[verb]

    def ask(at: int, how: int) -> dict[str, Any]:
        root = tmp_path / "t"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(table, root)
        return worker.ask(root, verb, at, how)

    clean = ask(-1, 0)
    assert clean["value"] == right
    assert clean["rows"] == rows
    assert clean["reads"] > 0
    for name, how in HOW.items():
        for at in range(0, clean["reads"], 1 if SLOW else max(1, clean["reads"] // SAMPLE)):
            answer = ask(at, how)
            where = (verb, name, at, answer)
            assert "untyped" not in answer, where
            if "code" not in answer:
                # optional files may be skipped, such as a checksum that does not decode
                assert answer["value"] == right or verb == "verify", where
            assert answer["rows"] in ([rows, ROWS] if "code" in answer else [rows]), where


def test_an_early_end_of_a_file_loses_no_row(worker: Worker, tmp_path: Path) -> None:
    root = tmp_path / "t"
    for row in range(3):
        dr.write(root, {"id": [row]})
    right = [0, 1, 2]
    reads = worker.ask(root, "scan", -1, 0)["reads"]
    for at in range(reads):
        answer = worker.ask(root, "scan", at, HOW["end"])
        assert "untyped" not in answer, answer
        assert answer.get("value", right) == right, answer
