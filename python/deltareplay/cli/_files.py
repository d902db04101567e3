"""``deltareplay files``: the live files of one version."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from deltareplay.cli._format import count, instant, size
from deltareplay.cli._options import SCREEN, Filter, Limit, Timestamp, Version
from deltareplay.cli._output import Column
from deltareplay.cli._records import records
from deltareplay.cli._verb import Request, verb

_READ = ["path", "size", "numRecords", "partitionValues", "modificationTime", "deletionVector"]


@verb
def files(
    request: Request,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    filter: Filter = None,
    limit: Limit = None,
) -> None:
    """List the live files: path, size, rows and deleted rows.

    With a filter, only the files that may have such rows.
    """
    output = request.output
    snapshot = request.table.snapshot(version, timestamp)
    rows = _files(records(snapshot.file_batches(_READ, filter)))
    if limit is None and output.is_text:
        limit = SCREEN
    output.rows(
        islice(rows, limit or None),
        [
            Column("size", "Size", size, right=True),
            Column("rows", "Rows", count, right=True),
            Column("deleted", "Deleted", count, right=True),
            output.times("modified", "Modified"),
            Column("path", "Path", whole=True),
        ],
        empty="no files",
    )
    if limit and next(rows, None) is not None:
        output.note(f"the first {limit:,} files; --limit 0 lists all")


def _files(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        vector = row["deletionVector"]
        deleted = vector["cardinality"] if vector else 0
        stored = row["numRecords"]
        yield {
            "path": row["path"],
            "size": row["size"],
            "rows": None if stored is None else stored - deleted,
            "deleted": deleted,
            "modified": instant(row["modificationTime"]),
            "partitionValues": row["partitionValues"],
        }
