"""``DeletionVector``: sets of rows, their bytes, their Arrow forms."""

from __future__ import annotations

import pickle
import struct
import uuid
import zlib
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deltareplay as dr

#: Bitmaps that delta-spark wrote, in base 85 (rows, text, size).
INLINE: list[tuple[list[int], str, int]] = [
    ([0], "^Bg9^0rr910000000000iXQKl0rr91000005c8Xg00000", 34),
    ([0, 1], "^Bg9^0rr910000000000iXQKl0rr91000315c8Xg00031", 36),
    ([0, 7, 14], "^Bg9^0rr910000000000iXQKl0rr91000625c8Xg000l74GDFe", 38),
    (
        [3, 4, 7, 11, 18, 29],
        "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        44,
    ),
]

#: The bitmap of rows 0 and 1 in the layout of older writers.
NATIVE = bytes.fromhex("d0d33964 01000000 14000000 3a300000 01000000 0000 0100 10000000 0000 0100")

sets = st.sets(
    st.one_of(
        st.integers(0, 300),
        st.integers(65_000, 66_000),
        st.integers(1 << 32, (1 << 32) + 9),
    )
)


def of(rows: Any) -> dr.DeletionVector:
    return dr.DeletionVector.from_rows(rows)


def inline(text: str, size: int, cardinality: int, storage: str = "i") -> dict[str, Any]:
    return {
        "storageType": storage,
        "pathOrInlineDv": text,
        "sizeInBytes": size,
        "cardinality": cardinality,
    }


@pytest.mark.parametrize(("rows", "text", "size"), INLINE, ids=lambda value: str(value)[:20])
def test_inline_vectors_of_the_reference(rows: list[int], text: str, size: int) -> None:
    vector = dr.DeletionVector.from_descriptor(inline(text, size, len(rows)))

    assert vector.rows.to_pylist() == rows
    assert vector == of(rows)
    assert of(rows).encode_inline() == inline(text, size, len(rows))


def test_the_last_group_may_mark_missing_bytes() -> None:
    """From version 5 of ``cdf-table-with-dv`` of delta-kernel-rs, which deletes the row 3."""
    text = "^Bg9^0rr910000000000iXQKl0rr91000005c8Xg##093"

    vector = dr.DeletionVector.from_descriptor(inline(text, 34, 1))

    assert vector.rows.to_pylist() == [3]


def test_decodes_both_layouts_and_whole_files() -> None:
    bitmap = of([0, 1]).encode()
    framed = struct.pack(">i", len(bitmap)) + bitmap + struct.pack(">I", zlib.crc32(bitmap))

    for data in (bitmap, NATIVE, b"\x01" + framed):
        assert dr.DeletionVector.decode(data, cardinality=2) == of([0, 1])
    assert dr.DeletionVector.decode(b"\x01" + framed * 2, offset=1 + len(framed)) == of([0, 1])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "dv.truncated"),
        (b"\x01", "dv.truncated"),
        (bytes(40), "dv.magic"),
        (NATIVE[:-1], "dv.truncated"),
        (NATIVE + b"\0", "dv.bitmap"),
        (b"\x01\0\0\0\x20" + NATIVE + bytes(4), "dv.checksum"),
    ],
)
def test_damaged_bytes_are_refused(data: bytes, code: str) -> None:
    with pytest.raises(dr.CorruptTableError) as raised:
        dr.DeletionVector.decode(data)
    assert raised.value.code == code


def test_an_unknown_file_version_is_refused() -> None:
    with pytest.raises(dr.CorruptTableError) as raised:
        dr.DeletionVector.decode(b"\x02" + bytes(40), offset=1)
    assert raised.value.code == "dv.version"


def test_invalid_descriptors_are_refused() -> None:
    _, text, size = INLINE[2]
    for descriptor, code in [
        (inline(text, size, 2), "dv.cardinality"),
        (inline(text, size - 4, 3), "dv.size"),
        (inline(text[:-1], size, 3), "dv.base85"),
        (inline(text, -1, 3), "dv.size"),
        (inline(text, size, 3, "x"), "dv.storage_type"),
        ({**inline(text, size, 3), "cardinality": None}, "dv.descriptor"),
        ({"storageType": "i"}, "dv.descriptor"),
        (inline(text, 2**31, 3), "dv.descriptor"),
        (inline(text, size, 2**63), "dv.descriptor"),
    ]:
        with pytest.raises(dr.CorruptTableError) as raised:
            dr.DeletionVector.from_descriptor(descriptor)
        assert raised.value.code == code
    with pytest.raises(dr.InvalidArgumentError, match="read the file") as raised:
        dr.DeletionVector.from_descriptor(inline("IjB3V2d3#qUP%s94R0WF", 36, 2, "u"))
    assert raised.value.code == "dv.not_inline"


@given(sets)
def test_every_form_has_the_same_rows(rows: set[int]) -> None:
    vector = of(rows)
    ordered = sorted(rows)

    assert len(vector) == len(rows)
    assert bool(vector) == bool(rows)
    assert vector.rows.type == pa.int64()
    assert vector.rows.to_pylist() == ordered
    ranges = vector.ranges().to_pylist()
    assert [row for span in ranges for row in range(span["start"], span["end"])] == ordered
    assert all(span["end"] < following["start"] for span, following in pairwise(ranges))
    assert dr.DeletionVector.decode(vector.encode(), cardinality=len(rows)) == vector
    assert dr.DeletionVector.from_descriptor(vector.encode_inline()) == vector
    assert pickle.loads(pickle.dumps(vector)) == vector
    assert hash(pickle.loads(pickle.dumps(vector))) == hash(vector)


@given(sets, sets)
def test_operators_agree_with_python_sets(left: set[int], right: set[int]) -> None:
    first, second = of(left), of(right)

    assert first | second == first.union(second) == of(left | right)
    assert first & second == first.intersection(second) == of(left & right)
    assert first - second == first.difference(second) == of(left - right)
    assert (first == second) == (left == right)


@given(st.sets(st.integers(0, 999)), st.integers(0, 100))
def test_masks_cover_the_whole_file(rows: set[int], more: int) -> None:
    num_rows = 1000 + more
    vector = of(rows)
    expected = np.isin(np.arange(num_rows), sorted(rows))

    assert vector.mask(num_rows).to_numpy(zero_copy_only=False).tolist() == expected.tolist()
    assert (
        vector.live_mask(num_rows).to_numpy(zero_copy_only=False).tolist() == (~expected).tolist()
    )
    live = vector.live_ranges(num_rows).to_pylist()
    result = [row for item in live for row in range(item["start"], item["end"])]
    assert result == np.flatnonzero(~expected).tolist()


def test_a_mask_filters_a_table() -> None:
    table = pa.table({"id": [10, 11, 12, 13]})
    kept = table.filter(of([1, 2]).live_mask(4))

    assert kept["id"].to_pylist() == [10, 13]


@pytest.mark.parametrize("num_rows", [9, 0, -1, 1 << 60])
def test_a_mask_that_is_too_small_or_too_large(num_rows: int) -> None:
    for method in (of([9]).mask, of([9]).live_mask, of([9]).live_ranges):
        with pytest.raises(dr.InvalidArgumentError, match="num_rows"):
            method(num_rows)


@pytest.mark.parametrize(
    "rows",
    [
        [3, 1, 2, 3],
        (number for number in (1, 2, 3)),
        range(1, 4),
        np.array([1, 2, 3]),
        pa.array([1, 2, 3], pa.int32()),
        pa.array([3, 2, 1], pa.uint64()),
        pa.array([0, 1, 2, 3, 4], pa.int64())[1:4],
        pa.chunked_array([[1, 2], [3]]),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_rows_of_every_supported_type(rows: Any) -> None:
    assert of(rows).rows.to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    "rows",
    [[-1], [(1 << 63) - 1], [0x7FFFFFFF << 32], [None, 1], pa.array([1 << 63], pa.uint64())],
)
def test_rows_out_of_range_are_refused(rows: Any) -> None:
    with pytest.raises(dr.InvalidArgumentError) as raised:
        of(rows)
    assert raised.value.code == "dv.row_range"


@pytest.mark.parametrize(
    "rows",
    [
        *(["a"], [1.5], [True], [1, "a"], [1, [2]], [object()]),
        *(pa.array([1.5]), pa.array(["1"]), np.ones((2, 2), int)),
    ],
)
def test_rows_of_other_types_are_refused(rows: Any) -> None:
    with pytest.raises(TypeError, match="rows must be integers"):
        of(rows)


def test_packed_files_follow_the_protocol() -> None:
    vectors = [of([0]), of(range(100_000)), of([])]
    name = uuid.UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")

    path, data, descriptors = dr.DeletionVector.pack(vectors, name=name, prefix="ab")

    assert path == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert data[:1] == b"\x01"
    end = 1
    for vector, descriptor in zip(vectors, descriptors, strict=True):
        assert descriptor["storageType"] == "u"
        assert descriptor["pathOrInlineDv"] == "ab^-aqEH.-t@S}K{vb[*k^"
        assert descriptor["cardinality"] == len(vector)
        assert descriptor["offset"] == end
        size = descriptor["sizeInBytes"]
        assert int.from_bytes(data[end : end + 4], "big") == size
        bitmap = data[end + 4 : end + 4 + size]
        assert bitmap == vector.encode()
        end += size + 8
        assert int.from_bytes(data[end - 4 : end], "big") == zlib.crc32(bitmap)
        result = dr.DeletionVector.decode(data, offset=descriptor["offset"])
        assert result == vector
    assert end == len(data)
    assert dr.DeletionVector.pack([])[1] == b"\x01"
    assert dr.DeletionVector.pack([])[0] != dr.DeletionVector.pack([])[0]


def test_construction_comparison_and_repr() -> None:
    with pytest.raises(TypeError, match="from_rows"):
        dr.DeletionVector()
    vector = of([1])
    assert vector != {1}
    with pytest.raises(TypeError, match="unsupported operand"):
        vector | {1}  # type: ignore[operator]
    with pytest.raises(AttributeError, match="more"):
        vector.more = 1  # type: ignore[attr-defined]
    assert -1 not in vector
    assert 1 << 70 not in vector
    assert repr(vector) == "DeletionVector(1 row from 1 to 1)"
    assert repr(of([])) == "DeletionVector(no rows)"
    assert len({vector, of([1])}) == 1
