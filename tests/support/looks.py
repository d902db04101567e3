"""The page that compares the output of libraries for a table: its calls, and its table."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pyarrow as pa

import deltareplay as dr
from support.pages import PAGES, ROOT

TEXT = PAGES["docs/guide/looking.md"]
LIBRARIES = ("deltareplay", "deltalake", "delta-spark", "DuckDB", "Polars")
#: The position of the code of a cell, if it is a call and not a keyword.
CALL = re.compile(r"deltareplay \w|(?:dt|lf|snapshot|table|polars)\.|DeltaTable\(\w")


def calls(library: str) -> list[str]:
    """Return the distinct calls in the column of a library."""
    column = 2 + LIBRARIES.index(library)
    rows = [line.split(" | ") for line in TEXT.splitlines() if line.startswith("| ")]
    assert {len(row) for row in rows} == {1 + len(LIBRARIES)}
    cells = [code for row in rows for code in re.findall("`([^`]+)`", row[column - 1])]
    return list(dict.fromkeys(code for code in cells if CALL.match(code)))


def written(directory: Path) -> Path:
    """Write the table of the page."""
    path = directory / "orders"
    shutil.copytree(ROOT / "demo" / "orders", path)
    table = dr.Table(path)
    table.add_columns(pa.schema([("note", pa.string())]))
    table.set_properties({"delta.enableChangeDataFeed": "true"})
    table.update("id = 7", {"amount": "1"})
    table.delete("id = 8")
    return path
