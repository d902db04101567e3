"""Run one task on one log in a fresh process.

``python worker.py ENGINE TASK TABLE [NEXT_COMMIT]``

Prints one JSON object: the result (which is compared with the generator's count), the CPU and wall
seconds of the task alone, the peak memory in MB, in all and beyond that of the loaded libraries,
and the engine's version; or the requirement that is missing on this machine.
"""

from __future__ import annotations

import json
import re
import resource
import shutil
import sys
import time
from pathlib import Path

import engines

STATUS = Path("/proc/self/status")


def cpu_seconds(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def peak_mb(who: int) -> float:
    """Return the peak of this program alone: that of ``getrusage`` begins with its parent's."""
    if who == resource.RUSAGE_SELF and STATUS.is_file():
        [peak] = re.findall(r"VmHWM:\s*(\d+) kB", STATUS.read_text())
        return int(peak) / (1 << 10)
    peak = resource.getrusage(who).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main(name: str, task: str, uri: str, *next_commit: str) -> None:
    try:
        engine = engines.load(name)(uri)
    except (ImportError, engines.MissingError) as error:
        print(json.dumps({"missing": str(error)}))
        return
    if task == "update":
        engine.load()
        [commit] = next_commit
        shutil.copy(commit, Path(uri) / "_delta_log" / Path(commit).name)
    who = resource.RUSAGE_CHILDREN if engine.child else resource.RUSAGE_SELF
    step = getattr(engine, task)
    loaded = peak_mb(who)
    cpu, wall = cpu_seconds(who), time.perf_counter()
    result = step()
    wall, cpu = time.perf_counter() - wall, cpu_seconds(who) - cpu
    peak = peak_mb(who)
    print(
        json.dumps(
            {
                "found": result,
                "cpu": cpu,
                "wall": wall,
                "peak": peak,
                "beyond": None if engine.child else peak - loaded,
                "version": engine.version(),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
