"""Types accepted as rows and schemas; errors for others say what to pass."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import datetime
import uuid
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string())])
ROWS_BY_COLUMN = {"id": [1, 2]}
ROWS = [{"id": 1, "s": "a"}, {"id": 2, "s": None}]


@pytest.fixture
def table(tmp_path: Path) -> dr.Table:
    return dr.create_table(tmp_path / "t", SCHEMA)


def frames() -> Iterator[Any]:
    data = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    yield pytest.param(data, id="pyarrow table")
    yield pytest.param(data.to_batches()[0], id="pyarrow batch")
    yield pytest.param(data.to_reader(), id="pyarrow reader")
    yield pytest.param(ROWS, id="dicts")
    yield pytest.param(tuple(map(collections.OrderedDict, ROWS)), id="a tuple of mappings")
    yield pytest.param({"id": [1, 2], "s": ["a", None]}, id="lists")
    yield pytest.param({"id": pa.array([1, 2]), "s": data["s"]}, id="pyarrow columns")
    yield pytest.param({"id": range(1, 3), "s": ("a", None)}, id="a range and a tuple")
    with contextlib.suppress(ImportError):
        import pandas

        frame = pandas.DataFrame(ROWS)
        yield pytest.param(frame, id="pandas frame")
        yield pytest.param(pandas.concat([frame.head(0), frame[::-1]]), id="pandas frame, filtered")
        yield pytest.param(frame.set_index("id"), id="pandas frame, named index")
        yield pytest.param({"id": frame["id"], "s": frame["s"]}, id="pandas series")
    with contextlib.suppress(ImportError):
        import polars

        yield pytest.param(polars.DataFrame(ROWS), id="polars frame")


@pytest.mark.parametrize("data", list(frames()))
def test_rows_of_every_source_are_appended(data: Any, table: dr.Table) -> None:
    table.append(data)
    rows = table.snapshot().scan().to_arrow().to_pylist()
    assert sorted(rows, key=lambda row: row["id"]) == ROWS


@pytest.mark.parametrize("data", [[{}, {}], pa.table(ROWS_BY_COLUMN).select([])])
def test_rows_without_values_are_appended(data: Any, table: dr.Table) -> None:
    assert table.append(data).metrics["numOutputRows"] == 2
    assert pa.table(table.snapshot()).to_pylist() == [{"id": None, "s": None}] * 2


def test_frames_without_columns_have_rows(table: dr.Table) -> None:
    pandas = pytest.importorskip("pandas")
    assert table.append(pandas.DataFrame(index=[1, 2, 3])).metrics["numOutputRows"] == 3


def test_rows_of_duckdb_are_appended(table: dr.Table) -> None:
    duckdb = pytest.importorskip("duckdb")
    table.append(duckdb.sql("SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS t(id, s)"))
    rows = table.snapshot().scan().to_arrow().to_pylist()
    assert sorted(rows, key=lambda row: row["id"]) == ROWS


def refusals() -> Iterator[Any]:
    yield pytest.param([1, 2], ["row 0 is int", "[{'id': 1}]"], id="ints")
    yield pytest.param([{"id": 1}, 2], ["row 1 is int"], id="an int among dicts")
    yield pytest.param([(1, "a")], ["row 0 is tuple", "values have names"], id="tuples")
    yield pytest.param(["a"], ["row 0 is str"], id="texts")
    yield pytest.param({"id": 1, "s": "a"}, ["'id' is int", "[{'id': 1}]"], id="scalars")
    yield pytest.param({"s": "abc"}, ["'s' is str"], id="a text as a column")
    yield pytest.param(5, ["not int"], id="an int")
    yield pytest.param(None, ["not NoneType"], id="nothing")
    yield pytest.param("/data/x.parquet", ["not str", "into Arrow first"], id="a path")
    yield pytest.param(iter(ROWS), ["list_iterator", "a list of dicts"], id="an iterator")
    yield pytest.param(pa.array([1]), ["one column without a name"], id="an array")
    yield pytest.param(pa.chunked_array([[1]]), ["one column"], id="a chunked array")
    batches = pa.Table.from_pylist(ROWS, schema=SCHEMA).to_batches()
    yield pytest.param(batches, ["pyarrow.Table.from_batches"], id="batches")
    yield pytest.param([pa.Table.from_batches(batches)], ["pyarrow.concat_tables"], id="tables")
    yield pytest.param(SCHEMA, ["not Schema"], id="a schema")
    with contextlib.suppress(ImportError):
        import pandas

        yield pytest.param(pandas.Series([1]), ["one column"], id="a pandas series")
        yield pytest.param(pandas.DataFrame(ROWS).to_numpy(), ["ndarray"], id="a numpy array")
    with contextlib.suppress(ImportError):
        import polars

        yield pytest.param(polars.Series([1]), ["one column"], id="a polars series")
        yield pytest.param(polars.DataFrame(ROWS).lazy(), ["collect()"], id="a lazy frame")
    with contextlib.suppress(ImportError):
        from pyspark.sql import Row

        yield pytest.param([Row(id=1)], ["asDict"], id="spark rows")


@pytest.mark.parametrize(("data", "parts"), list(refusals()))
def test_invalid_rows_are_refused(data: Any, parts: list[str], table: dr.Table) -> None:
    for write in (table.append, table.overwrite, lambda rows: table.merge(rows, "id").execute()):
        with pytest.raises(TypeError, match="rows") as caught:
            write(data)
        for part in parts:
            assert part in str(caught.value)
    assert table.snapshot().version == 0


@pytest.mark.parametrize("data", [{"id": [1, 2], "s": ["a"]}, {"id": [1], "s": []}], ids=str)
def test_columns_of_different_lengths(data: Any, table: dr.Table) -> None:
    with pytest.raises(dr.InvalidArgumentError, match=r"1 of '(s|id)'") as caught:
        table.append(data)
    assert caught.value.code == "rows.type"


def test_frames_of_pandas_that_arrow_lacks(table: dr.Table) -> None:
    pandas = pytest.importorskip("pandas")
    sparse = pandas.arrays.SparseArray([1])
    frames = [pandas.DataFrame([[1, 2]], columns=["id", "id"]), pandas.DataFrame({"id": sparse})]
    for frame in frames:
        with pytest.raises(dr.InvalidArgumentError, match=r"Duplicate|Sparse") as caught:
            table.append(frame)
        assert caught.value.code == "rows.type"


def test_a_spark_frame_is_written_by_spark(table: dr.Table) -> None:
    frames = pytest.importorskip("pyspark.sql.classic.dataframe")
    frame = object.__new__(frames.DataFrame)
    with pytest.raises(TypeError, match=r"deltareplay\.spark\.write"):
        table.append(frame)


def schemas() -> Iterator[Any]:
    rows = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    yield pytest.param({"id": pa.int64()}, "pyarrow.schema(...) of names", id="a dict")
    yield pytest.param([("id", "long")], "pyarrow.schema(...) of names", id="a list")
    yield pytest.param(rows, "pass its .schema", id="rows")
    yield pytest.param("id LONG", "pyarrow.Schema, such as", id="a text")
    yield pytest.param(None, "pyarrow.Schema, such as", id="nothing")
    yield pytest.param(pa.field("id", pa.int64()), "pyarrow.Schema, such as", id="a field")
    with contextlib.suppress(ImportError):
        import pandas

        yield pytest.param(pandas.DataFrame(ROWS), "from_pandas", id="a pandas frame")
    with contextlib.suppress(ImportError):
        from pyspark.sql import types

        struct = types.StructType([types.StructField("id", types.LongType())])
        yield pytest.param(struct, "to_arrow_schema", id="a spark schema")


@pytest.mark.parametrize(("schema", "advice"), list(schemas()))
def test_invalid_schemas_are_refused(
    schema: Any, advice: str, table: dr.Table, tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match="columns must be an Arrow schema") as caught:
        dr.create_table(tmp_path / "new", schema)
    assert advice in str(caught.value)
    assert not dr.is_table(tmp_path / "new")
    with pytest.raises(TypeError, match="columns must be an Arrow schema"):
        table.add_columns(schema)


@pytest.mark.parametrize("name", [1, None, ("id",), b"id"])
def test_names_of_columns_are_text(name: Any, table: dr.Table) -> None:
    for write in (
        table.append,
        table.overwrite,
        lambda rows: table.merge(rows, "id").when_matched_delete().execute(),
        lambda rows: dr.write(f"{table.uri}-new", rows),
    ):
        for rows in ([{name: 1}], {name: [1]}, [{"id": 1, name: 2}]):
            with pytest.raises(dr.InvalidArgumentError, match=r"no text|string") as caught:
                write(rows)
            assert caught.value.code == "rows.type"
    assert table.snapshot().version == 0


def test_a_stream_of_plain_values_is_refused(table: dr.Table) -> None:
    class Numbers:
        """A class whose Arrow stream has integers, not structs."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return pa.chunked_array([[1]]).__arrow_c_stream__(requested_schema)

    with pytest.raises(dr.InvalidArgumentError, match="as a Schema") as caught:
        table.append(Numbers())
    assert caught.value.code == "rows.source"
    assert table.snapshot().version == 0


class Exported:
    """An object with a given result of ``__arrow_c_stream__``."""

    def __init__(self, stream: object) -> None:
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream


def test_a_schema_that_was_consumed_is_refused(table: dr.Table) -> None:
    """Its memory may belong to something else. Source: Arrow, "The Arrow C data interface"."""

    class Schema:
        capsule = pa.schema([("a", pa.int64())]).__arrow_c_schema__()

        def __arrow_c_schema__(self) -> object:
            return self.capsule

    pa.Schema._import_from_c_capsule(Schema.capsule)
    for call in (table.add_columns, lambda schema: dr.create_table(f"{table.uri}-new", schema)):
        with pytest.raises(TypeError, match="consumed"):
            call(Schema())
    assert table.snapshot().version == 0


_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def stream_of_length(length: int) -> tuple[object, object]:
    """Return a stream of three rows that claims another length, and what it needs to live."""
    capsule = pa.table({"id": [1, 2, 3]}).__arrow_c_stream__()
    # get_schema, get_next, get_last_error, release, private_data
    fields = (ctypes.c_void_p * 5).from_address(_POINTER(capsule, b"arrow_array_stream"))
    original = _NEXT(fields[1])

    @_NEXT
    def get_next(stream: int, array: int) -> int:
        outcome = original(stream, array)
        ctypes.c_int64.from_address(array).value = length  # the first field
        return outcome

    fields[1] = ctypes.cast(get_next, ctypes.c_void_p).value
    return capsule, get_next


def test_invalid_streams_are_refused(table: dr.Table) -> None:
    """Source: Arrow, "The Arrow C stream interface" and "The Arrow PyCapsule Interface"."""
    used = pa.table({"id": [1]}).__arrow_c_stream__()
    pa.RecordBatchReader._import_from_c_capsule(used)
    for stream in (object(), None, pa.schema([]).__arrow_c_schema__(), used):
        for write in (
            table.append,
            lambda rows: table.merge(rows, "target.id = source.id").when_matched_delete().execute(),
            lambda rows: dr.write(f"{table.uri}-new", rows),
        ):
            with pytest.raises(dr.InvalidArgumentError) as caught:
                write(Exported(stream))
            assert caught.value.code == "rows.source", stream
    for length in (-1, 4, 2**62):
        capsule, keep = stream_of_length(length)
        with pytest.raises(dr.InvalidArgumentError, match="nothing was written") as caught:
            table.append(Exported(capsule))
        assert caught.value.code == "rows.source", (length, keep)
    assert table.snapshot().version == 0
    assert not dr.is_table(f"{table.uri}-new")


NESTED = pa.schema(
    [
        ("id", pa.int64()),
        ("event", pa.struct([pa.field("kind", pa.string()), pa.field("n", pa.int64())])),
        ("items", pa.list_(pa.struct([("sku", pa.string())]))),
        ("byname", pa.map_(pa.string(), pa.struct([("n", pa.int64())]))),
        ("at", pa.timestamp("us", "UTC")),
        ("days", pa.list_(pa.date32())),
    ]
)

#: Rows with a field of a struct that the table lacks.
UNKNOWN_FIELDS: dict[str, Any] = {
    "event.user": [{"id": 1, "event": {"kind": "a", "user": "u"}}, {"id": 2, "event": None}],
    "items.element.price": [{"id": 1, "items": [{"sku": "s"}, {"price": 3}, None]}],
    "byname.value.note": [{"id": 1, "byname": {"k": {"n": 1, "note": "x"}}}],
    "event.user, of columns": {"id": [1], "event": [{"kind": "a", "user": "u"}]},
    "event.user, of pairs": [{"id": 1, "event": [("kind", "a"), ("user", "u")]}],
}


@pytest.fixture
def nested(tmp_path: Path) -> dr.Table:
    return dr.create_table(tmp_path / "nested", NESTED)


@pytest.mark.parametrize("name", UNKNOWN_FIELDS)
def test_unknown_fields_of_dicts_are_refused_or_added(name: str, nested: dr.Table) -> None:
    """As for rows in Arrow; pyarrow drops unknown fields if a type is given."""
    rows = UNKNOWN_FIELDS[name]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        nested.append(rows)
    assert caught.value.code == "rows.column"
    assert name.split(",")[0] in str(caught.value)
    nested.append(rows, schema_mode="merge")
    [field] = [part for part in ("user", "price", "note") if part in str(rows)]
    assert field in str(nested.snapshot().schema)
    value = {"user": "u", "price": 3, "note": "x"}[field]
    assert repr(value) in str(nested.snapshot().scan().to_arrow().to_pylist())


def test_fields_of_dicts_match_in_another_case(nested: dr.Table) -> None:
    nested.append([{"id": 1, "event": {"KIND": "a"}}, {"id": 2, "event": {"KIND": "b", "N": 4}}])
    rows = nested.snapshot().scan(["id", "event"]).to_arrow().to_pylist()
    assert [row["event"] for row in sorted(rows, key=lambda row: row["id"])] == [
        {"kind": "a", "n": None},
        {"kind": "b", "n": 4},
    ]


def test_merge_adds_fields_of_dicts(nested: dr.Table) -> None:
    nested.append([{"id": 1, "event": {"kind": "a"}}])
    source = [{"id": 1, "event": {"kind": "b", "user": "u"}}]
    merge = nested.merge(source, "id", schema_mode="merge")
    merge.when_matched_update({"event": "source.event"}).execute()
    [row] = nested.snapshot().scan(["event"]).to_arrow().to_pylist()
    assert row["event"] == {"kind": "b", "n": None, "user": "u"}


@pytest.mark.parametrize(
    "row",
    [
        {"at": 1_700_000_000},
        {"at": 1.5},
        {"days": [19_000]},
        {"at": None, "days": [None, True]},
    ],
)
def test_numbers_are_refused_as_dates_and_timestamps(row: dict[str, Any], nested: dr.Table) -> None:
    """As for rows in Arrow: a number has no unit."""
    for rows in ([{"id": 1, **row}], {name: [value] for name, value in row.items()}):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            nested.append(rows)
        assert caught.value.code == "rows.type"
    assert nested.snapshot().version == 0


def test_numpy_arrays_keep_their_type(nested: dr.Table) -> None:
    numpy = pytest.importorskip("numpy")
    nested.append({"id": [1], "at": numpy.array(["2026-01-01T05:00"], "datetime64[s]")})
    [row] = nested.snapshot().scan(["at"]).to_arrow().to_pylist()
    assert row["at"].isoformat() == "2026-01-01T05:00:00+00:00"
    wrong = {"at": numpy.array([5]), "id": numpy.array(["2026-01-01"], "datetime64[s]")}
    for name, values in wrong.items():
        with pytest.raises(dr.InvalidArgumentError) as caught:
            nested.append({name: values})
        assert caught.value.code == "rows.type"


TYPES = pa.schema(
    [
        *(("n", pa.int64()), ("f", pa.float64()), ("s", pa.string()), ("d", pa.date32())),
        *(("at", pa.timestamp("us", "UTC")), ("p", pa.struct([("n", pa.int32())]))),
        ("ns", pa.list_(pa.int64())),
    ]
)


def nulls_of_libraries() -> Iterator[Any]:
    numpy = pytest.importorskip("numpy")
    yield pytest.param(numpy.datetime64("NaT"), id="numpy NaT")
    yield pytest.param(pa.scalar(None), id="null of Arrow")
    with contextlib.suppress(ImportError):
        import pandas

        yield pytest.param(pandas.NaT, id="NaT")
        yield pytest.param(pandas.NA, id="NA")


@pytest.mark.parametrize("null", list(nulls_of_libraries()))
def test_nulls_of_libraries_are_null(null: Any, tmp_path: Path) -> None:
    """Arrow converts NaT to 0001-01-01 in a column of dates."""
    table = dr.create_table(tmp_path / "t", TYPES)
    table.append([{**dict.fromkeys(TYPES.names, null), "ns": [null], "p": {"n": null}}])
    table.append({name: [null] for name in TYPES.names})
    inside = dict.fromkeys(TYPES.names) | {"ns": [None], "p": {"n": None}}
    stored = table.snapshot().scan().to_arrow().to_pylist()
    assert sorted(stored, key=str) == sorted([inside, dict.fromkeys(TYPES.names)], key=str)


def values_of_other_classes() -> Iterator[Any]:
    """Yield a column, a value, and the stored Python value; ``None`` if the value is refused."""
    numpy = pytest.importorskip("numpy")
    noon = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.timezone.utc)
    day = datetime.date(2026, 1, 31)
    yield pytest.param("n", uuid.UUID(int=1), None, id="a UUID is not a number")
    yield pytest.param("d", uuid.UUID(int=1), None, id="a UUID is not a date")
    yield pytest.param("n", Fraction(3, 2), None, id="a fraction")
    yield pytest.param("n", numpy.complex128(1 + 2j), None, id="a complex number")
    yield pytest.param("n", numpy.timedelta64(1, "s"), None, id="a span of numpy")
    yield pytest.param("d", numpy.bool_(True), None, id="a bool of numpy is not a date")
    yield pytest.param("n", numpy.datetime64(5, "ns"), None, id="nanoseconds are no number")
    yield pytest.param("d", numpy.datetime64(2**62, "D"), None, id="beyond all years")
    yield pytest.param("at", numpy.datetime64(2**62, "s"), None, id="beyond all years, seconds")
    yield pytest.param("n", numpy.uint64(7), 7, id="a number of numpy")
    yield pytest.param("f", numpy.float16(1.5), 1.5, id="a half of numpy")
    yield pytest.param("n", pa.scalar(7), 7, id="a scalar of Arrow")
    yield pytest.param("s", memoryview(b"a"), "a", id="a view of memory")
    # picoseconds only cover some months around 1970
    second = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)
    moments = {"D": day, **dict.fromkeys(("s", "ms", "us", "ns"), noon), "ps": second}
    for unit, value in moments.items():
        timestamp = numpy.datetime64(value.isoformat()[:19], unit)
        column = "d" if unit == "D" else "at"
        yield pytest.param(column, timestamp, value, id=f"datetime64[{unit}]")
    with contextlib.suppress(ImportError):
        import pandas

        timestamp = pandas.Timestamp("2026-01-31T13:00:00.000000001", tz="Europe/Berlin")
        yield pytest.param("at", timestamp, noon, id="a Timestamp of pandas")


@pytest.mark.parametrize(("column", "value", "stored"), list(values_of_other_classes()))
def test_values_of_other_classes_are_converted_or_refused(
    column: str, value: Any, stored: Any, tmp_path: Path
) -> None:
    """Arrow calls ``int(value)`` on unknown classes."""
    table = dr.create_table(tmp_path / "t", TYPES)
    rows: Any
    for rows in ([{column: value}], {column: [None, value]}):
        if stored is None:
            with pytest.raises(dr.InvalidArgumentError) as caught:
                table.append(rows)
            assert caught.value.code == "rows.type"
        else:
            table.append(rows)
            assert stored in table.snapshot().scan([column]).to_arrow()[column].to_pylist()
    if column == "n":
        for rows in ([{"p": {"n": value}}], [{"ns": [value]}]):
            if stored is None:
                with pytest.raises(dr.InvalidArgumentError) as caught:
                    table.append(rows)
                assert caught.value.code == "rows.type"
            else:
                table.append(rows)


@pytest.mark.parametrize("declared", [False, True])
def test_nulls_in_required_nested_fields_are_refused(declared: bool, tmp_path: Path) -> None:
    """Whether the rows are dicts, or Arrow with a type that wrongly excludes nulls."""
    inner = pa.struct([pa.field("oid", pa.string(), nullable=False)])
    types = pa.schema([("id", pa.int64()), ("p", inner), ("ps", pa.list_(inner))])
    table = dr.create_table(tmp_path / "t", types)
    for row in ({"p": {"oid": None}}, {"ps": [{"oid": "a"}, {"oid": None}]}):
        rows: Any = pa.Table.from_pylist([row], schema=types) if declared else [row]
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.append(rows)
        assert caught.value.code == "rows.null"
    table.append([{"p": {"oid": "a"}, "ps": [{"oid": "b"}, None]}])
    assert table.snapshot().num_rows == 1


def test_columns_of_nulls_take_the_type_of_dicts(tmp_path: Path) -> None:
    """As for rows in Arrow."""
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("x", pa.null())]))
    rows = [{"id": 1, "x": 2.5}]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append(rows)
    assert caught.value.code == "rows.type"
    table.append(rows, schema_mode="merge")
    assert table.snapshot().scan().to_arrow().to_pylist() == rows


#: Types of columns, and values of another type that Spark stores in ANSI mode, or refuses.
OTHER_TYPES = [
    (pa.int32(), " 12 "),
    (pa.int32(), "2.5"),
    (pa.float64(), "1e3"),
    (pa.decimal128(10, 2), "9.999"),
    (pa.decimal128(10, 2), 1.5),
    (pa.bool_(), "true"),
    (pa.bool_(), "maybe"),
    (pa.date32(), "2026-01-31"),
    (pa.timestamp("us", "UTC"), "2026-01-31 05:00:00"),
    (pa.timestamp("us", "UTC"), datetime.date(2026, 1, 31)),
    (pa.timestamp("us"), "yesterday"),
    (pa.string(), 5),
    (pa.string(), 1.5),
    (pa.string(), True),
    (pa.string(), datetime.date(2026, 1, 31)),
]


@pytest.mark.parametrize(("type_", "value"), OTHER_TYPES)
@pytest.mark.parametrize("where", ["column", "field", "element", "value"])
def test_values_of_other_types_are_stored_as_those_of_arrow(
    tmp_path: Path, type_: pa.DataType, value: Any, where: str
) -> None:
    own = pa.array([value]).type
    column, stored = {
        "column": (lambda of: of, value),
        "field": (lambda of: pa.struct([("a", of)]), {"a": value}),
        "element": (pa.list_, [value]),
        "value": (lambda of: pa.map_(pa.string(), of), {"x": value}),
    }[where]
    arrow = pa.table({"c": pa.array([_pairs(stored, where)], column(own))})
    results = []
    for name, rows in (("arrow", arrow), ("dicts", [{"c": stored}])):
        table = dr.create_table(tmp_path / name, pa.schema([("c", column(type_))]))
        try:
            table.append(rows)
        except dr.InvalidArgumentError as error:
            results.append((error.code, str(error)))
        else:
            results.append(("stored", table.snapshot().scan().to_arrow()["c"].to_pylist()))
    assert results[0] == results[1]
    assert (results[0][0] == "stored") == (value not in ("2.5", "maybe", "yesterday"))


def _pairs(value: Any, where: str) -> Any:
    """Return a map as the pairs that Arrow takes."""
    return list(value.items()) if where == "value" else value


@pytest.mark.parametrize(
    ("name", "nested"), [("Object", False), ("Int128", False), ("Int128", True)]
)
def test_types_that_only_polars_has_are_refused(
    name: str, nested: bool, table: dr.Table, tmp_path: Path
) -> None:
    """Object has only addresses in an Arrow stream."""
    polars = pytest.importorskip("polars")
    column = polars.Series("id", [2**70], dtype=getattr(polars, name))
    frame = polars.DataFrame([column])
    if nested:
        frame = frame.select(polars.struct("id").alias("id"))
    for write in (table.append, lambda rows: dr.write(tmp_path / "new", rows)):
        with pytest.raises(dr.InvalidArgumentError, match=f"'id'.*{name}") as caught:
            write(frame)
        assert caught.value.code == "rows.type"


def test_runs_are_rows_of_new_tables(tmp_path: Path) -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([7, None]))
    dr.write(tmp_path / "t", pa.table({"a": runs}))
    assert pa.table(dr.Table(tmp_path / "t").snapshot())["a"].to_pylist() == [7, 7, None]


@pytest.mark.parametrize("values", [[2**63], [1, "x"]], ids=["too large", "mixed"])
def test_values_of_no_type_are_refused_with_the_type_of_the_table(
    values: list[Any], tmp_path: Path
) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("n", pa.int64())]))
    with pytest.raises(dr.InvalidArgumentError, match="'n' is int64 in the table") as caught:
        table.append({"n": values})
    assert caught.value.code == "rows.type"
