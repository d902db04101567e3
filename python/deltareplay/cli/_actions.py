"""``deltareplay actions``: what the commits say, action by action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from deltareplay.cli._format import counted, plain, size
from deltareplay.cli._output import Column
from deltareplay.cli._records import records
from deltareplay.cli._verb import Request, verb


@verb
def actions(
    request: Request,
    *,
    start: Annotated[
        int | None, typer.Argument(metavar="[START]", help="A version; by default the latest.")
    ] = None,
    end: Annotated[
        int | None, typer.Argument(metavar="[END]", help="The last version; by default START.")
    ] = None,
) -> None:
    """List the raw actions of some commits, oldest first."""
    table = request.table
    if start is None:
        start = table.snapshot().version
    listed = _actions(records(table.actions(start, start if end is None else end)))
    output = request.output
    if output.form == "json":
        output.rows(({"version": version, kind: body} for version, kind, body in listed), [])
        return
    rows = (
        {"version": version, "action": kind, "body": body, "says": _says(kind, body)}
        for version, kind, body in listed
    )
    what = Column("says", "What", whole=True) if output.is_text else Column("body")
    output.rows(rows, [Column("version", "Version", right=True), Column("action", "Action"), what])


def _actions(rows: Iterator[dict[str, Any]]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for row in rows:
        version = row.pop("version")
        for kind, body in row.items():
            if body is not None:
                there = {name: value for name, value in body.items() if value is not None}
                yield version, kind, there


def _says(kind: str, body: dict[str, Any]) -> str:
    """An action in a few words.

    >>> _says("add", {"path": "a.parquet", "size": 1000})
    'a.parquet (1,000 B)'
    """
    if "path" in body:
        vector = body.get("deletionVector") or {}
        deleted = vector.get("cardinality")
        facts = [size(body["size"])] if body.get("size") is not None else []
        facts += [f"{counted(deleted, 'row')} deleted"] if deleted else []
        return plain(body["path"]) + (f" ({', '.join(facts)})" if facts else "")
    named = {
        "metaData": ("id", "name", "partitionColumns", "configuration"),
        "commitInfo": ("operation", "operationParameters", "engineInfo"),
    }
    names = named.get(kind, tuple(body))
    return plain({name: body[name] for name in names if name in body})
