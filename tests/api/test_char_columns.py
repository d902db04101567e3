"""Columns of ``char(n)``: padded with spaces for comparison, returned as stored."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from support import logs

import deltareplay as dr

#: As Spark declares them.
CHAR = {"__CHAR_VARCHAR_TYPE_STRING": "char(4)"}


def declared_later(path: Path, partitions: list[str]) -> dr.Table:
    """A table whose strings are not padded: the column became ``char(4)`` later."""
    schema = pa.schema([("id", pa.int64()), ("c", pa.string())])
    table = dr.create_table(path, schema, partitions)
    rows = [(1, "ab"), (2, "abcd"), (3, "ab  "), (4, None), (5, "a\t")]
    table.append([{"id": number, "c": text} for number, text in rows])
    table.append([{"id": 6, "c": "zz"}])
    with logs.edited_commit(path, 0) as actions:
        [metadata] = [action["metaData"] for action in actions if "metaData" in action]
        fields = json.loads(metadata["schemaString"])
        fields["fields"][1]["metadata"] = CHAR
        metadata["schemaString"] = json.dumps(fields)
    return dr.Table(path)


def ids(table: dr.Table, condition: str | None = None) -> list[int]:
    return sorted(table.snapshot().scan(filter=condition).to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("partitions", [[], ["c"]], ids=["data", "partition"])
def test_scans_compare_padded_values(partitions: list[str], tmp_path: Path) -> None:
    table = declared_later(tmp_path / "t", partitions)
    rows = table.snapshot().scan().to_arrow().to_pylist()
    assert {row["id"]: row["c"] for row in rows} == {
        1: "ab", 2: "abcd", 3: "ab  ", 4: None, 5: "a\t", 6: "zz",
    }  # fmt: skip
    for condition, expected in [
        ("c = 'ab'", [1, 3]),
        ("c = 'ab       '", [1, 3]),
        ("c IN ('zz', 'abcd ')", [2, 6]),
        ("length(c) = 4", [1, 2, 3, 5, 6]),
        ("c LIKE 'ab'", []),
        ("c LIKE 'ab__'", [1, 2, 3]),
        ("c = 'a' || 'b' OR CASE WHEN c = 'zz' THEN true END", [1, 3, 6]),
        ("c < 'a'", [5]),  # a tab sorts before the space
    ]:
        assert ids(table, condition) == expected, condition
    # a greatest string with a tab does not bound shorter ones
    files = table.snapshot().scan(filter="c = 'zz'").files()
    assert files.num_rows == (2 if partitions else 1)
    changes = table.changes(1, 2).to_arrow()["c"].to_pylist()
    assert {text for text in changes if text} == {"ab", "ab  ", "abcd", "a\t", "zz"}


@pytest.mark.parametrize("partitions", [[], ["c"]], ids=["data", "partition"])
def test_statements_compare_padded_values(partitions: list[str], tmp_path: Path) -> None:
    table = declared_later(tmp_path / "t", partitions)
    assert table.update("c = 'zz'", {"id": "length(c) * 10"}).metrics["numUpdatedRows"] == 1
    assert table.delete("c LIKE 'ab'").version is None
    merge = table.merge([{"key": "ab"}, {"key": "abcd"}], "target.c = source.key OR target.c = 'q'")
    assert merge.when_matched_delete().execute().metrics["numTargetRowsDeleted"] == 1
    assert table.delete("c = 'ab'").metrics["numDeletedRows"] == 2
    assert ids(table) == [4, 5, 40]
    for too_long in ("abcde", "abcd "):
        with pytest.raises(dr.InvalidArgumentError, match=r"char\(4\)") as caught:
            table.append([{"id": 7, "c": too_long}])
        assert caught.value.code == "rows.length"
    table.append([{"id": 7, "c": "abcd"}])
    assert ids(table, "c = 'abcd'") == [7]


def test_char_is_padded_and_longer_text_is_refused(tmp_path: Path) -> None:
    kinds = {"c": "char(3)", "v": "varchar(3)"}
    fields = [
        pa.field(name, pa.string(), metadata={"__CHAR_VARCHAR_TYPE_STRING": kind})
        for name, kind in kinds.items()
    ]
    table = dr.create_table(tmp_path / "t", pa.schema(fields))
    table.append([{"c": "a", "v": "ab"}, {"c": "äöü", "v": "äöü"}, {"c": None, "v": "ab "}])
    result = pa.table(table.snapshot()).to_pylist()
    expected = [{"c": "a  ", "v": "ab"}, {"c": "äöü", "v": "äöü"}, {"c": None, "v": "ab "}]
    assert result == expected
    # spaces count, too, as in delta-spark
    for name, too_long in [("v", "abcd"), ("v", "ab    "), ("c", "abc ")]:
        with pytest.raises(dr.InvalidArgumentError, match=rf"{name}.*char\(3\)") as caught:
            table.append([{name: too_long}])
        assert caught.value.code == "rows.length"


def test_char_of_more_than_4096_characters_is_not_padded(tmp_path: Path) -> None:
    lengths = {"padded": 4096, "longer": 4097, "endless": 10**15}
    fields = [
        pa.field(name, pa.string(), metadata={"__CHAR_VARCHAR_TYPE_STRING": f"char({length})"})
        for name, length in lengths.items()
    ]
    table = dr.create_table(tmp_path / "t", pa.schema(fields))
    table.append([dict.fromkeys(lengths, "a")])
    [row] = pa.table(table.snapshot()).to_pylist()
    assert {name: len(text) for name, text in row.items()} == {
        "padded": 4096,
        "longer": 1,
        "endless": 1,
    }


@pytest.mark.parametrize("kind", ["array<char(3)>", "map<varchar(2),int>"])
def test_nested_char_types_are_not_supported(kind: str, tmp_path: Path) -> None:
    field = pa.field("s", pa.string(), metadata={"__CHAR_VARCHAR_TYPE_STRING": kind})
    table = dr.create_table(tmp_path / "t", pa.schema([field]))
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        table.append([{"s": "a"}])
    assert caught.value.code == "rows.expression"
