"""``CompactedLog``: what ``Table.compact_log`` wrote."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CompactedLog:
    """A compacted file: a range of commits, reconciled among themselves.

    Attributes:
        start: The first version.
        end: The last version.
        path: The file, relative to the table root.
        num_actions: Its actions.
        num_actions_before: Actions of its commits, without ``commitInfo`` and ``cdc``.
        size_in_bytes: Its length.
        size_in_bytes_before: The length of its commits.

    >>> table.compact_log(0, 2).path
    '_delta_log/00000000000000000000.00000000000000000002.compacted.json'
    """

    start: int
    end: int
    path: str
    num_actions: int
    num_actions_before: int
    size_in_bytes: int
    size_in_bytes_before: int
