"""The application: all verbs, the help, and how the process ends."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from deltareplay.cli import (
    _actions,
    _changes,
    _checkpoint,
    _cleanup_log,
    _compact_log,
    _count,
    _diff,
    _explain,
    _files,
    _head,
    _history,
    _optimize,
    _report,
    _restore,
    _schema,
    _show,
    _vacuum,
    _verify,
    _watch,
    _why,
)
from deltareplay.cli._verb import STOPPED

_EXAMPLES = """
Examples:

  deltareplay show demo/orders

  deltareplay why s3://lake/orders --storage-option aws_region=eu-west-1

  deltareplay files demo/orders --filter "country = 'DE'" --json | jq .size

  deltareplay verify demo/orders || echo "something is wrong"

Exit codes: 0 right, 1 findings, 2 wrong use, 3 the table cannot be read.
"""

app = typer.Typer(
    name="deltareplay",
    help="Look at Delta tables, find out what is wrong with them, and maintain them.",
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from deltareplay._native import __version__

        typer.echo(f"deltareplay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None: ...


for panel, verbs in {
    "Look": (
        _show.show,
        _report.report,
        _history.history,
        _files.files,
        _schema.schema,
        _head.head,
        _count.count,
        _watch.watch,
    ),
    "Compare": (_diff.diff, _changes.changes, _actions.actions),
    "Check": (_why.why, _verify.verify, _explain.explain),
    "Maintain": (
        _checkpoint.checkpoint,
        _compact_log.compact_log,
        _cleanup_log.cleanup_log,
        _vacuum.vacuum,
        _optimize.optimize,
        _restore.restore,
    ),
}.items():
    for one in verbs:
        app.command(rich_help_panel=panel)(one)


def run(arguments: list[str]) -> int:
    """The command with these arguments; returns its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # characters that the terminal's encoding lacks must not end the command
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(arguments or ["--help"], prog_name="deltareplay")
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        return STOPPED
    else:
        code = 0
    return _flushed(code if isinstance(code, int) else 0 if code is None else 2)


def _flushed(code: int) -> int:
    """The exit code; a reader that has gone, as ``head`` does, is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # the interpreter flushes again as it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
