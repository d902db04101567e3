"""A process that executes all steps: ``mixed_writer TABLE NAME COMMITS PAUSE JOURNAL [N]``.

Between its steps it waits for some seconds, PAUSE on average. With concurrent writers of
delta-spark, which make N commits together, it keeps pace with them, however slow they are.
"""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from concurrency import plans

import deltareplay as dr


def commit_step(table: dr.Table, step: plans.Step, mark: str) -> int:
    if step["kind"] == "append":
        written = table.append(plans.rows(step), user_metadata=mark, timeout=300)
    elif step["kind"] == "merge":
        on = {"key": "key", "half": "half"}
        if not step["wide"]:
            on["owner"] = "owner"
        merging = table.merge(plans.rows(step), on, user_metadata=mark, timeout=300)
        merging = merging.when_matched_update_all().when_not_matched_insert_all()
        written = merging.execute()
    elif step["kind"] == "delete":
        written = table.delete(plans.where(step), user_metadata=mark, timeout=300)
    else:
        written = table.update(plans.where(step), {"v": "v + 1"}, user_metadata=mark, timeout=300)
    assert written.version is not None, f"{mark}: rows are missing"
    return written.version


def committed(journals: Path) -> int:
    """Return the number of commits in delta-spark's journals."""
    return sum(path.read_text().count('"version"') for path in journals.glob("writer-d*"))


def main(
    uri: str, name: str, commits: str, pause: str, journal: str, spark_commits: str = "0"
) -> None:
    # between writing a checkpoint and its hint, a reader finds no hint
    warnings.simplefilter("ignore", dr.DeltaReplayWarning)
    table, chance = dr.Table(uri), random.Random()

    def steps() -> Iterator[plans.Step]:
        for number, step in enumerate(plans.planned(name, int(commits))):
            while committed(Path(journal).parent) * int(commits) < (number - 1) * int(
                spark_commits
            ):
                time.sleep(0.05)
            time.sleep(chance.random() * 2 * float(pause))
            yield step

    execute = partial(commit_step, table)
    plans.execute_steps(name, steps(), Path(journal), execute, dr.CommitConflictError)


if __name__ == "__main__":
    main(*sys.argv[1:])
