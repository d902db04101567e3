"""``deltareplay cleanup-log``: files of the log that nobody needs any more."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from deltareplay.cli import _deleted_files
from deltareplay.cli._format import plain
from deltareplay.cli._options import Yes
from deltareplay.cli._verb import Request, verb

if TYPE_CHECKING:
    from rich.console import Console


@verb
def cleanup_log(request: Request, *, yes: Yes = False) -> None:
    """Delete files of the log that have expired.

    No version inside the retention period needs them. Without --yes they are only listed.
    """
    done = request.table.cleanup_log(dry_run=not yes)

    def text(console: Console) -> None:
        _deleted_files.tell(
            console,
            done.files,
            done.size_in_bytes,
            dry_run=done.dry_run,
            command=request.command("cleanup-log", "--yes"),
        )
        if done.earliest_version is not None:
            console.print(f"oldest version that can be read afterwards: {done.earliest_version}")
        for note in done.notes:
            console.print(plain(note), style="dim")

    request.output.document(dataclasses.asdict(done), text)
