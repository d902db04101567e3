"""``deltareplay diff``, ``changes`` and ``actions``: what changed between versions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import Enum
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deltareplay.cli._output import Column, console
from deltareplay.cli._values import counted, plain, records, size, thousands
from deltareplay.cli._verb import (
    SCREEN_ROWS,
    Columns,
    Filter,
    Limit,
    Request,
    split_names,
    verb,
    version_or_time,
)

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

    The two states are compared, not the commits between them: columns, properties, protocol, files
    and numbers of rows.
    """
    table = request.table
    difference = table.snapshot(before).diff(table.snapshot(after))
    output = request.output
    if output.is_text:
        _print_diff(difference)
        return
    names = ["what", "change", "name", "before", "after", "size", "rows_before", "rows_after"]
    output.rows(_difference_rows(difference), [Column(name) for name in names])


def _difference_rows(difference: SnapshotDiff) -> Iterator[dict[str, Any]]:
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


def _print_diff(difference: SnapshotDiff) -> None:
    from rich.text import Text

    out = console(sys.stdout)
    totals = {
        "files": map(thousands, difference.num_files),
        "rows": map(thousands, difference.num_rows),
        "bytes": map(size, difference.size_in_bytes),
    }
    out.print(f"versions {difference.versions[0]} to {difference.versions[1]}", style="bold")
    for name, (old, new) in totals.items():
        out.print(f"  {name:<6} {old}" + (f" to {new}" if old != new else ""))
    for row in _difference_rows(difference):
        line = Text(f"{row['change']:<8}", style=_COLOURS[row["change"]])
        line.append(f" {row['what']} {plain(row['name'])}".rstrip(), style="default")
        if row["what"] == "file":
            counts = [row[key] for key in ("rows_before", "rows_after") if row[key] is not None]
            noun = "row" if set(counts) == {1} else "rows"
            text = f"  {' to '.join(map(thousands, counts)) or '?'} {noun}, {size(row['size'])}"
        else:
            parts = [plain(row[key]) for key in ("before", "after") if row[key] is not None]
            text = f": {' to '.join(parts)}"
        line.append(text, style="default")
        out.print(line, soft_wrap=True)


class Kind(str, Enum):
    """The kinds of ``Table.changes``."""

    full = "full-delta"
    minimal = "min-delta"
    upsert = "upsert"
    append = "append-only"


@verb
def changes(
    request: Request,
    *,
    start: Annotated[str, typer.Argument(help="The first version, or a time.")],
    end: Annotated[
        str | None,
        typer.Argument(metavar="[END]", help="The last version, or a time; by default the latest."),
    ] = None,
    kind: Annotated[
        Kind, typer.Option("--kind", help="Every change, or net changes of one kind.")
    ] = Kind.full,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="NAMES", help="Columns that identify a row, separated by commas."
        ),
    ] = None,
    columns: Columns = None,
    filter: Filter = None,
    limit: Limit = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Only show how each commit is read, and why.")
    ] = False,
) -> None:
    """Show which rows changed from one version to another.

    Both versions are included. The table does not need a change data feed.
    """
    output = request.output
    changed = request.table.changes(
        version_or_time(start),
        None if end is None else version_or_time(end),
        kind=kind.value,
        columns=split_names(columns),
        filter=filter,
        key=split_names(key),
    )
    if explain:
        output.rows(
            records(changed.explain().to_batches()),
            [
                Column("version", "Version", right=True),
                Column("way", "Way"),
                Column("files", "Files", thousands, right=True),
                Column("bytes", "Bytes", size, right=True),
                Column("reason", "Reason"),
            ],
        )
        return
    if limit is None and output.is_text:
        limit = SCREEN_ROWS
    rows = records(changed.to_batches())
    output.data(
        islice(rows, limit or None),
        changed.schema,
        empty="no changes",
        first=("_commit_version", "_change_type"),
    )
    if output.is_text and limit and next(rows, None) is not None:
        output.note(f"the first {limit:,} changes; --limit 0 shows all")


@verb
def actions(
    request: Request,
    *,
    start: Annotated[
        int | None, typer.Argument(metavar="[START]", help="A version; by default the latest.")
    ] = None,
    end: Annotated[
        int | None, typer.Argument(metavar="[END]", help="The last version; by default START.")
    ] = None,
) -> None:
    """List the raw actions of some commits, oldest first."""
    table = request.table
    if start is None:
        start = table.snapshot().version
    bodies = _bodies(records(table.actions(start, start if end is None else end)))
    output = request.output
    if output.form == "json":
        output.rows(({"version": version, kind: body} for version, kind, body in bodies), [])
        return
    rows = (
        {"version": version, "action": kind, "body": body, "summary": _summary(kind, body)}
        for version, kind, body in bodies
    )
    content = Column("summary", "What", soft_wrap=True) if output.is_text else Column("body")
    output.rows(
        rows, [Column("version", "Version", right=True), Column("action", "Action"), content]
    )


def _bodies(rows: Iterator[dict[str, Any]]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for row in rows:
        version = row.pop("version")
        for kind, body in row.items():
            if body is not None:
                fields = {name: value for name, value in body.items() if value is not None}
                yield version, kind, fields


def _summary(kind: str, body: dict[str, Any]) -> str:
    """Return a short text for an action.

    >>> _summary("add", {"path": "a.parquet", "size": 1000})
    'a.parquet (1,000 B)'
    """
    if "path" in body:
        vector = body.get("deletionVector") or {}
        deleted = vector.get("cardinality")
        facts = [size(body["size"])] if body.get("size") is not None else []
        facts += [f"{counted(deleted, 'row')} deleted"] if deleted else []
        return plain(body["path"]) + (f" ({', '.join(facts)})" if facts else "")
    summary_fields = {
        "metaData": ("id", "name", "partitionColumns", "configuration"),
        "commitInfo": ("operation", "operationParameters", "engineInfo"),
    }
    names = summary_fields.get(kind, tuple(body))
    return plain({name: body[name] for name in names if name in body})
