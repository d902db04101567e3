"""The state of Delta tables as Arrow, without Spark and without a JVM.

>>> import deltareplay as dr
>>> snapshot = dr.Table(table.uri).snapshot()
>>> snapshot.version, snapshot.num_files
(2, 2)
>>> snapshot.files(columns=["path", "size"]).to_pylist()[0]
{'path': 'day=2026-01-02/b.parquet', 'size': 200}
"""

from deltareplay._change_split import ChangeSplit
from deltareplay._changes import Changes
from deltareplay._checkpoint import Checkpoint
from deltareplay._cleanup_log import LogCleanup
from deltareplay._compact_log import CompactedLog
from deltareplay._convert import convert
from deltareplay._deletion_vector import DeletionVector
from deltareplay._finding import Finding
from deltareplay._follow import Follow
from deltareplay._log_warning import LogWarning
from deltareplay._merge import Merge
from deltareplay._metadata import Metadata
from deltareplay._micro_batch import MicroBatch
from deltareplay._native import __version__
from deltareplay._optimize_log import LogAdvice
from deltareplay._protocol import Obstacle, Protocol
from deltareplay._replay_piece import ReplayPiece
from deltareplay._replay_plan import ReplayPlan
from deltareplay._replay_tail import ReplayTail
from deltareplay._restore import Restored
from deltareplay._scan import Scan
from deltareplay._skipped_file import SkippedFile
from deltareplay._snapshot import Snapshot
from deltareplay._snapshot_diff import SnapshotDiff
from deltareplay._split import Split
from deltareplay._table import Table, create_table, is_table
from deltareplay._transaction import Transaction
from deltareplay._vacuum import Vacuumed
from deltareplay._verify import Verification
from deltareplay._written import Written
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
    "convert",
    "create_table",
    "is_table",
]
