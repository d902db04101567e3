"""Options that several verbs take."""

from __future__ import annotations

import datetime
import re
from typing import Annotated

import typer

from deltareplay._support.units import whole

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
#: What asks a filter for the current time.
_CLOCK = re.compile(r"\b(now|curdate|current_date|current_timestamp)\b", re.IGNORECASE)
#: What a person is shown if they do not say how many.
SCREEN = 50
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", "-n", min=0, help=f"How many; 0: all. Default: all, on a terminal {SCREEN}."
    ),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="NAMES", help="Columns, separated by commas; default: all."),
]


def names(columns: str | None) -> list[str] | None:
    """The names in ``--columns``.

    >>> names("id, name"), names(None)
    (['id', 'name'], None)
    """
    return None if columns is None else [name.strip() for name in columns.split(",")]


Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do it; without it, only tell what would be done.")
]


def version_or_time(text: str) -> int | str:
    """A version, or a time as ISO 8601 text.

    >>> version_or_time("7"), version_or_time("2026-01-02")
    (7, '2026-01-02')
    """
    version = whole(text)
    return text if version is None else version


def at_start(filter: str | None) -> str | None:
    """A filter that may ask for the current time: the moment at which the command starts.

    >>> at_start("id > 7"), "now" in at_start("at > now() - INTERVAL 1 HOUR")
    ('id > 7', False)
    """
    if filter is None or not _CLOCK.search(filter):
        return filter
    from deltareplay import filter_at

    return filter_at(filter, datetime.datetime.now(datetime.timezone.utc))
