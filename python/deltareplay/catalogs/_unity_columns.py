"""Conversion of a table's metadata to the spelling of Unity Catalog."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deltareplay._protocol.metadata import Metadata
from deltareplay._protocol.protocol import Protocol
from deltareplay.catalogs._rest import Json

_KEYS = {
    "elementType": "element-type",
    "containsNull": "contains-null",
    "keyType": "key-type",
    "valueType": "value-type",
    "valueContainsNull": "value-contains-null",
}
#: Properties that the server sets itself.
_DERIVED = {
    "delta.minReaderVersion",
    "delta.minWriterVersion",
    "delta.clusteringColumns",
    "delta.rowTracking.rowIdHighWaterMark",
    "delta.lastUpdateVersion",
    "delta.lastCommitTimestamp",
}
#: The domains that the server stores, with the field that it takes of each.
_DOMAINS = {"delta.clustering": "clusteringColumns", "delta.rowTracking": "rowIdHighWaterMark"}


def columns(schema_string: str) -> Json:
    """Convert a schema to the form of the server.

    >>> columns('{"type":"struct","fields":[{"name":"a","type":{"type":"array",'
    ...     '"elementType":"long","containsNull":true},"nullable":true,"metadata":{}}]}'
    ... )["fields"][0]["type"]
    {'type': 'array', 'element-type': 'long', 'contains-null': True}
    """
    schema: Json = _respelled(json.loads(schema_string))
    return schema


def _respelled(data_type: Any) -> Any:
    if not isinstance(data_type, dict):
        return data_type
    respelled = {_KEYS.get(key, key): value for key, value in data_type.items()}
    for key in ("element-type", "key-type", "value-type"):
        if key in respelled:
            respelled[key] = _respelled(respelled[key])
    if "fields" in respelled:
        respelled["fields"] = [
            {**field, "type": _respelled(field["type"])} for field in respelled["fields"]
        ]
    return respelled


def protocol(current: Protocol) -> Json:
    """Convert a protocol to the form of the server."""
    return {
        "min-reader-version": current.min_reader_version,
        "min-writer-version": current.min_writer_version,
        "reader-features": current.reader_features or [],
        "writer-features": current.writer_features or [],
    }


def domains(changed: Mapping[str, str | None]) -> tuple[Json, list[str]]:
    """Return the changed and the removed domains, of those that the server stores."""
    stored = {name: text for name, text in changed.items() if name in _DOMAINS}
    updates = {
        name: {_DOMAINS[name]: json.loads(text)[_DOMAINS[name]]}
        for name, text in stored.items()
        if text is not None
    }
    return updates, [name for name, text in stored.items() if text is None]


def metadata_updates(new: Metadata, old: Mapping[str, Any]) -> list[Json]:
    """Return the updates that change the server's metadata to that of a commit."""
    updates: list[Json] = []
    had = {
        key: value
        for key, value in old.get("properties", {}).items()
        if key not in _DERIVED and not key.startswith("delta.feature.")
    }
    changed = {key: text for key, text in new.configuration.items() if had.get(key) != text}
    removed = sorted(had.keys() - new.configuration.keys())
    if changed:
        updates.append({"action": "set-properties", "updates": changed})
    if removed:
        updates.append({"action": "remove-properties", "removals": removed})
    fields = columns(new.schema_string)
    if fields != old.get("columns"):
        updates.append({"action": "set-columns", "columns": fields})
    if list(new.partition_columns) != list(old.get("partition-columns") or []):
        update = {"action": "set-partition-columns", "partition-columns": new.partition_columns}
        updates.append(update)
    if new.description is not None and new.description != old.get("comment"):
        updates.append({"action": "set-table-comment", "comment": new.description})
    return updates
