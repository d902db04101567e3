"""``deltareplay head``: some rows."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from deltareplay.cli._options import Columns, Filter, Timestamp, Version, names
from deltareplay.cli._records import records
from deltareplay.cli._verb import Request, verb

#: Decoded bytes that wait: a few rows need no more.
_LOOK_AHEAD = 1 << 20


@verb
def head(
    request: Request,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="How many; 0: all.")] = 10,
    columns: Columns = None,
    filter: Filter = None,
    version: Version = None,
    timestamp: Timestamp = None,
) -> None:
    """Show some rows, without the deleted ones."""
    snapshot = request.table.snapshot(version, timestamp)
    scan = snapshot.scan(names(columns), filter, look_ahead=_LOOK_AHEAD if limit else None)
    rows = islice(records(scan.to_batches()), limit or None)
    request.output.data(rows, scan.schema, empty="no rows")
