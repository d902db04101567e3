"""Interpretation of the options of the format ``deltareplay``; runs in Python workers."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay._snapshot.scan import TARGET_SIZE
from deltareplay._snapshot.snapshot import Snapshot
from deltareplay._table.table import Table
from deltareplay.exceptions import (
    InvalidArgumentError,
    TableNotFoundError,
    VersionNotFoundError,
)
from deltareplay.spark.catalog import lookup
from deltareplay.spark.catalog.table_argument import table_of
from deltareplay.spark.format import stream_options
from deltareplay.spark.format.option_values import in_zone, number, path
from deltareplay.spark.format.stream_planner import StreamPlanner
from deltareplay.spark.scan import hidden_columns as names
from deltareplay.spark.schema.arrow import as_spark_takes
from deltareplay.spark.schema.fields import CHANGE_FIELDS, field, plain_fields, struct_type

if TYPE_CHECKING:
    from deltareplay._changes.change_split import ChangeSplit
    from deltareplay._snapshot.split import Split

_STORAGE = "storage."
_KNOWN = {
    "path",
    "versionasof",
    "timestampasof",
    "filter",
    "splitsize",
    "allowedroots",
    "withrowid",
    "withfilepath",
    "withrowindex",
    *stream_options.KNOWN,
}

Options = Mapping[str, str]


def pinned(options: Options) -> int | None:
    """Return the version that a read is fixed to; None if there is nothing to read.

    It is not known yet whether a read or a write follows, so invalid options are not an error here:
    each checks its own.
    """
    try:
        return snapshot(options, None).version
    except (InvalidArgumentError, TableNotFoundError, VersionNotFoundError):
        return None


def travelled(options: Options, zone: str | None) -> dict[str, str]:
    """Replace a path with a version or time, such as ``/path@v7``, by options.

    Args:
        options: The options from Spark.
        zone: The zone of the session; None is UTC.

    Raises:
        InvalidArgumentError: ``argument.version``: another option sets the version, too.
    """
    lowered = _lower(options)
    travelled_path = lookup.travelled(lowered.get("path", ""))
    if travelled_path is None or _table(lowered)._native.exists():
        return dict(options)
    root, version, time = travelled_path
    if {"versionasof", "timestampasof"} & set(lowered):
        raise InvalidArgumentError(
            f"{lowered['path']} has a version, and so have the options: leave out one of them",
            code="argument.version",
        )
    kept = {name: value for name, value in options.items() if name.lower() != "path"}
    if time is None:
        return {**kept, "path": root, "versionAsOf": str(version)}
    return in_zone({**kept, "path": root, "timestampAsOf": time}, zone)


def _table(options: Mapping[str, str]) -> Table:
    """Return the table, with its storage options."""
    storage = {
        name[len(_STORAGE) :]: value for name, value in options.items() if name.startswith(_STORAGE)
    }
    roots = options.get("allowedroots")
    return Table(path(options, "load"), storage, roots.split(",") if roots else None)


def snapshot(options: Options, version: int | None) -> Snapshot:
    """Return the snapshot that the options select, or this version of the table.

    Raises:
        InvalidArgumentError: The options have no path, or an option is unknown.
    """
    lowered = _lower(options)
    path(lowered, "load")
    if "provider" in lowered:  # of a table that gets its name, with properties of all kinds
        lowered = {name: value for name, value in lowered.items() if name in _KNOWN}
    unknown = sorted(
        name for name in lowered if name not in _KNOWN and not name.startswith(_STORAGE)
    )
    if unknown:
        raise InvalidArgumentError(
            f"reading takes no option {', '.join(unknown)}: it takes path, filter, splitSize, "
            "allowedRoots and storage.<key>; without a stream also versionAsOf, timestampAsOf, "
            "withRowId, withFilePath and withRowIndex; as a stream also startingVersion, "
            "startingTimestamp, maxFilesPerTrigger, maxBytesPerTrigger, ignoreChanges, "
            "ignoreDeletes, ignoreFileDeletion, skipChangeCommits, excludeRegex, "
            "schemaTrackingLocation and failOnDataLoss; for "
            "changes also readChangeFeed, endingVersion, endingTimestamp, changeKind, changeKey "
            "and changeDeleted",
            code="option.unknown",
        )
    table = _table(lowered)
    if version is not None:
        return table.snapshot(version)
    as_of = lowered.get("versionasof")
    return table.snapshot(
        None if as_of is None else number("versionAsOf", as_of), lowered.get("timestampasof")
    )


def _lower(options: Options) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def split_size(options: Options) -> int:
    """Return the number of bytes of data files per split."""
    lowered = _lower(options)
    return number("splitSize", lowered.get("splitsize", "0")) or TARGET_SIZE


def _extras(options: Options) -> dict[str, Any]:
    lowered = {name.lower(): value.lower() == "true" for name, value in options.items()}
    return {
        "with_row_id": lowered.get("withrowid", False),
        "with_file_path": lowered.get("withfilepath", False),
        "with_row_index": lowered.get("withrowindex", False),
    }


def schema(options: Options, version: int | None) -> Any:
    """Return Spark's schema of the rows."""
    extras = _extras(options)
    of = snapshot(options, version)
    if stream_options.has_end(options):
        table = table_of(of)
        versions = table.changes(*stream_options.change_range(options, of.version)).versions
        of = of if versions is None else table.snapshot(versions[1])
    fields = plain_fields(of)
    if extras["with_file_path"]:
        fields.append(field(names.FILE_PATH, "string"))
    if extras["with_row_index"]:
        fields.append(field(names.ROW_INDEX, "long"))
    if extras["with_row_id"]:
        fields += [field(names.ROW_ID, "long"), field(names.ROW_COMMIT_VERSION, "long")]
    if stream_options.gives_changes(options):
        fields += CHANGE_FIELDS
    return struct_type(fields)


def splits(
    options: Options, version: int | None, schema: Any, pushed: list[Any]
) -> Sequence[Split | ChangeSplit]:
    """Return the splits of rows or changes, with the columns of a schema.

    Raises:
        InvalidArgumentError: The schema or the filter has a column that the table does not have.
    """
    stream_options.check_batch(options)
    size = split_size(options)
    of = snapshot(options, version)
    if stream_options.gives_changes(options):
        changes = _changes(options, schema)
        start, end = stream_options.change_range(options, of.version)
        return table_of(of).changes(start, end, **changes).splits(size)
    extras = _extras(options)
    added = {names.ROW_ID, names.ROW_COMMIT_VERSION, names.FILE_PATH, names.ROW_INDEX}
    columns = [name for name in schema.fieldNames() if name not in added]
    filter = _lower(options).get("filter")
    return of.scan(columns, pushed or None if filter is None else filter, **extras).splits(size)


def planner(options: Options, version: int | None, schema: Any) -> StreamPlanner:
    """Return the planner of a stream's batches, with the columns of a schema.

    Raises:
        InvalidArgumentError: An option does not fit a stream.
    """
    stream_options.check_stream(options)
    rows = _changes(options, schema)
    return StreamPlanner(
        snapshot(options, version),
        stream_options.start(options),
        rows,
        stream_options.limits(options),
        stream_options.excluded(options),
    )


def _changes(options: Options, schema: Any) -> dict[str, Any]:
    """Return the arguments that select changes, or rows of a stream, with a schema's columns."""
    rows = stream_options.follow_arguments(options)
    change_columns = {field["name"] for field in CHANGE_FIELDS} if "kind" in rows else set()
    rows["columns"] = [name for name in schema.fieldNames() if name.lower() not in change_columns]
    return rows


def batches(split: bytes, schema: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a pickled split, of a scan or of changes."""
    return as_spark_takes(pickle.loads(split).to_batches(), schema)
