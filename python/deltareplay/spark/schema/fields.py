"""The table's schema in Spark's types, with logical names and with the names in data files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay._protocol.properties import mapping_mode
from deltareplay._protocol.schema import (
    Array,
    Field,
    Map,
    Struct,
    Type,
    fields_of_json,
    json_of,
    nested,
)
from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.schema.column_metadata import portable
from deltareplay.spark.schema.string_lengths import DECLARED_TYPE

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot

#: Prefixes of metadata that Spark does not get: Delta's own, and defaults as SQL.
_DELTA = ("delta.", "__DELTA", "EXISTS_DEFAULT", "CURRENT_DEFAULT")

#: The metadata in which Spark's Parquet reader and writer have a field's id.
FIELD_ID = "parquet.field.id"

#: With this, Spark's Parquet reader finds columns by their ids, or by name if they have none.
READ_OPTIONS = {"spark.sql.parquet.fieldId.read.enabled": "true"}


@dataclass(frozen=True)
class Column:
    """A top-level column.

    Attributes:
        name: The logical name.
        physical: The name in data files and in the partition values of the log.
        logical_type: The type, with logical names in structs.
        physical_type: The type, with the names of the data files.
        metadata: The metadata passed to Spark, e.g. a comment.
        is_partition: Whether the value comes from the log.
        is_widened: Whether files may hold a narrower type.
        nullable: Whether Spark treats the column as nullable.
    """

    name: str
    physical: str
    logical_type: Type
    physical_type: Type
    metadata: Mapping[str, Any]
    is_partition: bool
    is_widened: bool = False
    nullable: bool = True

    @property
    def is_void(self) -> bool:
        """Whether the column is void, i.e. has only nulls and is in no file."""
        return self.logical_type == "void"

    @property
    def is_stored(self) -> bool:
        """True if data files have the column."""
        return not (self.is_partition or self.is_void)

    @property
    def is_renamed_inside(self) -> bool:
        """Whether nested fields have other names in the data files."""
        return nullable(self.logical_type) != nullable(self.physical_type)

    @property
    def metadata_without_id(self) -> dict[str, Any]:
        """The metadata of the column once it is read, when its id in files has no meaning."""
        return {key: value for key, value in self.metadata.items() if key != FIELD_ID}

    def physical_field(self) -> Field:
        """Return the field as data files have it."""
        return Field(self.physical, self.physical_type, self.nullable, self.metadata)


#: The columns that describe the change of a row; they follow the columns of the table.
CHANGE_FIELDS = (
    Field("_change_type", "string"),
    Field("_commit_version", "long"),
    Field("_commit_timestamp", "timestamp"),
)


def struct_type(fields: Iterable[Field]) -> Any:
    """Return the PySpark ``StructType`` of fields."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json_of(Struct(tuple(fields))))


def fields_of(schema: Any) -> list[Field]:
    """Return the fields of a PySpark ``StructType``."""
    return list(fields_of_json(json.loads(schema.json())["fields"]))


def columns_of(
    snapshot: Snapshot, *, as_defined: bool = False, with_void_fields: bool = False
) -> list[Column]:
    """Return the columns of a version, in order.

    Args:
        snapshot: The version.
        as_defined: Whether to keep the table's nullability. Statements check it themselves, and
            treat all columns and fields as nullable.
        with_void_fields: Whether structs have their void fields, which Spark reads as nulls from
            4.1 on.

    Raises:
        UnsupportedFeatureError: ``spark.type``: Spark has no type for a column.
    """
    mode = mapping_mode(snapshot.properties)
    partitions = {name.lower() for name in snapshot.partition_columns}
    logical, physical = (
        _Types(mapping, as_defined=as_defined, with_void=with_void_fields)
        for mapping in ("none", mode)
    )
    return [
        Column(
            name=field.name,
            physical=field.physical_name(mode),
            logical_type=logical.of(field.type, field.name),
            physical_type=physical.of(field.type, field.name),
            metadata=_metadata(field, mode),
            is_partition=field.key in partitions,
            is_widened=any("delta.typeChanges" in part.metadata for part in nested([field])),
            nullable=field.nullable or not as_defined,
        )
        for field in Struct.parse(snapshot.schema_json).fields
    ]


def plain_fields(columns: Iterable[Column]) -> list[Field]:
    """Return columns as fields of rows that were already read: logical names, no ids."""
    return [
        Field(column.name, column.logical_type, metadata=column.metadata_without_id)
        for column in columns
    ]


def _metadata(field: Field, mode: str) -> dict[str, Any]:
    metadata = {key: value for key, value in field.metadata.items() if not key.startswith(_DELTA)}
    metadata = portable(metadata)
    if not (isinstance(field.type, str) and field.type.startswith("string")):
        metadata.pop(DECLARED_TYPE, None)  # Spark would pad the values, which fails
    if mode == "id" and field.column_id is not None:
        metadata[FIELD_ID] = field.column_id
    return metadata


@dataclass(frozen=True)
class _Types:
    """Converts types of columns for Spark.

    Attributes:
        mode: The mode of column mapping: ``none`` for logical names.
        as_defined: Whether to keep the table's nullability, instead of all nullable.
        with_void: Whether to keep void fields.
    """

    mode: str
    as_defined: bool
    with_void: bool

    def of(self, type_: Type, path: str) -> Type:
        """Return the type of a column or field."""
        if isinstance(type_, Struct):
            kept = (field for field in type_.fields if self.with_void or field.type != "void")
            return Struct(tuple(self._field(field, path) for field in kept))
        if isinstance(type_, Array):
            element = self.of(type_.element, f"{path}.element")
            return Array(element, type_.contains_null or not self.as_defined)
        if isinstance(type_, Map):
            key, value = self.of(type_.key, f"{path}.key"), self.of(type_.value, f"{path}.value")
            return Map(key, value, type_.contains_null or not self.as_defined)
        if type_.startswith(("geometry", "geography")):
            return "binary"  # WKB: Spark does not read its own geospatial types from Parquet
        if type_.startswith(("timestamp_nanos", "timestampNanos")):
            raise UnsupportedFeatureError(
                f"Spark has no type for the column {path}, which is {type_}: "
                "leave it out with columns=",
                code="spark.type",
            )
        return type_

    def _field(self, field: Field, parent: str) -> Field:
        return Field(
            field.physical_name(self.mode),
            self.of(field.type, f"{parent}.{field.name}"),
            field.nullable or not self.as_defined,
            _metadata(field, self.mode),
        )


def _plain_field(source: Field) -> Field:
    return Field(source.name, nullable(source.type))


def nullable(type_: Type, convert_field: Callable[[Field], Field] = _plain_field) -> Type:
    """Return a type with all parts nullable.

    Args:
        type_: The type.
        convert_field: Converts a struct field; by default its metadata is removed.

    >>> nullable(Array("long", contains_null=False))
    Array(element='long', contains_null=True)
    """
    if isinstance(type_, Struct):
        return Struct(tuple(map(convert_field, type_.fields)))
    if isinstance(type_, Array):
        return Array(nullable(type_.element, convert_field))
    if isinstance(type_, Map):
        return Map(nullable(type_.key, convert_field), nullable(type_.value, convert_field))
    return type_


def spark_type(type_: Type) -> Any:
    """Return the PySpark type."""
    return struct_type([Field("value", type_)])["value"].dataType
