"""The clustering columns of a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltareplay._names import column_path
from deltareplay._protocol.properties import mapping_mode
from deltareplay._protocol.schema import Struct, Type

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot


def clustering_columns(snapshot: Snapshot) -> list[str]:
    """Return the logical names of the clustering columns, with dots before fields of structs.

    >>> clustering_columns(table.snapshot())
    []
    """
    return [column_path(path) for path in logical_clustering_paths(snapshot)]


def logical_clustering_paths(snapshot: Snapshot) -> list[list[str]]:
    """Return the logical paths of the clustering columns."""
    mode = mapping_mode(snapshot.properties)
    schema = Struct.parse(snapshot.schema_json)
    return [_logical(path, schema, mode) for path in clustering_paths(snapshot)]


def clustering_paths(snapshot: Snapshot) -> list[list[str]]:
    """Return the physical paths of the clustering columns; none if the domain is invalid."""
    text = snapshot.domain_metadata.get("delta.clustering", "{}")
    try:
        paths: Any = json.loads(text)["clusteringColumns"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return paths if isinstance(paths, list) and all(map(_is_path, paths)) else []


def _is_path(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _logical(path: list[str], type_: Type, mode: str) -> list[str]:
    """Convert a path of physical names to logical ones; unknown names stay as they are."""
    if path and isinstance(type_, Struct):
        for field in type_.fields:
            if field.physical_name(mode) == path[0]:
                return [field.name, *_logical(path[1:], field.type, mode)]
    return path
