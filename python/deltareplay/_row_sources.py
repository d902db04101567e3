"""The types in which rows and columns are accepted, and what to use instead of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from deltareplay import _native
from deltareplay.exceptions import InvalidArgumentError


class ArrowStream(Protocol):
    """Anything that exports an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream as a capsule."""


#: Rows: an Arrow stream, or plain Python.
Rows = ArrowStream | Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]

_ONE_COLUMN = (pa.Array, pa.ChunkedArray)


def arrow_stream(data: Rows, table_schema: Callable[[], pa.Schema]) -> ArrowStream:
    """Rows as an Arrow stream; plain Python takes the table's types."""
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
    for place, row in enumerate(data):
        if not isinstance(row, Mapping):
            _refuse_row(place, row)
    schema = table_schema()
    names = list(dict.fromkeys(name for row in data for name in row))
    return pa.table(
        {name: _column(schema, name, [row.get(name) for row in data]) for name in names}
    )


def schema_string(schema: Any) -> str:
    """The ``schemaString`` of an Arrow schema."""
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
    raise TypeError(f"columns are an Arrow schema, not {kind}: {advice}")


def _comes_from(value: object, package: str, kind: str) -> bool:
    """Whether it has a class of that name, without importing its package."""
    bases = ((base.__module__, base.__name__) for base in type(value).__mro__)
    return any(module.split(".")[0] == package and name == kind for module, name in bases)


def _of_pandas(frame: Any) -> ArrowStream:
    """A pandas frame; an index without a name is not a column."""
    named = any(name is not None for name in frame.index.names)
    try:
        table: pa.Table = pa.Table.from_pandas(frame, preserve_index=named)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        message = f"the frame does not fit into Arrow columns: {error}"
        raise InvalidArgumentError(message, code="rows.type") from error
    return table


def _refuse(data: object) -> None:
    """Raises for what is not rows."""
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
        advice = "read what it names or holds into Arrow first"
    elif isinstance(data, Sequence):
        return
    elif isinstance(data, Iterable):
        advice = "pass a list of dicts, or a pyarrow.RecordBatchReader to stream"
    else:
        advice = "pass one of these"
    raise TypeError(
        f"rows are an Arrow stream, a list of dicts or a dict of lists, not {kind}: {advice}"
    )


def _refuse_row(place: int, row: object) -> None:
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
    raise TypeError(f"rows are dicts, but number {place} is {type(row).__name__}: {advice}")


def _refuse_column(name: str, values: object) -> None:
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
        return
    raise TypeError(
        f"the column {name!r} is {type(values).__name__}, and a dict of rows holds lists: pass "
        "[{'id': 1}] for one row, {'id': [1]} for columns"
    )


def _column(schema: pa.Schema, name: str, values: Any) -> pa.Array[Any]:
    """Plain values as a column of the table's type; a new column gets the type that fits."""
    [type_] = [one.type for one in schema if one.name.lower() == name.lower()] or [None]
    try:
        column: pa.Array[Any] = pa.array(values, type_)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        message = f"the column {name!r} is {type_ or 'unknown'} in the table: {error}"
        raise InvalidArgumentError(message, code="rows.type") from error
    return column
