"""Types that are accepted as rows and columns, and advice for others."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, Protocol

import pyarrow as pa

from deltareplay import _native
from deltareplay._arrow.plain_values import is_plain, plain
from deltareplay.exceptions import InvalidArgumentError


class ArrowStream(Protocol):
    """An object that exports an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream as a capsule."""


#: Rows: an Arrow stream, or plain Python.
Rows = ArrowStream | Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]

_ONE_COLUMN = (pa.Array, pa.ChunkedArray)

#: Types of values that the core casts to strings.
_CAST_TO_STRING = (bool, int, float, decimal.Decimal, datetime.date, datetime.datetime)


def arrow_stream(data: Rows, table_schema: Callable[[], pa.Schema]) -> ArrowStream:
    """Convert rows to an Arrow stream; plain Python values get the table's types."""
    if _comes_from(data, "pandas", "DataFrame"):
        return _of_pandas(data)
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    _refuse(data)
    if hasattr(data, "__arrow_c_stream__"):
        return data
    if isinstance(data, Mapping):
        for name, values in data.items():
            _refuse_column(name, values)
        schema = table_schema()
        return pa.table({name: _column(schema, name, values) for name, values in data.items()})
    for index, row in enumerate(data):
        if not isinstance(row, Mapping):
            _refuse_row(index, row)
    schema = table_schema()
    names = list(dict.fromkeys(name for row in data for name in row))
    return pa.table(
        {name: _column(schema, name, [row.get(name) for row in data]) for name in names}
    )


def schema_string(schema: Any) -> str:
    """Return the ``schemaString`` of an Arrow schema."""
    if hasattr(schema, "__arrow_c_schema__") and not isinstance(schema, (pa.DataType, pa.Field)):
        return _native.schema_string(schema)
    kind = type(schema).__name__
    if _comes_from(schema, "pyspark", "StructType"):
        advice = "pass pyspark.sql.pandas.types.to_arrow_schema(...) of it"
    elif isinstance(schema, (Mapping, list, tuple)):
        advice = "pass pyarrow.schema(...) of names and Arrow types"
    elif isinstance(getattr(schema, "schema", None), pa.Schema):
        advice = "pass its .schema"
    elif _comes_from(schema, "pandas", "DataFrame"):
        advice = "pass pyarrow.Schema.from_pandas(...) of it"
    else:
        advice = "pass a pyarrow.Schema, such as pyarrow.schema({'id': pyarrow.int64()})"
    raise TypeError(f"columns must be an Arrow schema, not {kind}: {advice}")


def _comes_from(value: object, package: str, kind: str) -> bool:
    """Return whether a value has a class of that name, without importing its package."""
    bases = ((base.__module__, base.__name__) for base in type(value).__mro__)
    return any(module.split(".")[0] == package and name == kind for module, name in bases)


def _of_pandas(frame: Any) -> ArrowStream:
    """Convert a pandas frame; an index without a name is not a column."""
    is_indexed = any(name is not None for name in frame.index.names)
    try:
        table: pa.Table = pa.Table.from_pandas(frame, preserve_index=is_indexed)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        message = f"the frame does not fit into Arrow columns: {error}"
        raise InvalidArgumentError(message, code="rows.type") from error
    return table


def _refuse(data: object) -> None:
    """Raise an error with advice if the data are not rows."""
    kind = type(data).__name__
    if _comes_from(data, "pyspark", "DataFrame"):
        advice = "write it with deltareplay.spark.write, by the executors, or pass its toArrow()"
    elif _comes_from(data, "polars", "LazyFrame"):
        advice = "pass its collect()"
    elif (
        isinstance(data, _ONE_COLUMN)
        or _comes_from(data, "numpy", "ndarray")
        or _comes_from(data, "pandas", "Series")
        or _comes_from(data, "polars", "Series")
    ):
        advice = "this is one column without a name: pass {'name': values}"
    elif hasattr(data, "__arrow_c_stream__") or isinstance(data, Mapping):
        return
    elif isinstance(data, (str, bytes)):
        advice = "read its file or content into Arrow first"
    elif isinstance(data, Sequence):
        return
    elif isinstance(data, Iterable):
        advice = "pass a list of dicts, or a pyarrow.RecordBatchReader to stream"
    else:
        advice = "pass one of these"
    raise TypeError(
        f"rows must be an Arrow stream, a list of dicts or a dict of lists, not {kind}: {advice}"
    )


def _refuse_row(index: int, row: object) -> None:
    if isinstance(row, pa.RecordBatch):
        advice = "pass pyarrow.Table.from_batches(...) of them"
    elif isinstance(row, pa.Table):
        advice = "pass pyarrow.concat_tables(...) of them"
    elif hasattr(row, "asDict"):
        advice = "pass [row.asDict() for row in rows]"
    elif isinstance(row, Sequence) and not isinstance(row, (str, bytes)):
        advice = "pass dicts, [{'id': 1}], or columns, {'id': [1]}, so that values have names"
    else:
        advice = "pass [{'id': 1}], or columns, {'id': [1]}"
    raise TypeError(f"rows must be dicts, but number {index} is {type(row).__name__}: {advice}")


def _refuse_column(name: str, values: object) -> None:
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
        return
    raise TypeError(
        f"the column {name!r} is {type(values).__name__}, and a dict of rows holds lists: pass "
        "[{'id': 1}] for one row, {'id': [1]} for columns"
    )


def _column(schema: pa.Schema, name: str, values: Any) -> Any:
    """Convert plain values to a column of the table's type; a new column gets an inferred type."""
    if not isinstance(name, str):
        message = f"a column is named {name!r}, which is not a string"
        raise InvalidArgumentError(message, code="rows.type")
    if isinstance(values, _ONE_COLUMN):
        return values
    if getattr(getattr(values, "dtype", None), "kind", "O") != "O":
        return _array(name, values, None)  # an array of numpy or pandas has a type
    if not isinstance(values, Sequence) and not hasattr(values, "dtype"):
        values = list(values)
    [type_] = [field.type for field in schema if field.name.lower() == name.lower()] or [None]
    try:
        return _typed(name, values, type_)
    except InvalidArgumentError:  # some values may have a plain equivalent
        return _typed(name, [plain(value, name) for value in values], type_)


def _typed(name: str, values: Any, type_: pa.DataType | None) -> pa.Array[Any]:
    if type_ is None or _has_own_type(type_, values):
        return _array(name, values, None)
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return _numbers(name, values, type_)
    return _array(name, values, _type_for(type_, values, name))


def _numbers(name: str, values: Any, type_: pa.DataType) -> pa.Array[Any]:
    """Convert numbers to the table's type, or to an inferred type if they do not fit.

    For the latter, the core raises an error or widens the column.
    """
    _refuse_others(name, values, type_)
    try:
        column = _array(name, values, type_)
    except InvalidArgumentError:
        own = _array(name, values, None)
        if pa.types.is_integer(own.type) or pa.types.is_decimal(own.type):
            return own
        raise
    if not pa.types.is_float32(type_):
        return column
    own = _array(name, values, None)
    if pa.types.is_float64(own.type):
        import pyarrow.compute as pc  # slow to import

        infinite = [pc.is_inf(numbers).true_count for numbers in (column, own)]
        return column if infinite[0] == infinite[1] else own
    return column


def _array(name: str, values: Any, type_: pa.DataType | None) -> pa.Array[Any]:
    try:
        column: pa.Array[Any] = pa.array(values, type_)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        reason = (
            f"is {type_} in the table"
            if type_ is not None
            else "has a type that no table can store"
        )
        message = f"the column {name!r} {reason}: {error}"
        raise InvalidArgumentError(message, code="rows.type") from error
    return column


def _type_for(type_: pa.DataType, values: Iterable[Any], name: str) -> pa.DataType:
    """Return the table's type, with exactly the fields that the values have.

    pyarrow would drop fields that a type lacks, and take numbers as timestamps. The core checks
    missing and additional fields, as for Arrow rows.
    """
    if pa.types.is_null(type_):  # inferred from the first values
        first: pa.DataType = _array(name, list(values), None).type
        return first
    if not pa.types.is_nested(type_):
        _refuse_others(name, values, type_)
        if _has_own_type(type_, values):
            own: pa.DataType = _array(name, list(values), None).type
            return own
        return type_
    present = [value for value in values if value is not None]
    if pa.types.is_struct(type_):
        return _struct_for(type_, present, name)
    if pa.types.is_map(type_):
        pairs = [pair for value in present for pair in _pairs(value)]
        keys = _type_for(type_.key_type, [key for key, _ in pairs], f"{name}.key")
        items = _type_for(type_.item_type, [item for _, item in pairs], f"{name}.value")
        return pa.map_(keys, items)
    if pa.types.is_list(type_):
        lists = (value for value in present if _is_list(value))
        inside = [item for value in lists for item in value]
        return pa.list_(pa.field("element", _type_for(type_.value_type, inside, f"{name}.element")))
    return type_


def _has_own_type(type_: pa.DataType, values: Iterable[Any]) -> bool:
    """Return whether plain values keep their type, which the core casts as that of Arrow rows."""
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) != 1:
        return False
    [kind] = kinds
    if pa.types.is_string(type_):
        return kind in _CAST_TO_STRING
    if kind is str:
        return not (pa.types.is_nested(type_) or pa.types.is_null(type_))
    if kind is float:
        return pa.types.is_decimal(type_)
    return kind is datetime.date and pa.types.is_timestamp(type_)


def _refuse_others(name: str, values: Iterable[Any], type_: pa.DataType) -> None:
    """Raise an error for values that Arrow would convert to integers or times by mistake."""
    if not (pa.types.is_integer(type_) or pa.types.is_temporal(type_)):
        return
    for kind in set(map(type, values)):
        is_number = pa.types.is_temporal(type_) and issubclass(kind, Number)
        if is_number or not is_plain(kind):
            message = (
                f"the column {name!r} is {type_} in the table, and a value is {kind.__name__}: "
                "pass numbers as they are, and dates and datetimes, whose unit is not ambiguous"
            )
            raise InvalidArgumentError(message, code="rows.type")


def _struct_for(type_: pa.StructType, present: list[Any], name: str) -> pa.DataType:
    by_field: dict[str, list[Any]] = {}
    for value in present:
        for part, inner in _pairs(value):
            by_field.setdefault(part, []).append(inner)
    types = {field.name.lower(): field.type for field in type_}
    fields = []
    for part, inner in by_field.items():
        if not isinstance(part, str):
            message = f"the column {name!r} has a field named {part!r}, which is not a string"
            raise InvalidArgumentError(message, code="rows.type")
        below = f"{name}.{part}"
        field = types.get(part.lower())
        if field is None:
            fields.append(pa.field(part, _array(below, inner, None).type))
        else:
            fields.append(pa.field(part, _type_for(field, inner, below)))
    return pa.struct(fields) if fields else type_


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    """Return the items of a dict or of a list of pairs; an empty list for other values."""
    if isinstance(value, Mapping):
        return list(value.items())
    if not _is_list(value):
        return []
    return [tuple(pair) for pair in value if _is_list(pair) and len(pair) == 2]
