"""Arrow data that violates its own rules: refused with column and row, and nothing is written."""

from __future__ import annotations

import array
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import deltareplay as dr

BAD = b"\xffoo"


def offsets(numbers: list[int]) -> pa.Buffer:
    return pa.py_buffer(array.array("i", numbers).tobytes())


STRING = pa.string()


def texts(values: list[bytes | None], type_: pa.DataType = STRING) -> pa.Array:
    """Return a string array with arbitrary bytes: a binary array with another type."""
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}.get(
        type_, pa.binary_view()
    )
    column = pa.array(values, binary)
    return pa.Array.from_buffers(type_, len(column), column.buffers())


def struct(values: list[bytes | None]) -> pa.Array:
    return pa.StructArray.from_arrays([texts(values)], ["x"])


def listed(values: list[bytes | None]) -> pa.Array:
    """Return each value in its own list, after an empty list."""
    return pa.ListArray.from_arrays([0, *range(len(values) + 1)], texts(values))


def mapped(values: list[bytes | None], keys: bool) -> pa.Array:
    sound = pa.array([str(number) for number in range(len(values))])
    pair = (texts(values), sound) if keys else (sound, texts(values))
    return pa.MapArray.from_arrays(list(range(len(values) + 1)), *pair)


def dictionary(values: list[bytes | None]) -> pa.Array:
    keys = pa.array([0, 2, 1, 0], pa.int8())
    return pa.DictionaryArray.from_arrays(keys, texts(values), safe=False)


SOUND_AND_BAD = [b"a", "é".encode(), BAD, b"b"]
CASES: dict[str, tuple[pa.Array, str, int]] = {
    "string": (texts(SOUND_AND_BAD), "s", 2),
    "large_string": (texts(SOUND_AND_BAD, pa.large_string()), "s", 2),
    "string_view": (texts(SOUND_AND_BAD, pa.string_view()), "s", 2),
    "long string_view": (texts([b"x" * 40, b"y" * 40 + BAD], pa.string_view()), "s", 1),
    "cut in the middle": (
        # é in two rows: the bytes as a whole are UTF-8
        pa.Array.from_buffers(
            pa.string(), 2, [None, offsets([0, 1, 2]), pa.py_buffer("é".encode())]
        ),
        "s",
        0,
    ),
    "sliced": (texts([BAD, b"a", b"b", BAD])[1:], "s", 2),
    "struct": (struct(SOUND_AND_BAD), "s.x", 2),
    "list": (listed(SOUND_AND_BAD), "s.element", 3),
    "map key": (mapped(SOUND_AND_BAD, keys=True), "s.key", 2),
    "map value": (mapped(SOUND_AND_BAD, keys=False), "s.value", 2),
    "dictionary": (dictionary([b"a", b"b", BAD]), "s", 1),
}
Write = Callable[[dr.Table, pa.Table], object]
WRITES: dict[str, Write] = {
    "append": lambda table, rows: table.append(rows),
    "overwrite": lambda table, rows: table.overwrite(rows),
    "merge": lambda table, rows: (
        table.merge(rows, on="target.id = source.id").when_not_matched_insert_all().execute()
    ),
}


def stored_type(type_: pa.DataType) -> pa.DataType:
    """Return the type in which a table stores values of a type."""
    if pa.types.is_dictionary(type_):
        return type_.value_type
    return pa.string() if type_ in (pa.large_string(), pa.string_view()) else type_


def files(table: Path) -> set[Path]:
    return {path for path in table.rglob("*") if path.is_file()}


def refused(write: Callable[[], object], *, column: str, row: int) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        write()
    assert caught.value.code == "rows.text"
    assert f'the column "{column}" ' in str(caught.value)
    assert f"row {row} of the data" in str(caught.value)


@pytest.mark.parametrize("how", WRITES)
@pytest.mark.parametrize("case", CASES)
def test_text_that_is_not_utf8(tmp_path: Path, case: str, how: str) -> None:
    values, column, row = CASES[case]
    rows = pa.table({"id": pa.array(range(len(values))), "s": values})
    table = dr.create_table(tmp_path, pa.schema({"id": pa.int64(), "s": stored_type(values.type)}))
    before = files(tmp_path)
    refused(lambda: WRITES[how](table, rows), column=column, row=row)
    assert files(tmp_path) == before


def test_partition_values(tmp_path: Path) -> None:
    table = dr.create_table(
        tmp_path, pa.schema({"id": pa.int64(), "s": pa.string()}), partition_columns=["s"]
    )
    rows = pa.table({"id": [1, 2], "s": texts([b"a", BAD])})
    refused(lambda: table.append(rows), column="s", row=1)
    assert table.snapshot().num_files == 0


def test_rows_are_counted_across_batches(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, pa.schema({"s": pa.string()}))
    batches = [pa.record_batch({"s": texts([b"a"] * 70_000)})] * 2
    batches.append(pa.record_batch({"s": texts([b"a", BAD])}))
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    refused(lambda: table.append(reader), column="s", row=140_001)


def test_nulls_may_hold_anything(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, pa.schema({"s": pa.string(), "l": pa.list_(pa.string())}))
    bytes_ = pa.array([b"a", BAD, b"b"])
    masked = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x05"), *bytes_.buffers()[1:]])
    lists = pa.ListArray.from_arrays(
        [0, 1, 2, 3], texts([b"a", BAD, b"b"]), mask=pa.array([False, True, False])
    )
    table.append(pa.table({"s": masked, "l": lists}))
    result = table.snapshot().scan().to_arrow().to_pydict()
    assert result == {"s": ["a", None, "b"], "l": [["a"], None, ["b"]]}


def test_invalid_offsets_are_refused(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, pa.schema({"s": pa.string()}))
    text = pa.py_buffer(b"abcdef")
    for numbers in ([0, 5, 2], [0, -1, 2]):
        column = pa.Array.from_buffers(pa.string(), 2, [None, offsets(numbers), text])
        with pytest.raises(dr.InvalidArgumentError, match='the column "s"') as caught:
            table.append(pa.table({"s": column}))
        assert caught.value.code == "rows.arrow"
    assert table.snapshot().num_files == 0


def test_keys_beyond_the_dictionary(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, pa.schema({"s": pa.string()}))
    column = pa.DictionaryArray.from_arrays(
        pa.array([0, 7], pa.int8()), pa.array(["a"]), safe=False
    )
    with pytest.raises(dr.InvalidArgumentError, match='the column "s"') as caught:
        table.append(pa.table({"s": column}))
    assert caught.value.code == "rows.arrow"


def test_python_text_that_is_not_utf8(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, pa.schema({"s": pa.string()}))
    for rows in ([{"s": "\ud800"}], {"s": ["a", "\ud800"]}):
        with pytest.raises(dr.InvalidArgumentError, match="'s'") as caught:
            table.append(rows)
        assert caught.value.code == "rows.type"
