"""The schema of a table as typed fields, from the schema in its log or from Spark's."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from deltareplay.exceptions import UnsupportedFeatureError

#: The prefix of the metadata keys of an identity column, and the key of a physical name.
_IDENTITY = "delta.identity."
_PHYSICAL = "delta.columnMapping.physicalName"


@dataclass(frozen=True)
class Field:
    """A column, or a field of a struct.

    Attributes:
        name: The logical name.
        type: The type; primitive types are strings, as in the log.
        nullable: Whether values may be null.
        metadata: The metadata, as in the log.
    """

    name: str
    type: Type
    nullable: bool = True
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name in lower case, as names are compared."""
        return self.name.lower()

    @property
    def comment(self) -> str | None:
        """The comment; None if there is none, or if it is not a string."""
        comment = self.metadata.get("comment")
        return comment if isinstance(comment, str) else None

    def physical_name(self, mode: str) -> str:
        """Return the name in data files and partition values, by the column mapping ``mode``."""
        return (self.metadata.get(_PHYSICAL) if mode != "none" else None) or self.name

    @property
    def column_id(self) -> Any:
        """The id of column mapping; None without one."""
        return self.metadata.get("delta.columnMapping.id")

    @property
    def generation_expression(self) -> Any:
        """The SQL text of a generated column; None for other columns."""
        return self.metadata.get("delta.generationExpression")

    @property
    def default(self) -> Any:
        """The default as SQL text; None without one."""
        return self.metadata.get("CURRENT_DEFAULT")

    @property
    def type_with_lengths(self) -> Any:
        """The declared type with lengths of strings, such as ``varchar(3)``; empty without any."""
        return self.metadata.get("__CHAR_VARCHAR_TYPE_STRING", "")

    @property
    def is_identity(self) -> bool:
        """True for an identity column."""
        return any(key.startswith(_IDENTITY) for key in self.metadata)

    def json(self) -> dict[str, Any]:
        """Return the field as in the log."""
        return {
            "name": self.name,
            "type": json_of(self.type),
            "nullable": self.nullable,
            "metadata": dict(self.metadata),
        }


@dataclass(frozen=True)
class Struct:
    """A struct, or the schema of a table.

    Attributes:
        fields: The fields, in order.
    """

    fields: tuple[Field, ...]

    @classmethod
    def parse(cls, text: str) -> Struct:
        """Read the schema of a log; an empty text has no fields.

        User-defined types are replaced by the types that store them.

        Raises:
            ValueError, TypeError, KeyError: The text is not a schema.
            UnsupportedFeatureError: ``schema.pyarrow``: it is nested too deep for Python.

        >>> Struct.parse('{"type":"struct","fields":[{"name":"id","type":"long"}]}').fields
        (Field(name='id', type='long', nullable=True, metadata={}),)
        """
        try:
            return cls(fields_of_json(json.loads(text)["fields"]) if text else ())
        except RecursionError as error:
            message = "the schema is nested too deep for Python: `schema_json` has it as text"
            raise UnsupportedFeatureError(message, code="schema.pyarrow") from error

    @property
    def by_name(self) -> dict[str, Field]:
        """The fields by their names in lower case."""
        return {field.key: field for field in self.fields}


@dataclass(frozen=True)
class Array:
    """An array.

    Attributes:
        element: The type of elements.
        contains_null: Whether elements may be null.
    """

    element: Type
    contains_null: bool = True


@dataclass(frozen=True)
class Map:
    """A map.

    Attributes:
        key: The type of keys.
        value: The type of values.
        contains_null: Whether values may be null.
    """

    key: Type
    value: Type
    contains_null: bool = True


Type: TypeAlias = "str | Struct | Array | Map"


def schema_json(fields: Sequence[Field]) -> str:
    """Return the schema of a table with these fields, as text of the log."""
    return json.dumps(json_of(Struct(tuple(fields))))


def json_of(type_: Type) -> Any:
    """Return a type as JSON of the log.

    >>> json_of(Array("long"))
    {'type': 'array', 'elementType': 'long', 'containsNull': True}
    """
    if isinstance(type_, Struct):
        return {"type": "struct", "fields": [field.json() for field in type_.fields]}
    if isinstance(type_, Array):
        element = json_of(type_.element)
        return {"type": "array", "elementType": element, "containsNull": type_.contains_null}
    if isinstance(type_, Map):
        return {
            "type": "map",
            "keyType": json_of(type_.key),
            "valueType": json_of(type_.value),
            "valueContainsNull": type_.contains_null,
        }
    return type_


def fields_of_json(fields: Any) -> tuple[Field, ...]:
    """Read fields from JSON of the log, or of Spark."""
    return tuple(field_of_json(field) for field in fields)


def field_of_json(body: Any) -> Field:
    """Read a field from JSON of the log, or of Spark."""
    name, type_ = body["name"], type_of_json(body["type"])
    metadata = body.get("metadata")
    field_metadata = metadata if isinstance(metadata, dict) else {}
    return Field(name, type_, body.get("nullable") is not False, field_metadata)


def type_of_json(body: Any) -> Type:
    """Read a type from JSON; a user-defined type is replaced by the type that stores it.

    PySpark's parser is not used: it imports a module and unpickles a class that the JSON names.

    >>> type_of_json({"type": "udt", "pyClass": "x.Y", "serializedClass": "...", "sqlType": "long"})
    'long'
    """
    if isinstance(body, str):
        return body
    kind = body["type"]
    if kind == "struct":
        return Struct(fields_of_json(body["fields"]))
    if kind == "array":
        return Array(type_of_json(body["elementType"]), body.get("containsNull") is not False)
    if kind == "map":
        key, value = type_of_json(body["keyType"]), type_of_json(body["valueType"])
        return Map(key, value, body.get("valueContainsNull") is not False)
    return type_of_json(body["sqlType"]) if "sqlType" in body else str(kind)


def parts(type_: Type) -> dict[str, Type]:
    """Return the types inside an array or a map, by their names in paths.

    >>> parts(Map("string", Array("long")))
    {'key': 'string', 'value': Array(element='long', contains_null=True)}
    """
    if isinstance(type_, Array):
        return {"element": type_.element}
    return {"key": type_.key, "value": type_.value} if isinstance(type_, Map) else {}


def converted(
    type_: Type,
    convert_field: Callable[[Field], Field | None],
    convert_primitive: Callable[[str], Type] = str,
) -> Type:
    """Return a type with its primitive types and the fields of its structs converted.

    ``convert_field`` has to convert the type of the field, too; it returns None to leave it out.

    >>> converted(Array("integer"), lambda field: field, str.upper)
    Array(element='INTEGER', contains_null=True)
    """
    if isinstance(type_, str):
        return convert_primitive(type_)
    if isinstance(type_, Struct):
        fields = map(convert_field, type_.fields)
        return Struct(tuple(field for field in fields if field is not None))
    return with_parts(type_, lambda _, part: converted(part, convert_field, convert_primitive))


def with_parts(type_: Array | Map, convert: Callable[[str, Type], Type]) -> Type:
    """Return an array or a map with converted parts; ``convert`` gets name and type of each."""
    if isinstance(type_, Array):
        return Array(convert("element", type_.element), type_.contains_null)
    key, value = convert("key", type_.key), convert("value", type_.value)
    return Map(key, value, type_.contains_null)


def inner_fields(type_: Type) -> list[Field]:
    """Return the fields of a struct, or the parts of an array or a map as fields.

    >>> [field.name for field in inner_fields(Map("string", "long"))]
    ['key', 'value']
    """
    if isinstance(type_, Struct):
        return list(type_.fields)
    return [Field(name, part) for name, part in parts(type_).items()]


def nested(fields: Sequence[Field]) -> Iterator[Field]:
    """Yield fields, and those inside of them at any depth."""
    for field in fields:
        yield field
        yield from nested(inner_fields(field.type))


def fields_with_paths(fields: Sequence[Field], above: str = "") -> Iterator[tuple[str, Field]]:
    """Yield columns and the fields of their structs, each with its dotted path.

    >>> [path for path, _ in fields_with_paths([Field("s", Struct((Field("a", "long"),)))])]
    ['s', 's.a']
    """
    for field in fields:
        path = f"{above}{field.name}"
        yield path, field
        if isinstance(field.type, Struct):
            yield from fields_with_paths(field.type.fields, f"{path}.")


def type_text(type_: Type) -> str:
    """Return a type for display; only structs in an array or a map have their fields.

    >>> struct = Struct((Field("a", "long"),))
    >>> type_text(struct), type_text(Array(struct))
    ('struct', 'array<struct<a: long>>')
    """
    if isinstance(type_, Struct):
        return "struct"
    if isinstance(type_, str):
        return type_
    kind = "array" if isinstance(type_, Array) else "map"
    return f"{kind}<{', '.join(_inner(part) for part in parts(type_).values())}>"


def _inner(type_: Type) -> str:
    if isinstance(type_, Struct):
        fields = (f"{field.name}: {_inner(field.type)}" for field in type_.fields)
        return f"struct<{', '.join(fields)}>"
    return type_text(type_)
