"""``Table.optimize_log``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from deltareplay import _native
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods


@dataclass(frozen=True)
class LogAdvice:
    """The cost of reading a log, and the gain of a checkpoint or compacted file, as measured.

    Attributes:
        version: The latest version.
        checkpoint_version: The checkpoint that it is read from, if any.
        num_commits: The number of commits after that checkpoint.
        num_tail_files: The number of files read for them: fewer if there are compacted files.
        tail_bytes: The total size of these files.
        num_files: The number of live files.
        seconds: The time to open the version and list its files now.
        with_checkpoint: ``seconds``, ``seconds_to_make`` and ``size_in_bytes`` of a checkpoint of
            this version. None if there is one already.
        with_compaction: The same for a compacted file of the commits after the checkpoint. None if
            there are fewer than two.

    >>> sorted(table.optimize_log().with_checkpoint)
    ['seconds', 'seconds_to_make', 'size_in_bytes']
    """

    version: int
    checkpoint_version: int | None
    num_commits: int
    num_tail_files: int
    tail_bytes: int
    num_files: int
    seconds: float
    with_checkpoint: dict[str, Any] | None
    with_compaction: dict[str, Any] | None


@checked_methods
class OptimizingLog(TableLocation):
    """The method ``Table.optimize_log``."""

    __slots__ = ()

    def optimize_log(self) -> LogAdvice:
        """Measure the gain of a checkpoint or a compacted file; nothing is written.

        Both are built in memory; then the latest version is opened and its files are listed, with
        and without each of them.

        Raises:
            TableNotFoundError: There is no Delta table.

        >>> table.optimize_log().num_commits
        3
        """
        return LogAdvice(**json.loads(_native.optimize_log(self._native)))
