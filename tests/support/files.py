"""Write the files of a log: commits, compacted files, checkpoints, sidecars, hint, checksum."""

from __future__ import annotations

import hashlib
import json
import os
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support.actions import Action, checkpoint_metadata, dumps, sidecar


def local_path(uri: str) -> Path:
    """Return the directory of a table on a local disk, from its URI."""
    return Path(urllib.request.url2pathname(urllib.parse.urlsplit(uri).path))


def log_dir(table: str | os.PathLike[str]) -> Path:
    """Return ``<table>/_delta_log``, creating it if needed."""
    path = Path(table) / "_delta_log"
    path.mkdir(parents=True, exist_ok=True)
    return path


def commit_name(version: int) -> str:
    """Return ``00000000000000000003.json``."""
    return f"{version:020}.json"


def compacted_name(start: int, end: int) -> str:
    """Return ``<start>.<end>.compacted.json``."""
    return f"{start:020}.{end:020}.compacted.json"


def checksum_name(version: int) -> str:
    """Return ``<version>.crc``."""
    return f"{version:020}.crc"


def classic_name(version: int) -> str:
    """Return ``<version>.checkpoint.parquet``."""
    return f"{version:020}.checkpoint.parquet"


def part_name(version: int, part: int, parts: int) -> str:
    """Return ``<version>.checkpoint.<part>.<parts>.parquet``; parts count from 1."""
    return f"{version:020}.checkpoint.{part:010}.{parts:010}.parquet"


def v2_name(version: int, suffix: str = "json", unique: str | None = None) -> str:
    """Return ``<version>.checkpoint.<uuid>.<suffix>``; the same version gives the same uuid."""
    unique = unique or str(uuid.UUID(int=0x8000_4000_0000_0000_0000 + version))
    return f"{version:020}.checkpoint.{unique}.{suffix}"


def write_commit(
    table: str | os.PathLike[str],
    version: int,
    actions: Iterable[Action],
    *,
    modified: int | None = None,
) -> Path:
    """Write one commit; ``modified`` sets the file's modification time (ms since epoch)."""
    return write_file(table, commit_name(version), json_lines(actions), modified=modified)


@contextmanager
def edited_commit(table: str | os.PathLike[str], version: int) -> Iterator[list[Action]]:
    """Yield the actions of a commit to change; write them, and delete the log's checksums."""
    log = log_dir(table)
    content = (log / commit_name(version)).read_bytes()
    actions = [json.loads(line) for line in content.split(b"\n") if line]
    yield actions
    write_commit(table, version, actions)
    for checksum in log.glob("*.crc"):
        checksum.unlink()


def write_compacted(
    table: str | os.PathLike[str], start: int, end: int, actions: Iterable[Action]
) -> Path:
    """Write one compacted file of the commits ``start`` to ``end``, both inclusive."""
    return write_file(table, compacted_name(start, end), json_lines(actions))


def write_file(
    table: str | os.PathLike[str], name: str, content: bytes, *, modified: int | None = None
) -> Path:
    """Write ``content`` to ``_delta_log/<name>``; ``modified`` is in ms since the epoch."""
    path = log_dir(table) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if modified is not None:
        os.utime(path, ns=(modified * 1_000_000, modified * 1_000_000))
    return path


def json_lines(actions: Iterable[Action]) -> bytes:
    """Return one action per line, as compact JSON, with LF after each."""
    return b"".join(dumps(action).encode() + b"\n" for action in actions)


_MAP = pa.map_(pa.string(), pa.string())
_DV = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)

FIELDS: dict[str, dict[str, pa.DataType]] = {
    "add": {
        "path": pa.string(),
        "partitionValues": _MAP,
        "size": pa.int64(),
        "modificationTime": pa.int64(),
        "dataChange": pa.bool_(),
        "tags": _MAP,
        "deletionVector": _DV,
        "baseRowId": pa.int64(),
        "defaultRowCommitVersion": pa.int64(),
        "clusteringProvider": pa.string(),
        "stats": pa.string(),
    },
    "remove": {
        "path": pa.string(),
        "deletionTimestamp": pa.int64(),
        "dataChange": pa.bool_(),
        "extendedFileMetadata": pa.bool_(),
        "partitionValues": _MAP,
        "size": pa.int64(),
        "deletionVector": _DV,
        "baseRowId": pa.int64(),
        "defaultRowCommitVersion": pa.int64(),
    },
    "txn": {"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()},
    "metaData": {
        "id": pa.string(),
        "name": pa.string(),
        "description": pa.string(),
        "format": pa.struct([("provider", pa.string()), ("options", _MAP)]),
        "schemaString": pa.string(),
        "partitionColumns": pa.list_(pa.string()),
        "configuration": _MAP,
        "createdTime": pa.int64(),
    },
    "protocol": {
        "minReaderVersion": pa.int32(),
        "minWriterVersion": pa.int32(),
        "readerFeatures": pa.list_(pa.string()),
        "writerFeatures": pa.list_(pa.string()),
    },
    "domainMetadata": {
        "domain": pa.string(),
        "configuration": pa.string(),
        "removed": pa.bool_(),
    },
    "checkpointMetadata": {"version": pa.int64(), "tags": _MAP},
    "sidecar": {
        "path": pa.string(),
        "sizeInBytes": pa.int64(),
        "modificationTime": pa.int64(),
        "tags": _MAP,
    },
}
V1_COLUMNS = ("txn", "add", "remove", "metaData", "protocol", "domainMetadata")
V2_COLUMNS = (*V1_COLUMNS, "checkpointMetadata", "sidecar")
SIDECAR_COLUMNS = ("add", "remove")


def checkpoint_schema(
    columns: Sequence[str] = V1_COLUMNS,
    *,
    stats_type: pa.DataType | None = None,
    partition_type: pa.DataType | None = None,
    drop: Sequence[str] = (),
) -> pa.Schema:
    """Return the Arrow schema of a checkpoint file.

    Args:
        columns: The action columns, in order.
        stats_type: The type of ``add.stats_parsed``; None omits it.
        partition_type: The type of ``add.partitionValues_parsed``; None omits it.
        drop: Fields to omit, such as ``"add.stats"``, as old writers do.
    """
    fields = []
    for column in columns:
        types = dict(FIELDS[column])
        if column == "add":
            if partition_type is not None:
                types["partitionValues_parsed"] = partition_type
            if stats_type is not None:
                types["stats_parsed"] = stats_type
        remaining = [(name, t) for name, t in types.items() if f"{column}.{name}" not in drop]
        fields.append(pa.field(column, pa.struct(remaining)))
    return pa.schema(fields)


def checkpoint_table(actions: Iterable[Action], schema: pa.Schema) -> pa.Table:
    """Return the actions as rows of ``schema``; keys that it does not have are omitted.

    ``add.stats_parsed`` is filled from ``add.stats`` if the schema has it.
    """
    rows: dict[str, list[Any]] = {name: [] for name in schema.names}
    for action in actions:
        if "add" in rows:
            action = _with_parsed_stats(action, schema.field("add").type)
        for name, values in rows.items():
            values.append(_fit(action.get(name), schema.field(name).type))
    arrays = [pa.array(rows[f.name], type=f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def write_checkpoint(
    table: str | os.PathLike[str],
    version: int,
    actions: Iterable[Action],
    *,
    name: str | None = None,
    schema: pa.Schema | None = None,
    **parquet: Any,
) -> Path:
    """Write one Parquet checkpoint file (classic by default; V2 and parts by their ``name``).

    Args:
        table: The table directory.
        version: Only for the default name.
        actions: The rows.
        name: The base name; ``classic_name(version)`` by default.
        schema: ``checkpoint_schema()`` by default.
        parquet: Options of ``pyarrow.parquet.write_table``: ``row_group_size``, ``compression``...
    """
    path = log_dir(table) / (name or classic_name(version))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        checkpoint_table(actions, schema or checkpoint_schema()),
        path,
        **{"compression": "snappy", **parquet},
    )
    return path


def write_multipart(
    table: str | os.PathLike[str],
    version: int,
    actions: Sequence[Action],
    parts: int,
    **options: Any,
) -> list[Path]:
    """Distribute the actions over ``parts`` files; ``options`` are for ``write_checkpoint``."""
    return [
        write_checkpoint(
            table,
            version,
            actions[part - 1 :: parts],
            name=part_name(version, part, parts),
            **options,
        )
        for part in range(1, parts + 1)
    ]


def write_sidecar(
    table: str | os.PathLike[str], name: str, actions: Iterable[Action], **options: Any
) -> Action:
    """Write ``_delta_log/_sidecars/<name>`` and return the ``sidecar`` action that names it."""
    options.setdefault("schema", checkpoint_schema(SIDECAR_COLUMNS))
    path = write_checkpoint(table, 0, actions, name=f"_sidecars/{name}", **options)
    return sidecar(name, path.stat().st_size)


def write_v2(
    table: str | os.PathLike[str],
    version: int,
    actions: Sequence[Action],
    *,
    suffix: str = "json",
    sidecars: int = 2,
    name: str | None = None,
    stats_type: pa.DataType | None = None,
    partition_type: pa.DataType | None = None,
    **parquet: Any,
) -> Path:
    """Write a V2 checkpoint: file actions in ``sidecars`` files, or inline if that is 0.

    Args:
        table: The table directory.
        version: The version of the state.
        actions: The state, file actions included.
        suffix: ``json`` or ``parquet``: the form of the manifest.
        sidecars: How many sidecars share the file actions.
        name: The manifest's base name; ``v2_name(version, suffix)`` by default. Give
            ``classic_name(version)`` with ``suffix="parquet"`` for a V2 checkpoint of that name.
        stats_type: As in ``checkpoint_schema``.
        partition_type: As in ``checkpoint_schema``.
        parquet: Options of ``pyarrow.parquet.write_table``.
    """
    files = [a for a in actions if "add" in a or "remove" in a]
    other_actions = [a for a in actions if not ("add" in a or "remove" in a)]
    typed = {"stats_type": stats_type, "partition_type": partition_type}
    rows = [checkpoint_metadata(version), *other_actions]
    name = name or v2_name(version, suffix)
    if sidecars:
        sidecar_schema = checkpoint_schema(SIDECAR_COLUMNS, **typed)
        for number in range(sidecars):
            rows.append(
                write_sidecar(
                    table,
                    # checkpoints of one version share no sidecar
                    f"{uuid.uuid5(uuid.NAMESPACE_OID, f'{name}/{number}')}.parquet",
                    files[number::sidecars],
                    schema=sidecar_schema,
                    **parquet,
                )
            )
    else:
        rows += files
    if suffix == "json":
        return write_file(table, name, json_lines(rows))
    schema = checkpoint_schema(V2_COLUMNS, **typed)
    return write_checkpoint(table, version, rows, name=name, schema=schema, **parquet)


def write_hint(table: str | os.PathLike[str], version: int, size: int = 1, **extra: Any) -> Path:
    """Write ``_last_checkpoint``; ``extra`` are more fields, such as ``checksum``."""
    body = {"version": version, "size": size, **extra}
    return write_file(table, "_last_checkpoint", dumps(body).encode())


def hint_checksum(body: Mapping[str, Any]) -> str:
    """Return the MD5 of the canonical form of a hint, as the protocol defines it."""

    def quoted(text: str) -> str:
        return f'"{urllib.parse.quote(text, safe="-._~")}"'

    def leaves(value: Any, path: list[str]) -> Iterable[tuple[str, str]]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from leaves(inner, [*path, quoted(key)])
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                yield from leaves(inner, [*path, str(index)])
        else:
            text = quoted(value) if isinstance(value, str) else json.dumps(value)
            yield "+".join(path), text

    top = {key: value for key, value in body.items() if key != "checksum"}
    pairs = sorted(leaves(top, []), key=lambda pair: pair[0].encode())
    return hashlib.md5(",".join(f"{path}={text}" for path, text in pairs).encode()).hexdigest()


def write_checksum(table: str | os.PathLike[str], version: int, body: Mapping[str, Any]) -> Path:
    """Write ``<version>.crc``."""
    return write_file(table, checksum_name(version), dumps(body).encode() + b"\n")


def _with_parsed_stats(row: Action, add_type: pa.DataType) -> Action:
    text = row.get("add", {}).get("stats")
    if text is None or add_type.get_field_index("stats_parsed") < 0:
        return row
    return {"add": {"stats_parsed": json.loads(text), **row["add"]}}


def _fit(value: Any, type_: pa.DataType) -> Any:
    """Return ``value`` as ``pa.array`` requires it for ``type_``: maps as pairs, texts parsed."""
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return {f.name: _fit(value.get(f.name), f.type) for f in type_}
    if pa.types.is_map(type_):
        return list(value.items())
    if isinstance(value, str) and not (pa.types.is_string(type_) or pa.types.is_binary(type_)):
        return pa.scalar(value).cast(type_).as_py()
    if pa.types.is_decimal(type_) and not isinstance(value, str):
        return pa.scalar(str(value)).cast(type_).as_py()
    return value
