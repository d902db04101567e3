"""``deltareplay changes``: what happened to rows."""

from __future__ import annotations

from enum import Enum
from itertools import islice
from typing import Annotated

import typer

from deltareplay.cli._format import count, size
from deltareplay.cli._options import SCREEN, Columns, Filter, Limit, names, version_or_time
from deltareplay.cli._output import Column
from deltareplay.cli._records import records
from deltareplay.cli._verb import Request, verb


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
        str | None, typer.Argument(metavar="[END]", help="The last one; by default the latest.")
    ] = None,
    kind: Annotated[
        Kind, typer.Option("--kind", help="Every change, or net changes of one kind.")
    ] = Kind.full,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="NAMES", help="Columns that identify a row, by commas."),
    ] = None,
    columns: Columns = None,
    filter: Filter = None,
    limit: Limit = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Only say how each commit is read, and why.")
    ] = False,
) -> None:
    """Show which rows changed from one version to another.

    Both are included. Needs no change data feed.
    """
    output = request.output
    changed = request.table.changes(
        version_or_time(start),
        None if end is None else version_or_time(end),
        kind=kind.value,
        columns=names(columns),
        filter=filter,
        key=names(key),
    )
    if explain:
        output.rows(
            records(changed.explain().to_batches()),
            [
                Column("version", "Version", right=True),
                Column("way", "Way"),
                Column("files", "Files", count, right=True),
                Column("bytes", "Bytes", size, right=True),
                Column("reason", "Reason"),
            ],
        )
        return
    if limit is None and output.is_text:
        limit = SCREEN
    rows = records(changed.to_batches())
    output.data(
        islice(rows, limit or None),
        changed.schema,
        empty="no changes",
        first=("_commit_version", "_change_type"),
    )
    if output.is_text and limit and next(rows, None) is not None:
        output.note(f"the first {limit:,} changes; --limit 0 shows all")
