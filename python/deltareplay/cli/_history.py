"""``deltareplay history`` and ``watch``: the commits, newest first or as they are made."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deltareplay._support.units import parse_integer
from deltareplay.cli._output import Column
from deltareplay.cli._values import plain, records, short_timestamp
from deltareplay.cli._verb import Request, limit_option, verb

if TYPE_CHECKING:
    from deltareplay import Table


def author(commit: Mapping[str, Any]) -> str:
    """Return the user and the engine that made a commit, as far as they are known.

    >>> author({"userName": None, "userId": "7", "engineInfo": "Spark"}), author({})
    ('7 with Spark', '')
    """
    user = commit.get("userName") or commit.get("userId")
    engine = commit.get("engineInfo")
    return plain(f"{user} with {engine}" if user and engine else user or engine)


def effect(commit: Mapping[str, Any]) -> str:
    """Return how many rows and files a commit wrote (+), changed (~) and removed (-).

    >>> effect({"operationMetrics": {"numOutputRows": "30", "numFiles": "3"}})
    '+30 rows, +3 files'
    >>> effect({"operationMetrics": {"numDeletedRows": "2", "numRemovedFiles": "1"}})
    '-2 rows, -1 file'
    >>> effect({"operationMetrics": {"numRestoredFiles": "1", "numRemovedFiles": "2"}})
    '+1 -2 files'
    """
    metrics = commit.get("operationMetrics") or {}

    def metric(*names: str) -> int:
        counts = (parse_integer(metrics.get(name)) for name in names)
        return next((count for count in counts if count is not None), 0)

    changed = {
        "+": metric("numTargetRowsInserted"),
        "~": metric("numTargetRowsUpdated", "numUpdatedRows"),
        "-": metric("numTargetRowsDeleted", "numDeletedRows"),
    }
    if not any(changed.values()):
        changed["+"] = metric("numOutputRows")
    files = {
        "+": metric("numAddedFiles", "numTargetFilesAdded", "numRestoredFiles", "numFiles"),
        "-": metric("numRemovedFiles", "numTargetFilesRemoved"),
    }
    parts = [_signed(changed, "row"), _signed(files, "file")]
    return ", ".join(part for part in parts if part)


def _signed(numbers: Mapping[str, int], noun: str) -> str:
    changes = {sign: number for sign, number in numbers.items() if number}
    if not changes:
        return ""
    text = " ".join(f"{sign}{number:,}" for sign, number in changes.items())
    return f"{text} {noun}{'' if list(changes.values()) == [1] else 's'}"


def parameters(arguments: Mapping[str, str | None] | None) -> str:
    """Return the parameters of an operation, such as its condition, without empty ones.

    >>> parameters({"predicate": '["id = 8"]', "partitionBy": "[]"}), parameters(None)
    ('predicate: id = 8', '')
    """
    values = {name: _unwrapped(text) for name, text in (arguments or {}).items()}
    return ", ".join(f"{plain(name)}: {value}" for name, value in values.items() if value)


def _unwrapped(text: str | None) -> str:
    """Return a parameter; strings in a JSON list, in which writers wrap conditions, are joined."""
    if not text or text in ("[]", "{}", "null"):
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return plain(", ".join(value))
    return plain(text)


def _with_display_columns(commit: dict[str, Any]) -> dict[str, Any]:
    """Add the columns ``effect`` and ``by`` to a commit."""
    return {**commit, "effect": effect(commit), "by": author(commit).replace("Apache-", "")}


@verb
def history(
    request: Request,
    *,
    limit: Annotated[int, limit_option("How many; 0: all.")] = 20,
) -> None:
    """List the commits, newest first: who did what, and when."""
    output = request.output
    commits = request.table.history(limit or None)
    rows = records(commits.to_batches())
    if not output.is_text:
        output.rows(rows, [Column(name) for name in commits.column_names])
        return
    columns = [
        Column("version", "Version", right=True),
        output.times("timestamp", "Time"),
        Column("operation", "Operation"),
        Column("effect", "Rows and files"),
        Column("by", "By", truncate=True),
    ]
    if output.is_wide:
        columns.append(Column("operationParameters", "Parameters", parameters, truncate=True))
    output.rows(map(_with_display_columns, rows), columns)


@verb
def watch(
    request: Request,
    *,
    start: Annotated[
        int | None,
        typer.Option("--from", metavar="VERSION", help="The first version; default: the next one."),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="Show the changed rows instead of the commits.")
    ] = False,
    limit: Annotated[int, limit_option("Stop after this many lines; 0: never.")] = 0,
    interval: Annotated[
        float,
        typer.Option(
            "--interval",
            metavar="SECONDS",
            min=0.01,
            max=86_400,
            help="Seconds between two listings of the log.",
        ),
    ] = 1.0,
) -> None:
    """Show new commits as they come, one line each, until Ctrl-C."""
    table, output = request.table, request.output
    if rows:
        first: int | Literal["latest"] = "latest" if start is None else start
        stream = table.follow(starting_version=first, read_change_feed=True, poll_interval=interval)
        changed = (row for batch in stream for row in records(batch.to_batches()))
        columns = [Column(name) for name in stream.schema.names]
        output.stream(islice(changed, limit or None), columns, plain)
        return
    commits = map(_with_display_columns, _new_commits(table, start, interval))
    columns = [Column(name) for name in ("version", "timestamp", "operation", "effect", "by")]
    output.stream(islice(commits, limit or None), columns, lambda commit: _line(commit, output.utc))


def _line(commit: dict[str, Any], utc: bool) -> str:
    operation, effect = plain(commit["operation"]), commit["effect"]
    timestamp = short_timestamp(commit["timestamp"], utc=utc)
    return f"{commit['version']:>7}  {timestamp}  {operation:<12}  {effect:<20}  {commit['by']}"


def _new_commits(table: Table, start: int | None, interval: float) -> Iterator[dict[str, Any]]:
    """Yield commits from ``start`` on, oldest first; wait for new ones."""
    last = table.snapshot().version if start is None else start - 1
    while True:
        limit = table.snapshot().version - last
        commits = list(records(table.history(limit).to_batches())) if limit > 0 else []
        if not commits:
            time.sleep(interval)
            continue
        if len(commits) == limit:
            # if commits were added after the snapshot, the oldest ones are missing
            for version in range(last + 1, commits[-1]["version"]):
                yield from records(table.history(version=version).to_batches())
        yield from reversed(commits)
        last = commits[0]["version"]
