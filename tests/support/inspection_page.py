"""The page about inspecting a table with several libraries: its calls, and its table."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pyarrow as pa

import deltareplay as dr
from support.pages import PAGES, ROOT

TEXT = PAGES["docs/guide/inspecting.md"]
LIBRARIES = ("deltareplay", "deltalake", "delta-spark", "DuckDB", "Polars")
#: Matches code in a cell that is a call, not a keyword of SQL.
CALL = re.compile(r"deltareplay \w|(?:dt|lf|snapshot|table|polars)\.|DeltaTable\(\w")


def calls(library: str) -> list[str]:
    """Return the distinct calls in the column of a library."""
    column = 1 + LIBRARIES.index(library)
    rows = [line.split(" | ") for line in TEXT.splitlines() if line.startswith("| ")]
    assert {len(row) for row in rows} == {1 + len(LIBRARIES)}
    cells = [code for row in rows for code in re.findall("`([^`]+)`", row[column])]
    return list(dict.fromkeys(code for code in cells if CALL.match(code)))


def write_table(directory: Path) -> Path:
    """Write the table of the page."""
    path = directory / "orders"
    shutil.copytree(ROOT / "demo" / "orders", path)
    table = dr.Table(path)
    table.add_columns(pa.schema([("note", pa.string())]))
    table.set_properties({"delta.enableChangeDataFeed": "true"})
    table.update("id = 7", {"amount": "1"})
    table.delete("id = 8")
    return path
