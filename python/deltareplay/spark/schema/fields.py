"""The table's schema in Spark's types, with logical names and with the names in data files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.schema.column_metadata import portable

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot

Json = dict[str, Any]

#: The keys in a field's metadata that do not travel with rows: Delta's own, and defaults, as SQL.
_DELTA = ("delta.", "__DELTA", "EXISTS_DEFAULT", "CURRENT_DEFAULT")

#: With this, Spark's Parquet reader finds columns by their ids, or by name if they have none.
READ_OPTIONS = {"spark.sql.parquet.fieldId.read.enabled": "true"}


@dataclass(frozen=True)
class Column:
    """A top-level column.

    Attributes:
        name: The logical name.
        physical: The name in data files and in the partition values of the log.
        logical_type: The type as JSON, with logical names in structs.
        physical_type: The type as JSON, with the names of the data files.
        metadata: The metadata passed to Spark, e.g. a comment.
        is_partition: Whether the value comes from the log.
        is_widened: Whether files may hold a narrower type.
        nullable: Whether Spark treats the column as nullable.
    """

    name: str
    physical: str
    logical_type: Any
    physical_type: Any
    metadata: Json
    is_partition: bool
    is_widened: bool = False
    nullable: bool = True

    @property
    def is_void(self) -> bool:
        """Whether the column is void, i.e. has only nulls and is in no file."""
        return bool(self.logical_type == "void")

    @property
    def is_renamed_inside(self) -> bool:
        """Whether nested fields have other names in the data files."""
        return bool(names(self.logical_type) != names(self.physical_type))

    def physical_field(self) -> Json:
        """Return the field as data files have it, for ``StructType.fromJson``."""
        result = field(self.physical, self.physical_type, self.metadata)
        return {**result, "nullable": self.nullable}


def field(name: str, type_: Any, metadata: Json | None = None) -> Json:
    """Return a nullable field as JSON."""
    return {"name": name, "type": type_, "nullable": True, "metadata": metadata or {}}


#: The columns that say what happened to a row, after the columns of the table.
CHANGE_FIELDS = (
    field("_change_type", "string"),
    field("_commit_version", "long"),
    field("_commit_timestamp", "timestamp"),
)


#: The keys of the types inside of an array or a map.
PARTS = {"array": ("elementType",), "map": ("keyType", "valueType")}


def struct(fields: list[Json]) -> str:
    """Return a struct type as JSON text."""
    return json.dumps({"type": "struct", "fields": fields})


def struct_type(fields: list[Json]) -> Any:
    """Return the PySpark ``StructType`` of fields."""
    from pyspark.sql.types import StructType

    # of a copy, because it changes its argument
    return StructType.fromJson(stored(json.loads(struct(fields))))


def fields_of(schema: Any) -> list[Json]:
    """Return the fields of a PySpark ``StructType`` as JSON."""
    fields: list[Json] = stored(json.loads(schema.json()))["fields"]
    return fields


def stored(type_: Any) -> Any:
    """Replace user-defined types by the types that store them.

    For a user-defined type, PySpark imports a module and unpickles a class that the JSON names.

    >>> stored({"type": "udt", "pyClass": "x.Y", "serializedClass": "...", "sqlType": "long"})
    'long'
    """
    if isinstance(type_, list):
        return [stored(item) for item in type_]
    if not isinstance(type_, dict):
        return type_
    if type_.get("type") == "udt":
        return stored(type_.get("sqlType"))
    return {key: value if key == "metadata" else stored(value) for key, value in type_.items()}


def columns_of(snapshot: Snapshot, *, as_defined: bool = False) -> list[Column]:
    """Return the columns of a version, in order.

    Args:
        snapshot: The version.
        as_defined: Whether to keep the table's nullability. Statements check it themselves, and
            treat all columns and fields as nullable.

    Raises:
        UnsupportedFeatureError: A type that Spark cannot hold.
    """
    mode = snapshot.properties.get("delta.columnMapping.mode", "none").lower()
    mapped = mode in ("name", "id")
    partitions = {name.lower() for name in snapshot.partition_columns}
    typed = _Types(as_defined=as_defined)
    columns = []
    for field in stored(json.loads(snapshot.schema_json))["fields"]:
        metadata = field.get("metadata") or {}
        physical = metadata.get("delta.columnMapping.physicalName") if mapped else None
        columns.append(
            Column(
                name=field["name"],
                physical=physical or field["name"],
                logical_type=typed.of(field["type"], "none", field["name"]),
                physical_type=typed.of(field["type"], mode if mapped else "none", field["name"]),
                metadata=_metadata(metadata, mode),
                is_partition=field["name"].lower() in partitions,
                is_widened="delta.typeChanges" in json.dumps(field),
                nullable=typed.nullable(field.get("nullable")),
            )
        )
    return columns


def plain_fields(snapshot: Snapshot, columns: Sequence[str] | None = None) -> list[Json]:
    """Return the columns of rows that were already read: logical names, no ids.

    Args:
        snapshot: The version.
        columns: Names of columns, in this order; None for all that are not void.
    """
    every = {column.name: column for column in columns_of(snapshot)}
    chosen = [column for column in every.values() if not column.is_void]
    if columns is not None:
        chosen = [every[name] for name in columns]
    return [
        field(column.name, column.logical_type, _without_ids(column.metadata)) for column in chosen
    ]


def _without_ids(metadata: Json) -> Json:
    return {name: value for name, value in metadata.items() if name != "parquet.field.id"}


def _metadata(metadata: Json, mode: str) -> Json:
    kept = {key: value for key, value in metadata.items() if not key.startswith(_DELTA)}
    kept = portable(kept)
    if mode == "id" and "delta.columnMapping.id" in metadata:
        kept["parquet.field.id"] = metadata["delta.columnMapping.id"]
    return kept


def names(type_: Any) -> Any:
    """Return a type without the metadata of its fields.

    >>> names({"type": "struct", "fields": [field("a", "long", {"comment": "?"})]})
    ('struct', [('a', 'long')])
    """
    if isinstance(type_, str):
        return type_
    kind = type_["type"]
    if kind == "struct":
        return kind, [(field["name"], names(field["type"])) for field in type_["fields"]]
    if kind == "array":
        return kind, names(type_["elementType"])
    return kind, names(type_["keyType"]), names(type_["valueType"])


@dataclass(frozen=True)
class _Types:
    """Converts types of columns for Spark; void fields are left out.

    Attributes:
        as_defined: Whether to keep the table's nullability, instead of all nullable.
    """

    as_defined: bool

    def nullable(self, defined: Any) -> bool:
        """Return whether a part is nullable for Spark."""
        return not (self.as_defined and defined is False)

    def of(self, type_: Any, mode: str, at: str) -> Any:
        """Return a type with logical names (mode ``none``) or physical ones."""
        if isinstance(type_, str):
            if type_.startswith(("geometry", "geography")):
                return "binary"  # WKB: Spark's own types of shapes are not read from Parquet
            if type_.startswith(("timestamp_nanos", "timestampNanos")):
                raise UnsupportedFeatureError(
                    f"Spark has no type for the column {at}, which is {type_}: "
                    "leave it out with columns=",
                    code="spark.type",
                )
            return type_
        kind = type_["type"]
        if kind == "struct":
            fields = []
            for inner_field in type_["fields"]:
                if inner_field["type"] == "void":
                    continue
                metadata = inner_field.get("metadata") or {}
                name = metadata.get("delta.columnMapping.physicalName") if mode != "none" else None
                inner = self.of(inner_field["type"], mode, f"{at}.{inner_field['name']}")
                result = field(name or inner_field["name"], inner, _metadata(metadata, mode))
                fields.append({**result, "nullable": self.nullable(inner_field.get("nullable"))})
            return {"type": "struct", "fields": fields}
        if kind == "array":
            element = self.of(type_["elementType"], mode, f"{at}.element")
            contains = self.nullable(type_.get("containsNull"))
            return {"type": "array", "elementType": element, "containsNull": contains}
        if kind == "map":
            return {
                "type": "map",
                "keyType": self.of(type_["keyType"], mode, f"{at}.key"),
                "valueType": self.of(type_["valueType"], mode, f"{at}.value"),
                "valueContainsNull": self.nullable(type_.get("valueContainsNull")),
            }
        return kind


def _plain_field(source: Json) -> Json:
    return field(source["name"], nullable(source["type"]))


def nullable(type_: Any, with_field: Callable[[Json], Json] = _plain_field) -> Any:
    """Return a type with all parts nullable.

    Args:
        type_: The type.
        with_field: Converts a struct field; by default its metadata is removed.

    >>> nullable({"type": "array", "elementType": "long", "containsNull": False})
    {'type': 'array', 'elementType': 'long', 'containsNull': True}
    """
    if isinstance(type_, str):
        return type_
    if type_["type"] == "struct":
        return {"type": "struct", "fields": [with_field(part) for part in type_["fields"]]}
    if type_["type"] == "array":
        element = nullable(type_["elementType"], with_field)
        return {"type": "array", "elementType": element, "containsNull": True}
    return {
        "type": "map",
        "keyType": nullable(type_["keyType"], with_field),
        "valueType": nullable(type_["valueType"], with_field),
        "valueContainsNull": True,
    }


def spark_type(type_: Any) -> Any:
    """Return the PySpark type."""
    return struct_type([field("value", _with_metadata(type_))])["value"].dataType


def _with_metadata(type_: Any) -> Any:
    """Return the type with metadata in all fields, as PySpark requires."""
    if not isinstance(type_, dict):  # the name of a type, or whether parts are nullable
        return type_
    if type_["type"] != "struct":
        return {key: _with_metadata(value) for key, value in type_.items() if key != "metadata"}
    fields = [
        {**field, "type": _with_metadata(field["type"]), "metadata": field.get("metadata") or {}}
        for field in type_["fields"]
    ]
    return {"type": "struct", "fields": fields}
