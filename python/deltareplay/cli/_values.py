"""Values formatted for people or programs, and Arrow data as rows of Python values."""

from __future__ import annotations

import base64
import ctypes
import datetime
import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from deltareplay._names import INVISIBLE, escaped
from deltareplay._support import units

if TYPE_CHECKING:
    import pyarrow as pa


_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def plain(value: Any) -> str:
    r"""Format a value on one line, without characters that a terminal would obey.

    >>> plain("two\nlines"), plain(None), plain(True), plain({"a": 1})
    ('two\\nlines', '', 'true', 'a=1')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        value = ", ".join(f"{_nested(name)}={_nested(item)}" for name, item in value.items())
    elif isinstance(value, (list, tuple)):
        value = ", ".join(map(_nested, value))
    elif isinstance(value, bytes):
        value = value.hex()
    return escaped(value)


def _nested(value: Any) -> str:
    text = plain(value)
    if isinstance(value, dict):
        return f"{{{text}}}"
    return f"[{text}]" if isinstance(value, (list, tuple)) else text


def thousands(value: int | None) -> str:
    """Format a number with separators.

    >>> thousands(1234567), thousands(None)
    ('1,234,567', '?')
    """
    return "?" if value is None else f"{value:,}"


def counted(value: int | None, noun: str) -> str:
    """Format a number with its noun.

    >>> counted(1, "file"), counted(2000, "file"), counted(None, "file")
    ('1 file', '2,000 files', '? files')
    """
    return f"? {noun}s" if value is None else units.plural(value, noun)


def size(value: int | None) -> str:
    """Format a number of bytes.

    >>> size(25_788), size(999), size(None)
    ('25.2 KiB', '999 B', '?')
    """
    return "?" if value is None else units.size(value, " ")


def instant(milliseconds: int) -> datetime.datetime | None:
    """Convert milliseconds since the epoch to a UTC time; return None if out of range.

    >>> instant(0)
    datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        return _EPOCH + datetime.timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def zoned(value: datetime.datetime, *, utc: bool) -> datetime.datetime:
    """Convert a timestamp to UTC or the local zone; a time without a zone stays unchanged.

    The result is in UTC as well if the local time is in year 0 or 10000, which Python lacks.
    """
    if value.tzinfo is None:
        return value
    if not utc:
        try:
            return value.astimezone()
        except (OverflowError, ValueError):
            pass
    return value.astimezone(datetime.timezone.utc)


def with_zones(value: Any, *, utc: bool) -> Any:
    """Convert the timestamps in a value as ``zoned`` does, also in dicts and lists.

    >>> with_zones({"at": [_EPOCH.astimezone()]}, utc=True) == {"at": [_EPOCH]}
    True
    """
    if isinstance(value, datetime.datetime):
        return zoned(value, utc=utc)
    if isinstance(value, dict):
        return {with_zones(key, utc=utc): with_zones(item, utc=utc) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_zones(item, utc=utc) for item in value]
    return value


def timestamp(value: datetime.datetime | None, *, utc: bool) -> str:
    """Format a timestamp with its offset, to the second.

    >>> timestamp(_EPOCH, utc=True)
    '1970-01-01 00:00:00+00:00'
    """
    return "?" if value is None else zoned(value, utc=utc).isoformat(sep=" ", timespec="seconds")


def short_timestamp(value: datetime.datetime | str | None, *, utc: bool) -> str:
    """Format a timestamp without its offset, for the columns of a table.

    A timestamp that ``records`` returns as text stays unchanged.

    >>> short_timestamp(_EPOCH, utc=True)
    '1970-01-01 00:00:00'
    """
    if isinstance(value, str):
        return value
    return "?" if value is None else format(zoned(value, utc=utc), "%Y-%m-%d %H:%M:%S")


def to_json(value: Any, *, utc: bool, ascii_only: bool = False) -> str:
    """Format a value as JSON: ISO 8601 times, base64 bytes, exact decimals and NaN as strings.

    >>> to_json({"at": _EPOCH, "b": b"a", "n": math.nan}, utc=True)
    '{"at": "1970-01-01T00:00:00+00:00", "b": "YQ==", "n": "nan"}'
    """
    text = json.dumps(_json_value(value, utc), ensure_ascii=ascii_only)
    # as JSON escapes, which parsers decode
    return _INVISIBLE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _json_value(value: Any, utc: bool) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {_json_name(name, utc): _json_value(item, utc) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item, utc) for item in value]
    if isinstance(value, datetime.datetime):
        return zoned(value, utc=utc).isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return str(value)


def _json_name(key: Any, utc: bool) -> str:
    """Return the key of a map as the name of a JSON member: formatted as values are."""
    value = _json_value(key, utc)
    return value if isinstance(value, str) else json.dumps(value)


_NAIVE_EPOCH = datetime.datetime(1970, 1, 1)
_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def records(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """Yield the rows as dicts; maps are dicts, too, or entries if their keys are nested.

    Dates and timestamps in years that Python lacks are text.

    >>> list(records(rows.snapshot().scan(["id", "name"]).to_batches()))
    [{'id': 1, 'name': 'one'}, {'id': 3, 'name': 'three'}]
    """
    for batch in map(without_intervals, batches):
        names = batch.schema.names
        for row in zip(*map(_column, batch.columns), strict=True):
            yield dict(zip(names, row, strict=True))


def without_intervals(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with integers in place of month intervals, which pyarrow cannot read."""
    schema = months_as_numbers(batch.schema)
    if schema.equals(batch.schema):
        return batch
    import pyarrow as pa

    # the C data interface keeps the type apart from the buffers, which are those of integers
    exported: Any = (ctypes.c_int64 * 10)()  # the size of `ArrowArray`
    batch._export_to_c(ctypes.addressof(exported))
    return pa.RecordBatch._import_from_c(ctypes.addressof(exported), schema)


def months_as_numbers(schema: pa.Schema) -> pa.Schema:
    """Return the schema with integers in place of month intervals, also in nested types."""
    import pyarrow as pa

    return pa.schema([field.with_type(_without_months(field.type)) for field in schema])


def _without_months(kind: Any) -> Any:
    import pyarrow as pa

    if str(kind) == "month_interval":
        return pa.int32()
    if pa.types.is_list(kind):
        field = kind.value_field
        return pa.list_(field.with_type(_without_months(field.type)))
    if pa.types.is_map(kind):
        key, value = kind.key_field, kind.item_field
        return pa.map_(
            key.with_type(_without_months(key.type)), value.with_type(_without_months(value.type))
        )
    if pa.types.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return pa.struct([f.with_type(_without_months(f.type)) for f in fields])
    return kind


def _column(array: Any) -> list[Any]:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_timestamp(kind):
        # `to_pylist` would import pandas, and `cast` and `is_valid` of an array would import
        # `pyarrow.compute`: both are slow
        zone = None if kind.tz is None else datetime.timezone.utc
        ticks = array.view(pa.int64()).to_pylist()
        return [_datetime(tick, kind, zone) for tick in ticks]
    if pa.types.is_list(kind):
        return _slices(array, array.values)
    if pa.types.is_map(kind):
        unhashable = pa.types.is_nested(kind.key_type)
        return [
            None if pairs is None else _entries(pairs) if unhashable else dict(pairs)
            for pairs in _pairs(array)
        ]
    if pa.types.is_struct(kind):
        names = [kind.field(index).name for index in range(kind.num_fields)]
        parts = [_column(array.field(index)) for index in range(kind.num_fields)]
        rows = zip(*parts, strict=True) if parts else ((),) * len(array)
        valid = [scalar.is_valid for scalar in array]
        return [
            dict(zip(names, row, strict=True)) if is_valid else None
            for row, is_valid in zip(rows, valid, strict=True)
        ]
    return _python_values(array)


def _pairs(array: Any) -> Iterator[list[tuple[Any, Any]] | None]:
    for keys, values in zip(_slices(array, array.keys), _slices(array, array.items), strict=True):
        yield None if keys is None or values is None else list(zip(keys, values, strict=True))


def _slices(array: Any, inner: Any) -> list[list[Any] | None]:
    """Split the array of all elements, keys or values by the lists or maps that they are in."""
    if not len(array):
        return []  # an empty array may have no offsets
    offsets = array.offsets.to_pylist()
    first, last = offsets[0], offsets[-1]
    values = _column(inner.slice(first, last - first))
    return [
        values[start - first : end - first] if scalar.is_valid else None
        for scalar, start, end in zip(array, offsets[:-1], offsets[1:], strict=True)
    ]


def _entries(pairs: list[tuple[Any, Any]]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in pairs]


def _python_values(array: Any) -> list[Any]:
    import pyarrow as pa

    try:
        values: list[Any] = array.to_pylist()
    except OverflowError:  # a year that Python lacks
        values = array.cast(pa.string()).to_pylist()
    return values


def _datetime(tick: int | None, kind: Any, zone: datetime.timezone | None) -> Any:
    if tick is None:
        return None
    microseconds = tick * 1_000_000 // _TICKS[kind.unit]
    try:
        timestamp = _NAIVE_EPOCH + datetime.timedelta(microseconds=microseconds)
    except OverflowError:  # a year that Python lacks
        import pyarrow as pa

        return pa.scalar(tick, kind).cast(pa.string()).as_py()
    return timestamp.replace(tzinfo=zone)
