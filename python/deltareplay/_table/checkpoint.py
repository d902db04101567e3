"""``Table.checkpoint`` and ``Table.write_checksum``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deltareplay import _native
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods
from deltareplay._support.warnings import warn
from deltareplay.exceptions import DeltaReplayError

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of one version.

    Attributes:
        version: The version.
        path: Its file, or the manifest of a V2 checkpoint, relative to the table root.
        num_actions: The number of actions.
        num_files: The number of live files.
        size_in_bytes: The total size of its files.
        num_sidecars: The number of sidecars of a V2 checkpoint.

    >>> table.checkpoint().path
    '_delta_log/00000000000000000002.checkpoint.parquet'
    """

    version: int
    path: str
    num_actions: int
    num_files: int
    size_in_bytes: int
    num_sidecars: int


@checked_methods
class Checkpointing(TableLocation):
    """Methods of ``Table`` that write checkpoints and checksums."""

    __slots__ = ()

    if TYPE_CHECKING:

        def snapshot(self) -> Snapshot: ...

    def checkpoint(
        self,
        *,
        layout: Literal["classic", "v2", "v2-json"] | None = None,
        cleanup: bool = True,
    ) -> Checkpoint:
        """Write a checkpoint of the latest version, and the hint that names it.

        Row groups have 50,000 files. Statistics are written by
        ``delta.checkpoint.writeStatsAsJson`` (by default true) and
        ``delta.checkpoint.writeStatsAsStruct`` (by default false). An existing checkpoint stays.
        Then the log is cleaned as by ``cleanup_log(dry_run=False)``. If that fails, the checkpoint
        is written all the same, and a ``DeltaReplayWarning`` says why.

        Args:
            layout: ``classic`` is one Parquet file; ``v2`` is a manifest in Parquet, ``v2-json``
                one in JSON, and a sidecar for every 50,000 files, written in parallel. V2 requires
                the feature ``v2Checkpoint``. By default ``v2`` if ``delta.checkpointPolicy`` says
                so, otherwise ``classic``.
            cleanup: Whether to delete files of the log that have expired, unless
                ``delta.enableExpiredLogCleanup`` is false.

        Returns:
            The checkpoint.

        Raises:
            InvalidArgumentError: V2 was requested, but the table does not have the feature.
            UnsupportedFeatureError: The table has a feature that this release cannot write.

        Source: Delta protocol, "Checkpoints".

        >>> table.checkpoint().num_files
        2
        """
        snapshot = self.snapshot()
        written = self._native.checkpoint(snapshot.native, layout)
        if cleanup:
            clean_after(self._native, snapshot)
        return Checkpoint(snapshot.version, *written)

    def write_checksum(self) -> bool:
        """Write the version checksum of the latest version, counted from its live files.

        Returns:
            False if the checksum already exists; it is left unchanged.

        Raises:
            UnsupportedFeatureError: The table has a feature that this release cannot write.

        Source: Delta protocol, "Version Checksum File".

        >>> table.write_checksum()
        True
        """
        return self._native.write_checksum(self.snapshot().native)


def clean_after(table: _native.Table, snapshot: Snapshot) -> None:
    """Clean up the log after a checkpoint; a failure is a warning."""
    try:
        table.cleanup_expired(snapshot.native)
    except DeltaReplayError as error:
        warn(
            f"the checkpoint of version {snapshot.version} is written, but the log is "
            f"not cleaned up: {error}"
        )
