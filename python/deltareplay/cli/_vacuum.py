"""``deltareplay vacuum``: data files that nobody needs any more."""

from __future__ import annotations

import dataclasses
import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from deltareplay.cli import _deleted_files
from deltareplay.cli._options import Yes
from deltareplay.cli._verb import Request, verb

if TYPE_CHECKING:
    from rich.console import Console


@verb
def vacuum(
    request: Request,
    *,
    retain_hours: Annotated[
        float | None,
        typer.Option(
            "--retain-hours", min=0, help="The period; by default the table's, which is a week."
        ),
    ] = None,
    lite: Annotated[
        bool, typer.Option("--lite", help="Find files by the log, without listing the table.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Allow a shorter period than the table's: others may lose files."
        ),
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete data files that no version needs any more.

    Versions inside the retention period keep their files. Without --yes, files are only listed.
    """
    retention = None if retain_hours is None else datetime.timedelta(hours=retain_hours)
    done = request.table.vacuum(retention, lite=lite, force=force, dry_run=not yes)

    def text(console: Console) -> None:
        _deleted_files.tell(
            console,
            done.files,
            done.size_in_bytes,
            dry_run=done.dry_run,
            command=request.command("vacuum", "--yes"),
        )
        console.print(
            f"files that were removed or written since {request.output.moment(done.cutoff)} stay",
            style="dim",
        )

    facts = {**dataclasses.asdict(done), "retention": done.retention.total_seconds()}
    request.output.document(facts, text)
