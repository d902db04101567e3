"""``deltareplay report``: the table as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deltareplay.cli._options import Version
from deltareplay.cli._verb import Request, verb


@verb
def report(
    request: Request,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the report goes.")
    ] = Path("report.html"),
    version: Version = None,
    orphans: Annotated[
        bool, typer.Option("--orphans", help="Also list the table, for files that nobody needs.")
    ] = False,
) -> None:
    """Write one HTML file that shows the table, with advice."""
    written = request.table.report(output, version=version, orphans=orphans)
    facts = {"output": str(written), "size_in_bytes": written.stat().st_size}
    request.output.document(facts, lambda console: console.print(str(written), soft_wrap=True))
