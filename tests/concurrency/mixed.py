"""A race of processes that execute all kinds of steps on one table, with concurrent readers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from concurrency import plans

import deltareplay as dr

TESTS = Path(__file__).parents[1]
READERS = 2
#: The properties of each kind of table.
KINDS = {
    "plain": {},
    "vectors and row ids": {
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
        "delta.enableInCommitTimestamps": "true",
    },
}
#: The keys and values before a race begins.
INITIAL = {plans.SHARED: 0}


def create_table(root: Path, kind: str) -> dr.Table:
    """Create the table as version 0, and the shared key as version 1."""
    created = dr.create_table(root, plans.SCHEMA, plans.PARTITIONS, KINDS[kind])
    first = {"kind": "append", "owner": plans.SHARED, "rows": INITIAL}
    created.append(plans.rows(first))
    return created


def start_module(
    module: str, *arguments: str, errors: Any = subprocess.PIPE
) -> subprocess.Popen[str]:
    """Start a process that executes a module of the tests."""
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        text=True,
    )


class Race:
    """Writers and readers of one table. The readers start at once.

    Args:
        table: The table.
        journals: The directory for the journals, which is created.
    """

    def __init__(self, table: dr.Table, journals: Path) -> None:
        self.table, self.journals = table, journals
        journals.mkdir()
        self.writers: list[subprocess.Popen[str]] = []
        self.readers = [
            start_module("concurrency.mixed_reader", table.uri, str(journals / f"reader-{number}"))
            for number in range(READERS)
        ]

    def start_writers(
        self, writers: int, commits: int, pause: float, spark_commits: int = 0
    ) -> None:
        """Start the writers of deltareplay.

        Args:
            writers: The number of writers.
            commits: The number of commits of each writer.
            pause: The mean time between two commits of a writer in seconds.
            spark_commits: The number of commits by delta-spark, with which the writers keep pace.
        """
        for name in (f"w{number}" for number in range(writers)):
            journal = str(self.journals / f"writer-{name}")
            arguments = (
                self.table.uri,
                name,
                str(commits),
                str(pause),
                journal,
                str(spark_commits),
            )
            self.writers.append(start_module("concurrency.mixed_writer", *arguments))

    def end(self) -> tuple[Sequence[Path], Sequence[Path]]:
        """Wait for the writers, then stop the readers; return the journals of both."""
        for writer in self.writers:
            _, errors = writer.communicate(timeout=3600)
            assert writer.returncode == 0, errors
        for reader in self.readers:
            _, errors = reader.communicate("stop\n", timeout=600)
            assert reader.returncode == 0, errors
        return sorted(self.journals.glob("writer-*")), sorted(self.journals.glob("reader-*"))

    def kill(self) -> None:
        """Kill all remaining processes."""
        for process in (*self.writers, *self.readers):
            process.kill()
            process.communicate()
