"""Time every engine by the size of the log, and draw the results: one JSON file and one page.

``python benches/python/sizes.py [--sizes 10000,100000] [--runs 3] [--engines deltareplay,duckdb]``

Writes ``benches/results/sizes.json`` and ``index.html``. Results are the minimum over fresh
processes, engines taking turns. An engine that failed, took too long, or would need more memory
than is free, is not tried on larger logs; the results say so. ``--draw`` measures nothing: it draws
the page, and the picture of the README, from the JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import engines
import generate
import harness
import picture
import psutil

ROOT = harness.ROOT
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
TASKS = ("open", "files", "stats", "streamed", "update")
COMMITS, ADDS, REMOVES = 10, 60, 40  # commits after the checkpoint, and actions of each


@dataclass
class Measured:
    """The results so far, as in the JSON."""

    sizes: list[int]
    runs: int
    commit: str | None
    figures: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


def measure(names: list[str], measured: Measured, data: Path, seconds: float) -> Iterator[None]:
    """Add results task by task: sizes in ascending order, engines taking turns in each round."""
    for size in measured.sizes:
        shape = generate.Shape(size, COMMITS, ADDS, REMOVES)
        log = harness.generated(f"files-{size}", shape, data)
        for task in TASKS:
            active = [name for name in names if can_run(name, task, size, measured)]
            best: dict[str, harness.Figures] = {}
            for _ in range(measured.runs):
                for name in list(active):
                    try:
                        best[name] = harness.timed(name, task, log, seconds).minimum(best.get(name))
                    except engines.MissingError as error:
                        measured.missing[name] = str(error)
                        active.remove(name)
                    except harness.FailedError as error:
                        # the last line of a traceback; the others contain paths of this machine
                        reason = str(error).strip().splitlines()[-1]
                        leave_out(measured, name, task, size, reason)
                        best.pop(name, None)
                        active.remove(name)
            for name, figures in best.items():
                entry = asdict(figures)
                measured.versions[name] = entry.pop("version")
                measured.figures.append({"task": task, "size": size, "engine": name, **entry})
            print(f"{size:>12,} files, {task}: {', '.join(best)}", file=sys.stderr, flush=True)
            yield


def can_run(name: str, task: str, size: int, measured: Measured) -> bool:
    """Return whether an engine has a task, and is likely to complete it at this size.

    A task that would need too much memory is recorded as left out.
    """
    if name in measured.missing or not hasattr(engines.load(name), task):
        return False
    pair = (name, task)
    if any((entry["engine"], entry["task"]) == pair for entry in measured.left_out):
        return False
    smaller = [entry for entry in measured.figures if (entry["engine"], entry["task"]) == pair]
    if smaller:
        last = smaller[-1]
        needs = last["peak"] * size / last["size"]
        free = psutil.virtual_memory().available / (1 << 20)
        # memory of a small log is mostly that of the libraries
        if last["size"] >= 1_000_000 and needs > free:
            reason = f"would need some {needs:,.0f} MB of memory; {free:,.0f} MB are free"
            leave_out(measured, name, task, size, reason)
            return False
    return True


def leave_out(measured: Measured, name: str, task: str, size: int, reason: str) -> None:
    measured.left_out.append({"task": task, "size": size, "engine": name, "why": reason})


def machine() -> dict[str, Any]:
    """Return what the results depend on, without identifying the machine."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_mb": round(psutil.virtual_memory().total / (1 << 20)),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    lines = (line.partition(":") for line in text.splitlines())
    return next(
        (value.strip() for key, _, value in lines if key.strip() == "model name"),
        platform.machine(),
    )


def commit() -> str | None:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None


def results(measured: Measured, start: datetime, load: tuple[float, ...]) -> dict[str, Any]:
    ran = [name for name in engines.names() if name in measured.versions]
    return {
        "begun": start.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(timezone.utc) - start).total_seconds()),
        "command": shlex.join(["python", "benches/python/sizes.py", *sys.argv[1:]]),
        "commit": measured.commit,
        "machine": machine(),
        "load": {"before": list(load), "after": list(os.getloadavg())},
        "niceness": os.nice(0),
        "runs": measured.runs,
        "log": {"commits": COMMITS, "adds": ADDS, "removes": REMOVES, "sizes": measured.sizes},
        "engines": [
            {
                "name": name,
                "title": engines.load(name).title,
                "version": measured.versions[name],
                "floor": engines.load(name).floor,
            }
            for name in ran
        ],
        "missing": measured.missing,
        "left_out": measured.left_out,
        "figures": measured.figures,
    }


def parse_sizes(text: str) -> list[int]:
    return sorted({int(part.replace("_", "")) for part in text.split(",")})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT / "benches" / "data")
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results")
    parser.add_argument(
        "--sizes",
        type=parse_sizes,
        default=list(SIZES),
        help="numbers of live files, separated by commas",
    )
    parser.add_argument(
        "--engines",
        type=lambda text: engines.parse_names(text, engines.names()),
        default=engines.names(),
        help="names, separated by commas; default: all",
    )
    parser.add_argument("--runs", type=int, default=3, help="fresh processes for each figure")
    parser.add_argument("--seconds", type=float, default=600, help="the time limit of a task")
    parser.add_argument("--profile", default="dist", help="Cargo profile of the bare decode")
    parser.add_argument("--draw", action="store_true", help="time nothing, draw the JSON again")
    arguments = parser.parse_args()
    os.environ["BENCH_PROFILE"] = arguments.profile
    file = arguments.results / "sizes.json"
    if not arguments.draw:
        start, load = datetime.now(timezone.utc), os.getloadavg()
        measured = Measured(arguments.sizes, arguments.runs, commit())
        arguments.results.mkdir(parents=True, exist_ok=True)
        for _ in measure(arguments.engines, measured, arguments.data, arguments.seconds):
            # a run takes long: save intermediate results
            text = json.dumps(results(measured, start, load), indent=1)
            file.write_text(text + "\n", encoding="utf-8")
        if not measured.figures:
            sys.exit(f"nothing was measured: {measured.missing or measured.left_out}")
    for written in picture.draw(file):
        print(written)


if __name__ == "__main__":
    main()
