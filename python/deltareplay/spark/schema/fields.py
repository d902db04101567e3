"""The table's schema as Spark has it: with logical names, and with the names of the data files."""

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
        physical_type: The same with the names of the data files.
        metadata: What Spark gets to know of it, e.g. a comment.
        is_partition: Whether the value comes from the log.
        is_widened: Whether files may hold a narrower type.
        nullable: Whether Spark takes it that values may be null.
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
        """Whether it has no values at all, and is in no file."""
        return bool(self.logical_type == "void")

    @property
    def is_renamed_inside(self) -> bool:
        """Whether structs in it have other names in the files."""
        return bool(names(self.logical_type) != names(self.physical_type))

    def physical_field(self) -> Json:
        """The field as a data file has it, for ``StructType.fromJson``."""
        result = field(self.physical, self.physical_type, self.metadata)
        return {**result, "nullable": self.nullable}


def field(name: str, type_: Any, metadata: Json | None = None) -> Json:
    """A nullable field as JSON."""
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
    """A struct type as JSON text."""
    return json.dumps({"type": "struct", "fields": fields})


def struct_type(fields: list[Json]) -> Any:
    """PySpark's ``StructType`` of some fields."""
    from pyspark.sql.types import StructType

    # of a copy: it changes what it is given
    return StructType.fromJson(stored(json.loads(struct(fields))))


def fields_of(schema: Any) -> list[Json]:
    """The fields of PySpark's ``StructType`` as JSON."""
    fields: list[Json] = stored(json.loads(schema.json()))["fields"]
    return fields


def stored(type_: Any) -> Any:
    """A type with what stores user-defined types in their place.

    From such a type PySpark imports a module and unpickles a class, and both are named by the JSON.

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
    """The columns of a version, in order.

    Args:
        snapshot: The version.
        as_defined: Whether columns and fields that must not be null are not nullable for Spark,
            either. Statements, which check that, take all as nullable.

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
    """The columns as rows hold them that were read already: logical names, no ids.

    Args:
        snapshot: The version whose columns they are.
        columns: Which, in this order, as the table writes them; None takes all that are not void.
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
    """A type without the metadata of its fields.

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
    """Types of columns, of which nothing is void.

    Attributes:
        as_defined: Whether parts that must not be null are not nullable.
    """

    as_defined: bool

    def nullable(self, defined: Any) -> bool:
        """Whether a part may be null, of which the table says whether it may."""
        return not (self.as_defined and defined is False)

    def of(self, type_: Any, mode: str, at: str) -> Any:
        """A type with logical names (mode none) or physical ones."""
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
        with_field: What becomes of the fields of structs; by default they lose their metadata.

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
    """PySpark's type."""
    return struct_type([field("one", _with_metadata(type_))])["one"].dataType


def _with_metadata(type_: Any) -> Any:
    """The type with metadata everywhere, which PySpark wants."""
    if not isinstance(type_, dict):  # the name of a type, or whether parts are nullable
        return type_
    if type_["type"] != "struct":
        return {key: _with_metadata(value) for key, value in type_.items() if key != "metadata"}
    fields = [
        {**field, "type": _with_metadata(field["type"]), "metadata": field.get("metadata") or {}}
        for field in type_["fields"]
    ]
    return {"type": "struct", "fields": fields}
