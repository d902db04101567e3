"""Times deltareplay, deltalake and a bare Parquet decode side by side and prints one table.

``python benches/python/run.py [--data DIRECTORY] [--runs 3] [--only WORD]``

Every figure is the minimum over fresh processes, engines in turn, so that a busy machine is hard on
all alike. CPU seconds are those of the task, user and system together, over all threads; libraries
are loaded before. The bare decode reads the same columns of the checkpoint with the ``parquet``
crate on one thread, keeps every row, and is timed as a whole process. What an engine finds is held
against what the generator wrote down.

Logs come from ``DELTAREPLAY_BENCH_LOGS`` when it is set; otherwise they are generated once.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import generate

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LEAN = ("path", "size", "partitionValues", "deletionVector")
# Names of the same logs elsewhere.
ALIASES = {"million": "T2", "commits": "T4", "tail": "T7"}


@dataclass(frozen=True)
class Case:
    title: str
    log: str
    task: str
    engines: tuple[str, ...] = ("deltareplay", "deltalake")
    bare: tuple[str, ...] = ()  # columns of the bare decode


CASES = [
    Case("1M files: open (version, schema, properties)", "million", "open"),
    Case("1M files: paths alone", "million", "paths", ("deltareplay",), ("path",)),
    Case("1M files: path, size, partition values, vector", "million", "files", bare=LEAN),
    Case("1M files: the same with stats", "million", "stats", bare=(*LEAN, "stats")),
    Case("1M files: streamed, nothing kept", "million", "streamed", ("deltareplay",)),
    Case("1M files: one new commit, then the new list", "million", "update"),
    Case("10,000 commits after a checkpoint of 10,000 files", "tail", "files"),
    Case("1,000 JSON commits of 100 actions, no checkpoint", "commits", "files"),
]


@dataclass(frozen=True)
class Figures:
    """The least that one process took; ``beyond`` is the peak over what the libraries took."""

    cpu: float
    wall: float
    peak: float
    beyond: float | None

    def least(self, other: Figures | None) -> Figures:
        if other is None:
            return self
        beyond = None if self.beyond is None else min(self.beyond, other.beyond or 0.0)
        return Figures(
            min(self.cpu, other.cpu), min(self.wall, other.wall), min(self.peak, other.peak), beyond
        )


def find_log(name: str, data: Path) -> Path:
    if elsewhere := os.environ.get("DELTAREPLAY_BENCH_LOGS"):
        for candidate in (name, ALIASES[name]):
            if (Path(elsewhere) / candidate / "_expected.json").is_file():
                return Path(elsewhere) / candidate
        sys.exit(f"no log `{name}` or `{ALIASES[name]}` in DELTAREPLAY_BENCH_LOGS")
    if not (data / name / "_next_commit").is_dir():
        print(f"generating {name}", file=sys.stderr)
        generate.generate(data / name, generate.SHAPES[name])
    return data / name


def run_bare(log: Path, columns: tuple[str, ...], profile: str) -> Figures:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    [checkpoint] = (log / "_delta_log").glob("*.checkpoint.parquet")
    command = [str(target / profile / "bare-decode"), str(checkpoint), *columns]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed; `make bench` builds it")
    cpu = usage.ru_utime + usage.ru_stime
    return Figures(cpu, wall, usage.ru_maxrss / 1024, None)


def run_engine(engine: str, case: Case, log: Path) -> Figures:
    expected = json.loads((log / "_expected.json").read_text())
    command = [sys.executable, str(HERE / "worker.py"), engine, case.task]
    if case.task != "update":
        answer = finish([*command, str(log)])
        right = expected["version"] if case.task == "open" else expected["live_files"]
    else:
        [commit] = (log / "_next_commit").glob("*.json")
        with tempfile.TemporaryDirectory() as copy:
            mirror(log / "_delta_log", Path(copy) / "_delta_log")
            answer = finish([*command, copy, str(commit)])
        actions = [line for line in commit.read_text().splitlines() if line]
        added = sum(line.startswith('{"add":') for line in actions)
        removed = sum(line.startswith('{"remove":') for line in actions)
        right = expected["live_files"] + added - removed
    if answer["found"] != right:
        sys.exit(f"{engine}, {case.title}: found {answer['found']}, but it is {right}")
    return Figures(answer["cpu"], answer["wall"], answer["peak"], answer["beyond"])


def mirror(source: Path, target: Path) -> None:
    """A log of links, which can be written to while the real one stays as it is."""
    target.mkdir()
    for file in source.iterdir():
        try:
            os.link(file, target / file.name)
        except OSError:  # another file system
            shutil.copy2(file, target / file.name)


def finish(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def measure(case: Case, log: Path, runs: int, profile: str) -> dict[str, Figures]:
    best: dict[str, Figures] = {}
    for _ in range(runs):
        for engine in case.engines:
            best[engine] = run_engine(engine, case, log).least(best.get(engine))
        if case.bare:
            best["bare decode"] = run_bare(log, case.bare, profile).least(best.get("bare decode"))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT / "benches" / "data")
    parser.add_argument("--runs", type=int, default=3, help="fresh processes for each figure")
    parser.add_argument("--only", default="", help="cases whose title has this text")
    parser.add_argument("--profile", default="dist", help="Cargo profile of the bare decode")
    arguments = parser.parse_args()

    print(
        "| task | engine | CPU s | wall s | wall / CPU | peak MB | MB beyond libraries "
        "| CPU, ours = 1 |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for case in CASES:
        if arguments.only not in case.title:
            continue
        log = find_log(case.log, arguments.data)
        best = measure(case, log, arguments.runs, arguments.profile)
        ours = best["deltareplay"].cpu
        for engine, figures in best.items():
            beyond = "-" if figures.beyond is None else f"{figures.beyond:,.0f}"
            print(
                f"| {case.title} | {engine} | {figures.cpu:.4f} | {figures.wall:.4f} | "
                f"{figures.wall / max(figures.cpu, 1e-6):.2f} | {figures.peak:,.0f} | {beyond} | "
                f"{figures.cpu / max(ours, 1e-6):.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
