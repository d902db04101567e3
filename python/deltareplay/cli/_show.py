"""``deltareplay show`` and ``report``: a version on one screen, or as one HTML file."""

from __future__ import annotations

import warnings
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import typer

from deltareplay._protocol.schema import Struct, fields_with_paths, type_text
from deltareplay._snapshot.clustering import clustering_columns
from deltareplay._support import units
from deltareplay.cli._check import print_finding
from deltareplay.cli._history import author, effect
from deltareplay.cli._values import counted, instant, plain, records, size, thousands
from deltareplay.cli._verb import Request, Timestamp, Version, verb
from deltareplay.exceptions import CorruptTableError, DeltaReplayWarning, VersionNotFoundError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from deltareplay import Snapshot, Table


#: The maximum number of columns, and of properties, on the screen.
_MAX_LISTED = 20
#: The average size below which files are small.
_SMALL = 32 << 20
#: The number of files, or of commits after the checkpoint, that is many.
_MANY = 100


@verb
def show(request: Request, *, version: Version = None, timestamp: Timestamp = None) -> None:
    """Show a table on one screen, with its health."""
    table = request.table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeltaReplayWarning)  # shown in the table's health
        snapshot = table.snapshot(version, timestamp)
        facts = {"uri": request.safe_uri, **_facts(request, table, snapshot)}
    request.output.document(facts, lambda console: _print_screen(console, request, facts))


def _facts(request: Request, table: Table, snapshot: Snapshot) -> dict[str, Any]:
    metadata, protocol = snapshot.metadata, snapshot.protocol
    rows = snapshot.num_rows  # first: it also reads the number of files and bytes
    commit = _commit(table, snapshot.version)
    segment = snapshot.log_segment
    facts: dict[str, Any] = {
        "name": metadata.name,
        "description": metadata.description,
        "id": metadata.id,
        "version": snapshot.version,
        "timestamp": snapshot.timestamp,
        "operation": commit.get("operation"),
        "effect": effect(commit),
        "by": author(commit),
        "rows": rows,
        "files": snapshot.num_files,
        "size_in_bytes": snapshot.size_in_bytes,
        "created": None if metadata.created_time is None else instant(metadata.created_time),
        "partition_columns": metadata.partition_columns,
        "clustering_columns": clustering_columns(snapshot),
        "min_reader_version": protocol.min_reader_version,
        "min_writer_version": protocol.min_writer_version,
        "features": protocol.features,
        "properties": metadata.configuration,
        "columns": [
            {"name": path, "type": type_text(field.type), "nullable": field.nullable}
            for path, field in fields_with_paths(Struct.parse(metadata.schema_string).fields)
        ],
        "checkpoint_version": segment.checkpoint_version,
        "commits_after_checkpoint": segment.num_commits,
    }
    facts["health"] = _health(request, snapshot, facts)
    return facts


def _commit(table: Table, version: int) -> dict[str, Any]:
    """Return the commit of a version; empty if it is damaged or not in the log any more."""
    try:
        return next(records(table.history(version=version).to_batches()))
    except (CorruptTableError, VersionNotFoundError):
        return {}


def _health(request: Request, snapshot: Snapshot, facts: dict[str, Any]) -> list[dict[str, str]]:
    findings = [
        (
            "warning",
            f"this release cannot write the table: {obstacle.feature}: {obstacle.reason}",
            obstacle.remedy,
        )
        for obstacle in snapshot.protocol.why_not_writable()
    ]
    verify = request.command("verify")
    findings += [("warning", str(warning), verify) for warning in snapshot.warnings]
    if facts["commits_after_checkpoint"] > _MANY:
        message = f"slow to open: {_log_text(facts)}"
        findings.append(("warning", message, request.command("checkpoint")))
    files, total = facts["files"], facts["size_in_bytes"]
    if files >= _MANY and total / files < _SMALL:
        message = f"many small files: {thousands(files)} of {size(total // files)} on average"
        findings.append(("info", message, request.command("optimize")))
    names = ("severity", "message", "remedy")
    return [dict(zip(names, finding, strict=True)) for finding in findings]


def _print_screen(console: Console, request: Request, facts: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    name = facts["name"] or unquote(facts["uri"].rstrip("/").rpartition("/")[2])
    title = Text.assemble((plain(name), "bold"), (f"  {plain(facts['uri'])}", "dim"))
    console.print(title, soft_wrap=True)
    if facts["description"]:
        console.print(plain(facts["description"]))
    console.print()

    lines = Grid.grid(padding=(0, 2))
    lines.add_column(style="cyan", no_wrap=True)
    lines.add_column(overflow="fold")
    timestamp = facts["timestamp"]
    files, total = facts["files"], facts["size_in_bytes"]
    average = f", {size(total // files)} on average" if files else ""
    effect_text = f"({facts['effect']})" if facts["effect"] else ""
    commit = " ".join(filter(None, [plain(facts["operation"]), effect_text]))
    properties = [f"{plain(key)} = {plain(value)}" for key, value in facts["properties"].items()]
    age = units.ago(timestamp, datetime.now(timezone.utc))
    entries = {
        "Version": f"{facts['version']}, {request.output.timestamp(timestamp)} ({age})",
        "Last commit": commit or "unknown: the log does not name its operation",
        "By": facts["by"],
        "Rows": "unknown: some files have no statistics; deltareplay count"
        if facts["rows"] is None
        else thousands(facts["rows"]),
        "Files": f"{thousands(files)}, {size(total)}{average}",
        "Log": _log_text(facts),
        "Partitioned by": ", ".join(map(plain, facts["partition_columns"])) or "nothing",
        "Clustered by": ", ".join(map(plain, facts["clustering_columns"])),
        "Created": facts["created"] and request.output.timestamp(facts["created"]),
        "Protocol": f"reader {facts['min_reader_version']}, writer {facts['min_writer_version']}",
        "Features": ", ".join(map(plain, facts["features"])),
        "Properties": _listing(properties),
        "Id": plain(facts["id"]),
    }
    for name, text in entries.items():
        if text:
            lines.add_row(name, text)
    console.print(lines)

    columns = facts["columns"]
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for heading in ("Column", "Type", ""):
        grid.add_column(heading, overflow="fold")
    for column in columns[:_MAX_LISTED]:
        grid.add_row(
            plain(column["name"]),
            plain(column["type"]),
            "" if column["nullable"] else "not null",
        )
    console.print()
    console.print(grid)
    console.print()
    if len(columns) > _MAX_LISTED:
        console.print(
            f"{len(columns) - _MAX_LISTED:,} more columns: deltareplay schema", style="dim"
        )
        console.print()

    health = facts["health"]
    if not health:
        console.print(
            Text("Health  ", style="cyan").append("nothing is wrong in what was read", "green")
        )
        console.print("        deltareplay verify checks the log and the data files", style="dim")
    for number, finding in enumerate(health):
        heading = "Health" if number == 0 else ""
        print_finding(console, **finding, heading=heading)


def _log_text(facts: dict[str, Any]) -> str:
    checkpoint, after = facts["checkpoint_version"], facts["commits_after_checkpoint"]
    if checkpoint is None:
        return f"{counted(after, 'commit')}, no checkpoint"
    return f"checkpoint of version {checkpoint}, {counted(after, 'commit')} after it"


def _listing(items: list[str]) -> Text:
    from rich.text import Text

    more = [f"and {len(items) - _MAX_LISTED} more"] if len(items) > _MAX_LISTED else []
    return Text("\n".join(items[:_MAX_LISTED] + more))


@verb
def report(
    request: Request,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the report goes.")
    ] = Path("report.html"),
    version: Version = None,
    orphans: Annotated[
        bool,
        typer.Option(
            "--orphans", help="Also look for files below the table that no version needs."
        ),
    ] = False,
) -> None:
    """Write one HTML file that shows the table, with advice."""
    written = request.table.report(output, version=version, orphans=orphans)
    facts = {"output": str(written), "size_in_bytes": written.stat().st_size}
    request.output.document(facts, lambda console: console.print(str(written), soft_wrap=True))
