"""``Table.vacuum``."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from deltareplay import _native
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support import log as _log
from deltareplay._support.arguments import checked_methods
from deltareplay._support.units import instant, span
from deltareplay.exceptions import InvalidArgumentError

_MILLISECOND = timedelta(milliseconds=1)
_MILLISECONDS_PER_HOUR = 3_600_000


@dataclass(frozen=True)
class Vacuumed:
    """Data files that no version inside the retention period needs.

    Attributes:
        dry_run: Whether nothing was deleted.
        lite: Whether they were found from the log alone.
        cutoff: Files that were written or removed at this time (UTC) or later stay.
        retention: The retention period.
        files: The files, relative to the table root, with their names in the store.
        size_in_bytes: Their total size.

    >>> table.vacuum().files
    ()
    """

    dry_run: bool
    lite: bool
    cutoff: datetime
    retention: timedelta
    files: tuple[str, ...]
    size_in_bytes: int


@checked_methods
class Vacuuming(TableLocation):
    """The method ``Table.vacuum``."""

    __slots__ = ()

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

        Live files stay, and so do files that were removed within the period, with their deletion
        vectors, and every file that is younger than the period. A file also stays if the log has
        its name in a URI outside the table, which may be another URI of the table's directory.
        Names that begin with ``_`` or ``.`` are hidden and stay, except ``_change_data`` and
        partition directories. On a local disk, empty directories are deleted too, once they are
        older than the period.

        Args:
            retention: The period; by default ``delta.deletedFileRetentionDuration`` (a week).
            lite: Whether to use the removals in the log, without listing the table.
            dry_run: Whether to report the files without deleting them.
            force: Whether to allow a retention that is shorter than the table's. Readers of older
                versions and writers that have not committed yet may lose files.
            log: Whether to commit ``VACUUM START`` before and ``VACUUM END`` after it, as
                delta-spark does. True by default, except for tables on S3.

        Returns:
            The files that were deleted, or would be.

        Raises:
            InvalidArgumentError: The retention is negative, or shorter than the table's without
                ``force`` (``vacuum.retention``); or with ``lite`` the log does not reach back far
                enough (``vacuum.lite``).
            UnsupportedFeatureError: The table has a feature that this release cannot write
                (``protocol.writer_features``); or without ``dry_run``, the table's catalog does not
                allow it (``catalog.maintenance``).
            StorageError: A file cannot be deleted.

        >>> table.vacuum().size_in_bytes
        0
        """
        milliseconds = None if retention is None else retention // _MILLISECOND
        report = json.loads(_native.vacuum(self._native, milliseconds, lite, dry_run, force, log))
        if not report["dry_run"]:
            _log.info("deleted %d data files of %r", len(report["files"]), self)
        times = {"cutoff": instant(report["cutoff"]), "retention": span(report["retention"])}
        return Vacuumed(**{**report, **times, "files": tuple(report["files"])})


def retention_of(hours: float) -> timedelta:
    """Return a retention period in hours; at most the longest one of Python, as by ``span``.

    Raises:
        InvalidArgumentError: ``vacuum.retention``: the number is not finite.

    >>> retention_of(0.5)
    datetime.timedelta(seconds=1800)
    """
    if not math.isfinite(hours):
        raise InvalidArgumentError(
            f"the retention is {hours} hours: pass a number such as 168", code="vacuum.retention"
        )
    return span(hours * _MILLISECONDS_PER_HOUR)
