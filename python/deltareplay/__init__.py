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
    from deltareplay._changes.change_split import ChangeSplit
    from deltareplay._changes.changes import Changes
    from deltareplay._changes.follow import Follow
    from deltareplay._changes.micro_batch import MicroBatch
    from deltareplay._deletion_vector import DeletionVector
    from deltareplay._expressions.filter_at import filter_at
    from deltareplay._expressions.filters import Filter
    from deltareplay._expressions.lit import lit
    from deltareplay._native import __version__
    from deltareplay._protocol.metadata import Metadata
    from deltareplay._protocol.protocol import Obstacle, Protocol
    from deltareplay._snapshot.log_segment import LogSegment
    from deltareplay._snapshot.log_warning import LogWarning
    from deltareplay._snapshot.replay_piece import ReplayPiece
    from deltareplay._snapshot.replay_plan import ReplayPlan
    from deltareplay._snapshot.replay_tail import ReplayTail
    from deltareplay._snapshot.scan import Scan
    from deltareplay._snapshot.skipped_file import SkippedFile
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._snapshot.snapshot_diff import SnapshotDiff
    from deltareplay._snapshot.split import Split
    from deltareplay._support.progress import Progress, progress
    from deltareplay._table.checkpoint import Checkpoint
    from deltareplay._table.cleanup_log import LogCleanup
    from deltareplay._table.compact_log import CompactedLog
    from deltareplay._table.convert import convert
    from deltareplay._table.finding import Finding
    from deltareplay._table.merge import Merge
    from deltareplay._table.optimize_log import LogAdvice
    from deltareplay._table.restore import Restored
    from deltareplay._table.table import Table, create_table, is_table
    from deltareplay._table.vacuum import Vacuumed
    from deltareplay._table.verify import Verification
    from deltareplay._table.write import write
    from deltareplay._transaction.transaction import Transaction
    from deltareplay._transaction.written import Written
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
    "LogSegment",
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
    # A name is imported when it is first used, so that the command, its completion and imports of
    # single modules do not wait for pyarrow.
    _MODULES = {
        "ChangeSplit": "_changes.change_split",
        "Changes": "_changes.changes",
        "Checkpoint": "_table.checkpoint",
        "CommitConflictError": "exceptions",
        "CommitStateUnknownError": "exceptions",
        "CompactedLog": "_table.compact_log",
        "CorruptTableError": "exceptions",
        "DeletionVector": "_deletion_vector",
        "DeltaReplayError": "exceptions",
        "DeltaReplayWarning": "exceptions",
        "Filter": "_expressions.filters",
        "Finding": "_table.finding",
        "Follow": "_changes.follow",
        "InvalidArgumentError": "exceptions",
        "LogAdvice": "_table.optimize_log",
        "LogCleanup": "_table.cleanup_log",
        "LogSegment": "_snapshot.log_segment",
        "LogWarning": "_snapshot.log_warning",
        "Merge": "_table.merge",
        "Metadata": "_protocol.metadata",
        "MicroBatch": "_changes.micro_batch",
        "Obstacle": "_protocol.protocol",
        "Progress": "_support.progress",
        "Protocol": "_protocol.protocol",
        "ReplayPiece": "_snapshot.replay_piece",
        "ReplayPlan": "_snapshot.replay_plan",
        "ReplayTail": "_snapshot.replay_tail",
        "Restored": "_table.restore",
        "Scan": "_snapshot.scan",
        "SkippedFile": "_snapshot.skipped_file",
        "Snapshot": "_snapshot.snapshot",
        "SnapshotDiff": "_snapshot.snapshot_diff",
        "Split": "_snapshot.split",
        "StorageError": "exceptions",
        "Table": "_table.table",
        "TableNotFoundError": "exceptions",
        "Transaction": "_transaction.transaction",
        "UnsupportedFeatureError": "exceptions",
        "Vacuumed": "_table.vacuum",
        "Verification": "_table.verify",
        "VersionNotFoundError": "exceptions",
        "Written": "_transaction.written",
        "__version__": "_native",
        "convert": "_table.convert",
        "create_table": "_table.table",
        "filter_at": "_expressions.filter_at",
        "is_table": "_table.table",
        "lit": "_expressions.lit",
        "progress": "_support.progress",
        "write": "_table.write",
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
