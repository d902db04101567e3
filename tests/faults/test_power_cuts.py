"""Power failures while processes append: no acknowledged commit is lost, every table opens.

A failure is a copy of the disk's image, taken while the writers are stopped, and mounted
elsewhere: data that was only in memory is missing. ``DELTAREPLAY_POWER_CUTS`` sets how often;
without it the test does not run. ``make test-faults`` runs a hundred.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from concurrency import race
from concurrency.appender import ROWS
from faults import disk, shim

import deltareplay as dr

CUTS = int(os.environ.get("DELTAREPLAY_POWER_CUTS", "0"))
SEED = int(os.environ.get("DELTAREPLAY_SEED", "20264"))
APPENDER = Path(race.__file__).with_name("appender.py")
WRITERS = 3
#: Each table has new directories.
CUTS_PER_TABLE = 10

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CUTS == 0, reason="set DELTAREPLAY_POWER_CUTS, or make test-faults"),
]


class Writers:
    """Processes that append, and their acknowledged commits."""

    def __init__(self, uri: str, logs: Path, preload: Path | None) -> None:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        if preload is not None:
            environment |= {"LD_PRELOAD": str(preload), "FAULTSHIM_DROP_SYNCS": "1"}
        self.logs = [logs / f"{Path(uri).name}-{number}" for number in range(WRITERS)]
        self.processes = []
        for number, log in enumerate(self.logs):
            with log.open("w") as file:  # on another disk
                command = [sys.executable, str(APPENDER), uri, f"w{number}", "100000"]
                process = subprocess.Popen(command, stdout=file, env=environment)
                self.processes.append(process)

    def signal(self, number: signal.Signals) -> None:
        for process in self.processes:
            process.send_signal(number)

    def acknowledged(self) -> list[int]:
        texts = [log.read_text() for log in self.logs]
        return [int(line) for text in texts for line in text.splitlines()]

    def wait(self, more: int) -> None:
        """Wait until this many more commits are acknowledged."""
        goal, deadline = len(self.acknowledged()) + more, time.monotonic() + 120
        while len(self.acknowledged()) < goal:
            assert time.monotonic() < deadline, "the writers make no progress"
            assert all(process.poll() is None for process in self.processes)
            time.sleep(0.01)


@contextmanager
def writing(uri: str, logs: Path, preload: Path | None) -> Iterator[Writers]:
    writers = Writers(uri, logs, preload)
    try:
        yield writers
    finally:
        for process in writers.processes:
            process.kill()
            process.wait()


def problem_of(root: Path, acknowledged: list[int]) -> str | None:
    """Return the problem of a table after a failure, or None."""
    try:
        snapshot = dr.Table(root).snapshot()
        rows = snapshot.scan().to_arrow()
    except dr.DeltaReplayError as error:
        return f"the table does not open: {error}"
    last = max(acknowledged)
    if snapshot.version < last:
        return f"{last - snapshot.version} acknowledged commits are gone"
    if rows.num_rows != ROWS * snapshot.version:
        return f"version {snapshot.version} has {rows.num_rows} rows"
    return None


def cuts(directory: Path, system: str, times: int, preload: Path | None = None) -> list[str]:
    """Cut the power this many times; return the problems found."""
    rng, wrong = random.Random(SEED), []
    warnings.simplefilter("ignore", dr.DeltaReplayWarning)
    with disk.disk(directory, system) as (image, path):
        for start in range(0, times, CUTS_PER_TABLE):
            name = f"t{start}"
            dr.create_table(path / "new" / name, race.SCHEMA)
            with writing(str(path / "new" / name), directory, preload) as writers:
                for number in range(start, min(start + CUTS_PER_TABLE, times)):
                    writers.wait(rng.randrange(1, 12))
                    time.sleep(rng.random() / 20)
                    writers.signal(signal.SIGSTOP)
                    acknowledged = writers.acknowledged()
                    copy = disk.cut(image, directory / "copy.img")
                    writers.signal(signal.SIGCONT)
                    with disk.mounted(copy, directory / "copy", system) as result:
                        problem = problem_of(result / "new" / name, acknowledged)
                    copy.unlink()
                    if problem:
                        wrong.append(f"cut {number} of {system}: {problem}")
    return wrong


@pytest.mark.parametrize("system", disk.FILE_SYSTEMS)
def test_acknowledged_commits_survive(system: str, tmp_path: Path) -> None:
    if reason := disk.missing(system):
        pytest.skip(reason)
    times = -(-CUTS // len(disk.FILE_SYSTEMS))
    wrong = cuts(tmp_path, system, times)
    print(f"{system}: {times} cuts, {len(wrong)} problems")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("system", disk.FILE_SYSTEMS)
def test_dropped_syncs_are_detected(system: str, tmp_path: Path) -> None:
    if reason := disk.missing(system) or shim.missing():
        pytest.skip(reason)
    assert cuts(tmp_path, system, 4, preload=shim.compiled(tmp_path))
