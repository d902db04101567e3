"""The application: all verbs, the help, and the exit code."""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Annotated

import typer

from deltareplay.cli._verb import FAILED, STOPPED, print_message

_EXAMPLES = """
Examples:

  deltareplay show demo/orders

  deltareplay why s3://lake/orders --storage-option aws_region=eu-west-1

  deltareplay files demo/orders --filter "country = 'DE'" --json | jq .size

  deltareplay verify demo/orders || echo "something is wrong"

Exit codes: 0 success, 1 findings, 2 wrong use, 3 the read, the commit or the output failed, 130
stopped by Ctrl-C.
"""

#: The environment variable that a shell sets to request completions.
_COMPLETE = "_DELTAREPLAY_COMPLETE"
#: The modules that define the verbs, by the sections of the help.
_VERBS = {
    "Look": {
        "show": "_show",
        "report": "_show",
        "history": "_history",
        "files": "_rows",
        "partitions": "_rows",
        "schema": "_rows",
        "head": "_rows",
        "count": "_rows",
        "summary": "_rows",
        "watch": "_history",
    },
    "Compare": {"diff": "_compare", "changes": "_compare", "actions": "_compare"},
    "Check": {"why": "_check", "verify": "_check", "explain": "_check"},
    "Maintain": {
        "checkpoint": "_maintain",
        "compact-log": "_maintain",
        "cleanup-log": "_maintain",
        "vacuum": "_maintain",
        "optimize": "_maintain",
        "restore": "_maintain",
    },
}


def _print_version(requested: bool) -> None:
    if requested:
        from deltareplay._native import __version__

        typer.echo(f"deltareplay {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None: ...


def _application(only: str | None) -> typer.Typer:
    """Create the application with all verbs, or with one, so that others are not imported."""
    app = typer.Typer(
        name="deltareplay",
        help="Look at Delta tables, find out what is wrong with them, and maintain them.",
        epilog=_EXAMPLES,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback()(_root)
    for panel, verbs in _VERBS.items():
        for name, module_name in verbs.items():
            if only in (None, name):
                module = importlib.import_module(f"deltareplay.cli.{module_name}")
                function = getattr(module, name.replace("-", "_"))
                app.command(name, rich_help_panel=panel)(function)
    return app


def run(arguments: list[str]) -> int:
    """Run the command with these arguments; return its exit code."""
    if sys.stdout is None:
        print_message("error", "the output cannot be written: standard output is closed")
        return FAILED
    if isinstance(sys.stdout, io.TextIOWrapper):
        # characters that the terminal's encoding lacks must not end the command
        sys.stdout.reconfigure(errors="backslashreplace")
    first = next(iter(arguments), None)
    is_verb = any(first in verbs for verbs in _VERBS.values())
    app = _application(first if is_verb and _COMPLETE not in os.environ else None)
    try:
        app(arguments or ["--help"], prog_name="deltareplay")
    except SystemExit as exit_:
        # Click also exits if the pipe was closed while it printed
        code = None if isinstance(exit_.__context__, BrokenPipeError) else exit_.code
    except KeyboardInterrupt:
        return STOPPED
    except OSError as error:  # of standard output: verbs report their own errors
        return _report_unwritable(error)
    else:
        code = 0
    return _flush(code if isinstance(code, int) else 0 if code is None else 2)


def _flush(code: int) -> int:
    """Flush the output and return the exit code; a closed pipe, as by ``head``, is not an error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
    except OSError as error:
        return _report_unwritable(error)
    return code


def _report_unwritable(error: OSError) -> int:
    """Report that the output cannot be written, as on a full disk; return the exit code."""
    _discard_output()
    print_message("error", f"the output cannot be written: {error.strerror or error}")
    return FAILED


def _discard_output() -> None:
    """Discard the buffered output, which the interpreter would flush when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
