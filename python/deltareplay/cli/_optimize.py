"""``deltareplay optimize``: small files into large ones, or rows in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deltareplay import _native
from deltareplay.cli._format import counted, size
from deltareplay.cli._options import Yes, names
from deltareplay.cli._verb import Request, verb

if TYPE_CHECKING:
    from rich.console import Console


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

    The rows stay the same. Without --yes it only shows which files it would rewrite.
    """
    table, order = request.table, names(z_order_by)
    if not yes:
        snapshot = table.snapshot()
        plan = _native.OptimizePlan(
            table._native, snapshot._native, where, order or (), purge, target_file_size
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
        request.output.document(facts, lambda console: _tell(console, facts))
        return
    done = table.optimize(
        where,
        z_order_by=order,
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


def _tell(console: Console, facts: dict[str, Any]) -> None:
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
