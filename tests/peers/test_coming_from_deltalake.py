"""Each row of the page for those who come from deltalake: both calls do the same to one table."""

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
    time.sleep(0.1)  # so that a moment lies between the two
    deltalake.DeltaTable(path).delete("id = 4")
    return path


@pytest.fixture
def copies(written: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Theirs and ours; each with Parquet files that are no table beside it."""
    for one in ("theirs", "ours"):
        shutil.copytree(written, tmp_path / one / "t")
        (tmp_path / one / "parquet").mkdir()
        pq.write_table(NEW, tmp_path / one / "parquet" / "part.parquet")
    return tmp_path / "theirs" / "t", tmp_path / "ours" / "t"


def names(path: Path) -> dict[str, Any]:
    """What the page says that the names mean."""
    table = dr.Table(path)
    moment = table.snapshot(2).timestamp + timedelta(milliseconds=20)
    return {
        **{name: getattr(deltalake, name) for name in dir(deltalake) if name[0] != "_"},
        "dr": dr,
        "pa": pa,
        "polars": polars,
        "timedelta": timedelta,
        "moment": moment,
        "dt": deltalake.DeltaTable(path),
        "table": table,
        "snapshot": table.snapshot(),
        "schema": SCHEMA,
        "new": NEW,
        "wider": NEW.append_column("note", pa.array(["a", "b"])),
        "parquet": str(path.parent / "parquet"),
    }


def as_rows(found: Any) -> list[str]:
    """Rows of anything that is Arrow, pandas or Polars, in one order, by plain values."""
    if hasattr(found, "to_dict") and hasattr(found, "iloc"):
        found = pa.Table.from_pandas(found, preserve_index=False)
    table = found if isinstance(found, pa.Table) else pa.table(found)
    return sorted(str(sorted(row.items())) for row in table.to_pylist())


def paths(found: Any) -> list[str]:
    """Paths below the table root, from URIs or from a column."""
    if not isinstance(found, list):
        found = pa.table(found)["path"].to_pylist()
    return sorted(unquote("country=" + path.rpartition("country=")[2]) for path in found)


def commits(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """Version and operation of each commit; deltalake's times are not those of the files."""
    return [(int(one["version"]), one["operation"]) for one in found]


def statistics(found: Any) -> list[tuple[str, int, int, Any]]:
    table = pa.table(found)
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


def partitions(found: Any) -> set[str]:
    if isinstance(found, list):
        return {one["country"] for one in found}
    return {dict(one)["country"] for one in pa.table(found)["partitionValues"].to_pylist()}


def version_of(found: Any) -> int:
    return found.version() if callable(getattr(found, "version", None)) else found.version


def fields(found: Any) -> Any:
    return [(one.name, str(one.type).replace("_view", ""), one.nullable) for one in found]


def changes(found: Any) -> list[tuple[Any, ...]]:
    names = ["id", "amount", "_change_type", "_commit_version"]
    return sorted(tuple(row[name] for name in names) for row in pa.table(found).to_pylist())


def files_of(found: Any) -> list[str]:
    # deltalake never deletes change data
    return sorted(unquote(one) for one in found if not one.startswith("_change_data"))


#: What is compared of the values, by the title of a row. The other rows change the table, or return
#: what can be compared as it is.
VALUE: dict[str, Callable[[Any], Any]] = {
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
#: What shows that a call did its work, if rows, columns and properties stay as they are.
TRACE: dict[str, Callable[[Path], Any]] = {
    "let a column be null": lambda path: dr.Table(path).snapshot().schema.field("id").nullable,
    "add a constraint": lambda path: [*dr.Table(path).history()["operation"].to_pylist()][:1],
    "add a feature": lambda path: "deletionVectors" in dr.Table(path).snapshot().protocol.features,
    "append or create": lambda path: state(path.parent / "t-new"),
    "create": lambda path: state(path.parent / "t-new"),
    "convert Parquet files": lambda path: state(path.parent / "parquet"),
    "pack small files": lambda path: dr.Table(path).snapshot().num_files,
    "order rows": lambda path: [*dr.Table(path).history()["operation"].to_pylist()][:1],
    "vacuum": lambda path: sorted(len(list(one.glob("*.parquet"))) for one in path.glob("c*")),
    "checkpoint": lambda path: [one.name for one in path.glob("_delta_log/*.checkpoint.parquet")],
    "compact the log": lambda path: [one.name for one in path.glob("_delta_log/*.compacted.json")],
    "manifests": lambda path: sorted(
        str(one.relative_to(path)) for one in path.glob("_symlink_format_manifest/**/manifest")
    ),
}
#: Calls that find nothing to do here.
NOTHING_TO_DO = {"create, if there is none", "clean the log", "leave a table as it is"}


def state(path: Path) -> dict[str, Any]:
    """What a table is now, read by deltareplay."""
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
    found = run(row.ours, of_ours, ours)
    if expected is None:  # what the call has changed
        expected = of_theirs["dt"]
    assert state(ours) == state(theirs)
    if row.title in TRACE:
        assert TRACE[row.title](ours) == TRACE[row.title](theirs)
        assert TRACE[row.title](ours)
    elif row.title in VALUE:
        value = VALUE[row.title](found)
        assert value
        assert value == VALUE[row.title](expected)
    elif state(ours) == before and row.title not in NOTHING_TO_DO:
        assert found is not None
        assert found == expected


def test_what_is_compared_is_on_the_page() -> None:
    titles = {row.title for row in ROWS}
    assert len(titles) > 50
    assert {*VALUE, *TRACE, *NOTHING_TO_DO} <= titles


def test_every_call_of_deltalake_is_on_the_page() -> None:
    from deltalake.table import TableAlterer, TableMerger, TableOptimizer

    page = (ROOT / "docs" / "migration" / "deltalake.md").read_text(encoding="utf-8")
    for owner in (deltalake.DeltaTable, TableAlterer, TableMerger, TableOptimizer):
        names = {name for name in vars(owner) if not name.startswith("_")}
        assert names
        assert {name for name in names if not re.search(rf"\b{name}\b", page)} == set()
