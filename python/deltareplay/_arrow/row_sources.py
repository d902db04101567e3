"""Conversion of rows and of schemas to Arrow; errors advise how to pass other types."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
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

_ARRAYS = (pa.Array, pa.ChunkedArray)

#: Types of values that the core casts to strings.
_CAST_TO_STRING = (bool, int, float, decimal.Decimal, datetime.date, datetime.datetime)


def arrow_stream(data: Rows, table_schema: Callable[[], pa.Schema]) -> ArrowStream:
    """Convert rows to an Arrow stream; plain Python values get the table's types."""
    if _comes_from(data, "pandas", "DataFrame"):
        return _of_pandas(data)
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    _check_rows(data)
    if hasattr(data, "__arrow_c_stream__"):
        return _of_polars(data) if _comes_from(data, "polars", "DataFrame") else data
    if isinstance(data, Mapping):
        for name, values in data.items():
            _check_column(name, values)
        schema = table_schema()
        columns = {name: _column(schema, name, values) for name, values in data.items()}
        _check_lengths(columns)
        return pa.table(columns)
    for index, row in enumerate(data):
        if not isinstance(row, Mapping):
            raise _row_error(index, row)
    schema = table_schema()
    names = list(dict.fromkeys(name for row in data for name in row))
    if not names:
        return _without_columns(len(data))
    return pa.table(
        {name: _column(schema, name, [row.get(name) for row in data]) for name in names}
    )


def _without_columns(num_rows: int) -> pa.Table:
    """Return rows without columns; the core adds all columns of the table."""
    return pa.table({"none": pa.nulls(num_rows)}).select([])


def schema_string(schema: Any, *, defines: bool = False) -> str:
    """Return the ``schemaString`` of an Arrow schema.

    If it ``defines`` a table, metadata of its fields make identity columns.
    """
    if hasattr(schema, "__arrow_c_schema__") and not isinstance(schema, (pa.DataType, pa.Field)):
        return _native.schema_string(schema, defines=defines)
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
    """Convert a pandas frame; its index becomes columns only if it has a name."""
    has_named_index = any(name is not None for name in frame.index.names)
    try:
        table: pa.Table = pa.Table.from_pandas(frame, preserve_index=has_named_index)
        if table.num_columns == 0:
            table = _without_columns(len(frame))
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        message = f"the frame does not fit into Arrow columns: {error}"
        raise InvalidArgumentError(message, code="rows.type") from error
    return table


def _of_polars(frame: Any) -> ArrowStream:
    """Convert a Polars frame if it has columns or fields of the type ``Null``.

    In an Arrow stream, Polars gives these a buffer that Arrow does not have (Polars issue 22934).

    Raises:
        InvalidArgumentError: ``rows.type`` for the types ``Object``, of which an Arrow stream has
            only addresses, and 128-bit integers, which Arrow lacks.
    """
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if _only_polars_has(dtype):
            message = f"the column {name!r} has the type {dtype}, which no table can store: cast it"
            raise InvalidArgumentError(message, code="rows.type")
    if not any("Null" in str(dtype) for dtype in frame.dtypes):
        stream: ArrowStream = frame
        return stream
    table: pa.Table = frame.to_arrow()
    return table


def _only_polars_has(dtype: Any) -> bool:
    """Return whether a type of Polars, or one within it, has no equivalent in Arrow."""
    if dtype.base_type().__name__ in ("Object", "Int128", "UInt128"):
        return True
    parts = [field.dtype for field in getattr(dtype, "fields", ())]
    return any(map(_only_polars_has, [*parts, *filter(None, [getattr(dtype, "inner", None)])]))


def _check_rows(data: object) -> None:
    """Raise an error with advice if the data are not rows."""
    kind = type(data).__name__
    if _comes_from(data, "pyspark", "DataFrame"):
        advice = "write it with deltareplay.spark.write, by the executors, or pass its toArrow()"
    elif _comes_from(data, "polars", "LazyFrame"):
        advice = "pass its collect()"
    elif (
        isinstance(data, _ARRAYS)
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


def _row_error(index: int, row: object) -> TypeError:
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
    return TypeError(f"rows must be dicts, but row {index} is {type(row).__name__}: {advice}")


def _check_column(name: str, values: object) -> None:
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
        return
    raise TypeError(
        f"the column {name!r} is {type(values).__name__}, not a list: pass rows, [{{'id': 1}}], or "
        "columns, {'id': [1]}"
    )


def _check_lengths(columns: Mapping[str, Any]) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{length} of {name!r}" for name, length in lengths.items())
        message = f"the columns have different numbers of values: {listed}"
        raise InvalidArgumentError(message, code="rows.type")


def _column(schema: pa.Schema, name: str, values: Any) -> Any:
    """Convert values to a column, of the table's type where possible.

    Arrow arrays stay as they are. A column that the table lacks gets the type that Arrow infers.
    """
    if not isinstance(name, str):
        message = f"a column is named {name!r}, which is not a string"
        raise InvalidArgumentError(message, code="rows.type")
    if isinstance(values, _ARRAYS):
        return values
    if getattr(getattr(values, "dtype", None), "kind", "O") != "O":
        return _array(name, values, None)  # an array of numpy or pandas has a type
    if not isinstance(values, Sequence) and not hasattr(values, "dtype"):
        values = list(values)
    types = (field.type for field in schema if field.name.lower() == name.lower())
    type_ = next(types, None)
    try:
        return _plain_column(name, values, type_)
    except InvalidArgumentError:  # some values may have a plain equivalent
        return _plain_column(name, [plain(value, name) for value in values], type_)


def _plain_column(name: str, values: Any, type_: pa.DataType | None) -> pa.Array[Any]:
    if type_ is None or _keep_own_type(type_, values):
        return _array(name, values, None)
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return _numeric_column(name, values, type_)
    return _array(name, values, _type_for(type_, values, name))


def _numeric_column(name: str, values: Any, type_: pa.DataType) -> pa.Array[Any]:
    """Convert numbers to the table's type, or to the inferred type if they do not fit.

    The core then widens the column or raises an error.
    """
    _check_classes(name, values, type_)
    if pa.types.is_integer(type_) and _has_fractions(values):
        return _array(name, values, None)  # Arrow would cut them off, also in keys of a merge
    try:
        column = _array(name, values, type_)
    except InvalidArgumentError:
        with suppress(InvalidArgumentError):  # the error to raise is that of the table's type
            inferred = _array(name, values, None)
            if pa.types.is_integer(inferred.type) or pa.types.is_decimal(inferred.type):
                return inferred
        raise
    if not pa.types.is_float32(type_):
        return column
    inferred = _array(name, values, None)
    if not pa.types.is_float64(inferred.type):
        return column
    import pyarrow.compute as pc  # slow to import

    # numbers that are too large for a float32 became infinite
    fit = pc.is_inf(column).true_count == pc.is_inf(inferred).true_count
    return column if fit else inferred


def _has_fractions(values: Iterable[Any]) -> bool:
    """Return whether a number is not an integer."""
    if set(map(type, values)) <= {int, bool, type(None)}:
        return False
    return any(
        (not value.is_finite() or value != value.to_integral_value())
        if isinstance(value, decimal.Decimal)
        else hasattr(value, "is_integer") and not value.is_integer()
        for value in values
    )


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

    pyarrow would drop fields that a type lacks. The core checks missing and additional fields, as
    for Arrow rows.
    """
    inferred: pa.DataType
    if pa.types.is_null(type_):  # a void column: the values have any type
        inferred = _array(name, list(values), None).type
        return inferred
    if not pa.types.is_nested(type_):
        _check_classes(name, values, type_)
        if _keep_own_type(type_, values):
            inferred = _array(name, list(values), None).type
            return inferred
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


def _keep_own_type(type_: pa.DataType, values: Iterable[Any]) -> bool:
    """Return whether values keep the type that Arrow infers; the core casts them as Arrow rows."""
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


def _check_classes(name: str, values: Iterable[Any], type_: pa.DataType) -> None:
    """Raise an error for values that Arrow would convert to integers or times by mistake."""
    is_temporal = pa.types.is_temporal(type_)
    if not (is_temporal or pa.types.is_integer(type_)):
        return
    for kind in set(map(type, values)):
        lacks_unit = is_temporal and issubclass(kind, Number)
        if lacks_unit or not is_plain(kind):
            advice = "a date or a datetime" if is_temporal else "an int"
            message = (
                f"the column {name!r} is {type_} in the table, and a value is {kind.__name__}: "
                f"pass {advice}"
            )
            raise InvalidArgumentError(message, code="rows.type")


def _struct_for(type_: pa.StructType, present: list[Any], name: str) -> pa.DataType:
    by_field: dict[str, list[Any]] = {}
    for value in present:
        for field, inner in _pairs(value):
            by_field.setdefault(field, []).append(inner)
    types = {field.name.lower(): field.type for field in type_}
    fields = []
    for field, values in by_field.items():
        if not isinstance(field, str):
            message = f"the column {name!r} has a field named {field!r}, which is not a string"
            raise InvalidArgumentError(message, code="rows.type")
        path = f"{name}.{field}"
        field_type = types.get(field.lower())
        if field_type is None:
            fields.append(pa.field(field, _array(path, values, None).type))
        else:
            fields.append(pa.field(field, _type_for(field_type, values, path)))
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
