"""The metadata of columns that Spark gets."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from deltareplay.spark.schema.fields import columns_of

CHAR = {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}


@pytest.mark.parametrize(("type_", "expected"), [("string", CHAR), ("long", {}), ("date", {})])
def test_only_strings_have_a_length(type_: str, expected: dict[str, str]) -> None:
    """A writer may have left the length on a column of any type; Spark would pad its values."""
    field = {"name": "c", "type": type_, "nullable": True, "metadata": CHAR}
    schema = json.dumps({"type": "struct", "fields": [field]})
    snapshot: Any = SimpleNamespace(properties={}, partition_columns=[], schema_json=schema)
    [column] = columns_of(snapshot)
    assert column.metadata == expected
