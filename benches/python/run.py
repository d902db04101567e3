"""Time deltareplay, deltalake and a bare Parquet decode, and print a table.

``python benches/python/run.py [--data DIRECTORY] [--runs 3] [--only WORD]``

Each result is the minimum over fresh processes, engines taking turns, so that a busy machine
affects all alike. CPU seconds are those of the task, user and system together, over all threads,
after loading libraries. The bare decode reads the same columns of the checkpoint with the
``parquet`` crate on one thread, keeps every row, and is timed as a whole process. Results are
compared with those of the generator.

Logs come from ``DELTAREPLAY_BENCH_LOGS`` if it is set; otherwise they are generated once.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import engines
import generate
import harness
from harness import Figures

ROOT = Path(__file__).parent.parent.parent
# Names of the same logs elsewhere.
ALIASES = {"million": "T2", "commits": "T4", "tail": "T7"}


WITH_BARE = ("deltareplay", "deltalake", "bare_decode")


@dataclass(frozen=True)
class Case:
    title: str
    log: str
    task: str
    engines: tuple[str, ...] = ("deltareplay", "deltalake")


CASES = [
    Case("1M files: open (version, schema, properties)", "million", "open"),
    Case("1M files: paths alone", "million", "paths", ("deltareplay", "bare_decode")),
    Case("1M files: path, size, partition values, vector", "million", "files", WITH_BARE),
    Case("1M files: the same with stats", "million", "stats", WITH_BARE),
    Case("1M files: streamed, nothing kept", "million", "streamed", ("deltareplay",)),
    Case("1M files: one new commit, then the new list", "million", "update"),
    Case("10,000 commits after a checkpoint of 10,000 files", "tail", "files"),
    Case("1,000 JSON commits of 100 actions, no checkpoint", "commits", "files"),
]


def find_log(name: str, data: Path) -> Path:
    if elsewhere := os.environ.get("DELTAREPLAY_BENCH_LOGS"):
        for candidate in (name, ALIASES[name]):
            if (Path(elsewhere) / candidate / "_expected.json").is_file():
                return Path(elsewhere) / candidate
        sys.exit(f"no log `{name}` or `{ALIASES[name]}` in DELTAREPLAY_BENCH_LOGS")
    return harness.generated(name, generate.SHAPES[name], data)


def measure(case: Case, log: Path, runs: int) -> dict[str, Figures]:
    best: dict[str, Figures] = {}
    for _ in range(runs):
        for engine in case.engines:
            try:
                best[engine] = harness.timed(engine, case.task, log).minimum(best.get(engine))
            except (harness.FailedError, engines.MissingError) as error:
                sys.exit(f"{case.title}: {error}")
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT / "benches" / "data")
    parser.add_argument("--runs", type=int, default=3, help="fresh processes for each figure")
    parser.add_argument("--only", default="", help="cases whose title has this text")
    parser.add_argument("--profile", default="dist", help="Cargo profile of the bare decode")
    arguments = parser.parse_args()

    os.environ["BENCH_PROFILE"] = arguments.profile
    print(
        "| task | engine | CPU s | wall s | wall / CPU | peak MB | MB beyond libraries "
        "| CPU, ours = 1 |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for case in CASES:
        if arguments.only not in case.title:
            continue
        log = find_log(case.log, arguments.data)
        best = measure(case, log, arguments.runs)
        ours = best["deltareplay"].cpu
        for engine, figures in best.items():
            beyond = "-" if figures.beyond is None else f"{figures.beyond:,.0f}"
            print(
                f"| {case.title} | {engines.load(engine).title} "
                f"| {figures.cpu:.4f} | {figures.wall:.4f} | "
                f"{figures.wall / max(figures.cpu, 1e-6):.2f} | {figures.peak:,.0f} | {beyond} | "
                f"{figures.cpu / max(ours, 1e-6):.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
