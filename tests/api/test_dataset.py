"""``Snapshot.dataset``: live rows for pyarrow's datasets, with pushdown if that is correct."""

from __future__ import annotations

import datetime
import math
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pds
import pytest
from support.files import local_path

import deltareplay as dr
from deltareplay._arrow.arrow_expressions import ArrowExpression
from deltareplay._snapshot.dataset import RowsDataset

DAY = datetime.date(2026, 1, 1)
AT = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)
SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("p", pa.string()),
        ("x", pa.float64()),
        ("f", pa.float32()),
        ("ok", pa.bool_()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("m", pa.decimal128(9, 2)),
        ("s", pa.struct([("a`b", pa.int64())])),
    ]
)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> dr.Snapshot:
    """A table of twelve rows in six files, one row deleted by a vector, with nulls and NaN."""
    path = tmp_path_factory.mktemp("dataset") / "t"
    table = dr.create_table(path, SCHEMA, ["p"], {"delta.enableDeletionVectors": "true"})
    for start in (0, 4, 8):
        table.append([row(number) for number in range(start, start + 4)])
    table.delete("id = 5")
    return table.snapshot()


def row(number: int) -> dict[str, Any]:
    if number % 7 == 3:
        return {"id": number, "p": "ab"[number % 2]}
    return {
        "id": number,
        "p": "ab"[number % 2],
        "x": math.nan if number == 6 else number / 2,
        "f": number / 10,
        "ok": number % 3 == 0,
        "d": DAY + datetime.timedelta(days=number),
        "t": AT + datetime.timedelta(hours=number),
        "m": Decimal(number),
        "s": {"a`b": number},
    }


F = pds.field
#: Filters of pyarrow, and how much of each is pushed down: all, a part or nothing.
FILTERS: dict[str, tuple[Any, str]] = {
    "number": (F("id") > 6, "all"),
    "operands swapped": (pc.scalar(6) >= F("id"), "all"),
    "text": (F("p") == "a", "all"),
    "both": ((F("id") > 2) & (F("p") != "a"), "all"),
    "either": ((F("id") > 9) | (F("id") == 1), "all"),
    "among": (F("id").isin([1, 2, 50]), "all"),
    "among, with null": (F("x").isin([1.0, None]), "nothing"),
    "null": (F("x").is_null(), "all"),
    "null or NaN": (F("x").is_null(nan_is_null=True), "nothing"),
    "no null": (F("x").is_valid(), "all"),
    "flag": (F("ok"), "all"),
    "no flag": (~F("ok"), "nothing"),
    "date": (F("d") >= DAY + datetime.timedelta(days=7), "all"),
    "timestamp": (F("t") < AT + datetime.timedelta(hours=3), "all"),
    "decimal": (F("m") <= pa.scalar(Decimal(4), pa.decimal128(9, 2)), "all"),
    "in a struct": (F("s", "a`b") == 4, "all"),
    "double": (F("x") > 2.5, "all"),  # NaN satisfies this in SQL, and not in pyarrow
    "not equal to NaN": (F("x") != math.nan, "nothing"),
    "float": (F("f") < 0.3, "nothing"),
    "computed": (pc.add(F("id"), 1) == 4, "nothing"),
    "computed, and more": ((pc.add(F("id"), 1) > 4) & (F("p") == "b"), "part"),
    "computed, or more": ((pc.add(F("id"), 1) > 4) | (F("p") == "b"), "nothing"),
    "negated": (~(F("x") > 2.5), "nothing"),
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters_select_the_same_rows_as_pyarrow(name: str, snapshot: dr.Snapshot) -> None:
    filter, pushed = FILTERS[name]
    in_memory = pds.dataset(snapshot.to_arrow())
    for columns in (None, ["id"], ["x", "p"], {"twice": F("id") * 2, "day": F("d")}):
        expected = in_memory.to_table(columns, filter=filter)
        result = snapshot.dataset().to_table(columns, filter=filter)
        assert result.schema == expected.schema
        assert str(result.to_pylist()) == str(expected.to_pylist())  # as text, NaN equals NaN
    assert in_memory.count_rows() == 11
    assert snapshot.dataset().count_rows(filter) == in_memory.count_rows(filter)
    expression = ArrowExpression.of(filter, snapshot.schema)
    assert expression is not None
    assert (expression.sql is None) == (pushed == "nothing")
    if expression.sql is not None:
        left = snapshot.scan(filter=expression.sql).count()
        if pushed == "part":
            assert in_memory.count_rows(filter) < left < 11
        elif name != "double":
            assert left == in_memory.count_rows(filter)


def test_padded_strings_are_compared_by_arrow(tmp_path: Path) -> None:
    field = pa.field("c", pa.string(), metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(4)"})
    table = dr.create_table(tmp_path / "t", pa.schema([field]))
    table.append({"c": ["ab", "cd"]})
    snapshot = table.snapshot()
    for filter in (F("c") != "ab", F("c") == "ab", F("c") == "ab  ", F("c").isin(["cd"])):
        expected = pds.dataset(snapshot.to_arrow()).to_table(filter=filter)["c"].to_pylist()
        assert snapshot.dataset().to_table(filter=filter)["c"].to_pylist() == expected


def test_scans_read_only_the_columns_that_are_needed(
    snapshot: dr.Snapshot, monkeypatch: Any
) -> None:
    requested: list[Any] = []
    scan = dr.Snapshot.scan

    def recorded(
        self: dr.Snapshot, columns: Any = None, filter: Any = None, **more: Any
    ) -> dr.Scan:
        requested.append((columns, filter))
        return scan(self, columns, filter, **more)

    monkeypatch.setattr(dr.Snapshot, "scan", recorded)
    dataset = snapshot.dataset()
    dataset.to_table(["d"], filter=F("id") > 6)
    dataset.to_table({"y": F("x") * F("m")}, filter=F("p") == "a")
    dataset.filter(F("ok")).filter(F("id") > 1).to_table(["ok"])
    dataset.head(1)
    assert requested == [
        (["id", "d"], "`id` > 6"),
        (["p", "x", "m"], "`p` = 'a'"),
        (["id", "ok"], "(`ok` AND `id` > 1)"),
        (None, None),
    ]


def test_every_method_reads_live_rows(snapshot: dr.Snapshot, tmp_path: Path) -> None:
    dataset = snapshot.dataset()
    rows = snapshot.to_arrow()
    assert dataset.schema == rows.schema
    assert dataset.count_rows() == 11
    assert dataset.head(3).num_rows == 3
    assert dataset.take([0, 5]).select(["id", "p"]) == rows.select(["id", "p"]).take([0, 5])
    assert sum(batch.num_rows for batch in dataset.to_batches()) == 11
    assert dataset.scanner(["id"], batch_size=2).to_table().num_rows == 11
    ordered = dataset.sort_by([("id", "descending")]).to_table()["id"].to_pylist()
    assert ordered == sorted(rows["id"].to_pylist(), reverse=True)
    plain = pds.dataset(rows.select(["id", "p"]))
    dr.write(tmp_path / "t", plain.to_table())
    small = dr.Table(tmp_path / "t").snapshot().dataset().filter(F("id") < 3)
    assert small.join(plain, "id", right_suffix="_r").to_table().num_rows == 3
    assert small.join(small, "id", right_suffix="_r").to_table().num_rows == 3
    ordered = small.sort_by("id")
    assert ordered.join_asof(ordered, on="id", by="p", tolerance=1).to_table().num_rows == 3
    unpickled = pickle.loads(pickle.dumps(dataset.filter(F("id") < 3)))
    assert unpickled.count_rows() == 3


def test_every_method_of_a_dataset_is_overridden_or_correct() -> None:
    """Methods based on ``scanner`` are correct; all others must be overridden."""
    by_scanner = {"head", "take", "to_batches", "to_table"}
    harmless = {"schema", "partition_expression"}
    public = {name for name in dir(pds.UnionDataset) if not name.startswith("_")}
    assert public - set(vars(RowsDataset)) == by_scanner | harmless


@pytest.mark.parametrize(
    "call",
    [
        lambda dataset: dataset.get_fragments(),
        lambda dataset: dataset.replace_schema(SCHEMA),
        lambda dataset: dataset.children,
    ],
)
def test_methods_that_would_return_wrong_results_are_refused(
    call: Any, snapshot: dr.Snapshot
) -> None:
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        call(snapshot.dataset())
    assert caught.value.code == "dataset.method"


def test_bypassing_the_methods_of_a_dataset_is_an_error(snapshot: dr.Snapshot) -> None:
    dataset = snapshot.dataset()
    with pytest.raises(FileNotFoundError, match="use the dataset's own methods"):
        pds.Scanner.from_dataset(dataset).to_table()
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        pds.dataset([dataset, dataset])
    assert caught.value.code == "dataset.method"


def test_an_error_keeps_its_class(tmp_path: Path) -> None:
    dr.write(tmp_path / "t", {"id": [1]})
    snapshot = dr.Table(tmp_path / "t").snapshot()
    for uri in snapshot.file_uris():
        local_path(uri).unlink()
    with pytest.raises(dr.CorruptTableError) as caught:
        snapshot.dataset().to_table()
    assert caught.value.code == "data.missing"


def test_duckdb_and_polars_read_a_dataset(snapshot: dr.Snapshot) -> None:
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    dataset = snapshot.dataset()
    assert dataset.schema  # the name is used by the query
    reported = duckdb.sql(
        "SELECT p, count(*), sum(id) FROM dataset WHERE id > 2 GROUP BY p ORDER BY p"
    )
    assert reported.fetchall() == [("a", 4, 28), ("b", 4, 30)]
    lazy = pl.scan_pyarrow_dataset(dataset).filter((pl.col("id") > 2) & (pl.col("p") == "a"))
    assert sorted(lazy.select("id").collect()["id"].to_list()) == [4, 6, 8, 10]


def test_a_filter_of_many_terms(snapshot: dr.Snapshot) -> None:
    many = F("id") == -1
    for number in range(3000):
        many |= F("id") == number
    everything = pds.dataset(snapshot.scan().to_arrow()).to_table(filter=many)
    assert snapshot.dataset().to_table(filter=many).num_rows == everything.num_rows > 0


def test_filters_with_years_that_python_lacks(tmp_path: Path) -> None:
    days = pa.array([-800_000, 0, 2_932_897], pa.int32()).cast(pa.date32())
    times = pa.array([-(2**62), 0, 2**62]).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    dr.write(tmp_path, pa.table({"n": [1, 2, 3], "day": days, "at": times}))
    rows = dr.Table(tmp_path).snapshot().dataset()
    for name, values in {"day": days, "at": times}.items():
        column = F(name)
        for condition in (column >= values[2], column.isin(values.slice(2))):
            assert rows.to_table(filter=condition)["n"].to_pylist() == [3]
        assert rows.to_table(filter=column <= values[0])["n"].to_pylist() == [1]
