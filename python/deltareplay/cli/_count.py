"""``deltareplay count``: how many rows there are."""

from __future__ import annotations

from deltareplay.cli._options import Filter, Timestamp, Version
from deltareplay.cli._verb import Request, verb


@verb
def count(
    request: Request,
    *,
    filter: Filter = None,
    version: Version = None,
    timestamp: Timestamp = None,
) -> None:
    """Count the rows, from the log alone if possible."""
    snapshot = request.table.snapshot(version, timestamp)
    rows = snapshot.scan(filter=filter).count()
    facts = {"version": snapshot.version, "rows": rows}
    request.output.document(facts, lambda console: console.print(str(rows)))
