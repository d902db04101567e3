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
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = ["partitionValues_parsed", "size", "deletionVector"]
    files = snapshot.file_batches(columns, where).read_all()
    has_vector = files["deletionVector"].is_valid()
    if purge:
        files = files.filter(has_vector)
    elif not everything:
        files = files.filter(pc.or_(has_vector, pc.less(files["size"], pa.scalar(target))))
    values = files["partitionValues_parsed"].flatten()
    keys = list(map(str, range(len(values))))
    partitions = (
        pa.table([files["size"], *values], names=["size", *keys])
        .group_by(keys)
        .aggregate([("size", "count"), ("size", "sum")])
    )
    alone = 0 if purge or everything else 1
    partitions = partitions.filter(pc.greater(partitions["size_count"], pa.scalar(alone)))
    return {
        "version": snapshot.version,
        "files": pc.sum(partitions["size_count"]).as_py() or 0,
        "size_in_bytes": pc.sum(partitions["size_sum"]).as_py() or 0,
        "partitions": partitions.num_rows,
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
