"""``deltareplay verify``: whether a table is sound."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from deltareplay.cli import _findings
from deltareplay.cli._format import counted
from deltareplay.cli._output import Column
from deltareplay.cli._verb import FINDINGS, Request, verb

if TYPE_CHECKING:
    from rich.console import Console


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
            _findings.tell(console, finding.severity, message, finding.remedy, location=location)
        if verification.omitted:
            console.print(f"and {verification.omitted:,} more")
        if verification.ok:
            console.print("nothing is wrong", style="green")

    output.document({"ok": verification.ok, **dataclasses.asdict(verification)}, text)
    return 0 if verification.ok else FINDINGS
