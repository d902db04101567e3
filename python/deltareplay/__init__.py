"""The state of Delta tables as Arrow, without Spark and without a JVM.

>>> import deltareplay as dr
>>> snapshot = dr.Table(table.uri).snapshot()
>>> snapshot.version, snapshot.num_files
(2, 2)
>>> snapshot.files(columns=["path", "size"]).to_pylist()[0]
{'path': 'day=2026-01-02/b.parquet', 'size': 200}
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltareplay._change_split import ChangeSplit
    from deltareplay._changes import Changes
    from deltareplay._checkpoint import Checkpoint
    from deltareplay._cleanup_log import LogCleanup
    from deltareplay._compact_log import CompactedLog
    from deltareplay._convert import convert
    from deltareplay._deletion_vector import DeletionVector
    from deltareplay._filter_at import filter_at
    from deltareplay._filters import Filter
    from deltareplay._finding import Finding
    from deltareplay._follow import Follow
    from deltareplay._lit import lit
    from deltareplay._log_warning import LogWarning
    from deltareplay._merge import Merge
    from deltareplay._metadata import Metadata
    from deltareplay._micro_batch import MicroBatch
    from deltareplay._native import __version__
    from deltareplay._optimize_log import LogAdvice
    from deltareplay._progress import Progress, progress
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
    from deltareplay._write import write
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
    "Filter",
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
    "Progress",
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
    "filter_at",
    "is_table",
    "lit",
    "progress",
    "write",
]

if not TYPE_CHECKING:
    # A name is imported when it is first used: the command, its completion and those who need one
    # module of this package do not wait for pyarrow.
    _MODULES = {
        "ChangeSplit": "_change_split",
        "Changes": "_changes",
        "Checkpoint": "_checkpoint",
        "CommitConflictError": "exceptions",
        "CommitStateUnknownError": "exceptions",
        "CompactedLog": "_compact_log",
        "CorruptTableError": "exceptions",
        "DeletionVector": "_deletion_vector",
        "DeltaReplayError": "exceptions",
        "DeltaReplayWarning": "exceptions",
        "Filter": "_filters",
        "Finding": "_finding",
        "Follow": "_follow",
        "InvalidArgumentError": "exceptions",
        "LogAdvice": "_optimize_log",
        "LogCleanup": "_cleanup_log",
        "LogWarning": "_log_warning",
        "Merge": "_merge",
        "Metadata": "_metadata",
        "MicroBatch": "_micro_batch",
        "Obstacle": "_protocol",
        "Progress": "_progress",
        "Protocol": "_protocol",
        "ReplayPiece": "_replay_piece",
        "ReplayPlan": "_replay_plan",
        "ReplayTail": "_replay_tail",
        "Restored": "_restore",
        "Scan": "_scan",
        "SkippedFile": "_skipped_file",
        "Snapshot": "_snapshot",
        "SnapshotDiff": "_snapshot_diff",
        "Split": "_split",
        "StorageError": "exceptions",
        "Table": "_table",
        "TableNotFoundError": "exceptions",
        "Transaction": "_transaction",
        "UnsupportedFeatureError": "exceptions",
        "Vacuumed": "_vacuum",
        "Verification": "_verify",
        "VersionNotFoundError": "exceptions",
        "Written": "_written",
        "__version__": "_native",
        "convert": "_convert",
        "create_table": "_table",
        "filter_at": "_filter_at",
        "is_table": "_table",
        "lit": "_lit",
        "progress": "_progress",
        "write": "_write",
    }

    def __getattr__(name):
        import importlib

        if name in _MODULES:
            module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
            value = globals()[name] = getattr(module, name)
            return value
        if name == "exceptions":
            return importlib.import_module(f"{__name__}.exceptions")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})
