"""``Written``: the result of writing rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay._support import log
from deltareplay._support.warnings import warn

if TYPE_CHECKING:
    import pyarrow as pa

    from deltareplay._snapshot.snapshot import Snapshot


@dataclass(frozen=True)
class Written:
    """The committed version of a write of rows, and its metrics.

    Attributes:
        version: The new version; None if the application of ``txn`` committed it before, or there
            was nothing to commit.
        metrics: Counts of files, rows and bytes, by delta-spark's names for the operation.

    >>> import pyarrow as pa
    >>> written = table.append(pa.table({"id": [7, 8]}))
    >>> written.version, written.metrics["numOutputRows"]
    (3, 2)
    """

    version: int | None
    metrics: dict[str, int]


def options(
    schema_mode: str | None,
    txn: tuple[str, int] | None,
    user_metadata: str | None,
    target_file_size: int | None,
    durable: bool,
    timeout: float,
) -> dict[str, Any]:
    """Return the options of a write of rows, for the core."""
    return {
        "schema_mode": schema_mode,
        "partition_columns": None,
        "txn": txn,
        "user_metadata": user_metadata,
        "target_file_size": target_file_size,
        "durable": durable,
        "timeout": timeout,
        "snapshot": None,
    }


def columns_for(settings: dict[str, Any], snapshot: Snapshot) -> pa.Schema:
    """Set the version from which a write starts, and return its columns."""
    settings["snapshot"] = snapshot.native
    return snapshot.schema


def written(outcome: tuple[int | None, dict[str, str], str | None]) -> Written:
    """Convert the core's result of a write; warn if a step after the commit failed."""
    version, metrics, afterwards = outcome
    if version is not None:
        log.info("committed version %d: %s", version, metrics)
    if afterwards is not None:
        warn_after_commit(version, afterwards)
    return Written(version, {name: int(value) for name, value in metrics.items()})


def warn_after_commit(version: int | None, error: str) -> None:
    """Warn that a step after a commit failed: a checkpoint, a checksum, a cleanup, a compaction."""
    warn(f"version {version} is committed, but a step after it failed: {error}")
