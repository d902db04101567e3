"""Tables that track rows, with files of a few rows."""

from __future__ import annotations

from typing import Any

import deltareplay as dr
from support import data, logs
from support.actions import Action

PROPERTIES = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row_version",
}


def change_rows(changes: dr.Changes | dr.ChangeSplit) -> list[tuple[Any, ...]]:
    """Return the changes without timestamps, sorted."""
    rows = changes.to_arrow().drop_columns(["_commit_timestamp"]).to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def create(log: logs.LogBuilder) -> None:
    features = logs.features("deletionVectors", writer_only=["rowTracking", "domainMetadata"])
    log.create(logs.schema(v="string"), protocol_action=features, configuration=PROPERTIES)


def file(log: logs.LogBuilder, version: int, base: int, rows: str, **more: Any) -> Action:
    """Write a file of one row per word: ``value``, ``value:id`` or ``value:id:commit_version``.

    Args:
        log: The log of the table.
        version: The default row commit version, and the name of the file.
        base: The base row ID.
        rows: Words. IDs and commit versions are materialized, as null where not given.
        **more: More arguments of ``data.write``.
    """
    fields = [word.split(":") for word in rows.split()]
    columns: dict[str, Any] = {"v": [word[0] for word in fields]}
    if any(len(word) > 1 for word in fields):
        columns["_id"] = [int(word[1]) if len(word) > 1 else None for word in fields]
        columns["_row_version"] = [int(word[2]) if len(word) > 2 else None for word in fields]
    return data.write(
        log.table,
        f"{version}.parquet",
        columns,
        base_row_id=base,
        default_row_commit_version=version,
        **more,
    )
