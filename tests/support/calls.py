"""Tables of calls in the pages for users of another library: each row runs on both."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.pages import ROOT

#: A row whose last two cells are only code, in single or double backticks.
ROW = re.compile(r"^\| ([^|]+) \| (``?)([^|]+)\2 \| (``?)([^|]+)\4 \|$")
HEADER = re.compile(
    r"^\| to do \| [\w-]+ \| deltareplay \|\n\|---\|---\|---\|\n((?:\|.*\n)+)", re.M
)


@dataclass(frozen=True)
class Row:
    """The task, their call, our call."""

    title: str
    theirs: str
    ours: str

    def __str__(self) -> str:
        return self.title


def rows(page: str) -> list[Row]:
    """Return the rows of all tables of a page that compare calls; fails on other rows."""
    calls = list(_rows((ROOT / "docs" / "migration" / f"{page}.md").read_text(encoding="utf-8")))
    titles = [row.title for row in calls]
    assert len(titles) == len(set(titles)), "two rows with one title"
    return calls


def _rows(text: str) -> Iterator[Row]:
    for body in HEADER.findall(text):
        for line in body.splitlines():
            row = ROW.match(line)
            assert row, f"not a row with two calls: {line}"
            yield Row(row[1], row[3].strip(), row[5].strip())


def run(code: str, names: Mapping[str, Any], path: Path) -> Any:
    """Return the value of one call, with names that the page explains."""
    tree = ast.parse(code, mode="eval")
    return eval(compile(tree, str(path), "eval"), {**names, "path": str(path)})
