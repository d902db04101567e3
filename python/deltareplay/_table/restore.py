"""``Table.restore``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from deltareplay import _native
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods


@dataclass(frozen=True)
class Restored:
    """The result of a restore.

    Attributes:
        version: The new version; the existing newest version, if nothing changed.
        restored_version: The version that was restored.
        num_restored_files: The number of files that are live again.
        num_removed_files: The number of files that are no longer live.
        restored_files_size: Total bytes of the restored files.
        removed_files_size: Total bytes of the removed files.
        missing_files: Files that would be live again, but no longer exist.

    >>> table.restore(0).num_removed_files
    2
    """

    version: int
    restored_version: int
    num_restored_files: int
    num_removed_files: int
    restored_files_size: int
    removed_files_size: int
    missing_files: tuple[str, ...]


@checked_methods
class Restoring(TableLocation):
    """The method ``Table.restore``."""

    __slots__ = ()

    def restore(
        self,
        version: int | None = None,
        *,
        timestamp: datetime | str | None = None,
        ignore_missing_files: bool = False,
    ) -> Restored:
        """Restore an older version in a new commit, unless the newest version equals it.

        Schema, properties and clustering columns are restored too; the protocol, the high-water
        mark of row ids and in-commit timestamps are not.

        Args:
            version: The version to go back to.
            timestamp: The version that was current at this instant, instead of a number; a later
                time than that of the latest version means the latest.
            ignore_missing_files: Whether to leave out data files that no longer exist.

        Returns:
            The new version, and the restored and removed files.

        Raises:
            InvalidArgumentError: Neither a version nor a timestamp is passed (``argument.range``),
                or both are (``argument.version_and_timestamp``); or rows of an append-only table
                would be removed (``transaction.append_only``).
            VersionNotFoundError: The log does not have the version (``version.not_found``,
                ``version.timestamp``), or some of its data files no longer exist
                (``restore.missing_files``).
            CommitConflictError: Another writer changed rows in the meantime.
            UnsupportedFeatureError: The table has a feature that this release cannot write
                (``protocol.writer_features``).

        >>> table.restore(0).version
        3
        """
        report = json.loads(_native.restore(self._native, version, timestamp, ignore_missing_files))
        return Restored(**{**report, "missing_files": tuple(report["missing_files"])})
