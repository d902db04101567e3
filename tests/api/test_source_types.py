"""Columns of types that tables lack, such as unsigned integers and times, and floats as strings."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import logs

import deltareplay as dr

UNUSED: dict[str, Any] = {
    "unsigned": pa.array([2**64 - 1], pa.uint64()),
    "duration": pa.array([datetime.timedelta(days=1)]),
    "time": pa.array([datetime.time(1)]),
    "times": pa.array([[datetime.time(1)]]),
    "interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
}


@pytest.fixture
def table(tmp_path: Path) -> dr.Table:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("v", pa.int64())]))
    table.append([{"id": 1, "v": 1}])
    return table


@pytest.mark.parametrize("kind", UNUSED)
def test_unused_columns_of_a_merge(kind: str, table: dr.Table) -> None:
    source = pa.table({"id": [1], "v": [5], "x": UNUSED[kind]})
    merge = table.merge(source, "id").when_matched_update({"v": "source.v"})
    merge.when_not_matched_insert_all().execute()
    assert table.snapshot().scan().to_arrow()["v"].to_pylist() == [5]


@pytest.mark.parametrize("name", ["t", "i", "d", "target", "source", "arg", "_id", "\u00e4", "a.b"])
def test_unused_columns_by_their_names(name: str, table: dr.Table) -> None:
    """A name may be a part of other names, or that of a table in the expressions."""
    source = pa.table({"id": [1, 2], "v": [5, 6], name: pa.array([1, 2], pa.time64("us"))})
    merge = table.merge(source, "target.id = source.id AND `target`.`id` < 9")
    merge.when_matched_update({"v": "source.v"}, "target.v = 1")
    merge.when_not_matched_insert({"id": "source.id", "v": "v"}).execute()
    rows = table.snapshot().scan().to_arrow().sort_by("id")
    assert rows["v"].to_pylist() == [5, 6]
    merge = table.merge(source, "target.id = source.id")
    used = merge.when_matched_update({"v": f"CAST(source.`{name}` AS BIGINT)"})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        used.execute()
    assert caught.value.code == "schema.arrow_type"


@pytest.mark.parametrize("kind", [kind for kind in UNUSED if kind != "unsigned"])
def test_used_columns_are_refused(kind: str, table: dr.Table) -> None:
    source = pa.table({"id": [1], "v": [5], "x": UNUSED[kind]})
    merges = [
        table.merge(source, "id").when_matched_update({"v": "source.`X`"}),
        table.merge(source, "id").when_matched_delete("x IS NULL"),
        table.merge(source, "id", schema_mode="merge").when_not_matched_insert_all(),
        table.merge(source.rename_columns(["id", "x", "v"]), "id").when_matched_update_all(),
    ]
    for merge in merges:
        with pytest.raises(dr.InvalidArgumentError) as caught:
            merge.execute()
        assert caught.value.code == "schema.arrow_type"
    assert table.snapshot().version == 1


def test_unsigned_keys(table: dr.Table) -> None:
    source = pa.table({"id": pa.array([1, 2], pa.uint64()), "v": pa.array([6, 7], pa.uint64())})
    merge = table.merge(source, "id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute()
    rows = table.snapshot().scan().to_arrow().to_pylist()
    assert sorted(map(tuple, (row.values() for row in rows))) == [(1, 6), (2, 7)]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        source = pa.table({"id": pa.array([3], pa.uint64()), "v": UNUSED["unsigned"]})
        table.merge(source, "id").when_not_matched_insert_all().execute()
    assert caught.value.code == "rows.value"


def test_unsigned_columns_of_new_tables(tmp_path: Path) -> None:
    """``DECIMAL(20,0)``, as Spark reads Parquet's ``UINT_64``."""
    path = tmp_path / "t"
    dr.write(path, pa.table({"h": UNUSED["unsigned"]}))
    dr.write(path, pa.table({"h": pa.array([1], pa.uint64())}))
    snapshot = dr.Table(path).snapshot()
    assert snapshot.schema.field("h").type == pa.decimal128(20, 0)
    values = snapshot.scan().to_arrow()["h"].to_pylist()
    assert sorted(values) == [Decimal(1), Decimal(2**64 - 1)]


@pytest.mark.parametrize(
    "kind",
    [pa.decimal32(5, 2), pa.decimal64(12, 2), pa.decimal256(38, 2), pa.decimal256(20, 0)],
    ids=str,
)
def test_decimals_of_other_sizes(kind: Any, tmp_path: Path) -> None:
    """DuckDB, for example, exports small decimals with ``arrow_output_version = '1.5'``."""
    path = tmp_path / "t"
    values = [Decimal(12), None, Decimal(-7)]
    rows = pa.table({"id": [1, 2, 3], "d": pa.array(values, kind), "l": [[v] for v in values]})
    rows = rows.set_column(2, "l", pa.array([[value] for value in values], pa.list_(kind)))
    dr.write(path, rows)
    dr.write(path, rows)
    table = dr.Table(path)
    assert table.snapshot().schema.field("d").type == pa.decimal128(kind.precision, kind.scale)
    table.merge(rows.slice(2), "d").when_matched_update({"id": "source.d + 10"}).execute()
    found = [tuple(row.values()) for row in table.snapshot().scan().to_arrow().to_pylist()]
    assert sorted(found, key=repr) == [
        *([(1, Decimal(12), [Decimal(12)])] * 2),
        *([(2, None, [None])] * 2),
        *([(3, Decimal(-7), [Decimal(-7)])] * 2),
    ]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.write(tmp_path / "u", pa.table({"d": pa.array([Decimal(1)], pa.decimal256(39, 2))}))
    assert caught.value.code == "schema.arrow_type"


FLOATS: list[tuple[pa.DataType, float, str]] = [
    (pa.float64(), 2.0, "2.0"),
    (pa.float64(), 1e20, "1.0E20"),
    (pa.float64(), 1e-7, "1.0E-7"),
    (pa.float64(), -math.inf, "-Infinity"),
    (pa.float64(), math.nan, "NaN"),
    (pa.float32(), 0.1, "0.1"),
    (pa.float32(), 1e10, "1.0E10"),
    (pa.float16(), 2**-10, "9.765625E-4"),
]


@pytest.mark.parametrize(("kind", "value", "text"), FLOATS, ids=str)
def test_floats_become_the_strings_of_spark(
    kind: pa.DataType, value: float, text: str, tmp_path: Path
) -> None:
    schema = pa.schema([("s", pa.string()), ("p", pa.string())])
    table = dr.create_table(tmp_path / "t", schema, ["p"])
    floats = pa.array([value], kind)
    table.append(pa.table({"s": floats, "p": floats}))
    assert table.snapshot().scan().to_arrow().to_pylist() == [{"s": text, "p": text}]


def test_shredded_variants_are_refused(log: logs.LogBuilder) -> None:
    """A table's variants have no typed part, which would be lost."""
    log.create(logs.schema(v="variant"), protocol_action=logs.features("variantType"))
    table = dr.Table(log.uri)
    null = {"metadata": b"\1\0\0", "value": b"\0"}
    with pytest.raises(dr.InvalidArgumentError, match="typed_value") as caught:
        table.append(pa.table({"v": [{**null, "typed_value": 5}]}))
    assert caught.value.code == "rows.type"
    table.append(pa.table({"v": [null]}))
    assert table.snapshot().scan().to_arrow()["v"].to_pylist() == [null]
