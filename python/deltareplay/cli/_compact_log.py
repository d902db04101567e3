"""``deltareplay compact-log``: commits as one file."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from deltareplay.cli._format import count, size
from deltareplay.cli._verb import Request, verb


@verb
def compact_log(
    request: Request,
    *,
    start: Annotated[
        int | None,
        typer.Argument(metavar="[START]", help="By default the first one after the checkpoint."),
    ] = None,
    end: Annotated[
        int | None, typer.Argument(metavar="[END]", help="By default the latest version.")
    ] = None,
) -> None:
    """Write several commits as one file, which is faster to read.

    Deletes nothing.
    """
    file = request.table.compact_log(start, end)
    request.output.document(
        dataclasses.asdict(file),
        lambda console: console.print(
            f"{file.path}: {count(file.num_actions)} of {count(file.num_actions_before)} actions, "
            f"{size(file.size_in_bytes)} instead of {size(file.size_in_bytes_before)}",
            soft_wrap=True,
        ),
    )
