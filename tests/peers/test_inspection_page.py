"""The calls on the page about inspecting a table with several libraries."""

from __future__ import annotations

import shlex
import warnings
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import inspection_page

import deltareplay as dr

deltalake = pytest.importorskip("deltalake")
polars = pytest.importorskip("polars")
pytest.importorskip("typer", reason="needs the extra `cli`")


TIMESTAMP = datetime(2026, 11, 21, 12, 41, 56, tzinfo=timezone.utc)
#: Calls that run until they are stopped.
ENDLESS = {"deltareplay watch orders"}


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return inspection_page.write_table(tmp_path_factory.mktemp("inspected"))


def value(code: str, path: Path) -> Any:
    table = dr.Table(path)
    names = {
        "path": str(path),
        "table": table,
        "snapshot": table.snapshot(),
        "DeltaTable": deltalake.DeltaTable,
        "dt": deltalake.DeltaTable(path),
        "polars": polars,
        "lf": polars.scan_delta(str(path)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return eval(code, names)


@pytest.mark.parametrize("code", inspection_page.calls("deltareplay"))
def test_calls_of_deltareplay(code: str, orders: Path, monkeypatch, capsys, tmp_path: Path) -> None:
    if not code.startswith("deltareplay "):
        assert value(code, orders) is not None
        return
    from deltareplay.cli import main

    if code in ENDLESS:
        code += " --from 0 --limit 1"
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(code)[1:]
    assert main([str(orders) if item == "orders" else item for item in arguments]) == 0
    assert capsys.readouterr().out


#: Calls that are refused, as on the page.
REFUSED = {"dt.to_pandas()"}


@pytest.mark.parametrize("library", ["deltalake", "Polars"])
def test_calls_of_other_libraries(library: str, orders: Path) -> None:
    result = inspection_page.calls(library)
    assert len(result) > 5
    for code in result:
        if code in REFUSED:
            with pytest.raises(Exception, match="deletionVectors"):
                value(code, orders)
        else:
            assert value(code, orders) is not None, code


def test_wrong_results_of_other_libraries(orders: Path) -> None:
    dt = deltalake.DeltaTable(orders)
    assert (dt.count(), dr.Table(orders).snapshot().num_rows) == (272, 259)
    dt.load_as_version(TIMESTAMP)
    theirs = polars.scan_delta(str(orders), version=TIMESTAMP).select(polars.len()).collect().item()
    ours = dr.Table(orders).snapshot(timestamp=TIMESTAMP)
    assert (dt.version(), theirs) == (0, 0)
    assert (ours.version, ours.num_rows) == (4, 170)


def test_deltalake_reports_rewritten_rows_as_inserts(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path, pa.table({"id": [1, 2, 3]}))
    deltalake.DeltaTable(tmp_path).update({"id": "20"}, predicate="id = 2")
    theirs = pa.table(deltalake.DeltaTable(tmp_path).load_cdf(1, 1).read_all())
    kinds = zip(theirs["_change_type"].to_pylist(), theirs["id"].to_pylist(), strict=True)
    assert sorted(id for kind, id in kinds if kind == "insert") == [1, 3, 20]
    ours = dr.Table(tmp_path).changes(1, 1).to_arrow()
    assert sorted(ours["id"].to_pylist()) == [2, 20]
