"""The pictures of the documentation agree with their text, and the example with the code."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import deltareplay as dr

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "diagrams"
TEXTS = sorted(FOLDER.glob("*.txt"))


def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw", FOLDER / "draw.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["draw"] = module  # required by dataclasses
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_each_picture_is_that_of_its_text(path: Path) -> None:
    result = path.with_suffix(".svg").read_text(encoding="utf-8")
    assert result == drawing().draw(path.read_text(encoding="utf-8")), "run docs/diagrams/draw.py"
    ElementTree.fromstring(result)
    pages = [page.read_text(encoding="utf-8") for page in FOLDER.parent.rglob("*.md")]
    assert any(f"diagrams/{path.stem}.svg)" in page for page in pages), "no page shows it"


def test_every_picture_has_a_text() -> None:
    assert [path.stem for path in TEXTS] == sorted(path.stem for path in FOLDER.glob("*.svg"))
    assert len(TEXTS) >= 3


def as_drawn(rows: list[dict[str, Any]]) -> str:
    """Return changes of one row in the format of the picture."""
    parts = []
    before: dict[int, str] = {}
    for row in rows:
        version, value = row["_commit_version"], row["v"]
        match row["_change_type"]:
            case "update_preimage":
                before[version] = value
            case "update_postimage" if version in before:
                parts.append(f"{version} update {before[version]} to {value}")
            case "update_postimage":
                parts.append(f"{version} update to {value}")
            case other:
                parts.append(f"{version} {other} {value}")
    return "; ".join(parts)


def test_the_four_queries_return_what_the_picture_shows(tmp_path: Path) -> None:
    head, *body = drawing().parse((FOLDER / "changes.txt").read_text(encoding="utf-8")).cells
    kinds = [cell[0] for cell in head][5:]
    output = {row[0][0]: ["; ".join(cell) for cell in row] for row in body}
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    tracked = {"delta.enableRowTracking": "true"}
    table = dr.create_table(tmp_path / "t", schema, properties=tracked)
    existing = [{"id": int(name[3:]), "v": row[1]} for name, row in output.items() if row[1]]
    table.append(existing)
    while table.snapshot().version < 4:
        table.set_properties({"filler": str(table.snapshot().version)})
    for step in (2, 3, 4):
        rows = []
        for name, row in output.items():
            if done := re.fullmatch(r"(\w+) ?(\w*)", row[step]):
                rows.append({"id": int(name[3:]), "v": done[2] or None})
        merge = table.merge(pa.Table.from_pylist(rows, schema), "id")
        merge.when_matched_delete("source.v IS NULL").when_matched_update_all()
        merge.when_not_matched_insert_all().execute()
    assert table.snapshot().version == 7
    for column, kind in enumerate(kinds, 5):
        result: dict[int, list[dict[str, Any]]] = {}
        changes = table.changes(5, 7, kind=kind).to_arrow().to_pylist()
        order = ["insert", "update_preimage", "update_postimage", "delete"]
        for row in sorted(
            changes, key=lambda row: (row["_commit_version"], order.index(row["_change_type"]))
        ):
            result.setdefault(row["id"], []).append(row)
        for name, row in output.items():
            assert as_drawn(result.get(int(name[3:]), [])) == row[column], (kind, name)
