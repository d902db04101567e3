"""``deltareplay watch``: new commits, or rows, as they come."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deltareplay.cli import _commits
from deltareplay.cli._format import plain, short_moment
from deltareplay.cli._output import Column
from deltareplay.cli._records import records
from deltareplay.cli._verb import Request, verb

if TYPE_CHECKING:
    from deltareplay import Table


@verb
def watch(
    request: Request,
    *,
    start: Annotated[
        int | None,
        typer.Option("--from", metavar="VERSION", help="Begin here; default: what comes next."),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="Show the changed rows instead of the commits.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="Stop after this number; 0 means never.")
    ] = 0,
    interval: Annotated[
        float,
        typer.Option(
            "--interval",
            metavar="SECONDS",
            min=0.01,
            help="Seconds between two listings of the log.",
        ),
    ] = 1.0,
) -> None:
    """Show new commits as they come, one line each, until Ctrl-C."""
    table, output = request.table, request.output
    if rows:
        first: int | Literal["latest"] = "latest" if start is None else start
        stream = table.follow(starting_version=first, read_change_feed=True, poll_interval=interval)
        changed = (row for batch in stream for row in records(batch.to_batches()))
        columns = [Column(name) for name in stream.schema.names]
        output.stream(islice(changed, limit or None), columns, plain)
        return
    commits = islice(_new(table, start, interval), limit or None)
    columns = [Column(name) for name in ("version", "timestamp", "operation", "effect", "by")]
    output.stream(
        map(_commits.with_parameters, commits), columns, lambda commit: _line(commit, output.utc)
    )


def _line(commit: dict[str, Any], utc: bool) -> str:
    operation, effect = plain(commit["operation"]), commit["effect"]
    moment = short_moment(commit["timestamp"], utc=utc)
    return f"{commit['version']:>7}  {moment}  {operation:<12}  {effect:<20}  {commit['by']}"


def _new(table: Table, start: int | None, interval: float) -> Iterator[dict[str, Any]]:
    """Commits from ``start`` on, oldest first; waits for them."""
    last = table.snapshot().version if start is None else start - 1
    while True:
        newest = table.snapshot().version
        if newest > last:
            newer = list(_commits.commits(table, newest - last))
            for commit in reversed(newer):
                if commit["version"] > last:
                    last = commit["version"]
                    yield commit
        else:
            time.sleep(interval)
