"""``LogAdvice``: what would make a log quicker to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LogAdvice:
    """A log as it is, and what one more file of it would gain: measured, not estimated.

    Attributes:
        version: The latest version.
        checkpoint_version: The checkpoint that it is read from, if any.
        num_commits: Commits behind that checkpoint.
        num_tail_files: Files that are read for them: fewer where there are compacted files.
        tail_bytes: Bytes of these.
        num_files: Live files.
        seconds: What opening the version and listing its files takes now.
        with_checkpoint: With a checkpoint of this version: ``seconds``, ``seconds_to_make`` and
            ``size_in_bytes``. None where there is one.
        with_compaction: The same with the commits behind the checkpoint compacted. None where they
            are less than two.

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
