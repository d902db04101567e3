"""The actions of the log and their schemas, as plain dicts.

An action is a dict with one key, as in a line of a commit: ``{"add": {...}}``. Nothing is
validated: tests can create invalid actions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

Action = dict[str, Any]

#: The default modification time and creation time: 2025-10-09 08:53:20 UTC, in ms.
T0 = 1_760_000_000_000

#: Far enough in the future that no tombstone with it expires.
NEVER_EXPIRES = 4_000_000_000_000

#: Fields of an ``add`` with plain values.
PLAIN_FIELDS = [
    "path",
    "size",
    "modificationTime",
    "baseRowId",
    "defaultRowCommitVersion",
    "clusteringProvider",
]

TABLE_ID = "0d6e1a4c-0000-4000-8000-000000000001"


def field_json(
    name: str, type_: Any, *, nullable: bool = True, metadata: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a field of a Delta schema; ``type_`` is a type name or the JSON of a nested type."""
    return {"name": name, "type": type_, "nullable": nullable, "metadata": dict(metadata or {})}


def schema(**columns: Any) -> str:
    """Return a ``schemaString``: ``schema(id="long", day="date")``.

    >>> schema(id="long")
    '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
    """
    fields = [field_json(name, type_) for name, type_ in columns.items()]
    return dumps({"type": "struct", "fields": fields})


_ARROW = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(type_: Any) -> pa.DataType:
    """Return the Arrow type of a Delta type, such as ``decimal(10,2)`` or a struct as JSON."""
    if isinstance(type_, dict):
        if type_["type"] != "struct":
            raise ValueError(f"no statistics for {type_['type']}")
        return pa.struct([(f["name"], arrow_type(f["type"])) for f in type_["fields"]])
    if type_.startswith("decimal("):
        precision, scale = type_[len("decimal(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return _ARROW[type_]


def protocol(
    reader: int = 1,
    writer: int = 2,
    *,
    reader_features: Sequence[str] | None = None,
    writer_features: Sequence[str] | None = None,
    **extra: Any,
) -> Action:
    """Return a ``protocol`` action; without feature lists that are None."""
    body: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": writer}
    if reader_features is not None:
        body["readerFeatures"] = list(reader_features)
    if writer_features is not None:
        body["writerFeatures"] = list(writer_features)
    return {"protocol": {**body, **extra}}


def features(*reader_and_writer: str, writer_only: Sequence[str] = ()) -> Action:
    """Return ``protocol`` 3/7 with features for both, and ``writer_only`` ones."""
    return protocol(
        3, 7, reader_features=reader_and_writer, writer_features=[*reader_and_writer, *writer_only]
    )


def metadata(
    schema_string: str,
    *,
    partition_columns: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None,
    id: str = TABLE_ID,
    name: str | None = None,
    description: str | None = None,
    created_time: int | None = T0,
    **extra: Any,
) -> Action:
    """Return a ``metaData`` action; ``None`` omits a field."""
    body: dict[str, Any] = {
        "id": id,
        "name": name,
        "description": description,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema_string,
        "partitionColumns": list(partition_columns),
        "configuration": dict(configuration or {}),
        "createdTime": created_time,
    }
    return {"metaData": {**present(body), **extra}}


def stats(num_records: int, **columns: tuple[Any, Any, int]) -> str:
    """Return ``stats`` as JSON: of each column, the minimum, the maximum and the null count.

    >>> stats(3, id=(1, 9, 0))
    '{"numRecords":3,"minValues":{"id":1},"maxValues":{"id":9},"nullCount":{"id":0}}'
    """
    body: dict[str, Any] = {"numRecords": num_records}
    if columns:
        body["minValues"] = {name: low for name, (low, _, _) in columns.items()}
        body["maxValues"] = {name: high for name, (_, high, _) in columns.items()}
        body["nullCount"] = {name: nulls for name, (_, _, nulls) in columns.items()}
    return dumps(body)


def deletion_vector(
    path_or_inline: str = "vBn[lx{q8@P<9BNH/isA",
    *,
    storage_type: str = "u",
    offset: int | None = 1,
    size: int = 36,
    cardinality: int = 2,
) -> dict[str, Any]:
    """Return a deletion-vector descriptor for ``add(deletion_vector=...)`` and ``remove(...)``."""
    return present(
        {
            "storageType": storage_type,
            "pathOrInlineDv": path_or_inline,
            "offset": offset,
            "sizeInBytes": size,
            "cardinality": cardinality,
        }
    )


def add(
    path: str,
    *,
    partition_values: Mapping[str, str | None] | None = None,
    size: int = 100,
    modification_time: int = T0,
    data_change: bool = True,
    stats: str | None = None,
    tags: Mapping[str, str | None] | None = None,
    deletion_vector: Mapping[str, Any] | None = None,
    base_row_id: int | None = None,
    default_row_commit_version: int | None = None,
    clustering_provider: str | None = None,
    **extra: Any,
) -> Action:
    """Return an ``add`` action; ``path`` is logged as it is (URI-encoded by the caller)."""
    body: dict[str, Any] = {
        "path": path,
        "partitionValues": dict(partition_values or {}),
        "size": size,
        "modificationTime": modification_time,
        "dataChange": data_change,
        "stats": stats,
        "tags": dict(tags) if tags is not None else None,
        "deletionVector": dict(deletion_vector) if deletion_vector is not None else None,
        "baseRowId": base_row_id,
        "defaultRowCommitVersion": default_row_commit_version,
        "clusteringProvider": clustering_provider,
    }
    return {"add": {**present(body), **extra}}


def remove(
    path: str,
    *,
    deletion_timestamp: int | None = NEVER_EXPIRES,
    data_change: bool = True,
    extended: bool | None = True,
    partition_values: Mapping[str, str | None] | None = None,
    size: int | None = 100,
    deletion_vector: Mapping[str, Any] | None = None,
    **extra: Any,
) -> Action:
    """Return a ``remove`` action; ``extended=None, size=None`` is the form of old writers."""
    body: dict[str, Any] = {
        "path": path,
        "deletionTimestamp": deletion_timestamp,
        "dataChange": data_change,
        "extendedFileMetadata": extended,
        "partitionValues": dict(partition_values or {}) if extended else None,
        "size": size,
        "deletionVector": dict(deletion_vector) if deletion_vector is not None else None,
    }
    return {"remove": {**present(body), **extra}}


def cdc(
    path: str, *, size: int = 100, partition_values: Mapping[str, str | None] | None = None
) -> Action:
    """Return a ``cdc`` action."""
    return {
        "cdc": {
            "path": path,
            "partitionValues": dict(partition_values or {}),
            "size": size,
            "dataChange": False,
        }
    }


def txn(app_id: str, version: int, last_updated: int | None = T0) -> Action:
    """Return a ``txn`` action."""
    return {"txn": present({"appId": app_id, "version": version, "lastUpdated": last_updated})}


def domain(name: str, configuration: str = "{}", *, removed: bool = False) -> Action:
    """Return a ``domainMetadata`` action."""
    return {"domainMetadata": {"domain": name, "configuration": configuration, "removed": removed}}


def commit_info(operation: str = "WRITE", *, timestamp: int = T0, **extra: Any) -> Action:
    """Return a ``commitInfo`` action; others, such as ``inCommitTimestamp=...``, are added."""
    return {"commitInfo": {"timestamp": timestamp, "operation": operation, **extra}}


def checkpoint_metadata(version: int, **extra: Any) -> Action:
    """Return the ``checkpointMetadata`` row of a V2 checkpoint."""
    return {"checkpointMetadata": {"version": version, **extra}}


def sidecar(path: str, size: int, *, modification_time: int = T0, **extra: Any) -> Action:
    """Return a ``sidecar`` row of a V2 checkpoint; ``path`` is normally a bare file name."""
    return {
        "sidecar": {
            "path": path,
            "sizeInBytes": size,
            "modificationTime": modification_time,
            **extra,
        }
    }


def present(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries whose value is not None."""
    return {key: value for key, value in body.items() if value is not None}


def dumps(value: Any) -> str:
    """Return compact JSON, not escaped to ASCII."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
