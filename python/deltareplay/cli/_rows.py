"""The verbs that list the content of a version: files, partitions, columns and rows."""

from __future__ import annotations

import datetime
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deltareplay._protocol.schema import Field, Struct, fields_with_paths, type_text
from deltareplay.cli._output import Column
from deltareplay.cli._values import (
    counted,
    instant,
    months_as_numbers,
    plain,
    records,
    short_timestamp,
    size,
    thousands,
    without_intervals,
)
from deltareplay.cli._verb import (
    SCREEN_ROWS,
    Columns,
    Filter,
    Limit,
    Request,
    Timestamp,
    Version,
    limit_option,
    split_names,
    verb,
)
from deltareplay.exceptions import VersionNotFoundError

if TYPE_CHECKING:
    import pyarrow as pa

    from deltareplay import Table


_FILE_COLUMNS = [
    "path",
    "size",
    "numRecords",
    "partitionValues",
    "modificationTime",
    "deletionVector",
]


@verb
def files(
    request: Request,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    filter: Filter = None,
    limit: Limit = None,
) -> None:
    """List the live files: path, size, rows and deleted rows.

    With a filter, only the files that may have matching rows.
    """
    output = request.output
    snapshot = request.table.snapshot(version, timestamp)
    rows = _file_rows(records(snapshot.file_batches(_FILE_COLUMNS, filter)))
    if limit is None and output.is_text:
        limit = SCREEN_ROWS
    output.rows(
        islice(rows, limit or None),
        [
            Column("size", "Size", size, right=True),
            Column("rows", "Rows", thousands, right=True),
            Column("deleted", "Deleted", thousands, right=True),
            output.times("modified", "Modified"),
            Column("path", "Path", soft_wrap=True),
        ],
        empty="no files",
    )
    if limit and next(rows, None) is not None:
        output.note(f"the first {limit:,} files; --limit 0 lists all")


def _file_rows(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        vector = row["deletionVector"]
        deleted = vector["cardinality"] if vector else 0
        stored = row["numRecords"]
        yield {
            "path": row["path"],
            "size": row["size"],
            "rows": None if stored is None else stored - deleted,
            "deleted": deleted,
            "modified": instant(row["modificationTime"]),
            "partitionValues": row["partitionValues"],
        }


_PARTITION_COLUMNS = ["partitionValues_parsed", "size", "numRecords", "deletionVector"]


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

    With a filter, only the files that may have matching rows count.
    """
    output = request.output
    snapshot = request.table.snapshot(version, timestamp)
    fields = Struct.parse(snapshot.schema_json).fields
    groups = by_partition(snapshot.file_batches(_PARTITION_COLUMNS, filter).read_all(), fields)
    if limit is None and output.is_text:
        limit = SCREEN_ROWS
    page = groups.slice(0, limit) if limit else groups
    output.rows(
        records(page.to_batches()),
        [
            Column("files", "Files", thousands, right=True),
            Column("rows", "Rows", thousands, right=True),
            Column("size_in_bytes", "Size", size, right=True),
            Column("partition", "Partition", _partition_name, soft_wrap=True),
        ],
        empty="no files",
    )
    if page.num_rows < groups.num_rows:
        number = f"{page.num_rows:,} largest of {groups.num_rows:,}"
        output.note(f"the {number} partitions; --limit 0 lists all")


def by_partition(files: pa.Table, fields: Sequence[Field]) -> pa.Table:
    """Return files, rows and bytes of each partition; rows are null without statistics.

    The files have the physical names of the partition columns, the fields their logical names.
    """
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
    logical = {field.physical_name("name"): field.name for field in fields}
    names = [logical[kind.field(index).name] for index in range(len(keys))]
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


def _partition_name(partition: Mapping[str, Any]) -> str:
    """Return the names and values of a partition, such as ``day=2026-01-01, hour=7``."""
    parts = (
        f"{plain(name)}={'null' if value is None else plain(value)}"
        for name, value in partition.items()
    )
    return ", ".join(parts) or "the table has no partitions"


@verb
def schema(
    request: Request,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    history: Annotated[
        bool, typer.Option("--history", help="How the columns changed from commit to commit.")
    ] = False,
) -> None:
    """List the columns; with --history, their changes over time."""
    output, table = request.output, request.table
    if history:
        rows = _schema_changes(table)
        if output.is_text:
            columns = [
                Column("version", "Version", right=True),
                output.times("timestamp", "Time"),
                Column("change", "Change"),
                Column("column", "Column"),
                Column("type", "Type"),
            ]
            output.rows(({**row, "type": _types(row)} for row in rows), columns)
        else:
            names = ["version", "timestamp", "operation", "change", "column", "before", "after"]
            output.rows(rows, [Column(name) for name in names])
        return
    metadata = table.snapshot(version, timestamp).metadata
    output.rows(
        (
            {
                "column": path,
                "type": type_text(field.type),
                "nullable": field.nullable,
                "partition": column.name in metadata.partition_columns,
                "comment": field.comment,
            }
            for column in Struct.parse(metadata.schema_string).fields
            for path, field in fields_with_paths([column])
        ),
        [
            Column("column", "Column"),
            Column("type", "Type"),
            Column("nullable", "", lambda nullable: "" if nullable else "not null"),
            Column("partition", "", lambda partition: "partition" if partition else ""),
            Column("comment", "Comment"),
        ],
        empty="no columns",
    )


def _schema_changes(table: Table) -> Iterator[dict[str, Any]]:
    """Yield the changes of columns by commits, oldest first; the first version adds all.

    After a cleanup, the oldest commits may precede the first version that can be read. Without
    commits, as with nothing but a checkpoint, there are no changes.
    """

    def can_be_read(version: int) -> bool:
        try:
            table.snapshot(version)
        except VersionNotFoundError:
            return False
        return True

    history = table.history().drop_columns(["operationParameters", "operationMetrics"])
    commits = {commit["version"]: commit for commit in records(history.to_batches())}
    if not commits:
        return
    versions, last = sorted(commits), max(commits)
    first = versions[bisect_left(versions[:-1], True, key=can_be_read)]
    definitions = [(first, table.snapshot(first).schema_json)]
    if first < last:
        definitions += _definitions(table, first + 1, last)
    before: dict[str, str] = {}
    for version, text in definitions:
        after = {
            path: type_text(field.type) + ("" if field.nullable else " not null")
            for path, field in fields_with_paths(Struct.parse(text).fields)
        }
        for name in {**before, **after}:
            old, new = before.get(name), after.get(name)
            if old != new:
                yield {
                    "version": version,
                    "timestamp": commits[version]["timestamp"],
                    "operation": commits[version]["operation"],
                    "change": "added" if old is None else "removed" if new is None else "changed",
                    "column": name,
                    "before": old,
                    "after": new,
                }
        before = after


def _types(row: dict[str, Any]) -> str:
    return " to ".join(row[name] for name in ("before", "after") if row[name] is not None)


def _definitions(table: Table, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield versions that set the metadata, and their schemas."""
    for batch in table.actions(start, end):
        metadata = batch.select(["version", "metaData"]).filter(batch["metaData"].is_valid())
        for row in records([metadata]):
            yield row["version"], row["metaData"]["schemaString"]


#: The ``look_ahead`` of a scan that reads only a few rows.
_LOOK_AHEAD = 1 << 20


@verb
def head(
    request: Request,
    *,
    limit: Annotated[int, limit_option("How many; 0: all.")] = 10,
    columns: Columns = None,
    filter: Filter = None,
    version: Version = None,
    timestamp: Timestamp = None,
) -> None:
    """Show some rows, without the deleted ones."""
    snapshot = request.table.snapshot(version, timestamp)
    scan = snapshot.scan(split_names(columns), filter, look_ahead=_LOOK_AHEAD if limit else None)
    rows = islice(records(scan.to_batches()), limit or None)
    request.output.data(rows, scan.schema, empty="no rows")


@verb
def count(
    request: Request,
    *,
    filter: Filter = None,
    version: Version = None,
    timestamp: Timestamp = None,
) -> None:
    """Count the rows, from the log alone if possible."""
    snapshot = request.table.snapshot(version, timestamp)
    rows = snapshot.scan(filter=filter).count()
    facts = {"version": snapshot.version, "rows": rows}
    request.output.document(facts, lambda console: console.print(str(rows)))


#: The maximum number of rows in the sample for quartiles.
_SAMPLE = 100_000
_QUARTILES = {"q25": 0.25, "q50": 0.5, "q75": 0.75}
#: The maximum number of characters of a value on the screen.
_MAX_VALUE_LENGTH = 24


@verb
def summary(
    request: Request,
    *,
    columns: Columns = None,
    filter: Filter = None,
    version: Version = None,
    timestamp: Timestamp = None,
) -> None:
    """Summarize the columns: nulls, min, max, mean, quartiles.

    Reads the rows. The quartiles of more than 100,000 rows are approximate: they
    are computed from a random sample. NaN only counts for the mean.
    """
    output = request.output
    scan = request.table.snapshot(version, timestamp).scan(split_names(columns), filter)
    statistics = [_ColumnSummary(field) for field in months_as_numbers(scan.schema)]
    for batch in map(without_intervals, scan.to_batches()):
        for column, array in zip(statistics, batch.columns, strict=True):
            column.add(array)
    rows = [column.facts() for column in statistics]

    def text(value: Any) -> str:
        if isinstance(value, datetime.datetime):
            return short_timestamp(value, utc=output.utc)
        display = f"{value:.6g}" if isinstance(value, float) else plain(value)
        if len(display) <= _MAX_VALUE_LENGTH:
            return display
        return f"{display[: _MAX_VALUE_LENGTH - 1]}…"

    if not output.is_text:
        output.rows(rows, [Column(name) for row in rows[:1] for name in row])
        return
    for row in rows:
        row["quartiles"] = "  ".join(text(row[name]) for name in _QUARTILES).strip()
    output.rows(
        rows,
        [
            Column("column", "Column"),
            Column("nulls", "Nulls", thousands, right=True),
            *(Column(name, name.title(), text) for name in ("min", "max", "mean")),
            Column("quartiles", "Quartiles"),
        ],
        empty="no columns",
    )
    is_sample = any(row["approximate"] for row in rows)
    method = f", approximate: of {_SAMPLE:,} rows at random" if is_sample else ""
    num_rows = counted(sum(column.rows for column in statistics[:1]), "row")
    output.note(f"{num_rows}; quartiles are the values at 25, 50 and 75 %{method}")


class _ColumnSummary:
    """Statistics of a column, updated batch by batch in little memory."""

    def __init__(self, field: pa.Field[Any]) -> None:
        import pyarrow as pa

        kind: Any = field.type
        numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        self.name = field.name
        self.is_number = any(is_type(kind) for is_type in numbers)
        unordered = (pa.types.is_nested, pa.types.is_null, pa.types.is_duration)
        self.is_ordered = not (
            any(is_type(kind) for is_type in unordered) or isinstance(kind, pa.BaseExtensionType)
        )
        self.bounds: Any = pa.array([], kind)  # the smallest value and the largest
        self.rows = self.nulls = 0
        self.sum = 0.0
        self.sample: Any = pa.table(
            {"value": pa.array([], pa.float64()), "random": pa.array([], pa.float64())}
        )

    def add(self, array: Any) -> None:
        """Add a batch of values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.is_ordered:
            bounds: Any = pa.array([pc.min_max(pa.concat_arrays([self.bounds, array]))])
            self.bounds = pa.concat_arrays(bounds.flatten())
        if self.is_number:
            numbers = array.cast(pa.float64(), safe=False)
            self.sum += pc.sum(numbers).as_py() or 0.0
            random = pc.random(len(array), initializer=self.rows)
            batch = pa.table([numbers, random], self.sample.schema)
            self.sample = pa.concat_tables([self.sample, batch])
        self.rows += len(array)
        self.nulls += array.null_count
        if self.sample.num_rows > 2 * _SAMPLE:
            self._reduce_sample()

    def facts(self) -> dict[str, Any]:
        """Return the statistics; None for those that the column does not have."""
        import pyarrow as pa
        import pyarrow.compute as pc

        self._reduce_sample()
        shares: Any = list(_QUARTILES.values())
        quartiles: Any = pc.quantile(self.sample["value"], shares)
        bounds = [row["bound"] for row in records([pa.record_batch([self.bounds], ["bound"])])]
        num_values = self.rows - self.nulls
        return {
            "column": self.name,
            "rows": self.rows,
            "nulls": self.nulls,
            **dict(zip(("min", "max"), bounds or (None, None), strict=True)),
            "mean": self.sum / num_values if self.is_number and num_values else None,
            **dict(zip(_QUARTILES, quartiles.to_pylist(), strict=True)),
            "approximate": self.is_number and self.rows > _SAMPLE,
        }

    def _reduce_sample(self) -> None:
        """Reduce the sample: rows have random numbers, and those with the smallest stay."""
        import pyarrow.compute as pc

        if self.sample.num_rows > _SAMPLE:
            positions = pc.select_k_unstable(self.sample, _SAMPLE, [("random", "ascending")])
            self.sample = self.sample.take(positions)
