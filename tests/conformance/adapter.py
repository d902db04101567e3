"""The conformance runner's adapter for deltareplay.

Run the whole suite with ``python ../shared/conformance/run_conformance.py --adapter
tests/conformance/adapter.py``; the project's own suite runs the same cases in
``test_conformance.py``.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa

import deltareplay as dr

P = ParamSpec("P")
R = TypeVar("R")

COLUMNS = [
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "stats",
    "tags",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
    "numRecords",
]


def _without_warnings(function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dr.DeltaReplayWarning)
            return function(*args, **kwargs)

    return call


def _table(path: str) -> dr.Table:
    return dr.Table(path, allowed_roots=["/"])


@_without_warnings
def snapshot(path: str, version: int | None = None) -> dict[str, Any]:
    """Return the state of one version in the runner's format."""
    return state(_table(path).snapshot(version=version))


@_without_warnings
def rows(path: str, version: int | None = None) -> pa.Table:
    """Return all rows of one version."""
    return _table(path).snapshot(version=version).scan().to_arrow()


@_without_warnings
def changes(path: str, start: int, end: int) -> pa.Table:
    """Return the changes between two versions; as in the reference, only if the feed was on."""
    return _table(path).changes(start, end, require_feed=True).to_arrow()


@_without_warnings
def stream(path: str, **options: Any) -> pa.Table:
    """Return all rows that a stream returns up to the latest version."""
    follow = _table(path).follow(available_now=True, **options)
    empty = follow.schema.empty_table()
    return pa.concat_tables([empty, *(batch.data for batch in follow)])


@_without_warnings
def row_tracking(path: str, version: int | None = None) -> pa.Table:
    """Return all rows of one version with their ids."""
    return _table(path).snapshot(version=version).scan(with_row_id=True).to_arrow()


def state(snapshot: dr.Snapshot) -> dict[str, Any]:
    """Return a snapshot in the runner's format."""
    protocol, metadata = snapshot.protocol, snapshot.metadata
    return {
        "version": snapshot.version,
        "protocol": {
            "min_reader_version": protocol.min_reader_version,
            "min_writer_version": protocol.min_writer_version,
            "reader_features": _list(protocol.reader_features),
            "writer_features": _list(protocol.writer_features),
        },
        "metadata": {
            "id": metadata.id,
            "name": metadata.name,
            "description": metadata.description,
            "schema_string": metadata.schema_string,
            "partition_columns": list(metadata.partition_columns),
            "configuration": dict(metadata.configuration),
            "created_time": metadata.created_time,
        },
        "files": [_file(row) for row in snapshot.files(columns=COLUMNS).to_pylist()],
        "txns": dict(snapshot.transactions),
        "domain_metadata": dict(snapshot.domain_metadata),
        "in_commit_timestamp": snapshot.in_commit_timestamp,
    }


def _file(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "path": row["path"],
        "size": row["size"],
        "partition_values": dict(row["partitionValues"]),
        "modification_time": row["modificationTime"],
        "num_records": row["numRecords"],
        "stats": row["stats"],
        "tags": None if row["tags"] is None else dict(row["tags"]),
        "dv": _vector(row["deletionVector"]),
        "base_row_id": row["baseRowId"],
        "default_row_commit_version": row["defaultRowCommitVersion"],
    }


def _vector(vector: dict[str, Any] | None) -> dict[str, Any] | None:
    if vector is None:
        return None
    return {
        "storage_type": vector["storageType"],
        "path_or_inline_dv": vector["pathOrInlineDv"],
        "offset": vector["offset"],
        "size_in_bytes": vector["sizeInBytes"],
        "cardinality": vector["cardinality"],
    }


def _list(features: Any) -> list[str] | None:
    return None if features is None else list(features)
