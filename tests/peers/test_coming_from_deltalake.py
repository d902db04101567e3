"""Each row of the page for users of deltalake: both calls have the same effect on one table."""

from __future__ import annotations

import re
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.calls import Row, rows, run
from support.pages import ROOT

import deltareplay as dr

deltalake = pytest.importorskip("deltalake")
polars = pytest.importorskip("polars")
ROWS = rows("deltalake")

ID = pa.field("id", pa.int64(), nullable=False)
SCHEMA = pa.schema([ID, ("country", pa.string()), ("amount", pa.float64())])
NEW = pa.table({"id": [1, 9], "country": ["FR", "FR"], "amount": [99.0, 9.0]}, SCHEMA)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four versions by deltalake: rows, a constraint, rows of an application, a delete."""
    path = tmp_path_factory.mktemp("written") / "t"
    first = pa.table({"id": [1, 2], "country": ["DE", "FR"], "amount": [10.0, 20.0]}, SCHEMA)
    deltalake.write_deltalake(
        path,
        first,
        partition_by=["country"],
        configuration={"delta.enableChangeDataFeed": "true"},
    )
    deltalake.DeltaTable(path).alter.add_constraint({"known": "id > 0"})
    second = pa.table({"id": [3, 4], "country": ["DE", "DE"], "amount": [30.0, 40.0]}, SCHEMA)
    batch = deltalake.CommitProperties(app_transactions=[deltalake.Transaction("nightly", 7)])
    deltalake.write_deltalake(path, second, mode="append", commit_properties=batch)
    time.sleep(0.1)  # so that a timestamp is between the two
    deltalake.DeltaTable(path).delete("id = 4")
    return path


@pytest.fixture
def copies(written: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two copies, for deltalake and for deltareplay, each next to plain Parquet files."""
    for item in ("theirs", "ours"):
        shutil.copytree(written, tmp_path / item / "t")
        (tmp_path / item / "parquet").mkdir()
        pq.write_table(NEW, tmp_path / item / "parquet" / "part.parquet")
    return tmp_path / "theirs" / "t", tmp_path / "ours" / "t"


def names(path: Path) -> dict[str, Any]:
    """Return the values of the names on the page."""
    table = dr.Table(path)
    timestamp = table.snapshot(2).timestamp + timedelta(milliseconds=20)
    return {
        **{name: getattr(deltalake, name) for name in dir(deltalake) if name[0] != "_"},
        "dr": dr,
        "pa": pa,
        "polars": polars,
        "timedelta": timedelta,
        "moment": timestamp,
        "dt": deltalake.DeltaTable(path),
        "table": table,
        "snapshot": table.snapshot(),
        "schema": SCHEMA,
        "new": NEW,
        "wider": NEW.append_column("note", pa.array(["a", "b"])),
        "parquet": str(path.parent / "parquet"),
    }


def as_rows(result: Any) -> list[str]:
    """Return rows of Arrow, pandas or Polars, sorted, as plain values."""
    if hasattr(result, "to_dict") and hasattr(result, "iloc"):
        result = pa.Table.from_pandas(result, preserve_index=False)
    table = result if isinstance(result, pa.Table) else pa.table(result)
    return sorted(str(sorted(row.items())) for row in table.to_pylist())


def paths(result: Any) -> list[str]:
    """Return paths below the table root, from URIs or from a column."""
    if not isinstance(result, list):
        result = pa.table(result)["path"].to_pylist()
    return sorted(unquote("country=" + path.rpartition("country=")[2]) for path in result)


def commits(result: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """Return version and operation of each commit; deltalake has other timestamps."""
    return [(int(item["version"]), item["operation"]) for item in result]


def statistics(result: Any) -> list[tuple[str, int, int, Any]]:
    table = pa.table(result)
    if "stats_parsed" in table.column_names:
        return sorted(
            (
                row["path"],
                row["size"],
                row["numRecords"],
                row["stats_parsed"]["minValues"]["id"],
            )
            for row in table.to_pylist()
        )
    return sorted(
        (row["path"], row["size_bytes"], row["num_records"], row["min"]["id"])
        for row in table.to_pylist()
    )


def partitions(result: Any) -> set[str]:
    if isinstance(result, list):
        return {item["country"] for item in result}
    return {dict(row)["country"] for row in pa.table(result)["partitionValues"].to_pylist()}


def version_of(result: Any) -> int:
    return result.version() if callable(getattr(result, "version", None)) else result.version


def fields(result: Any) -> Any:
    return [(item.name, str(item.type).replace("_view", ""), item.nullable) for item in result]


def changes(result: Any) -> list[tuple[Any, ...]]:
    names = ["id", "amount", "_change_type", "_commit_version"]
    return sorted(tuple(row[name] for name in names) for row in pa.table(result).to_pylist())


def files_of(result: Any) -> list[str]:
    # deltalake never deletes change data
    return sorted(unquote(item) for item in result if not item.startswith("_change_data"))


#: Functions of the compared values, by the title of a row. The other rows change the table, or
#: return values that can be compared as they are.
COMPARED_VALUES: dict[str, Callable[[Any], Any]] = {
    "open the newest version": version_of,
    "open an older version": version_of,
    "open by time": version_of,
    "catch up with new commits": version_of,
    "the location": lambda uri: Path(uri.removeprefix("file://")).name,
    "the schema as Arrow": fields,
    "the history": commits,
    "the newest commit": commits,
    "list the files": paths,
    "those of a partition": paths,
    "with sizes and statistics": statistics,
    "the partitions": partitions,
    "all rows": as_rows,
    "some columns": as_rows,
    "some rows": as_rows,
    "by a condition in SQL": as_rows,
    "stream them": as_rows,
    "pandas": as_rows,
    "Polars": as_rows,
    "a dataset": as_rows,
    "the change data feed": changes,
    "what would vacuum delete?": files_of,
}
#: The effect of a call that may leave rows, columns and properties unchanged, by title of a row.
EFFECTS: dict[str, Callable[[Path], Any]] = {
    "let a column be null": lambda path: dr.Table(path).snapshot().schema.field("id").nullable,
    "add a constraint": lambda path: dr.Table(path).history(limit=1)["operation"].to_pylist(),
    "add a feature": lambda path: "deletionVectors" in dr.Table(path).snapshot().protocol.features,
    "append or create": lambda path: state(path.parent / "t-new"),
    "create": lambda path: state(path.parent / "t-new"),
    "convert Parquet files": lambda path: state(path.parent / "parquet"),
    "pack small files": lambda path: dr.Table(path).snapshot().num_files,
    "order rows": lambda path: dr.Table(path).history(limit=1)["operation"].to_pylist(),
    "vacuum": lambda path: sorted(len(list(item.glob("*.parquet"))) for item in path.glob("c*")),
    "checkpoint": lambda path: [item.name for item in path.glob("_delta_log/*.checkpoint.parquet")],
    "compact the log": lambda path: [
        item.name for item in path.glob("_delta_log/*.compacted.json")
    ],
    "manifests": lambda path: sorted(
        str(item.relative_to(path)) for item in path.glob("_symlink_format_manifest/**/manifest")
    ),
}
#: Calls that change nothing in this table.
WITHOUT_EFFECT = {"create, if there is none", "clean the log", "leave a table as it is"}


def state(path: Path) -> dict[str, Any]:
    """Return the state of a table, read by deltareplay."""
    snapshot = dr.Table(path).snapshot()
    return {
        "rows": as_rows(snapshot.scan()),
        "columns": {field.name: field.type for field in snapshot.schema},
        "partition columns": snapshot.partition_columns,
        "properties": snapshot.properties,
        "description": snapshot.metadata.description,
        "transactions": snapshot.transactions,
    }


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_both_calls_do_the_same(row: Row, copies: tuple[Path, Path]) -> None:
    theirs, ours = copies
    before = state(ours)
    of_theirs, of_ours = names(theirs), names(ours)
    if row.title == "catch up with new commits":
        for path in copies:
            dr.Table(path).append(NEW)
    expected = run(row.theirs, of_theirs, theirs)
    result = run(row.ours, of_ours, ours)
    if expected is None:  # the changes of the call
        expected = of_theirs["dt"]
    assert state(ours) == state(theirs)
    if row.title in EFFECTS:
        assert EFFECTS[row.title](ours) == EFFECTS[row.title](theirs)
        assert EFFECTS[row.title](ours)
    elif row.title in COMPARED_VALUES:
        value = COMPARED_VALUES[row.title](result)
        assert value
        assert value == COMPARED_VALUES[row.title](expected)
    elif state(ours) == before and row.title not in WITHOUT_EFFECT:
        assert result is not None
        assert result == expected


def test_compared_calls_are_on_the_page() -> None:
    titles = {row.title for row in ROWS}
    assert len(titles) > 50
    assert {*COMPARED_VALUES, *EFFECTS, *WITHOUT_EFFECT} <= titles


def test_every_call_of_deltalake_is_on_the_page() -> None:
    from deltalake.table import TableAlterer, TableMerger, TableOptimizer

    page = (ROOT / "docs" / "migration" / "deltalake.md").read_text(encoding="utf-8")
    for owner in (deltalake.DeltaTable, TableAlterer, TableMerger, TableOptimizer):
        names = {name for name in vars(owner) if not name.startswith("_")}
        assert names
        assert {name for name in names if not re.search(rf"\b{name}\b", page)} == set()
