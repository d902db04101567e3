"""``deltareplay optimize``: small files into large ones, or rows in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deltareplay import _native
from deltareplay.cli._format import counted, size
from deltareplay.cli._options import Yes, names
from deltareplay.cli._records import records
from deltareplay.cli._verb import Request, verb

if TYPE_CHECKING:
    from rich.console import Console

    from deltareplay import Snapshot


@verb
def optimize(
    request: Request,
    *,
    where: Annotated[
        str | None, typer.Option("--where", metavar="SQL", help="Which partitions; default: all.")
    ] = None,
    z_order_by: Annotated[
        str | None, typer.Option("--z-order-by", metavar="NAMES", help="Columns, by commas.")
    ] = None,
    target_file_size: Annotated[
        int | None,
        typer.Option("--target-file-size", metavar="BYTES", min=1, help="By default the table's."),
    ] = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="Only rewrite files with deleted rows or columns.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Pack small data files, or put rows in order.

    The rows stay the same. Without --yes it only tells which files it would look at.
    """
    table = request.table
    if not yes:
        snapshot = table.snapshot()
        target = target_file_size or _native.target_file_size(snapshot._native)
        everything = z_order_by is not None or "clustering" in snapshot.protocol.features
        facts = {"dry_run": True, **_plan(snapshot, where, target, purge, everything)}
        request.output.document(facts, lambda console: _tell(console, facts))
        return
    done = table.optimize(
        where,
        z_order_by=names(z_order_by),
        target_file_size=target_file_size,
        purge=purge,
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


def _plan(
    snapshot: Snapshot, where: str | None, target: int, purge: bool, everything: bool
) -> dict[str, Any]:
    """The files that are smaller than the target and not alone in their partition, or all."""
    partitions: dict[Any, tuple[int, int]] = {}  # files and bytes
    columns = ["partitionValues", "size", "deletionVector"]
    for file in records(snapshot.file_batches(columns, where)):
        has_vector = file["deletionVector"] is not None
        if has_vector if purge else everything or has_vector or file["size"] < target:
            values = tuple(sorted(file["partitionValues"].items()))
            number, total = partitions.get(values, (0, 0))
            partitions[values] = number + 1, total + file["size"]
    if not purge and not everything:
        partitions = {key: found for key, found in partitions.items() if found[0] > 1}
    return {
        "version": snapshot.version,
        "files": sum(number for number, _ in partitions.values()),
        "size_in_bytes": sum(total for _, total in partitions.values()),
        "partitions": len(partitions),
        "target_file_size": target,
    }


def _tell(console: Console, facts: dict[str, Any]) -> None:
    if not facts["files"]:
        console.print("there is nothing to do")
        return
    console.print(
        f"would look at {counted(facts['files'], 'file')}, {size(facts['size_in_bytes'])}, in "
        f"{counted(facts['partitions'], 'partition')}; files get up to "
        f"{size(facts['target_file_size'])}",
        soft_wrap=True,
    )
    console.print("with --yes, it rewrites them")
