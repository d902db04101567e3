"""The steps of the writers in a mixed race, their journals, and the expected result.

A table has keys with two rows each, one in each half of its owner's partition, so that every
commit touches two files. A writer changes its own keys, and increments one shared key. The order
of the commits determines all rows of every version.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

Step = dict[str, Any]
State = dict[str, int]

SCHEMA = pa.schema(
    [("key", pa.string()), ("owner", pa.string()), ("half", pa.int32()), ("v", pa.int64())]
)
PARTITIONS = ["owner", "half"]
#: The key that all writers increment.
SHARED = "shared"
#: The most attempts of one step; each failure is caused by another writer's commit.
ATTEMPTS = 1000


def planned(name: str, commits: int) -> Iterator[Step]:
    """Plan the steps of a writer; each is possible once the previous ones are done."""
    chance, own = random.Random(name), list[str]()
    for number in range(commits):
        kinds = ["append", "append", "merge", "count"]
        kind = chance.choice(kinds + (["update", "delete", "delete"] if len(own) > 1 else []))
        new, old = f"{name}-{number}", chance.choice(own) if own else None
        step: Step = {"kind": kind, "owner": name, "wide": chance.random() < 0.5}
        if kind in ("append", "merge"):
            step["rows"] = {new: number}
            if kind == "merge" and old is not None:
                step["rows"][old] = -number
            own.append(new)
        elif kind == "count":
            step |= {"owner": SHARED, "key": SHARED}
        else:
            step["key"] = old
            if kind == "delete" and old is not None:
                own.remove(old)
        yield step


def applied(state: State, step: Step) -> State:
    """Return the keys and values after a step."""
    if step["kind"] in ("append", "merge"):
        return {**state, **step["rows"]}
    if step["kind"] == "delete":
        return {key: v for key, v in state.items() if key != step["key"]}
    return {**state, step["key"]: state[step["key"]] + 1}


def rows(step: Step) -> list[dict[str, Any]]:
    """Return the rows of a step."""
    return [
        {"key": key, "owner": step["owner"], "half": half, "v": v}
        for key, v in step["rows"].items()
        for half in (0, 1)
    ]


def where(step: Step) -> str:
    """Return the condition of a step, without the partition column if the step is wide."""
    key = f"key = '{step['key']}'"
    return key if step["wide"] else f"{key} AND owner = '{step['owner']}'"


def execute_steps(
    name: str,
    steps: Iterator[Step],
    journal: Path,
    execute: Callable[[Step, str], int | None],
    conflicts: type[Exception] | tuple[type[Exception], ...],
) -> None:
    """Execute each step until it is committed, and record every attempt with a unique mark.

    Args:
        name: The name of the writer.
        steps: The steps.
        journal: The file in which the attempts are recorded.
        execute: Commits a step with this mark; returns the version, or ``None`` if unknown.
        conflicts: The exceptions of a conflict with another writer.
    """
    with journal.open("w", buffering=1, encoding="utf-8") as log:
        for number, step in enumerate(steps):
            for attempt in range(ATTEMPTS):
                mark = f"{name} {number} {attempt}"
                log.write(json.dumps({"mark": mark, "step": step}) + "\n")
                try:
                    version = execute(step, mark)
                except conflicts as error:
                    output = f"{type(error).__name__} {str(error)[:200]}"
                    log.write(json.dumps({"mark": mark, "failed": output}) + "\n")
                else:
                    log.write(json.dumps({"mark": mark, "version": version}) + "\n")
                    break
            else:
                raise RuntimeError(f"{name} {number}: {ATTEMPTS} conflicts")
