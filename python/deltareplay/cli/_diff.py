"""``deltareplay diff``: what differs between two versions."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deltareplay.cli._format import count, plain, size
from deltareplay.cli._output import Column
from deltareplay.cli._records import records
from deltareplay.cli._verb import Request, verb

if TYPE_CHECKING:
    from deltareplay import SnapshotDiff

_COLOURS = {"added": "green", "removed": "red", "changed": "yellow", "vector": "yellow"}


@verb
def diff(
    request: Request,
    *,
    before: Annotated[int, typer.Argument(metavar="A", help="A version.")],
    after: Annotated[int, typer.Argument(metavar="B", help="Usually a later version.")],
) -> None:
    """Show what differs between two versions.

    Columns, properties, protocol, files and rows of the two states are compared, not the commits
    between them.
    """
    table = request.table
    difference = table.snapshot(before).diff(table.snapshot(after))
    output = request.output
    if output.is_text:
        _text(difference)
        return
    names = ["what", "change", "name", "before", "after", "size", "rows_before", "rows_after"]
    output.rows(_rows(difference), [Column(name) for name in names])


def _rows(difference: SnapshotDiff) -> Any:
    definition = (
        {"what": row["what"], "change": _change(row), **row}
        for row in records(difference.definition.to_batches())
    )
    files = (
        {"what": "file", "name": row.pop("path"), **row}
        for row in records(difference.files.to_batches())
    )
    return chain(definition, files)


def _change(row: dict[str, Any]) -> str:
    return "added" if row["before"] is None else "removed" if row["after"] is None else "changed"


def _text(difference: SnapshotDiff) -> None:
    import sys

    from rich.text import Text

    from deltareplay.cli._output import console

    out = console(sys.stdout)
    totals = {
        "files": map(count, difference.num_files),
        "rows": map(count, difference.num_rows),
        "bytes": map(size, difference.size_in_bytes),
    }
    out.print(f"versions {difference.versions[0]} to {difference.versions[1]}", style="bold")
    for name, (old, new) in totals.items():
        out.print(f"  {name:<6} {old}" + (f" to {new}" if old != new else ""))
    for row in _rows(difference):
        line = Text(f"{row['change']:<8}", style=_COLOURS[row["change"]])
        line.append(f" {row['what']} {plain(row['name'])}".rstrip(), style="default")
        if row["what"] == "file":
            noun = "row" if {row["rows_before"], row["rows_after"]} <= {1, None} else "rows"
            parts = [
                count(row[key]) for key in ("rows_before", "rows_after") if row[key] is not None
            ]
            text = f"  {' to '.join(parts) or '?'} {noun}, {size(row['size'])}"
        else:
            parts = [plain(row[key]) for key in ("before", "after") if row[key] is not None]
            text = f": {' to '.join(parts)}"
        line.append(text, style="default")
        out.print(line, soft_wrap=True)
