"""``Table.compact_log``."""

from __future__ import annotations

from dataclasses import dataclass

from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods


@dataclass(frozen=True)
class CompactedLog:
    """A compacted file: a range of commits, reconciled among themselves.

    Attributes:
        start: The first version.
        end: The last version.
        path: The file, relative to the table root.
        num_actions: The number of its actions.
        num_actions_before: The number in its commits, without ``commitInfo`` and ``cdc``.
        size_in_bytes: The size of the file.
        size_in_bytes_before: The total size of its commits.

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


@checked_methods
class CompactingLog(TableLocation):
    """The method ``Table.compact_log``."""

    __slots__ = ()

    def compact_log(self, start: int | None = None, end: int | None = None) -> CompactedLog:
        """Write a compacted file of a range of commits, for readers to use instead.

        It keeps removals, however old they are, because each may remove a file from before the
        range.

        Args:
            start: The first version; by default the one after the newest checkpoint.
            end: The last version; by default the latest.

        Returns:
            The compacted file. An existing file of the same range stays.

        Raises:
            InvalidArgumentError: The range has fewer than two commits.
            VersionNotFoundError: The log does not have all commits of the range.
            UnsupportedFeatureError: The table has a feature that this release cannot write.

        Source: Delta protocol, "Log Compaction Files".

        >>> table.compact_log(0, 2).num_actions
        6
        """
        return CompactedLog(*self._native.compact_log(start, end))
