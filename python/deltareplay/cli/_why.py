"""``deltareplay why``: what keeps this release from reading or writing a table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from deltareplay.cli import _findings
from deltareplay.cli._options import Version
from deltareplay.cli._output import Column, console
from deltareplay.cli._records import records
from deltareplay.cli._verb import FINDINGS, Request, verb

if TYPE_CHECKING:
    from deltareplay import Protocol, Table, UnsupportedFeatureError

#: Commits that are searched for the protocol at once, at most.
_MOST = 1000


@verb
def why(request: Request, *, version: Version = None) -> int:
    """Say what prevents reading or writing, and the remedies.

    Works on tables that cannot be opened, too. Ends with 1 if there is an obstacle.
    """
    obstacles = list(_obstacles(request.table, version))
    output = request.output
    if output.is_text:
        out = console(sys.stdout)
        for obstacle in obstacles:
            message = f"{obstacle['feature']} prevents {obstacle['prevents']}: {obstacle['reason']}"
            severity = "error" if obstacle["prevents"] == "reading" else "warning"
            _findings.tell(out, severity, message, obstacle["remedy"])
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
        named = _named(table, error)
        if named is None or not named.why_not_readable():
            # it is something else than the protocol, or the commit has gone: the error names all
            by_name = error.code == "catalog.required"
            yield {
                "prevents": "reading",
                "feature": error.code,
                "reason": str(error),
                "remedy": "name it as its catalog does, e.g. uc://catalog.schema.table"
                if by_name
                else "read it with a release that supports it, or choose an older --version",
            }
            return
        protocol = named
    for prevents, obstacles in (
        ("reading", protocol.why_not_readable()),
        ("writing", protocol.why_not_writable()),
    ):
        for obstacle in obstacles:
            yield {
                "prevents": prevents,
                "feature": obstacle.feature,
                "reason": obstacle.reason,
                "remedy": obstacle.remedy,
            }


def _named(table: Table, error: UnsupportedFeatureError) -> Protocol | None:
    """The newest protocol in the commits up to the version that an error names."""
    from deltareplay import Protocol
    from deltareplay.exceptions import DeltaReplayError

    end, step = error.version, 10
    while end is not None and end >= 0 and step <= _MOST:
        start = max(0, end - step + 1)
        try:
            actions = list(records(table.actions(start, end)))
        except DeltaReplayError:
            return None  # cleaned away
        for protocol in (row["protocol"] for row in reversed(actions) if row["protocol"]):
            return Protocol(
                protocol["minReaderVersion"],
                protocol["minWriterVersion"],
                protocol["readerFeatures"],
                protocol["writerFeatures"],
            )
        end, step = start - 1, step * 10
    return None
