"""One task on one log in a fresh process: ``python worker.py ENGINE TASK TABLE [NEXT_COMMIT]``.

Prints one JSON object: what was found (for the check against the generator's own count), the CPU
and wall seconds of the task alone, and the peak memory in MB, in all and beyond what the process
held when the libraries were loaded.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

LEAN = ["path", "size", "partitionValues", "deletionVector"]

# A task gives the step to time; what comes before that step is set-up. The step gives its finding.
Step = Callable[[], int]


def deltareplay(task: str, uri: str, next_commit: Path | None) -> Step:
    import deltareplay as dr

    if task == "open":

        def step() -> int:
            snapshot = dr.Table(uri).snapshot()
            seen = (snapshot.schema, snapshot.properties)
            return snapshot.version if all(part is not None for part in seen) else -1

    elif task == "streamed":

        def step() -> int:
            batches = dr.Table(uri).snapshot().file_batches(columns=LEAN)
            return sum(batch.num_rows for batch in batches)

    elif task == "update":
        before = dr.Table(uri).snapshot()
        before.files(columns=LEAN)
        publish(next_commit, uri)

        def step() -> int:
            after = before.refresh()
            return after.files(columns=LEAN).num_rows

    else:
        columns = {"files": LEAN, "paths": ["path"], "stats": [*LEAN, "stats"]}[task]

        def step() -> int:
            return dr.Table(uri).snapshot().files(columns=columns).num_rows

    return step


def deltalake(task: str, uri: str, next_commit: Path | None) -> Step:
    import pyarrow as pa
    from deltalake import DeltaTable

    if task == "open":

        def step() -> int:
            table = DeltaTable(uri)
            seen = (table.schema(), table.metadata().configuration)
            return table.version() if all(part is not None for part in seen) else -1

    elif task == "update":
        before = DeltaTable(uri)
        pa.table(before.get_add_actions())
        publish(next_commit, uri)

        def step() -> int:
            before.update_incremental()
            return pa.table(before.get_add_actions()).num_rows

    else:  # it has one way to list files, and no choice of columns

        def step() -> int:
            return pa.table(DeltaTable(uri).get_add_actions()).num_rows

    return step


def publish(commit: Path | None, uri: str) -> None:
    if commit is None:
        raise ValueError("the task `update` needs the next commit")
    shutil.copy(commit, Path(uri) / "_delta_log" / commit.name)


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main(engine: str, task: str, uri: str, *next_commit: str) -> None:
    make = {"deltareplay": deltareplay, "deltalake": deltalake}[engine]
    step = make(task, uri, Path(next_commit[0]) if next_commit else None)
    loaded = peak_mb()
    cpu, wall = cpu_seconds(), time.perf_counter()
    found = step()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(
        json.dumps(
            {
                "found": found,
                "cpu": cpu,
                "wall": wall,
                "peak": peak_mb(),
                "beyond": peak_mb() - loaded,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
