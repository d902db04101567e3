"""Rows of wider types than the table's: widened with the feature, refused without it.

The type changes are those that delta-spark calls ``same_family_type``: integers up to ``BIGINT``,
``FLOAT`` to ``DOUBLE``, decimals to wider ones, dates to ``TIMESTAMP_NTZ``. Integers do not become
``DOUBLE`` or decimals: pandas, for example, converts integers with nulls to floats. In Spark,
writes make all type changes of the protocol (``tests/spark/test_type_widening.py``).
"""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr

SCHEMA = pa.schema(
    [
        ("a", pa.int32()),
        ("f", pa.float32()),
        ("d", pa.decimal128(5, 2)),
        ("st", pa.struct([("x", pa.int16())])),
        ("l", pa.list_(pa.int8())),
    ]
)
FIRST = {"a": 1, "f": 0.5, "d": Decimal("1.25"), "st": {"x": 2}, "l": [3]}

#: A column of the rows, and the table's type afterwards.
WIDER: dict[str, tuple[Any, str]] = {
    "a": (pa.array([2**40]), "int64"),
    "f": (pa.array([1e300]), "double"),
    "d": (pa.array([Decimal("12345.678")], pa.decimal128(8, 3)), "decimal128(8, 3)"),
    "st": (pa.array([{"x": 70_000}], pa.struct([("x", pa.int32())])), "struct<x: int32>"),
    "l": (pa.array([[300]], pa.list_(pa.int16())), "list<element: int16>"),
}


def create(path: Path, enabled: bool = True) -> dr.Table:
    properties = {"delta.enableTypeWidening": "true"} if enabled else {}
    table = dr.create_table(path, SCHEMA, properties=properties)
    table.append([FIRST])
    return table


@pytest.mark.parametrize("how", ["append", "overwrite", "insert", "update"])
@pytest.mark.parametrize("name", WIDER)
def test_types_are_widened_with_the_feature(name: str, how: str, tmp_path: Path) -> None:
    column, type_ = WIDER[name]
    table = create(tmp_path / "t")
    rows = pa.table({name: column})
    if how == "append":
        table.append(rows, schema_mode="merge")
    elif how == "overwrite":
        table.overwrite(rows, schema_mode="merge")
    else:
        rows = pa.table({"key": [1 if how == "update" else 7], name: column})
        merge = table.merge(rows, "target.a = source.key", schema_mode="merge")
        value = {name: f"source.{name}"}
        if how == "update":
            merge.when_matched_update(value).execute()
        else:
            merge.when_not_matched_insert(value).execute()
    snapshot = table.snapshot()
    assert str(snapshot.schema.field(name).type) == type_
    values = snapshot.scan([name]).to_arrow()[name].to_pylist()
    assert column[0].as_py() in values
    if how == "append":
        assert FIRST[name] in values
    field = json.loads(snapshot.schema_json)["fields"][SCHEMA.get_field_index(name)]
    assert "delta.typeChanges" in json.dumps(field)


@pytest.mark.parametrize("name", ["a", "f", "d"])
def test_dicts_widen_types(name: str, tmp_path: Path) -> None:
    value = WIDER[name][0][0].as_py()
    table = create(tmp_path / "t")
    table.append([{name: value}, {name: FIRST[name]}], schema_mode="merge")
    assert value in table.snapshot().scan([name]).to_arrow()[name].to_pylist()


@pytest.mark.parametrize("mode", [None, "merge"])
@pytest.mark.parametrize("name", WIDER)
def test_wider_rows_are_refused_without_the_feature(name: str, mode: Any, tmp_path: Path) -> None:
    column, _ = WIDER[name]
    table = create(tmp_path / "t", enabled=False)
    for rows in (pa.table({name: column}), {name: column.to_pylist()}):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.append(rows, schema_mode=mode)
        assert caught.value.code in ("rows.value", "rows.type")
        assert name in str(caught.value)
    assert table.snapshot().version == 1


def test_infinity_fits_into_a_narrower_type(tmp_path: Path) -> None:
    table = create(tmp_path / "t", enabled=False)
    table.append(pa.table({"f": pa.array([float("inf"), 3.0], pa.float64())}))
    assert float("inf") in table.snapshot().scan(["f"]).to_arrow()["f"].to_pylist()


@pytest.mark.parametrize(
    "rows",
    [[FIRST], pa.table({"a": [5.0], "d": [7]})],
    ids=["dicts", "float and integer"],
)
def test_types_are_not_changed_without_need(rows: Any, tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.append(rows, schema_mode="merge")
    assert table.snapshot().schema.types == SCHEMA.types


#: A schema with dates, and the properties with which they can become timestamps.
DATES = pa.schema([("id", pa.int64()), ("d", pa.date32()), ("l", pa.list_(pa.date32()))])
TIMESTAMPS = {
    "delta.enableTypeWidening": "true",
    "delta.feature.timestampNtz": "supported",
}
NOON = datetime.datetime(2026, 1, 31, 12)


@pytest.mark.parametrize("how", ["append", "merge"])
def test_dates_become_timestamps_without_a_zone(how: str, tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", DATES, properties=TIMESTAMPS)
    day = datetime.date(2026, 1, 31)
    table.append([{"id": 1, "d": day, "l": [day]}])
    rows = pa.table({"id": [2], "d": [NOON], "l": [[NOON]]})
    if how == "append":
        table.append(rows, schema_mode="merge")
    else:
        merge = table.merge(rows, "target.id = source.id", schema_mode="merge")
        merge.when_not_matched_insert_all().execute()
    snapshot = table.snapshot()
    assert snapshot.schema.field("d").type == pa.timestamp("us")
    assert "timestampNtz" in (snapshot.protocol.writer_features or ())
    midnight = datetime.datetime(2026, 1, 31)
    result = sorted(snapshot.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert result == [
        {"id": 1, "d": midnight, "l": [midnight]},
        {"id": 2, "d": NOON, "l": [NOON]},
    ]


def test_dates_become_timestamps_only_with_the_feature_of_the_new_type(tmp_path: Path) -> None:
    """As in delta-spark."""
    properties = {"delta.enableTypeWidening": "true"}
    table = dr.create_table(tmp_path / "t", DATES, properties=properties)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append(pa.table({"d": [NOON]}), schema_mode="merge")
    assert caught.value.code == "protocol.manual_enablement"


def test_dates_do_not_become_timestamps_with_a_zone(tmp_path: Path) -> None:
    """The protocol has no such type change."""
    table = dr.create_table(tmp_path / "t", DATES, properties=TIMESTAMPS)
    zoned = pa.table({"id": [3], "d": pa.array([NOON], pa.timestamp("us", "UTC"))})
    table.append(zoned, schema_mode="merge")
    assert table.snapshot().schema.field("d").type == pa.date32()
