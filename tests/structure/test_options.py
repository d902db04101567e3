"""The tables of options in ``docs/spark.md`` have the options that the format supports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deltareplay.spark.format.options import OPTIONS, Use, option

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "spark.md").read_text("utf-8")
SECTIONS = {
    '## `spark.read.format("deltareplay")`': Use.BATCH | Use.CHANGES,
    '### `spark.readStream.format("deltareplay")`': Use.STREAM,
    '### `df.write.format("deltareplay")` and `writeStream`': Use.WRITE | Use.REPLACE,
}


def rows(heading: str) -> list[str]:
    """Return the first cells of the table in a section, without those of subsections."""
    [text] = re.findall(rf"(?ms)^{re.escape(heading)}$(.*?)(?=^##|\Z)", PAGE)
    return [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]


def names(cells: list[str]) -> list[str]:
    return [name for cell in cells for name in re.findall(r"`([\w.<>]+)`", cell)]


@pytest.mark.parametrize("heading", SECTIONS)
def test_a_table_has_the_options_of_its_calls(heading: str) -> None:
    documented = names(rows(heading))
    supported = {entry.name for entry in OPTIONS if entry.listed and entry.uses & SECTIONS[heading]}
    assert len(documented) == len(set(documented))
    assert set(documented) == supported - {"path"}  # of load and save


def test_the_name_delta() -> None:
    """Each option of delta-spark on the page works, or is listed as an error."""
    *others, last = rows("## The name `delta`")
    assert "any other option" in last
    assert [name for name in names([last]) if option(name)] == []
    assert len(names([last])) > 4
    documented = [entry for entry in map(option, names(others)) if entry is not None]
    assert all(entry.listed for entry in documented)
    assert {entry.name for entry in OPTIONS if entry.listed} - {
        entry.name for entry in documented
    } == {
        "partitionBy",  # in the cell of its method
        *("path", "allowedRoots", "storage.<key>", "filter", "splitSize"),
        *("withRowId", "withFilePath", "withRowIndex", "changeKind", "changeKey", "changeDeleted"),
    }
