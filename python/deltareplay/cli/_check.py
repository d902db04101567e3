"""``deltareplay why``, ``verify`` and ``explain``: obstacles, findings and skipped files."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deltareplay.cli._output import Column, console
from deltareplay.cli._values import counted, plain, records, size, thousands
from deltareplay.cli._verb import FINDINGS, Request, Timestamp, Version, print_message, verb

if TYPE_CHECKING:
    from rich.console import Console

    from deltareplay import Protocol, Table, UnsupportedFeatureError


_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}


def print_finding(
    console: Console,
    severity: str,
    message: str,
    remedy: str,
    *,
    location: Sequence[str] = (),
    heading: str | None = None,
) -> None:
    """Print a finding, with its file, line and byte; a heading is a column to the left of it."""
    from rich.table import Table
    from rich.text import Text

    text = Text(f"{severity}: ", style=f"bold {_COLOURS[severity]}")
    text.append(plain(message), style="not bold default")
    if location:
        text.append(f"\n  in:  {', '.join(map(plain, location))}", style="not bold default")
    text.append("\n  try: ", style="bold default")
    text.append(plain(remedy), style="not bold default")
    grid = Table.grid()
    if heading is not None:
        grid.add_column(width=8, style="cyan")
    grid.add_column(overflow="fold")
    grid.add_row(*(() if heading is None else (heading,)), text)
    console.print(grid)


#: The maximum number of commits that are searched for the protocol at once.
_MAX_COMMITS = 1024


@verb
def why(request: Request, *, version: Version = None) -> int:
    """List the obstacles to reading or writing, with remedies.

    Works on tables that cannot be opened, too. Ends with 1 if there is an obstacle.
    """
    obstacles = list(_obstacles(request.table, version))
    output = request.output
    if output.is_text:
        out = console(sys.stdout)
        for obstacle in obstacles:
            message = f"{obstacle['feature']} prevents {obstacle['prevents']}: {obstacle['reason']}"
            severity = "error" if obstacle["prevents"] == "reading" else "warning"
            print_finding(out, severity, message, obstacle["remedy"])
        if not obstacles:
            out.print("nothing: this release reads and writes the table", style="green")
    else:
        names = ("prevents", "feature", "reason", "remedy")
        output.rows(obstacles, [Column(name) for name in names])
    return FINDINGS if obstacles else 0


def _obstacles(table: Table, version: int | None) -> Iterator[dict[str, Any]]:
    from deltareplay.exceptions import UnsupportedFeatureError

    try:
        protocol = table.snapshot(version).protocol
    except UnsupportedFeatureError as error:
        known_protocol = _protocol_of(table, error)
        if known_protocol is None or not known_protocol.why_not_readable():
            # the protocol is not the cause, or its commit is gone: the error itself is the obstacle
            needs_catalog = error.code == "catalog.required"
            yield {
                "prevents": "reading",
                "feature": error.code,
                "reason": str(error),
                "remedy": "name it as its catalog does, e.g. uc://catalog.schema.table"
                if needs_catalog
                else "read it with a release that supports it, or choose an older --version",
            }
            return
        protocol = known_protocol
    for prevents, obstacles in (
        ("reading", protocol.why_not_readable()),
        ("writing", protocol.why_not_writable()),
    ):
        for obstacle in obstacles:
            yield {"prevents": prevents, **dataclasses.asdict(obstacle)}


def _protocol_of(table: Table, error: UnsupportedFeatureError) -> Protocol | None:
    """Return the newest protocol in the commits up to the version that an error names."""
    from deltareplay import Protocol
    from deltareplay.exceptions import DeltaReplayError, VersionNotFoundError

    end, step, is_complete = error.version, 16, True
    while end is not None and end >= 0 and 0 < step <= _MAX_COMMITS:
        start = max(0, end - step + 1)
        try:
            actions = list(records(table.actions(start, end)))
        except VersionNotFoundError:
            is_complete = False  # log cleanup deleted the first ones: fewer than `step` are left
        except DeltaReplayError:
            return None
        else:
            for protocol in (row["protocol"] for row in reversed(actions) if row["protocol"]):
                return Protocol(
                    protocol["minReaderVersion"],
                    protocol["minWriterVersion"],
                    protocol["readerFeatures"],
                    protocol["writerFeatures"],
                )
            end = start - 1
        # after a failure, the halves of `step` add up to all that are left
        step = step * 8 if is_complete else step // 2
    return None


@verb
def verify(
    request: Request,
    *,
    log_only: Annotated[
        bool, typer.Option("--log-only", help="Leave data files and deletion vectors unchecked.")
    ] = False,
    rows: Annotated[
        bool, typer.Option("--rows", help="Read every row, too: takes as long as a scan.")
    ] = False,
) -> int:
    """Check the log and the data files against the protocol.

    Changes nothing. Ends with 1 if something is wrong; each finding says what to do.
    """
    verification = request.table.verify(data_files=not log_only, rows=rows)
    output = request.output
    if output.form == "csv":
        names = ["severity", "code", "version", "path", "line", "offset", "message", "remedy"]
        findings = map(dataclasses.asdict, verification.findings)
        output.rows(findings, [Column(name) for name in names])
        return 0 if verification.ok else FINDINGS

    def text(console: Console) -> None:
        console.print(
            f"version {verification.version}: {counted(verification.num_commits, 'commit')}, "
            f"{counted(verification.num_checkpoints, 'checkpoint')}, "
            f"{counted(verification.num_checksums, 'checksum')}, "
            f"{counted(verification.num_files, 'file')} checked",
            soft_wrap=True,
        )
        for finding in verification.findings:
            location = [finding.path] if finding.path is not None else []
            location += [f"line {finding.line}"] if finding.line is not None else []
            location += [f"byte {finding.offset}"] if finding.offset is not None else []
            message = f"{finding.message} [{finding.code}]"
            print_finding(console, finding.severity, message, finding.remedy, location=location)
        if verification.omitted:
            console.print(f"and {verification.omitted:,} more")
        if verification.ok:
            console.print("nothing is wrong", style="green")

    output.document({"ok": verification.ok, **dataclasses.asdict(verification)}, text)
    return 0 if verification.ok else FINDINGS


@verb
def explain(
    request: Request,
    *,
    filter: Annotated[
        str, typer.Argument(metavar="FILTER", help="SQL, e.g. \"day = '2026-01-01'\".")
    ],
    version: Version = None,
    timestamp: Timestamp = None,
    min_pruning: Annotated[
        float | None,
        typer.Option(
            "--min-pruning",
            metavar="PERCENT",
            min=0,
            max=100,
            help="End with 1 if the filter skips fewer of the files.",
        ),
    ] = None,
) -> int:
    """Show how many files and bytes a filter skips."""
    scan = request.table.snapshot(version, timestamp).scan(filter=filter)
    steps = list(records(scan.explain().to_batches()))
    total = steps[0]
    for step in steps:
        for unit in ("files", "bytes"):
            step[f"skipped_{unit}_percent"] = _percent(total[unit], step[unit])
    request.output.rows(
        steps,
        [
            Column("step", "Step"),
            Column("files", "Files", thousands, right=True),
            Column("skipped_files_percent", "Skipped", "{:.1f} %".format, right=True),
            Column("bytes", "Bytes", size, right=True),
            Column("skipped_bytes_percent", "Skipped", "{:.1f} %".format, right=True),
        ],
    )
    skipped = steps[-1]["skipped_files_percent"]
    if min_pruning is not None and skipped < min_pruning:
        print_message(
            "error",
            f"the filter skips {skipped:g} % of the files, less than {min_pruning:g} %",
            "partition or cluster by the columns of the filter, or write their statistics",
        )
        return FINDINGS
    return 0


def _percent(total: int, remaining: int) -> float:
    """Return the skipped percentage, rounded down; 100 if there is nothing to skip.

    >>> _percent(16, 5), _percent(1_000_000, 1), _percent(0, 0)
    (68.75, 99.999, 100.0)
    """
    return 100.0 if total == 0 else 100_000 * (total - remaining) // total / 1000
