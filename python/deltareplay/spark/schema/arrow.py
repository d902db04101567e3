"""Arrow rows in the types that Spark accepts from Python workers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from deltareplay._protocol.schema import Array, Field, Map, Struct, Type
from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.schema.fields import fields_of, struct_type

_ROWS_PER_BATCH = 8192

#: Arrow types of Spark's types, by their names in JSON.
_TYPES: dict[str, Any] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
    "variant": pa.struct(
        [
            pa.field("value", pa.binary(), nullable=False),
            pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
        ]
    ),
}


def cast_for_spark(batches: Iterable[pa.RecordBatch], schema: Any) -> Iterator[pa.RecordBatch]:
    """Cast batches to a Spark schema; columns are matched by name, ignoring case."""
    target = pa.schema([_arrow_field(field) for field in fields_of(schema)])
    for batch in batches:
        yield _cast(batch, target)


def _arrow_field(field: Field) -> pa.Field[Any]:
    return pa.field(field.name, _arrow_type(field.type), nullable=field.nullable)


def _arrow_type(type_: Type) -> Any:
    """Return the Arrow type of a Spark type.

    >>> _arrow_type(Array("decimal(9,2)"))
    ListType(list<element: decimal128(9, 2)>)
    """
    if isinstance(type_, str):
        if type_.startswith("decimal("):
            return pa.decimal128(*map(int, type_[len("decimal(") : -1].split(",")))
        if type_.startswith(("char(", "varchar(")):
            type_ = "string"
        if type_ not in _TYPES:
            raise UnsupportedFeatureError(
                f"the type {type_} has no Arrow type that Spark accepts: leave such columns out "
                "with columns=",
                code="spark.type",
            )
        return _TYPES[type_]
    if isinstance(type_, Struct):
        return pa.struct([_arrow_field(field) for field in type_.fields])
    if isinstance(type_, Array):
        element = _arrow_type(type_.element)
        return pa.list_(pa.field("element", element, nullable=type_.contains_null))
    key = pa.field("key", _arrow_type(type_.key), nullable=False)
    value = _arrow_type(type_.value)
    return pa.map_(key, pa.field("value", value, nullable=type_.contains_null))


def spark_schema(schema: pa.Schema) -> Any:
    """Return the Spark schema of an Arrow schema with plain types."""
    return struct_type([Field(column.name, _spark_type(column.type)) for column in schema])


def _spark_type(type_: Any) -> Type:
    """Return the Spark type of an Arrow type, with all parts nullable.

    >>> _spark_type(pa.map_(pa.string(), pa.int64()))
    Map(key='string', value='long', contains_null=True)
    """
    for name, arrow_type in _TYPES.items():
        if type_ == arrow_type:
            return name
    if pa.types.is_decimal128(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_struct(type_):
        return Struct(tuple(Field(child.name, _spark_type(child.type)) for child in type_))
    if pa.types.is_map(type_):
        return Map(_spark_type(type_.key_type), _spark_type(type_.item_type))
    if pa.types.is_list(type_):
        return Array(_spark_type(type_.value_type))
    raise UnsupportedFeatureError(
        f"Spark has no type for the Arrow type {type_}", code="spark.type"
    )


def batches_of_rows(rows: Iterable[Any], schema: Any) -> Iterator[pa.RecordBatch]:
    """Yield Arrow batches of a few thousand rows each, for Spark 4.0, which passes rows instead.

    Args:
        rows: PySpark's ``Row`` objects.
        schema: Their Spark schema.
    """
    from pyspark.sql.conversion import LocalDataToArrowConversion

    iterator = iter(rows)
    while chunk := list(itertools.islice(iterator, _ROWS_PER_BATCH)):
        yield from LocalDataToArrowConversion.convert(chunk, schema, False).to_batches()


def _cast(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    positions = {name.lower(): index for index, name in enumerate(batch.schema.names)}
    arrays = [batch.column(positions[field.name.lower()]) for field in target]
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(arrays, target, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=target)
