"""``deltareplay partitions``: the partitions, and how large they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltareplay.cli._format import count, plain, size
from deltareplay.cli._options import SCREEN, Filter, Limit, Timestamp, Version
from deltareplay.cli._output import Column
from deltareplay.cli._records import records
from deltareplay.cli._verb import Request, verb

if TYPE_CHECKING:
    import pyarrow as pa

_READ = ["partitionValues_parsed", "size", "numRecords", "deletionVector"]


@verb
def partitions(
    request: Request,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    filter: Filter = None,
    limit: Limit = None,
) -> None:
    """List the partitions, the largest first: files, rows and bytes.

    With a filter, only the files that may have such rows count.
    """
    output = request.output
    snapshot = request.table.snapshot(version, timestamp)
    groups = by_partition(snapshot.file_batches(_READ, filter).read_all())
    if limit is None and output.is_text:
        limit = SCREEN
    page = groups.slice(0, limit) if limit else groups
    output.rows(
        records(page.to_batches()),
        [
            Column("files", "Files", count, right=True),
            Column("rows", "Rows", count, right=True),
            Column("size_in_bytes", "Size", size, right=True),
            Column("partition", "Partition", _named, whole=True),
        ],
        empty="no files",
    )
    if page.num_rows < groups.num_rows:
        output.note(f"the {page.num_rows:,} largest of {groups.num_rows:,}; --limit 0 lists all")


def by_partition(files: pa.Table) -> pa.Table:
    """Files, rows and bytes of each partition; rows are null if statistics are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind: Any = files["partitionValues_parsed"].type
    values = files["partitionValues_parsed"].flatten()
    keys = list(map(str, range(len(values))))
    deleted = pc.fill_null(pc.struct_field(files["deletionVector"], "cardinality"), 0)
    rows = pc.subtract(files["numRecords"], deleted)
    totals = (
        pa.table([files["size"], rows, *values], names=["size", "rows", *keys])
        .group_by(keys)
        .aggregate([("size", "count"), ("size", "sum"), ("rows", "count"), ("rows", "sum")])
    )
    totals = totals.filter(pc.greater(totals["size_count"], pa.scalar(0)))
    is_known = pc.equal(totals["rows_count"], totals["size_count"])
    parts = [totals[key].combine_chunks() for key in keys]
    names = [kind.field(index).name for index in range(len(keys))]
    partition: Any = (
        pa.StructArray.from_arrays(parts, names=names)
        if parts
        else pa.array([{}] * totals.num_rows, pa.struct([]))
    )
    return pa.table(
        {
            "partition": partition,
            "files": totals["size_count"],
            "rows": pc.if_else(is_known, totals["rows_sum"], pa.scalar(None, pa.int64())),
            "size_in_bytes": totals["size_sum"],
        }
    ).sort_by([("size_in_bytes", "descending")])


def _named(partition: Mapping[str, Any]) -> str:
    """The values of a partition, as its directory usually shows them."""
    parts = (
        f"{plain(name)}={'null' if value is None else plain(value)}"
        for name, value in partition.items()
    )
    return ", ".join(parts) or "the table has no partitions"
