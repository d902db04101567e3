"""The source of ``spark.read.format("deltareplay")`` and ``readStream``; runs in Python workers."""

from __future__ import annotations

import datetime
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfoNotFoundError

import pyarrow as pa
import pyspark

from deltareplay._protocol.schema import Field
from deltareplay.exceptions import (
    InvalidArgumentError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from deltareplay.spark.catalog import lookup
from deltareplay.spark.catalog.table_argument import table_of
from deltareplay.spark.format.options import ReadOptions, Use, option, parse, table
from deltareplay.spark.format.stream_planner import StreamPlanner
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.schema.arrow import cast_for_spark
from deltareplay.spark.schema.fields import CHANGE_FIELDS, columns_of, plain_fields, struct_type
from deltareplay.spark.session import capabilities, zone_names

if TYPE_CHECKING:
    from deltareplay._changes.change_split import ChangeSplit
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._snapshot.split import Split


def pinned(options: Mapping[str, str]) -> int | None:
    """Return the version that a read is fixed to; None if there is nothing to read.

    A write may follow instead of a read, so invalid options are not an error here: reads and writes
    check their options themselves.
    """
    try:
        return ReadOptions(options).snapshot(None).version
    except (InvalidArgumentError, TableNotFoundError, VersionNotFoundError):
        return None


def resolve_time_travel(options: Mapping[str, str], zone: str | None) -> dict[str, str]:
    """Replace a path with a version or time, such as ``/path@v7``, by options.

    Args:
        options: The options from Spark.
        zone: The zone of the session; None is UTC.

    Raises:
        InvalidArgumentError: ``argument.version``: another option sets the version, too.
    """
    path = next((text for name, text in options.items() if name.lower() == "path"), "")
    split_path = lookup.split_time_travel(path)
    if split_path is None:
        return dict(options)
    values = parse(options, Use.READ, strict=False)
    if table(values).native.exists():
        return dict(options)
    root, version, time = split_path
    if "versionAsOf" in values or "timestampAsOf" in values:
        raise InvalidArgumentError(
            f"both {path} and the options set a version: leave out one of them",
            code="argument.version",
        )
    remaining = {name: text for name, text in options.items() if name.lower() != "path"}
    if time is None:
        return {**remaining, "path": root, "versionAsOf": str(version)}
    return in_zone({**remaining, "path": root, "timestampAsOf": time}, zone)


def schema(options: Mapping[str, str], version: int | None) -> Any:
    """Return Spark's schema of the rows."""
    read = ReadOptions(options)
    return _schema(read, read.snapshot(version))


def _schema(read: ReadOptions, snapshot: Snapshot) -> Any:
    if read.has_end:
        log = table_of(snapshot)
        versions = log.changes(*read.change_range(snapshot.version)).versions
        snapshot = snapshot if versions is None else log.snapshot(versions[1])
    pyspark_version = capabilities.parsed_version(pyspark.__version__)
    with_void = pyspark_version >= capabilities.FIRST_WITH_VOID
    columns = columns_of(snapshot, with_void_fields=with_void)
    fields = plain_fields(column for column in columns if with_void or not column.is_void)
    fields += _added_fields(read)
    if read.gives_changes:
        fields += CHANGE_FIELDS
    return struct_type(fields)


def _added_fields(read: ReadOptions) -> list[Field]:
    """Return the columns that options add to those of the table."""
    fields: list[Field] = []
    if read.columns.get("with_file_path"):
        fields.append(Field(hidden_columns.FILE_PATH, "string"))
    if read.columns.get("with_row_index"):
        fields.append(Field(hidden_columns.ROW_INDEX, "long"))
    if read.columns.get("with_row_id"):
        fields += [
            Field(hidden_columns.ROW_ID, "long"),
            Field(hidden_columns.ROW_COMMIT_VERSION, "long"),
        ]
    return fields


def splits(
    options: Mapping[str, str], version: int | None, schema: Any, pushed: list[Any]
) -> Sequence[Split | ChangeSplit]:
    """Return the splits of rows or changes, with the columns of a schema."""
    read = ReadOptions(options)
    read.check(stream=False)
    snapshot = read.snapshot(version)
    _check_types(_schema(read, snapshot), schema)
    if read.gives_changes:
        start, end = read.change_range(snapshot.version)
        changes = table_of(snapshot).changes(start, end, **_with_columns(read, schema))
        return changes.splits(read.split_size)
    added = {field.name for field in _added_fields(read)}
    columns = [name for name in schema.fieldNames() if name not in added]
    filter = read.values.get("filter", pushed or None)
    return snapshot.scan(columns, filter, **read.columns).splits(read.split_size)


def planner(options: Mapping[str, str], version: int | None, schema: Any) -> StreamPlanner:
    """Return the planner of a stream's batches, with the columns of a schema."""
    read = ReadOptions(options)
    read.check(stream=True)
    snapshot = read.snapshot(version)
    _check_types(_schema(read, snapshot), schema)
    rows = _with_columns(read, schema)
    return StreamPlanner(snapshot, read.start, rows, read.limits, read.excluded())


def _check_types(table_columns: Any, columns: Any) -> None:
    """Check that the columns of a read have the types of the table.

    Raises:
        InvalidArgumentError: ``option.schema``.
    """
    types = {field.name.lower(): field.dataType for field in table_columns}
    for field in columns:
        expected = types.get(field.name.lower(), field.dataType).simpleString()
        if field.dataType.simpleString() != expected:
            raise InvalidArgumentError(
                f"the column {field.name} has the type {expected}, not "
                f"{field.dataType.simpleString()}: pass its own type, and cast the column",
                code="option.schema",
            )


def _with_columns(read: ReadOptions, schema: Any) -> dict[str, Any]:
    """Return the arguments that select rows, with the columns of a schema."""
    change_columns = {field.name for field in CHANGE_FIELDS} if read.gives_changes else set()
    columns = [name for name in schema.fieldNames() if name.lower() not in change_columns]
    return {**read.rows, "columns": columns}


def batches(split: bytes, schema: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a pickled split, of a scan or of changes."""
    return cast_for_spark(pickle.loads(split).to_batches(), schema)


def in_zone(options: Mapping[str, str], zone: str | None) -> dict[str, str]:
    """Add a time zone to the timestamps of options that have none.

    Args:
        options: The options from Spark.
        zone: The time zone of timestamps without one; None adds none, which means UTC.

    Raises:
        UnsupportedFeatureError: ``spark.time_zone``: the zone is unknown.

    >>> in_zone({"timestampAsOf": "2026-01-02"}, "Europe/Berlin")
    {'timestampAsOf': '2026-01-02T00:00:00+01:00'}
    >>> in_zone({"timestampAsOf": "2026-01-02 03:00:00 GMT+2"}, None)
    {'timestampAsOf': '2026-01-02T03:00:00+02:00'}
    >>> in_zone({"timestampAsOf": "2026-01-02 03:00:00.5"}, "Europe/Berlin")
    {'timestampAsOf': '2026-01-02T03:00:00.500000+01:00'}
    >>> in_zone({"timestampAsOf": "2026-2"}, None)
    {'timestampAsOf': '2026-02-01'}
    """
    return {
        name: _in_zone(text, zone)
        if (entry := option(name)) and entry.kind == "timestamp"
        else text
        for name, text in options.items()
    }


#: A time with a zone at its end, as Spark reads it: the name of a zone, or an offset after a blank
#: or a name of UTC.
_ZONE = re.compile(
    r"(?P<time>.*\d)(?=\s+[+-]|\s*[A-Za-z]{2})\s*(?P<zone>[A-Za-z]+/[A-Za-z0-9_+/-]+|[A-Za-z]{2,}\S*"
    r"|[+-]\S+)"
)

#: A time as Spark reads it: fields may have one digit, and only the year is required.
_FIELDS = re.compile(
    r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)(?:[T ](\d\d?)(?::(\d\d?)(?::(\d\d?)(?:\.(\d+))?(.*))?)?)?)?)?"
)


def _in_zone(text: str, zone: str | None) -> str:
    match = _ZONE.fullmatch(text.strip())
    clock, zone_name = (match["time"], match["zone"]) if match else (text.strip(), zone)
    clock = _iso(clock)
    try:
        time = datetime.datetime.fromisoformat(clock)
    except ValueError:  # the core raises an error
        return text
    if time.tzinfo is not None or zone_name is None:
        return clock
    try:
        return time.replace(tzinfo=zone_names.zone(zone_name)).isoformat()
    except (ValueError, ZoneInfoNotFoundError) as cause:
        if match:  # the core raises an error
            return text
        raise UnsupportedFeatureError(
            f"{text} has no time zone, and that of the session, {zone_name}, is not in the time "
            "zone database: set spark.sql.session.timeZone to a name like Europe/Berlin, or add a "
            "zone to the time",
            code="spark.time_zone",
        ) from cause


def _iso(clock: str) -> str:
    match = _FIELDS.fullmatch(clock)
    if match is None:
        return clock
    year, month, day, hour, minute, second, fraction, rest = match.groups()
    date = f"{year}-{month or 1:0>2}-{day or 1:0>2}"
    if hour is None:
        return date
    micros = f".{fraction:0<6.6}" if fraction else ""  # Python 3.10 takes three or six digits
    return f"{date}T{hour:0>2}:{minute or 0:0>2}:{second or 0:0>2}{micros}{rest or ''}"
