"""What the options of the format ``deltareplay`` mean; runs in Python workers."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from deltareplay._scan import TARGET_SIZE, Scan
from deltareplay._snapshot import Snapshot
from deltareplay._table import Table
from deltareplay.exceptions import (
    InvalidArgumentError,
    TableNotFoundError,
    VersionNotFoundError,
)
from deltareplay.spark import names, stream_options
from deltareplay.spark.arrow import as_spark_takes
from deltareplay.spark.option_values import number, path
from deltareplay.spark.schema import CHANGE_FIELDS, field, plain_fields, struct_type
from deltareplay.spark.stream_planner import StreamPlanner

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
    """The version of everything that follows; None if there is none to read.

    It is not known yet whether a read or a write follows. Each checks its own options, and lists
    those that it has.
    """
    try:
        return snapshot(options, None).version
    except (InvalidArgumentError, TableNotFoundError, VersionNotFoundError):
        return None


def snapshot(options: Options, version: int | None) -> Snapshot:
    """The snapshot that the options name, or this version of the table.

    Raises:
        InvalidArgumentError: No path, or an unknown option.
    """
    given = {name.lower(): value for name, value in options.items()}
    place = path(given, "load")
    unknown = sorted(name for name in given if name not in _KNOWN and not name.startswith(_STORAGE))
    if unknown:
        raise InvalidArgumentError(
            f"reading takes no option {', '.join(unknown)}: it takes path, filter, splitSize, "
            "allowedRoots and storage.<key>; without a stream also versionAsOf, timestampAsOf, "
            "withRowId, withFilePath and withRowIndex; as a stream also startingVersion, "
            "startingTimestamp, maxFilesPerTrigger, maxBytesPerTrigger, ignoreChanges, "
            "ignoreDeletes, skipChangeCommits, readChangeFeed, changeKind, changeKey and "
            "changeDeleted",
            code="option.unknown",
        )
    storage = {
        name[len(_STORAGE) :]: value for name, value in given.items() if name.startswith(_STORAGE)
    }
    roots = given.get("allowedroots")
    table = Table(place, storage, roots.split(",") if roots else None)
    if version is not None:
        return table.snapshot(version)
    wanted = given.get("versionasof")
    return table.snapshot(
        None if wanted is None else number("versionAsOf", wanted), given.get("timestampasof")
    )


def split_size(options: Options) -> int:
    """Bytes of data files in a split."""
    given = {name.lower(): value for name, value in options.items()}
    return number("splitSize", given.get("splitsize", "0")) or TARGET_SIZE


def _extras(options: Options) -> dict[str, Any]:
    given = {name.lower(): value.lower() == "true" for name, value in options.items()}
    return {
        "with_row_id": given.get("withrowid", False),
        "with_file_path": given.get("withfilepath", False),
        "with_row_index": given.get("withrowindex", False),
    }


def schema(options: Options, version: int | None) -> Any:
    """Spark's schema of the rows."""
    extras = _extras(options)
    fields = plain_fields(snapshot(options, version))
    if extras["with_file_path"]:
        fields.append(field(names.FILE_PATH, "string"))
    if extras["with_row_index"]:
        fields.append(field(names.ROW_INDEX, "long"))
    if extras["with_row_id"]:
        fields += [field(names.ROW_ID, "long"), field(names.ROW_COMMIT_VERSION, "long")]
    if stream_options.gives_changes(options):
        fields += CHANGE_FIELDS
    return struct_type(fields)


def scan(options: Options, version: int | None, schema: Any, pushed: list[Any]) -> Scan:
    """The scan of the columns that a schema names.

    Raises:
        InvalidArgumentError: The schema or the filter has a column that the table does not have.
    """
    stream_options.check_batch(options)
    extras = _extras(options)
    added = {names.ROW_ID, names.ROW_COMMIT_VERSION, names.FILE_PATH, names.ROW_INDEX}
    columns = [name for name in schema.fieldNames() if name not in added]
    given = {name.lower(): value for name, value in options.items()}
    filter = given.get("filter")
    of = snapshot(options, version)
    if filter is None and pushed:
        return of.scan(columns, pushed, **extras)
    return of.scan(columns, filter, **extras)


def planner(options: Options, version: int | None, schema: Any) -> StreamPlanner:
    """The planner of a stream's batches, with the columns that a schema names.

    Raises:
        InvalidArgumentError: An option does not fit a stream.
    """
    stream_options.check_stream(options)
    rows = stream_options.follow_arguments(options)
    told = {one["name"] for one in CHANGE_FIELDS} if "kind" in rows else set()
    rows["columns"] = [name for name in schema.fieldNames() if name.lower() not in told]
    return StreamPlanner(
        snapshot(options, version),
        stream_options.start(options),
        rows,
        stream_options.limits(options),
    )


def batches(split: bytes, schema: Any) -> Iterator[pa.RecordBatch]:
    """The rows of a pickled split, of a scan or of changes."""
    return as_spark_takes(pickle.loads(split).to_batches(), schema)
