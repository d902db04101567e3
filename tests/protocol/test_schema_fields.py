"""Schemas of the log as typed fields and back: Delta protocol, "Schema Serialization Format"."""

from __future__ import annotations

import json

import pytest

from deltareplay._protocol.schema import (
    Array,
    Field,
    Map,
    Struct,
    fields_with_paths,
    schema_json,
    type_text,
)

#: The kinds of types in the protocol, with their fields in JSON order.
SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "a", "type": "integer", "nullable": False, "metadata": {"comment": "count"}},
        {
            "name": "b",
            "type": {
                "type": "struct",
                "fields": [{"name": "d", "type": "integer", "nullable": False, "metadata": {}}],
            },
            "nullable": True,
            "metadata": {},
        },
        {
            "name": "c",
            "type": {"type": "array", "elementType": "integer", "containsNull": False},
            "nullable": True,
            "metadata": {},
        },
        {
            "name": "e",
            "type": {
                "type": "array",
                "elementType": {
                    "type": "struct",
                    "fields": [{"name": "d", "type": "integer", "nullable": False, "metadata": {}}],
                },
                "containsNull": True,
            },
            "nullable": True,
            "metadata": {},
        },
        {
            "name": "f",
            "type": {
                "type": "map",
                "keyType": "string",
                "valueType": "decimal(10,2)",
                "valueContainsNull": True,
            },
            "nullable": True,
            "metadata": {"delta.columnMapping.physicalName": "col-1"},
        },
    ],
}


def test_schemas_round_trip() -> None:
    schema = Struct.parse(json.dumps(SCHEMA))
    assert schema.fields[0] == Field("a", "integer", nullable=False, metadata={"comment": "count"})
    assert schema.fields[2].type == Array("integer", contains_null=False)
    assert schema.fields[4].type == Map("string", "decimal(10,2)")
    assert json.loads(schema_json(schema.fields)) == SCHEMA


def test_paths_types_and_names_of_columns() -> None:
    fields = Struct.parse(json.dumps(SCHEMA)).fields
    assert [(path, type_text(field.type)) for path, field in fields_with_paths(fields)] == [
        ("a", "integer"),
        ("b", "struct"),
        ("b.d", "integer"),
        ("c", "array<integer>"),
        ("e", "array<struct<d: integer>>"),
        ("f", "map<string, decimal(10,2)>"),
    ]
    assert fields[4].physical_name("name") == "col-1"
    assert fields[4].physical_name("none") == "f"  # the mode decides, not the metadata
    assert fields[0].comment == "count"


def test_parts_that_writers_omit() -> None:
    """Metadata and nullability are null or missing in logs of other writers."""
    fields = [
        {"name": "a", "type": "long", "metadata": None, "nullable": None},
        {"name": "b", "type": {"type": "udt", "pyClass": "x.Y", "sqlType": "double"}},
    ]
    text = json.dumps({"type": "struct", "fields": fields})
    assert Struct.parse(text).fields == (Field("a", "long"), Field("b", "double"))
    assert Struct.parse("").fields == ()


@pytest.mark.parametrize("text", ["[]", "7", '{"fields": [1]}', '{"fields": ["a"]}', "{", "{}"])
def test_invalid_schemas_raise(text: str) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        Struct.parse(text)
