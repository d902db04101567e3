"""``deltareplay schema``: the columns, and how they came about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deltareplay._arrow.schema_text import leaves
from deltareplay.cli._options import Timestamp, Version
from deltareplay.cli._output import Column
from deltareplay.cli._records import records
from deltareplay.cli._verb import Request, verb

if TYPE_CHECKING:
    from deltareplay import Table


@verb
def schema(
    request: Request,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    history: Annotated[
        bool, typer.Option("--history", help="How the columns changed from commit to commit.")
    ] = False,
) -> None:
    """List the columns; with --history, their changes over time."""
    output, table = request.output, request.table
    if history:
        rows = _changes(table)
        if output.is_text:
            columns = [
                Column("version", "Version", right=True),
                output.times("timestamp", "Time"),
                Column("change", "Change"),
                Column("column", "Column"),
                Column("type", "Type"),
            ]
            output.rows(({**row, "type": _types(row)} for row in rows), columns)
        else:
            names = ["version", "timestamp", "operation", "change", "column", "before", "after"]
            output.rows(rows, [Column(name) for name in names])
        return
    metadata = table.snapshot(version, timestamp).metadata
    output.rows(
        (
            {
                "column": ".".join(path),
                "type": kind,
                "nullable": nullable,
                "partition": path[0] in metadata.partition_columns,
                "comment": comment,
            }
            for path, kind, nullable, comment in leaves(json.loads(metadata.schema_string))
        ),
        [
            Column("column", "Column"),
            Column("type", "Type"),
            Column("nullable", "", lambda nullable: "" if nullable else "not null"),
            Column("partition", "", lambda partition: "partition" if partition else ""),
            Column("comment", "Comment"),
        ],
        empty="no columns",
    )


def _changes(table: Table) -> Iterator[dict[str, Any]]:
    """Columns that commits added, removed or changed, oldest first; the first commit adds all."""
    history = table.history().drop_columns(["operationParameters", "operationMetrics"])
    commits = {commit["version"]: commit for commit in records(history.to_batches())}
    first = min(commits)
    definitions = [(first, table.snapshot(first).schema_json), *_definitions(table, first + 1)]
    before: dict[str, str] = {}
    for version, text in definitions:
        after = {
            ".".join(path): kind + ("" if nullable else " not null")
            for path, kind, nullable, _ in leaves(json.loads(text))
        }
        for name in {**before, **after}:
            old, new = before.get(name), after.get(name)
            if old != new:
                yield {
                    "version": version,
                    "timestamp": commits[version]["timestamp"],
                    "operation": commits[version]["operation"],
                    "change": "added" if old is None else "removed" if new is None else "changed",
                    "column": name,
                    "before": old,
                    "after": new,
                }
        before = after


def _types(row: dict[str, Any]) -> str:
    return " to ".join(row[name] for name in ("before", "after") if row[name] is not None)


def _definitions(table: Table, start: int) -> Iterator[tuple[int, str]]:
    """Versions that set the metadata, and their schemas."""
    if table.snapshot().version < start:
        return
    for batch in table.actions(start):
        metadata = batch.select(["version", "metaData"]).filter(batch["metaData"].is_valid())
        for row in records([metadata]):
            yield row["version"], row["metaData"]["schemaString"]
