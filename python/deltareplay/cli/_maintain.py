"""The verbs that maintain a table."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deltareplay import _native
from deltareplay._table.vacuum import retention_of
from deltareplay.cli._values import counted, plain, size, thousands
from deltareplay.cli._verb import Request, Timestamp, Yes, split_names, verb

if TYPE_CHECKING:
    from rich.console import Console

    from deltareplay import LogCleanup, Table, Vacuumed


#: The maximum number of deleted files on the screen.
_DELETED_ON_SCREEN = 20


def _print_deleted(console: Console, done: LogCleanup | Vacuumed, command: str) -> None:
    """Print the files, their number, and what to do next."""
    files = done.files
    for path in files[:_DELETED_ON_SCREEN]:
        console.print(plain(path), soft_wrap=True)
    if len(files) > _DELETED_ON_SCREEN:
        console.print(f"and {len(files) - _DELETED_ON_SCREEN:,} more", style="dim")
    summary = f"{counted(len(files), 'file')}, {size(done.size_in_bytes)}"
    if not done.dry_run:
        console.print(f"deleted: {summary}")
    elif files:
        console.print(f"would delete: {summary}; `{command}` does", soft_wrap=True)
    else:
        console.print("there is nothing to delete")


class Layout(str, Enum):
    """The layouts of ``Table.checkpoint``."""

    classic = "classic"
    v2 = "v2"
    v2_json = "v2-json"


@verb
def checkpoint(
    request: Request,
    *,
    layout: Annotated[
        Layout | None, typer.Option("--layout", help="By default as the table's policy says.")
    ] = None,
) -> None:
    """Write a checkpoint, so that the table opens faster.

    Deletes nothing: cleanup-log does.
    """
    written = request.table.checkpoint(
        layout=None if layout is None else layout.value, cleanup=False
    )
    request.output.document(
        dataclasses.asdict(written),
        lambda console: console.print(
            f"{written.path}: {counted(written.num_files, 'file')}, {size(written.size_in_bytes)}",
            soft_wrap=True,
        ),
    )


@verb
def compact_log(
    request: Request,
    *,
    start: Annotated[
        int | None,
        typer.Argument(
            metavar="[START]",
            help="The first version; by default after the newest checkpoint before END.",
        ),
    ] = None,
    end: Annotated[
        int | None,
        typer.Argument(metavar="[END]", help="The last version; by default the latest."),
    ] = None,
) -> None:
    """Write several commits as one file, which is faster to read.

    Deletes nothing.
    """
    file = request.table.compact_log(start, end)
    request.output.document(
        dataclasses.asdict(file),
        lambda console: console.print(
            f"{file.path}: {thousands(file.num_actions)} of "
            f"{thousands(file.num_actions_before)} actions, {size(file.size_in_bytes)} instead of "
            f"{size(file.size_in_bytes_before)}",
            soft_wrap=True,
        ),
    )


@verb
def cleanup_log(request: Request, *, yes: Yes = False) -> None:
    """Delete files of the log that have expired.

    No version inside the retention period needs them. Without --yes they are only listed.
    """
    done = request.table.cleanup_log(dry_run=not yes)

    def text(console: Console) -> None:
        _print_deleted(console, done, request.command("cleanup-log", "--yes"))
        if done.earliest_version is not None:
            console.print(f"oldest version that can be read afterwards: {done.earliest_version}")
        for note in done.notes:
            console.print(plain(note), style="dim")

    request.output.document(dataclasses.asdict(done), text)


@verb
def vacuum(
    request: Request,
    *,
    retain_hours: Annotated[
        float | None,
        typer.Option(
            "--retain-hours", min=0, help="The period. Default: the table's; a week unless set."
        ),
    ] = None,
    lite: Annotated[
        bool, typer.Option("--lite", help="Find files by the log, without listing the table.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Allow a shorter period than the table's: readers and writers may lose files.",
        ),
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete data files that no version inside the retention period needs.

    Older versions may lose files. Without --yes, files are only listed.
    """
    retention = None if retain_hours is None else retention_of(retain_hours)
    done = request.table.vacuum(retention, lite=lite, force=force, dry_run=not yes)
    options = [] if retain_hours is None else [f"--retain-hours {retain_hours}"]
    options += ["--lite"] * lite + ["--force"] * force + ["--yes"]

    def text(console: Console) -> None:
        _print_deleted(console, done, request.command("vacuum", " ".join(options)))
        console.print(
            "files that were removed or written since "
            f"{request.output.timestamp(done.cutoff)} stay",
            style="dim",
        )

    facts = {**dataclasses.asdict(done), "retention": done.retention.total_seconds()}
    request.output.document(facts, text)


@verb
def optimize(
    request: Request,
    *,
    where: Annotated[
        str | None, typer.Option("--where", metavar="SQL", help="Which partitions; default: all.")
    ] = None,
    z_order_by: Annotated[
        str | None,
        typer.Option("--z-order-by", metavar="NAMES", help="Columns, separated by commas."),
    ] = None,
    target_file_size: Annotated[
        int | None,
        typer.Option("--target-file-size", metavar="BYTES", min=1, help="By default the table's."),
    ] = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="Only rewrite files with deleted rows or columns.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Cluster files of earlier clustering columns again.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Pack small data files, or put rows in order.

    The rows stay the same. Without --yes it only shows how many files it would rewrite.
    """
    table, order = request.table, split_names(z_order_by)
    if not yes:
        snapshot = table.snapshot()
        plan = _native.OptimizePlan(
            table.native, snapshot.native, where, order or (), purge, full, target_file_size
        )
        files, bytes_, partitions = plan.totals()
        facts = {
            "dry_run": True,
            "version": snapshot.version,
            "files": files,
            "size_in_bytes": bytes_,
            "partitions": partitions,
            "target_file_size": plan.target_file_size,
        }
        request.output.document(facts, lambda console: _print_optimize(console, facts))
        return
    done = table.optimize(
        where,
        z_order_by=order,
        target_file_size=target_file_size,
        purge=purge,
        full=full,
    )
    metrics = done.metrics

    def text(console: Console) -> None:
        if done.version is None:
            console.print("there was nothing to do")
            return
        console.print(
            f"version {done.version}: {counted(metrics['numRemovedFiles'], 'file')}, "
            f"{size(metrics['numRemovedBytes'])}, became "
            f"{counted(metrics['numAddedFiles'], 'file')}, {size(metrics['numAddedBytes'])}"
        )

    request.output.document({"dry_run": False, "version": done.version, **metrics}, text)


def _print_optimize(console: Console, facts: dict[str, Any]) -> None:
    if not facts["files"]:
        console.print("there is nothing to do")
        return
    console.print(
        f"would rewrite {counted(facts['files'], 'file')}, {size(facts['size_in_bytes'])}, in "
        f"{counted(facts['partitions'], 'partition')}; files get up to "
        f"{size(facts['target_file_size'])}",
        soft_wrap=True,
    )
    console.print("with --yes, it does so")


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
        facts = _restore_plan(table, version, timestamp)
        options = "--ignore-missing-files --yes" if ignore_missing_files else "--yes"
        command = request.command("restore", f"{facts['restored_version']} {options}")
        request.output.document(facts, lambda console: _print_plan(console, facts, command))
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


def _restore_plan(table: Table, version: int | None, timestamp: str | None) -> dict[str, Any]:
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
            f"{row['what']} {row['name']}".rstrip()
            for row in difference.definition.to_pylist()
            if _is_restored(row)
        ],
    }


def _is_restored(row: dict[str, Any]) -> bool:
    """Return whether a restore changes this part of the definition, a row of a difference."""
    if row["what"] == "protocol":  # only raised, and no feature is removed
        return int(row["after"]) > int(row["before"])
    if row["what"] in ("reader feature", "writer feature"):
        return row["before"] is None
    name: str = row["name"]
    if row["what"] == "domain":
        return name == "delta.clustering"
    return not _native.is_kept_by_restore(name)


def _print_plan(console: Console, facts: dict[str, Any], command: str) -> None:
    rows, sizes = map(thousands, facts["rows"]), map(size, facts["size_in_bytes"])
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
