"""The verbs of ``Table`` that keep it small and sound."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay._arguments import checked_methods
from deltareplay._finding import Finding
from deltareplay._log_advice import LogAdvice
from deltareplay._log_cleanup import LogCleanup
from deltareplay._restored import Restored
from deltareplay._vacuumed import Vacuumed
from deltareplay._verification import Verification

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


def _instant(milliseconds: int) -> datetime:
    """Milliseconds since the epoch."""
    return _EPOCH + milliseconds * _MILLISECOND


@checked_methods
class TableServices:
    """What ``Table`` offers to those who look after it."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: _native.Table

    def cleanup_log(self, *, dry_run: bool = True) -> LogCleanup:
        """Delete files of the log that no version inside the retention period needs.

        The newest version from before ``delta.logRetentionDuration`` (30 days unless set) stays,
        and all that it is rebuilt from: the newest checkpoint at or before it and every commit from
        there on. The checkpoint is read to its last row first. Before it go commits, checkpoints,
        checksums and compacted files; so do staged commits, and sidecars that no checkpoint names
        any more. A table with the feature ``checkpointProtection`` is truncated as that allows.

        Args:
            dry_run: Only tell what would be deleted.

        Returns:
            What was deleted, or would be.

        Raises:
            UnsupportedFeatureError: The table has a feature that this release cannot write.
            StorageError: A file cannot be deleted. Older ones are gone; the table opens as before.

        Source: Delta protocol, "Metadata Cleanup".

        >>> table.cleanup_log().files
        ()
        """
        report = json.loads(_native.cleanup_log(self._native, dry_run))
        return LogCleanup(
            dry_run=report["dry_run"],
            cutoff=_instant(report["cutoff"]),
            earliest_version=report["earliest_version"],
            files=tuple(report["files"]),
            size_in_bytes=report["size_in_bytes"],
            notes=tuple(report["notes"]),
        )

    def vacuum(
        self,
        retention: timedelta | None = None,
        *,
        lite: bool = False,
        dry_run: bool = True,
        force: bool = False,
        log: bool | None = None,
    ) -> Vacuumed:
        """Delete data files that no version inside the retention period needs.

        Live files stay, and those that were removed inside the period, with their deletion vectors;
        so does every file that is younger than the period. Names that begin with ``_`` or ``.`` are
        hidden and stay, but for ``_change_data`` and directories of partitions. On a local disk
        directories that are left empty go too, once they are as old.

        Args:
            retention: The period; ``delta.deletedFileRetentionDuration`` (a week) unless given.
            lite: Find files by what the log removed, without listing the table.
            dry_run: Only tell what would be deleted.
            force: Take a retention that is shorter than the table's. Whoever still reads an older
                version, or writes one that is not committed, may lose files.
            log: Commit ``VACUUM START`` before and ``VACUUM END`` behind it, as delta-spark does.
                True unless given, but for tables on S3.

        Returns:
            What was deleted, or would be.

        Raises:
            InvalidArgumentError: The retention is too short; or with ``lite`` the log does not
                reach back far enough.
            UnsupportedFeatureError: The table has a feature that this release cannot write.
            StorageError: A file cannot be deleted.

        >>> table.vacuum().size_in_bytes
        0
        """
        milliseconds = None if retention is None else retention // _MILLISECOND
        report = json.loads(_native.vacuum(self._native, milliseconds, lite, dry_run, force, log))
        return Vacuumed(
            dry_run=report["dry_run"],
            lite=report["lite"],
            cutoff=_instant(report["cutoff"]),
            retention=report["retention"] * _MILLISECOND,
            files=tuple(report["files"]),
            size_in_bytes=report["size_in_bytes"],
        )

    def restore(
        self,
        version: int | None = None,
        *,
        timestamp: datetime | str | None = None,
        ignore_missing_files: bool = False,
    ) -> Restored:
        """Commit a version that holds what an older one held.

        Schema and properties go back as well; the protocol, the mark of row ids and in-commit
        timestamps do not.

        Args:
            version: The version to go back to.
            timestamp: The version that was current at this instant, instead of a number.
            ignore_missing_files: Do without data files that are not there any more.

        Returns:
            What was done.

        Raises:
            InvalidArgumentError: Neither a version nor a timestamp, or both.
            VersionNotFoundError: The log does not hold the version any more; or some of its data
                files are not there any more.
            UnsupportedFeatureError: The table has a feature that this release cannot write.

        >>> table.restore(0).version
        3
        """
        report = json.loads(_native.restore(self._native, version, timestamp, ignore_missing_files))
        return Restored(**{**report, "missing_files": tuple(report["missing_files"])})

    def verify(self, *, data_files: bool = True, rows: bool = False) -> Verification:
        """Check the log and the data files against the protocol, and against each other.

        The commits are replayed once, forwards; each is judged by itself, and what they add up to
        is compared with every checksum, checkpoint and compacted file. The data files and deletion
        vectors of the latest version must be there, whole. Nothing is changed; each finding tells
        what to do.

        Args:
            data_files: Look at data files and deletion vectors, not at the log alone.
            rows: Read every row of the latest version as well, which takes as long as a scan: finds
                files whose columns are of other types, and bytes that do not decode.

        Raises:
            TableNotFoundError: There is no Delta table.

        >>> print(table.verify(data_files=False))
        version 2: 3 commits, 0 checkpoints, 0 checksums, 2 files: nothing is wrong
        """
        report = json.loads(_native.verify(self._native, data_files, rows))
        findings = tuple(Finding(**finding) for finding in report.pop("findings"))
        return Verification(**report, findings=findings)

    def optimize_log(self) -> LogAdvice:
        """Measure what a checkpoint or a compacted file would gain. Nothing is written.

        Both are made in memory; the latest version is then opened and its files are listed, with
        each and without.

        Raises:
            TableNotFoundError: There is no Delta table.

        >>> table.optimize_log().num_commits
        3
        """
        return LogAdvice(**json.loads(_native.optimize_log(self._native)))
