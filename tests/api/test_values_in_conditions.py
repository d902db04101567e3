"""Conditions that the library builds from values: keys of a merge, partitions to replace.

Values are compared by SQL's ``=``, whatever their characters and their spelling in the log.
"""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import logs

import deltareplay as dr

TEXTS = {
    "account": "CORP\\alice",
    "path": "C:\\data\\x.csv",
    "share": "\\\\server\\share\\",
    "escapes": "\\n\\t\\u0041\\101\\%\\_",
    "quotes": "it's \"so\" ''",
    "comment": "a' -- b /* c */ `d`",
    "controls": "a\nb\tc\r",
    "beyond ASCII": "Ünï \U0001f600 \u2028",
    "number": "1e2",
}

UTC = datetime.timezone.utc
MOMENT = datetime.datetime(2020, 1, 1, 0, 0, 0, 120000)

#: Type and value of a partition column, and spellings of the value in the log.
SPELLINGS: dict[str, tuple[pa.DataType, Any, list[str]]] = {
    "float 0.1": (pa.float32(), 0.1, ["0.1", "1E-1", "0.10"]),
    "float 1e8": (pa.float32(), 1e8, ["1.0E8", "100000000", "1e8"]),
    "double": (pa.float64(), 1e10, ["1.0E10", "10000000000.0", "1e10"]),
    "double 0.1": (pa.float64(), 0.1, ["0.1", "0.10"]),
    "not a number": (pa.float64(), float("nan"), ["NaN"]),
    "zero": (pa.float64(), 0.0, ["0.0", "-0.0", "0"]),
    "infinity": (pa.float64(), float("inf"), ["Infinity"]),
    "decimal": (pa.decimal128(10, 3), decimal.Decimal("1.500"), ["1.500", "1.5", "01.50"]),
    "long": (pa.int64(), 7, ["7", "07"]),
    "boolean": (pa.bool_(), True, ["true", "TRUE"]),
    "date": (pa.date32(), datetime.date(2020, 1, 2), ["2020-01-02"]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        MOMENT.replace(tzinfo=UTC),
        [
            "2020-01-01 00:00:00.12",
            "2020-01-01 00:00:00.120000",
            "2020-01-01T00:00:00.120000Z",
            "2020-01-01T01:00:00.12+01:00",
        ],
    ),
    "timestamp_ntz": (
        pa.timestamp("us"),
        MOMENT,
        ["2020-01-01 00:00:00.12", "2020-01-01 00:00:00.120000", "2020-01-01T00:00:00.12"],
    ),
    "empty": (pa.string(), "", [""]),
    **{name: (pa.string(), text, [text]) for name, text in TEXTS.items()},
}


def ids(table: dr.Table) -> list[int]:
    result: list[int] = sorted(table.snapshot().scan(columns=["id"]).to_arrow()["id"].to_pylist())
    return result


def respell(table: dr.Table, column: str, text: str) -> None:
    """Change the log as another writer would: another spelling of the partition of version 1."""
    with logs.edited_commit(logs.local_path(table.uri), 1) as actions:
        for action in actions:
            if "add" in action and action["add"]["partitionValues"][column] is not None:
                action["add"]["partitionValues"][column] = text


@pytest.mark.parametrize("partitions", [[], ["key"]], ids=["plain", "partitioned"])
@pytest.mark.parametrize("key", TEXTS.values(), ids=TEXTS)
def test_rows_are_merged_by_any_text(key: str, partitions: list[str], tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("key", pa.string())])
    table = dr.create_table(tmp_path / "t", schema, partitions)
    table.append([{"id": 1, "key": key}, {"id": 2, "key": "other"}])
    merge = table.merge(pa.table({"id": [100], "key": [key]}), "key")
    merge.when_matched_update({"id": "source.id"}).when_not_matched_insert_all().execute()
    assert ids(table) == [2, 100]
    table.merge(pa.table({"key": [key]}), "key").when_matched_delete().execute()
    assert ids(table) == [2]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_partitions_are_replaced_in_every_spelling(spelling: str, tmp_path: Path) -> None:
    """delta-io/delta issue 6544: delta-spark compares values, too."""
    arrow, value, texts = SPELLINGS[spelling]
    schema = pa.schema([("id", pa.int64()), ("key.'of`it", arrow)])
    name = schema.names[1]
    for number, text in enumerate(texts):
        table = dr.create_table(tmp_path / str(number), schema, [name])
        table.append([{"id": 1, name: value}, {"id": 2, name: None}])
        respell(table, name, text)
        assert ids(table) == [1, 2]
        done = table.overwrite([{"id": 3, name: value}], partition_overwrite="dynamic")
        assert (ids(table), done.metrics["numRemovedFiles"]) == ([2, 3], 1), text
        table.overwrite([{"id": 4, name: None}], partition_overwrite="dynamic")
        assert ids(table) == [3, 4], text


def test_partitions_of_several_columns_are_replaced(tmp_path: Path) -> None:
    """In another order than in the schema; more partitions than a condition lists."""
    schema = pa.schema([("id", pa.int64()), ("a", pa.string()), ("b", pa.int32())])
    table = dr.create_table(tmp_path / "t", schema, ["b", "a"])
    rows = [
        {"id": number, "a": "xy"[number % 2] + "\\", "b": number % 150} for number in range(300)
    ]
    table.append(rows)
    new = {"id": 1000, "a": "x\\", "b": 4}
    table.overwrite([new], partition_overwrite="dynamic")
    kept = [row["id"] for row in rows if (row["a"], row["b"]) != (new["a"], new["b"])]
    assert ids(table) == [*kept, 1000]
    moved = [{**row, "id": row["id"] + 5000} for row in rows]
    table.overwrite(moved, partition_overwrite="dynamic")
    assert ids(table) == [row["id"] for row in moved]


def test_a_partition_whose_value_cannot_be_read_is_not_replaced(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.int32())])
    table = dr.create_table(tmp_path / "t", schema, ["p"])
    table.append([{"id": 1, "p": 1}])
    respell(table, "p", "one")
    with pytest.raises(dr.CorruptTableError) as caught:
        table.overwrite([{"id": 2, "p": 2}], partition_overwrite="dynamic")
    assert caught.value.code == "partition_value.parse"
    assert table.snapshot().version == 1
