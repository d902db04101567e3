"""All facts that a report shows, measured once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, TypeVar

from deltareplay import _native
from deltareplay._support.uris import without_secrets
from deltareplay.exceptions import CorruptTableError, DeltaReplayError, UnsupportedFeatureError
from deltareplay.viz.commits import Life, life
from deltareplay.viz.kernels import pc
from deltareplay.viz.live_files import LiveFiles, live_files

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._table.cleanup_log import LogCleanup
    from deltareplay._table.optimize_log import LogAdvice
    from deltareplay._table.table import Table
    from deltareplay._table.vacuum import Vacuumed
    from deltareplay._table.verify import Verification

T = TypeVar("T")

#: With more files, only the latest version is verified: the whole log takes 600 MB per million
#: files.
MOST_VERIFIED = 300_000


@dataclass
class Facts:
    """The measurements for a report; a failed measurement is its error.

    Attributes:
        table: The table.
        snapshot: The version that is reported.
        latest: The latest version.
        now: The time of the measurement.
        files: The live files.
        life: The commits.
        tombstones: Removed files whose retention has not passed, and their bytes.
        log: The cost of the log of the latest version.
        cleanup: Files of the log that have expired.
        verification: The findings on the log; with ``orphans``, on the files too. None if the table
            is too large for that: only the latest version was replayed, and is valid.
        orphans: The files that vacuum would delete; None if not requested.
        seconds: The duration of the measurement.
    """

    table: Table
    snapshot: Snapshot
    latest: int
    now: datetime
    files: LiveFiles
    life: Life
    tombstones: tuple[int, int]
    log: LogAdvice | DeltaReplayError
    cleanup: LogCleanup | DeltaReplayError
    verification: Verification | DeltaReplayError | None
    orphans: Vacuumed | DeltaReplayError | None
    seconds: float

    @property
    def moment(self) -> datetime | None:
        """The commit time of the version; None if it is out of range."""
        try:
            return self.snapshot.timestamp
        except CorruptTableError:
            return None

    @property
    def shown_uri(self) -> str:
        """The URI of the table, without secrets."""
        return without_secrets(self.table.uri)


def measure(table: Table, version: int | None, orphans: bool) -> Facts:
    """Measure a table for its report: its log is read several times, in bounded memory."""
    began = time.monotonic()
    now = datetime.now(timezone.utc)
    newest = table.snapshot()
    snapshot = newest if version is None else table.snapshot(version)
    cutoff = _vacuum_cutoff(table, newest)
    # first what takes most memory: what it gives back, the rest takes again
    log = _or_error(table.optimize_log)
    verification = _or_error(lambda: _verified(table, newest, orphans))
    files = live_files(snapshot)
    return Facts(
        table=table,
        snapshot=snapshot,
        latest=newest.version,
        now=now,
        files=files,
        life=life(table, snapshot, newest.version, cutoff),
        tombstones=_tombstones(snapshot),
        log=log,
        cleanup=_or_error(table.cleanup_log),
        verification=verification,
        orphans=_or_error(table.vacuum) if orphans else None,
        seconds=time.monotonic() - began,
    )


def _or_error(work: Callable[[], T]) -> T | DeltaReplayError:
    """Return the result, or the error, so that the rest of the report can be written."""
    try:
        return work()
    except DeltaReplayError as error:
        return error


def _verified(table: Table, newest: Snapshot, orphans: bool) -> Verification | None:
    if newest.num_files <= MOST_VERIFIED or orphans:
        return table.verify(data_files=orphans)
    table.snapshot(newest.version, verify=True)
    return None


def _vacuum_cutoff(table: Table, newest: Snapshot) -> int:
    """Return the time before which removed files are garbage; 0 without vacuum support."""
    try:
        _, _, cutoff = _native.vacuum_period(table.native, newest.native, None, False, True)
    except UnsupportedFeatureError:
        return 0
    return cutoff


def _tombstones(snapshot: Snapshot) -> tuple[int, int]:
    tombstones = snapshot.tombstones()
    return tombstones.num_rows, int(pc.sum(tombstones["size"]).as_py() or 0)
