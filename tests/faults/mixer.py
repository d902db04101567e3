"""A process that executes all kinds of steps on one table until it is killed.

Jobs come as JSON lines: table, seed, after (seconds), log. A forked child records each step in the
log before and after executing it; it is killed after this many seconds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltareplay as dr

Step = dict[str, Any]
Rows = dict[int, int]
WRITES = ["append", "append", "delete", "update", "merge"]
MAINTENANCE = ["checkpoint", "compact_log", "cleanup_log", "vacuum", "write_checksum"]


def next_step(rng: random.Random, seed: int, number: int) -> Step:
    """Return the next step; ids of new rows are unique in all steps."""
    kind = rng.choice(WRITES if rng.random() < 0.75 else MAINTENANCE)
    first = (seed * 1000 + number) * 10
    new = {first + row: rng.randrange(100) for row in range(rng.randrange(1, 8))}
    return {"kind": kind, "new": new, "bound": rng.randrange(100)}


def applied(rows: Rows, step: Step) -> Rows:
    """Return the rows after a step."""
    new, bound = {int(id): v for id, v in step["new"].items()}, step["bound"]
    if step["kind"] == "append":
        return {**rows, **new}
    if step["kind"] == "delete":
        return {id: v for id, v in rows.items() if not v > bound}
    if step["kind"] == "update":
        return {id: v - 3 if v < bound else v for id, v in rows.items()}
    if step["kind"] == "merge":
        changed = dict.fromkeys(step["first"], 7)
        return {**rows, **changed, **new}
    return rows


def execute(table: dr.Table, step: Step) -> int | None:
    """Execute a step on a table; return the version."""
    new, bound = step["new"], step["bound"]
    if step["kind"] == "append":
        return table.append([{"id": id, "v": v} for id, v in new.items()]).version
    if step["kind"] == "delete":
        return table.delete(f"v > {bound}").version
    if step["kind"] == "update":
        return table.update(f"v < {bound}", {"v": "v - 3"}).version
    if step["kind"] == "merge":
        source = [{"id": id, "v": v} for id, v in new.items()]
        source += [{"id": id, "v": 7} for id in step["first"]]
        merging = table.merge(source, "id").when_matched_update_all()
        return merging.when_not_matched_insert_all().execute().version
    if step["kind"] == "checkpoint":
        table.checkpoint()
    elif step["kind"] == "compact_log":
        newest = table.snapshot().version
        if newest > 2:
            try:
                table.compact_log(newest - 2, newest)
            except dr.InvalidArgumentError as error:  # commits of VACUUM have no actions
                if error.code != "compaction.range":
                    raise
    elif step["kind"] == "cleanup_log":
        table.cleanup_log(dry_run=False)
    elif step["kind"] == "vacuum":
        table.vacuum(timedelta(0), dry_run=False, force=True, log=bound % 2 == 0)
    else:
        table.write_checksum()
    return None


def age_log(root: Path) -> None:
    """Make the log older, so that there is something to clean up."""
    files = sorted(root.glob("_delta_log/*.json"))[:-2]
    for days, path in enumerate(reversed(files)):
        then = time.time() - (days + 40) * 24 * 3600
        os.utime(path, (then, then))


def mix(job: dict[str, Any]) -> None:
    warnings.simplefilter("ignore", dr.DeltaReplayWarning)
    root, seed = Path(job["table"]), job["seed"]
    table, rng = dr.Table(root), random.Random(seed)
    log = os.open(job["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    number = 0
    while True:
        ids = table.snapshot().scan(columns=["id"]).to_arrow()["id"].to_pylist()
        step = next_step(rng, seed, number)
        if step["kind"] == "cleanup_log":
            age_log(root)
        step["first"] = sorted(ids)[:3]
        os.write(log, (json.dumps({"begin": number, **step}) + "\n").encode())
        version = execute(table, step)
        os.write(log, (json.dumps({"done": number, "version": version}) + "\n").encode())
        number += 1


def main() -> None:
    pa.array([1])  # checks for pandas, which takes a while, once instead of in every child
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                mix(job)
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(1)
        time.sleep(job["after"])
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None}))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
