"""The state of Delta tables as Arrow, without Spark and without a JVM.

>>> import deltareplay as dr
>>> snapshot = dr.Table(table.uri).snapshot()
>>> snapshot.version, snapshot.num_files
(2, 2)
>>> snapshot.files(columns=["path", "size"]).to_pylist()[0]
{'path': 'day=2026-01-02/b.parquet', 'size': 200}
"""

from deltareplay._native import __version__
from deltareplay.change_split import ChangeSplit
from deltareplay.changes import Changes
from deltareplay.checkpoint import Checkpoint
from deltareplay.compacted_log import CompactedLog
from deltareplay.deletion_vector import DeletionVector
from deltareplay.exceptions import (
    CommitConflictError,
    CommitStateUnknownError,
    CorruptTableError,
    DeltaReplayError,
    DeltaReplayWarning,
    InvalidArgumentError,
    StorageError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from deltareplay.finding import Finding
from deltareplay.follow import Follow
from deltareplay.log_advice import LogAdvice
from deltareplay.log_cleanup import LogCleanup
from deltareplay.log_warning import LogWarning
from deltareplay.merge import Merge
from deltareplay.metadata import Metadata
from deltareplay.micro_batch import MicroBatch
from deltareplay.protocol import Obstacle, Protocol
from deltareplay.replay_piece import ReplayPiece
from deltareplay.replay_plan import ReplayPlan
from deltareplay.replay_tail import ReplayTail
from deltareplay.restored import Restored
from deltareplay.scan import Scan
from deltareplay.skipped_file import SkippedFile
from deltareplay.snapshot import Snapshot
from deltareplay.snapshot_diff import SnapshotDiff
from deltareplay.split import Split
from deltareplay.table import Table, create_table, is_table
from deltareplay.transaction import Transaction
from deltareplay.vacuumed import Vacuumed
from deltareplay.verification import Verification
from deltareplay.written import Written

__all__ = [
    "ChangeSplit",
    "Changes",
    "Checkpoint",
    "CommitConflictError",
    "CommitStateUnknownError",
    "CompactedLog",
    "CorruptTableError",
    "DeletionVector",
    "DeltaReplayError",
    "DeltaReplayWarning",
    "Finding",
    "Follow",
    "InvalidArgumentError",
    "LogAdvice",
    "LogCleanup",
    "LogWarning",
    "Merge",
    "Metadata",
    "MicroBatch",
    "Obstacle",
    "Protocol",
    "ReplayPiece",
    "ReplayPlan",
    "ReplayTail",
    "Restored",
    "Scan",
    "SkippedFile",
    "Snapshot",
    "SnapshotDiff",
    "Split",
    "StorageError",
    "Table",
    "TableNotFoundError",
    "Transaction",
    "UnsupportedFeatureError",
    "Vacuumed",
    "Verification",
    "VersionNotFoundError",
    "Written",
    "__version__",
    "create_table",
    "is_table",
]
