"""The state of Delta tables as Arrow, without Spark and without a JVM.

>>> import deltareplay as dr
>>> snapshot = dr.Table(table.uri).snapshot()
>>> snapshot.version, snapshot.num_files
(2, 2)
>>> snapshot.files(columns=["path", "size"]).to_pylist()[0]
{'path': 'day=2026-01-02/b.parquet', 'size': 200}
"""

from importlib import import_module

#: The public names, by the modules that define them. ``__init__.pyi`` shows them to type checkers.
_EXPORTS = {
    "_changes.change_split": ("ChangeSplit",),
    "_changes.changes": ("Changes",),
    "_changes.follow": ("Follow",),
    "_changes.micro_batch": ("MicroBatch",),
    "_deletion_vector": ("DeletionVector",),
    "_expressions.filter_at": ("filter_at",),
    "_expressions.filters": ("Filter",),
    "_expressions.lit": ("lit",),
    "_native": ("__version__",),
    "_protocol.metadata": ("Metadata",),
    "_protocol.protocol": (
        "Obstacle",
        "Protocol",
    ),
    "_snapshot.log_segment": ("LogSegment",),
    "_snapshot.log_warning": ("LogWarning",),
    "_snapshot.replay_piece": ("ReplayPiece",),
    "_snapshot.replay_plan": ("ReplayPlan",),
    "_snapshot.replay_tail": ("ReplayTail",),
    "_snapshot.scan": ("Scan",),
    "_snapshot.skipped_file": ("SkippedFile",),
    "_snapshot.snapshot": ("Snapshot",),
    "_snapshot.snapshot_diff": ("SnapshotDiff",),
    "_snapshot.split": ("Split",),
    "_support.progress": (
        "Progress",
        "progress",
    ),
    "_table.convert": ("convert",),
    "_table.create": ("create_table",),
    "_table.log": (
        "Checkpoint",
        "CompactedLog",
        "LogAdvice",
        "LogCleanup",
    ),
    "_table.merge": ("Merge",),
    "_table.restore": ("Restored",),
    "_table.table": (
        "Table",
        "is_table",
    ),
    "_table.vacuum": ("Vacuumed",),
    "_table.verify": (
        "Finding",
        "Verification",
    ),
    "_table.write": ("write",),
    "_transaction.transaction": ("Transaction",),
    "_transaction.written": ("Written",),
    "exceptions": (
        "CommitConflictError",
        "CommitStateUnknownError",
        "CorruptTableError",
        "DeltaReplayError",
        "DeltaReplayWarning",
        "InvalidArgumentError",
        "StorageError",
        "TableNotFoundError",
        "UnsupportedFeatureError",
        "VersionNotFoundError",
    ),
}

_MODULES = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used.

    So the command, its completion and imports of single modules do not wait for pyarrow.
    """
    if name == "exceptions":
        return import_module(f"{__name__}.exceptions")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
