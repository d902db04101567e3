"""Partition values as constants of a scan."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from deltareplay.spark.scan.partition_values import constants
from deltareplay.spark.schema.fields import Column

CHAR = {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}


@pytest.mark.parametrize(
    ("type_", "arrow", "value", "expected"),
    [
        ("string", pa.string(), "a", "a  "),
        ("long", pa.int64(), 1, 1),
        ("date", pa.date32(), None, None),
    ],
)
def test_only_strings_are_padded(type_: str, arrow: Any, value: object, expected: object) -> None:
    """A writer may have left the metadata of a length on a column of any type."""
    column = Column("p", "p", type_, type_, CHAR, is_partition=True)
    parsed = pa.array([{"p": value}], pa.struct([("p", arrow)]))
    [constant] = constants(pa.table({"partitionValues_parsed": parsed}), [column], "UTC")
    assert constant.values.to_pylist() == [expected]
