"""Conversion of functions to verbs of the command, and the options that verbs share."""

from __future__ import annotations

import contextlib
import datetime
import inspect
import math
import re
import shlex
import sys
import traceback
import typing
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from deltareplay._support.units import parse_integer
from deltareplay._support.uris import without_secrets
from deltareplay.cli._output import Output, console
from deltareplay.cli._values import plain
from deltareplay.exceptions import (
    CommitConflictError,
    CommitStateUnknownError,
    CorruptTableError,
    DeltaReplayError,
    DeltaReplayWarning,
    InvalidArgumentError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)

if TYPE_CHECKING:
    from deltareplay import Table


Version = Annotated[
    int | None,
    typer.Option("--version", help="A version; by default the latest.", show_default=False),
]
Timestamp = Annotated[
    str | None,
    typer.Option(
        "--timestamp",
        metavar="TIME",
        help="The version that was the latest at this time: ISO 8601, UTC if it has no offset.",
    ),
]
Filter = Annotated[
    str | None,
    typer.Option("--filter", metavar="SQL", help="Which rows, e.g. \"country = 'DE' AND id > 7\"."),
]
#: Functions for the current time.
_CLOCK = re.compile(r"\b(now|curdate|current_date|current_timestamp)\b", re.IGNORECASE)
#: The default number of rows printed as text.
SCREEN_ROWS = 50


def _bounded(limit: int | None) -> int | None:
    """Return the limit, at most the greatest number that ``itertools.islice`` takes."""
    return None if limit is None else min(limit, sys.maxsize)


def limit_option(description: str) -> Any:
    """Return the option ``--limit`` of a verb."""
    return typer.Option("--limit", "-n", min=0, callback=_bounded, help=description)


Limit = Annotated[
    int | None, limit_option(f"How many; 0: all. Default: {SCREEN_ROWS} as text, else all.")
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="NAMES", help="Columns, separated by commas; default: all."),
]


def split_names(text: str | None) -> list[str] | None:
    """Split the names of an option, which are separated by commas.

    >>> split_names("id, name"), split_names(None)
    (['id', 'name'], None)
    """
    return None if text is None else [name.strip() for name in text.split(",")]


Yes = Annotated[
    bool,
    typer.Option("--yes", "-y", help="Carry it out; by default, only show what would be done."),
]


def version_or_time(text: str) -> int | str:
    """Parse a version, or return a time as ISO 8601 text.

    >>> version_or_time("7"), version_or_time("2026-01-02")
    (7, '2026-01-02')
    """
    version = parse_integer(text)
    return text if version is None else version


def with_fixed_time(filter: str | None) -> str | None:
    """Replace the current time in a filter by the time at which the command starts.

    >>> with_fixed_time("id > 7"), "now" in with_fixed_time("at > now() - INTERVAL 1 HOUR")
    ('id > 7', False)
    """
    if filter is None or not _CLOCK.search(filter):
        return filter
    from deltareplay import filter_at

    return filter_at(filter, datetime.datetime.now(datetime.timezone.utc))


P = ParamSpec("P")

#: Exit codes.
FINDINGS, WRONG_USE, FAILED, STOPPED = 1, 2, 3, 130
#: Errors that quote the filter, and so have several lines.
_MULTILINE = ("filter.syntax", "filter.unsupported")
#: The exit code and the remedy of each class of errors; the first class that matches counts.
_ERRORS: tuple[tuple[type[DeltaReplayError], int, str], ...] = (
    (InvalidArgumentError, WRONG_USE, "see `deltareplay VERB --help`"),
    (
        VersionNotFoundError,
        WRONG_USE,
        "choose another version; `deltareplay history TABLE` lists the commits",
    ),
    (
        TableNotFoundError,
        FAILED,
        "name the directory that contains _delta_log; in a store, check the account, too",
    ),
    (UnsupportedFeatureError, FAILED, "`deltareplay why TABLE` lists every obstacle"),
    (
        CorruptTableError,
        FAILED,
        "`deltareplay verify TABLE` lists all damage; try an older --version",
    ),
    (CommitConflictError, FAILED, "nothing was committed: try again"),
    (
        CommitStateUnknownError,
        FAILED,
        "look in `deltareplay history TABLE` before you try again",
    ),
    (
        DeltaReplayError,
        FAILED,
        "try again; check the address, the network and the credentials",
    ),
)

_COMMON = {
    "storage_option": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--storage-option",
                metavar="KEY=VALUE",
                help="A setting of the object store, e.g. aws_region=eu-west-1; may be repeated.",
            ),
        ],
        None,
    ),
    "as_json": (
        Annotated[bool, typer.Option("--json", help="One JSON object a line, for machines.")],
        False,
    ),
    "as_csv": (Annotated[bool, typer.Option("--csv", help="CSV with a header.")], False),
    "utc": (Annotated[bool, typer.Option("--utc", help="Times in UTC, not in local time.")], False),
    "verbose": (
        Annotated[
            bool,
            typer.Option(
                "--verbose", "-v", help="Print on standard error what is listed and read."
            ),
        ],
        False,
    ),
}
_TABLE = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="The table root: a path or a URI.", show_default=False),
]


@dataclass(frozen=True)
class Request:
    """The table of a verb, and its output."""

    uri: str
    storage_options: dict[str, str]
    output: Output

    @property
    def table(self) -> Table:
        """The table; nothing is read yet."""
        from deltareplay import Table

        return Table(self.uri, self.storage_options)

    @property
    def safe_uri(self) -> str:
        """The URI for printing: without a user, a password or a signature."""
        return without_secrets(self.table.uri)

    def command(self, name: str, options: str = "") -> str:
        """Return the command line of another verb for the same table."""
        return f"deltareplay {name} {_shell_uri(self.uri)} {options}".rstrip()


def _shell_uri(uri: str) -> str:
    """Quote a URI for a shell, without secrets."""
    return shlex.quote(without_secrets(uri))


def verb(function: Callable[Concatenate[Request, P], int | None]) -> Callable[..., None]:
    """Convert a function to a verb for typer.

    ``request``, its first parameter, becomes the argument ``TABLE`` and the options that every verb
    takes. Its result is the exit code. An error becomes a message and an exit code.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]
    kinds = {"uri": _TABLE, **{parameter.name: hints[parameter.name] for parameter in own}}
    kinds |= {name: kind for name, (kind, _) in _COMMON.items()}
    defaults = {parameter.name: parameter.default for parameter in own}
    defaults |= {name: default for name, (_, default) in _COMMON.items()}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(name, inspect.Parameter.empty),
            annotation=kind,
        )
        for name, kind in kinds.items()
    ]

    def call(**arguments: Any) -> None:
        common = {name: arguments.pop(name) for name in _COMMON}
        code = _run(function, arguments.pop("uri"), common, arguments)
        if code:
            raise typer.Exit(code)

    call.__name__ = function.__name__
    call.__doc__ = function.__doc__
    call.__annotations__ = kinds
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


def _run(
    function: Callable[..., int | None], uri: str, common: dict[str, Any], own: dict[str, Any]
) -> int:
    with warnings.catch_warnings(), _log_to_stderr(common["verbose"]):
        warnings.simplefilter("always", DeltaReplayWarning)
        warnings.showwarning = _show_warning
        try:
            if common["as_json"] and common["as_csv"]:
                raise typer.BadParameter("--json and --csv cannot be combined")
            options = dict(_pair(text) for text in common["storage_option"] or ())
            form = "json" if common["as_json"] else "csv" if common["as_csv"] else "text"
            request = Request(uri, options, Output(form, utc=common["utc"]))
            for name, value in own.items():
                if isinstance(value, float) and not math.isfinite(value):
                    option = name.replace("_", "-")
                    raise typer.BadParameter(f"--{option} is {value}: pass a finite number")
            for name in own.keys() & {"filter", "where"}:
                own[name] = with_fixed_time(own[name])
            return function(request, **own) or 0
        except DeltaReplayError as error:
            return _report_error(error, uri, function.__name__.replace("_", "-"))
        except KeyboardInterrupt:
            return STOPPED
        except BrokenPipeError:
            return 0
        except OSError as error:
            if error.filename is None:
                raise  # not of a file: standard output cannot be written
            print_message("error", str(error), "check the path and its permissions")
            return WRONG_USE
        except typer.BadParameter:
            raise
        except Exception as error:
            if common["verbose"]:
                traceback.print_exc()
            kind = type(error).__name__
            print_message("error", f"{kind}: {error}", "report it as a bug, with what -v prints")
            return FAILED


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        # the text may be a secret
        raise typer.BadParameter("--storage-option takes KEY=VALUE")
    return name, value


def _report_error(error: DeltaReplayError, uri: str, name: str) -> int:
    """Print an error and its remedy; return the exit code."""
    code, remedy = next((code, text) for kind, code, text in _ERRORS if isinstance(error, kind))
    remedy = remedy.replace("VERB", name).replace("TABLE", _shell_uri(uri))
    print_message(
        "error", f"{error} [{error.code}]", remedy, error.docs, multiline=error.code in _MULTILINE
    )
    return code


def _show_warning(message: Warning | str, *_location: Any, **_options: Any) -> None:
    print_message("warning", str(message))


def print_message(
    kind: str,
    message: str,
    remedy: str | None = None,
    more: str | None = None,
    *,
    multiline: bool = False,
) -> None:
    """Write a message to standard error, in colour on a terminal.

    A message that may contain text from the table is one line; a message about the user's own text
    may have several (``multiline``).
    """
    if sys.stderr is None:  # it is closed
        return
    with contextlib.suppress(OSError):  # a message that cannot be written changes no result
        colour = {"error": "bold red", "warning": "bold yellow"}.get(kind, "bold")
        out = console(sys.stderr)
        out.print(f"{kind}:", style=colour, end=" ")
        for line in message.splitlines() if multiline else [message]:
            out.print(line, soft_wrap=True)
        if remedy is not None:
            out.print("  try:", style="bold", end=" ")
            out.print(remedy, soft_wrap=True)
        if more is not None:
            out.print("  see:", style="bold", end=" ")
            out.print(more, soft_wrap=True)


@contextlib.contextmanager
def _log_to_stderr(enabled: bool) -> Iterator[None]:
    """Let the logger write to standard error within the context, if enabled."""
    if not enabled:
        yield
        return
    import logging

    logger = logging.getLogger("deltareplay")
    handler = logging.StreamHandler()

    class EscapingFormatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return "\n".join(map(plain, super().format(record).splitlines()))

    handler.setFormatter(EscapingFormatter("%(asctime)s %(levelname)s %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
