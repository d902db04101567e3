"""``deltareplay restore``: a new version with the content of an older one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deltareplay.cli._format import count, counted, size
from deltareplay.cli._options import Timestamp, Yes
from deltareplay.cli._verb import Request, verb

if TYPE_CHECKING:
    from rich.console import Console

    from deltareplay import Table


@verb
def restore(
    request: Request,
    *,
    version: Annotated[
        int | None, typer.Argument(metavar="[VERSION]", help="The version to go back to.")
    ] = None,
    timestamp: Timestamp = None,
    ignore_missing_files: Annotated[
        bool, typer.Option("--ignore-missing-files", help="Leave out data files that are gone.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Commit a version with the content of an older one.

    Without --yes it only shows what that would change.
    """
    if (version is None) == (timestamp is None):
        raise typer.BadParameter("give a VERSION, or --timestamp")
    table = request.table
    if not yes:
        facts = _plan(table, version, timestamp)
        command = request.command("restore", f"{facts['restored_version']} --yes")
        request.output.document(facts, lambda console: _tell_plan(console, facts, command))
        return
    done = table.restore(version, timestamp=timestamp, ignore_missing_files=ignore_missing_files)

    def text(console: Console) -> None:
        console.print(
            f"version {done.version} has the content of version {done.restored_version}: "
            f"{counted(done.num_restored_files, 'file')} restored, "
            f"{counted(done.num_removed_files, 'file')} removed"
        )
        if done.missing_files:
            console.print(f"{counted(len(done.missing_files), 'file')} missing, left out")

    request.output.document({"dry_run": False, **dataclasses.asdict(done)}, text)


def _plan(table: Table, version: int | None, timestamp: str | None) -> dict[str, Any]:
    newest, older = table.snapshot(), table.snapshot(version, timestamp)
    difference = newest.diff(older)
    kinds = difference.files["change"].to_pylist()
    return {
        "dry_run": True,
        "version": newest.version,
        "restored_version": older.version,
        "num_restored_files": kinds.count("added") + kinds.count("vector"),
        "num_removed_files": kinds.count("removed") + kinds.count("vector"),
        "rows": difference.num_rows,
        "size_in_bytes": difference.size_in_bytes,
        "definition": [
            f"{row['what']} {row['name']}".rstrip() for row in difference.definition.to_pylist()
        ],
    }


def _tell_plan(console: Console, facts: dict[str, Any], command: str) -> None:
    rows, sizes = map(count, facts["rows"]), map(size, facts["size_in_bytes"])
    console.print(
        f"would restore version {facts['restored_version']}, now {facts['version']}: "
        f"{counted(facts['num_restored_files'], 'file')} restored, "
        f"{counted(facts['num_removed_files'], 'file')} removed, "
        f"rows {' to '.join(rows)}, size {' to '.join(sizes)}",
        soft_wrap=True,
    )
    for name in facts["definition"]:
        console.print(f"changes {name}")
    console.print(f"`{command}` does", soft_wrap=True)
