"""Rows as DataFrames, files as URIs."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltareplay as dr


def holders(table: dr.Table) -> dict[str, Any]:
    """Return an object of each class that has rows."""
    return {
        "snapshot": table.snapshot(),
        "scan": table.snapshot().scan(),
        "split": table.snapshot().scan().splits()[0],
        "changes": table.changes(0),
        "change split": table.changes(0).splits()[0],
        "batch": next(table.follow(available_now=True)),
    }


def test_dates_that_python_lacks(tmp_path: Path) -> None:
    """Years of Spark go to 5,881,580."""
    far = pa.array([2_932_897, -719_163], pa.int32()).cast(pa.date32())  # 10000 and 0
    table = dr.write(tmp_path, pa.table({"day": far, "id": [1, 2]})) and dr.Table(tmp_path)
    with pytest.raises(dr.UnsupportedFeatureError, match="date_as_object=False") as caught:
        table.snapshot().scan().to_pandas()
    assert caught.value.code == "rows.pandas"
    frame = table.snapshot().to_arrow().to_pandas(date_as_object=False)
    assert frame["day"].astype(str).tolist() == ["10000-01-01", "0000-12-31"]
    assert table.snapshot().scan(columns=["id"]).to_pandas()["id"].tolist() == [1, 2]


@pytest.mark.parametrize("name", ["snapshot", "scan", "split", "changes", "change split", "batch"])
def test_frames_have_the_rows(name: str, rows: dr.Table) -> None:
    holder = holders(rows)[name]
    expected = pa.table(holder)
    assert expected.num_rows > 0
    assert holder.to_arrow().equals(expected)
    frame = holder.to_pandas()
    assert type(frame).__module__.startswith("pandas")
    assert frame["id"].tolist() == expected["id"].to_pylist()
    assert list(frame.columns) == expected.column_names
    polars = holder.to_polars()
    assert type(polars).__module__.startswith("polars")
    assert polars["id"].to_list() == expected["id"].to_pylist()
    assert polars.columns == expected.column_names


def test_file_uris_are_readable(tmp_path: Path) -> None:
    path = tmp_path / "a b%"
    day = datetime.datetime(2026, 1, 2, 3, 4)
    dr.write(
        path, {"id": [1, 2], "p": ["ü/ü %", None], "t": [day, day]}, partition_columns=["p", "t"]
    )
    snapshot = dr.Table(path).snapshot()
    result = snapshot.file_uris()
    assert len(result) == 2
    for uri in result:
        parts = urlsplit(uri)
        assert parts.scheme == "file"
        assert pq.read_table(Path(unquote(parts.path)), partitioning=None).column_names == ["id"]
    [first] = snapshot.file_uris(filter="p IS NULL")
    assert first in result
    assert "__HIVE_DEFAULT_PARTITION__" in first


def test_uris_of_a_shallow_clone_are_those_of_its_source(rows: dr.Table, tmp_path: Path) -> None:
    clone = rows.clone(tmp_path / "clone")
    assert clone.snapshot().file_uris() == rows.snapshot().file_uris()
    without_roots = dr.Table(clone.uri)
    with pytest.raises(dr.CorruptTableError) as caught:
        without_roots.snapshot().file_uris()
    assert caught.value.code == "path.escapes_root"


def test_the_type_of_filters_is_exported() -> None:
    filters: list[dr.Filter] = ["id > 1", [("id", ">", 1)], [[("id", "=", 1)], [("id", "=", 2)]]]
    assert filters, "the types are checked by mypy"
    assert "Filter" in dr.__all__
