"""``deltareplay explain``: what a filter skips."""

from __future__ import annotations

from typing import Annotated

import typer

from deltareplay.cli._format import count, size
from deltareplay.cli._options import Timestamp, Version
from deltareplay.cli._output import Column
from deltareplay.cli._records import records
from deltareplay.cli._verb import FINDINGS, Request, say, verb


@verb
def explain(
    request: Request,
    *,
    filter: Annotated[
        str, typer.Argument(metavar="FILTER", help="SQL, e.g. \"day = '2026-01-01'\".")
    ],
    version: Version = None,
    timestamp: Timestamp = None,
    min_pruning: Annotated[
        float | None,
        typer.Option(
            "--min-pruning",
            metavar="PERCENT",
            min=0,
            max=100,
            help="End with 1 if the filter skips fewer of the files.",
        ),
    ] = None,
) -> int:
    """Show how many files and bytes a filter skips."""
    scan = request.table.snapshot(version, timestamp).scan(filter=filter)
    steps = list(records(scan.explain().to_batches()))
    everything = steps[0]
    for step in steps:
        for what in ("files", "bytes"):
            step[f"skipped_{what}_percent"] = _percent(everything[what], step[what])
    request.output.rows(
        steps,
        [
            Column("step", "Step"),
            Column("files", "Files", count, right=True),
            Column("skipped_files_percent", "Skipped", "{:.1f} %".format, right=True),
            Column("bytes", "Bytes", size, right=True),
            Column("skipped_bytes_percent", "Skipped", "{:.1f} %".format, right=True),
        ],
    )
    skipped = steps[-1]["skipped_files_percent"]
    if min_pruning is not None and skipped < min_pruning:
        say(
            "error",
            f"the filter skips {skipped:.1f} % of the files, less than {min_pruning:g} %",
            "partition or cluster by the columns of the filter, or write their statistics",
        )
        return FINDINGS
    return 0


def _percent(everything: int, left: int) -> float:
    """How much was skipped; of nothing, all of it."""
    return 100.0 if everything == 0 else round(100 * (everything - left) / everything, 3)
