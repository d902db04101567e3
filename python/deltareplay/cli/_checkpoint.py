"""``deltareplay checkpoint``: a checkpoint of the latest version."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import Annotated

import typer

from deltareplay.cli._format import counted, size
from deltareplay.cli._verb import Request, verb


class Layout(str, Enum):
    """The layouts of ``Table.checkpoint``."""

    classic = "classic"
    v2 = "v2"
    v2_json = "v2-json"


@verb
def checkpoint(
    request: Request,
    *,
    layout: Annotated[
        Layout | None, typer.Option("--layout", help="By default as the table's policy says.")
    ] = None,
) -> None:
    """Write a checkpoint, so that the table opens faster.

    Deletes nothing: cleanup-log does.
    """
    written = request.table.checkpoint(
        layout=None if layout is None else layout.value, cleanup=False
    )
    request.output.document(
        dataclasses.asdict(written),
        lambda console: console.print(
            f"{written.path}: {counted(written.num_files, 'file')}, {size(written.size_in_bytes)}",
            soft_wrap=True,
        ),
    )
