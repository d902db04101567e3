"""``deltareplay history``: the commits, newest first."""

from __future__ import annotations

from typing import Annotated

import typer

from deltareplay.cli import _commits
from deltareplay.cli._output import Column
from deltareplay.cli._records import records
from deltareplay.cli._verb import Request, verb


@verb
def history(
    request: Request,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="How many; 0: all.")] = 20,
) -> None:
    """List the commits, newest first: who did what, and when."""
    output = request.output
    commits = request.table.history(limit or None)
    rows = records(commits.to_batches())
    if output.is_text:
        output.rows(map(_commits.with_parameters, rows), _commits.columns(output))
    else:
        output.rows(rows, [Column(name) for name in commits.column_names])
