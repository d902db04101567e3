"""``LogSegment``: the log files that a version is read from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LogSegment:
    """The log files that a version is read from: a checkpoint, if any, and the commits after it.

    Attributes:
        checkpoint_version: The version of the checkpoint, or None if there is none.
        checkpoint_paths: Its files, relative to the table root; one unless it is multi-part.
            Sidecars are not among them. Empty if there is no checkpoint.
        checkpoint_size_in_bytes: Their total size in bytes.
        num_commits: The number of commits after the checkpoint; all commits if there is none.
        tail_size_in_bytes: The total size in bytes of the files that are read for these commits,
            some of which may be compacted files.

    >>> segment = table.snapshot().log_segment
    >>> segment.checkpoint_version, segment.num_commits
    (None, 3)
    """

    checkpoint_version: int | None
    checkpoint_paths: list[str]
    checkpoint_size_in_bytes: int
    num_commits: int
    tail_size_in_bytes: int
