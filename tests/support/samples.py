"""Sample tables for several tests and the examples in docstrings."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from support import logs, vectors

JANUARY = int(datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc).timestamp() * 1000)
DAY = 86_400_000


def events(root: str | os.PathLike[str]) -> logs.LogBuilder:
    """Write three versions, one a day from 2026-01-01 on: files a and b, then c instead of a."""
    log = logs.LogBuilder(Path(root))
    log.create(
        logs.schema(id="long", day="date"),
        partition_columns=["day"],
        name="events",
        configuration={"delta.appendOnly": "false"},
        modified=JANUARY,
    )
    log.commit(
        logs.commit_info(timestamp=JANUARY + DAY),
        logs.txn("stream-7", 41),
        *(_file(name, "2026-01-02", size) for name, size in (("a", 100), ("b", 200))),
        modified=JANUARY + DAY,
    )
    log.commit(
        logs.commit_info(timestamp=JANUARY + 2 * DAY),
        logs.remove("day=2026-01-02/a.parquet", partition_values={"day": "2026-01-02"}),
        _file("c", "2026-01-03", 300),
        modified=JANUARY + 2 * DAY,
    )
    return log


def _file(name: str, day: str, size: int) -> logs.Action:
    return logs.add(
        f"day={day}/{name}.parquet",
        partition_values={"day": day},
        size=size,
        stats=logs.stats(3, id=(1, 9, 0)),
    )


def many_files(
    root: str | os.PathLike[str], commits: int, files: int, *, distinct: int = 1
) -> logs.LogBuilder:
    """Write a JSON-only log that is slow to replay and quick to write.

    Args:
        root: The table directory.
        commits: How many commits follow version 0.
        files: How many files each of them adds, with statistics.
        distinct: How many of the commits differ; the others are hard links to those.
    """
    log = logs.LogBuilder(Path(root))
    log.create(logs.schema(id="long", name="string"))
    directory = logs.log_dir(root)
    for version in range(1, commits + 1):
        original = (version - 1) % distinct + 1
        name = logs.commit_name(version)
        if original != version:
            os.link(directory / logs.commit_name(original), directory / name)
            log.commits.append(log.commits[original])
            continue
        adds = [
            logs.add(
                f"part-{version:06}-{number:08}-0b0e2e7c-1111-4a4a-9b9b-000000000001.parquet",
                stats=logs.stats(1000, id=(number, number + 999, 0), name=("a" * 30, "z" * 30, 1)),
            )
            for number in range(files)
        ]
        log.commit(logs.commit_info(), *adds)
    return log


def rows(root: str | os.PathLike[str]) -> logs.LogBuilder:
    """Version 0 writes one file of ids 1 to 3 with names, version 1 deletes the second row."""
    log = logs.LogBuilder(Path(root))
    data = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["one", "two", "three"]})
    pq.write_table(data, log.table / "part-0.parquet")
    size = (log.table / "part-0.parquet").stat().st_size
    statistics = logs.stats(3, id=(1, 3, 0), name=("one", "two", 0))
    log.create(
        logs.schema(id="long", name="string"),
        logs.add("part-0.parquet", size=size, stats=statistics),
        protocol_action=logs.features("deletionVectors"),
        modified=JANUARY,
    )
    log.commit(
        logs.remove("part-0.parquet", size=size),
        logs.add(
            "part-0.parquet", size=size, stats=statistics, deletion_vector=vectors.inline([1])
        ),
        modified=JANUARY + DAY,
    )
    return log
