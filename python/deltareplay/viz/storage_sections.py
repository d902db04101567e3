"""The sections of the report on files, statistics, the log and the definition of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay._protocol.schema import Struct, type_text
from deltareplay._support import units
from deltareplay.exceptions import DeltaReplayError
from deltareplay.viz.advice import commit_range
from deltareplay.viz.charts import (
    Axes,
    Bar,
    Tile,
    columns,
    legend,
    round_numbers,
    round_sizes,
    share,
    treemap,
)
from deltareplay.viz.facts import Facts
from deltareplay.viz.live_files import MAX_COLUMNS, LiveFiles, columns_of, pc
from deltareplay.viz.markup import Cell, Content, Html, Row, chart_numbers, clip, table, tag
from deltareplay.viz.sections import (
    MAX_BARS,
    date_text,
    failed,
    figure,
    marks,
    pairs,
    source,
    width_name,
)

if TYPE_CHECKING:
    from deltareplay._table.log import LogAdvice, LogCleanup
    from deltareplay._table.vacuum import Vacuumed

#: Tiles of the treemap; the others are combined.
MAX_TILES = 60
_DAY = re.compile(r"\d{4}-\d\d-\d\d$")
#: Average sizes of files where the colour of a part of the treemap changes.
_SHADES = tuple(size << 20 for size in (1, 8, 32, 128, 512))


def files_content(facts: Facts) -> list[Content]:
    """Return the content of the section on live files."""
    files = facts.files
    if not files.num_files:
        return [tag("p", "The table has no files.")]
    small, small_bytes = files.small
    caption = (
        f"{units.plural(files.num_files, 'live file')} of {units.size(files.size_in_bytes)}; half "
        f"of them are at most {units.size(files.sizes.quantile(0.5))}, nine in ten at most "
        f"{units.size(files.sizes.quantile(0.9))}. {units.count(small)} "
        f"({units.percent(small, files.num_files)}) are smaller than "
        f"{units.size(files.small_limit)} and hold {units.size(small_bytes)} together."
    )
    return [
        tag("p", caption, class_="soft"),
        _sizes(files),
        _ages(files),
        _partitions(facts),
    ]


def _sizes(files: LiveFiles) -> Html:
    steps, histogram = files.sizes.bars()
    bars: list[Bar] = []
    rows: list[Row] = []
    ticks: list[tuple[float, str]] = []
    for index, (key, number, total) in enumerate(histogram):
        low, high = 2 ** (key / steps), 2 ** ((key + 1) / steps)
        name = f"{units.size(low)} to {units.size(high)}"
        small = high <= files.small_limit * 1.0001
        values = (0.0, number) if small else (number, 0.0)
        bars.append(
            Bar(
                index / len(histogram),
                (index + 1) / len(histogram),
                values,
                f"{name}: {units.plural(int(number), 'file')}, {units.size(total)}",
            )
        )
        rows.append(
            (Cell(name, low), Cell(units.count(number), number), Cell(units.size(total), total))
        )
        ticks.append((index / len(histogram), units.size(low)))
    round_ticks = [
        tick for tick, (key, *_) in zip(ticks, histogram, strict=True) if key % steps == 0
    ]
    ticks = round_ticks if len(round_ticks) > 2 else ticks
    step = -(-len(ticks) // 7)
    return figure(
        "Sizes of files",
        "The number of files by size; sizes grow from left to right.",
        columns(
            bars,
            Axes(round_numbers, units.short, ticks[::step]),
            f"Histogram of the sizes of {units.plural(files.num_files, 'file')}",
        ),
        legend([("s2", f"smaller than {units.size(files.small_limit)}"), ("s1", "larger")]),
        chart_numbers(
            "sizes of files",
            table("Files by size", ("Size", "Files", "Bytes"), rows, numbers=(1, 2)),
        ),
        source("add.size"),
    )


def _ages(files: LiveFiles) -> Html:
    histogram = files.ages.bars(MAX_BARS)
    width = files.ages.width
    first, end = histogram[0][0], histogram[-1][0] + width
    bars: list[Bar] = []
    rows: list[Row] = []
    for index, (begin, (number, total)) in enumerate(histogram):
        name = date_text(units.clamped_time(begin), width)
        title = f"{name}: {units.plural(int(number), 'file')}, {units.size(total)}"
        bars.append(Bar(index / len(histogram), (index + 1) / len(histogram), (total,), title))
        if number:
            rows.append((name, Cell(units.count(number), number), Cell(units.size(total), total)))
    return figure(
        "Age of the data",
        f"Bytes of the live files by the time that they were written; a column is "
        f"{width_name(width)}.",
        columns(
            bars,
            Axes(round_sizes, units.size, marks(first, end)),
            f"Bytes of live files by age, from {date_text(units.clamped_time(first), width)} on",
            height=150,
        ),
        chart_numbers(
            "age of the data",
            table("Files by age", ("From", "Files", "Bytes"), rows, numbers=(1, 2), budget=8000),
        ),
        source("add.modificationTime, add.size"),
    )


def _partitions(facts: Facts) -> Html | None:
    files = facts.files
    if not files.levels or files.partitions is None:
        return None
    names = facts.snapshot.partition_columns[: files.levels]
    label, groups = _grouping(files.partitions, names)
    num_single = MAX_TILES if len(groups) <= MAX_TILES else MAX_TILES - 1
    tiles = [
        Tile(
            name,
            total,
            _shade(total / number if number else 0),
            f"{units.size(total)}, {units.plural(int(number), 'file')}",
        )
        for name, number, total in groups[:num_single]
    ]
    rest = groups[num_single:]
    if rest:
        number, total = sum(row[1] for row in rest), sum(row[2] for row in rest)
        detail = f"{units.size(total)}, {units.plural(int(number), 'file')}"
        tiles.append(
            Tile(f"{len(rest):,} others", total, _shade(total / number if number else 0), detail)
        )
    bounds = ["below 1 MiB", *(f"from {units.size(size)}" for size in _SHADES)]
    order = pc.sort_indices(files.partitions, sort_keys=[("bytes", "descending")])
    largest = files.partitions.take(order[:150]).to_pylist()
    rows: list[Row] = [
        (
            *(_value(row[f"k{level}"]) for level in range(files.levels)),
            Cell(units.count(row["files"]), row["files"]),
            Cell(units.size(row["bytes"]), row["bytes"]),
            Cell(units.count(row["rows"]), row["rows"]),
            Cell(units.size(row["bytes"] / row["files"]), row["bytes"] / row["files"]),
        )
        for row in largest
    ]
    numbers = range(files.levels, files.levels + 4)
    dropped = len(facts.snapshot.partition_columns) - files.levels
    caption = (
        f"The area is the bytes of a part, the colour the average size of its files; by {label}."
    )
    if dropped:
        caption += " There are too many partitions to tell them apart by the other columns."
    return figure(
        "Bytes by partition",
        caption,
        treemap(tiles, f"Treemap of bytes by {label}: {units.plural(len(groups), 'part')}"),
        legend([(f"h{index + 1}", name) for index, name in enumerate(bounds)]),
        table(
            "Partitions, the largest first",
            (*(clip(name, 60) for name in names), "Files", "Bytes", "Rows", "Bytes a file"),
            rows,
            numbers=numbers,
            name="partitions",
            total=files.partitions.num_rows,
        ),
        source("add.partitionValues, add.size"),
    )


def _value(value: str | None) -> Content:
    return tag("span", "null", class_="soft") if value is None else clip(value, 80)


def _shade(average: float) -> int:
    return 1 + sum(average >= bound for bound in _SHADES)


#: The number of partition columns that are also tried alone and in prefixes, since each candidate
#: takes a pass over all partitions.
_MAX_GROUPED = 16


def _grouping(
    partitions: pa.Table, names: Sequence[str]
) -> tuple[str, list[tuple[str, float, float]]]:
    """Group partitions into the most parts that a picture can show.

    Candidates are all partition columns and, of the first ones, prefixes, single columns, and
    single columns by month if they are days.

    Returns:
        The columns, and each part with its files and bytes, the largest first; parts that are too
        small for a tile of their own have no name.
    """
    columns = {f"k{level}": partitions[f"k{level}"] for level in range(len(names))}
    titles = {f"k{level}": name for level, name in enumerate(names)}
    for level, name in enumerate(names[:_MAX_GROUPED]):
        values = partitions[f"k{level}"]
        first = values[0].as_py()
        if first is not None and _DAY.match(first):
            columns[f"m{level}"] = pc.utf8_slice_codeunits(values, 0, 7)
            titles[f"m{level}"] = f"month of {name}"
    keys = [f"k{level}" for level in range(len(names))]
    months = [key for key in columns if key.startswith("m")]
    longest = min(len(keys) - 1, _MAX_GROUPED)
    candidates = [keys, *(keys[:end] for end in range(longest, 0, -1))]
    candidates += [[key] for key in (*keys[1:_MAX_GROUPED], *months)]
    rows = pa.table({**columns, "files": partitions["files"], "bytes": partitions["bytes"]})
    best: tuple[tuple[bool, int], list[str], pa.Table] | None = None
    for candidate in candidates:
        grouped = rows.group_by(candidate, use_threads=False).aggregate(
            [("files", "sum"), ("bytes", "sum")]
        )
        number = grouped.num_rows
        rank = (number <= MAX_TILES, number if number <= MAX_TILES else -number)
        if best is None or rank > best[0]:
            best = (rank, candidate, grouped)
    assert best is not None
    _, candidate, grouped = best
    order = pc.sort_indices(grouped, sort_keys=[("bytes_sum", "descending")])
    parts = len(order)
    listed = grouped.take(order[:MAX_TILES])
    shares = [
        (
            " / ".join("null" if row[key] is None else row[key] for key in candidate),
            row["files_sum"],
            row["bytes_sum"],
        )
        for row in listed.to_pylist()
    ]
    if parts > len(shares):
        rest = grouped.take(order[MAX_TILES:])
        numbers = zip(rest["files_sum"].to_pylist(), rest["bytes_sum"].to_pylist(), strict=True)
        shares += [("", files, total) for files, total in numbers]
    return clip(" and ".join(titles[key] for key in candidate), 200), shares


def deleted_rows_content(facts: Facts) -> list[Content]:
    """Return the content of the section on rows that deletion vectors delete."""
    files = facts.files
    if not files.with_vector:
        return [
            tag("p", "No file has a deletion vector.", class_="soft"),
            source("add.deletionVector"),
        ]
    total = files.num_rows + files.deleted_rows
    caption = (
        f"{units.plural(files.with_vector, 'file')} "
        f"({units.percent(files.with_vector, files.num_files)}) have a deletion vector; they "
        f"delete {units.plural(files.deleted_rows, 'row')}"
    ) + (f", {units.percent(files.deleted_rows, total)} of all." if total else ".")
    return [
        tag("p", caption, class_="soft"),
        _deleted_shares(files),
        _most_deleted(files),
        source("add.deletionVector.cardinality, add.stats"),
    ]


def _deleted_shares(files: LiveFiles) -> Html:
    bars: list[Bar] = []
    rows: list[Row] = []
    for index, number in enumerate(files.shares):
        name = f"{10 * index} to {10 * index + 10} %"
        title = f"{name} deleted: {units.plural(number, 'file')}"
        bars.append(Bar(index / 10, (index + 1) / 10, (number,), title))
        rows.append((name, Cell(units.count(number), number)))
    ticks = [(tenth / 10, f"{10 * tenth} %") for tenth in range(0, 10, 2)]
    return figure(
        "Files by the share of their rows that is deleted",
        "",
        columns(
            bars,
            Axes(round_numbers, units.short, ticks),
            "Histogram of files with a deletion vector by the share of deleted rows",
            height=140,
        ),
        chart_numbers(
            "deleted rows",
            table("Files with a deletion vector", ("Deleted", "Files"), rows, numbers=(1,)),
        ),
    )


def _most_deleted(files: LiveFiles) -> Html:
    rows: list[Row] = [
        (
            tag("code", clip(path, 160)),
            Cell(units.count(number), number),
            Cell("unknown" if records is None else units.count(records), records),
            Cell(units.percent(number, records or 0), number / records if records else None),
            Cell(units.size(size), size),
        )
        for path, number, records, size in files.worst
    ]
    return table(
        "The files with the most deleted rows",
        ("File", "Deleted", "Rows", "Share", "Size"),
        rows,
        numbers=(1, 2, 3, 4),
        name="vectors",
    )


def statistics_content(facts: Facts) -> list[Content]:
    """Return the content of the section on columns with statistics, which data skipping needs."""
    files = facts.files
    with_count = files.num_files - files.without_rows
    caption = (
        f"{units.count(with_count)} of {units.plural(files.num_files, 'file')} "
        f"({units.percent(with_count, files.num_files)}) have a row count. Filters on a "
        "column skip only files that have its smallest and largest value."
    )
    if not files.columns:
        reason = (
            f"With more than {MAX_COLUMNS} columns, they are not listed one by one."
            if files.columns is None
            else "No column can have statistics: the table has only partition columns, or none."
        )
        return [tag("p", caption, class_="soft"), tag("p", reason), source("add.stats")]
    rows: list[Row] = [
        (
            clip(column.name, 100),
            tag("code", clip(column.type, 60)),
            Cell(share(column.min_max, files.num_files), column.min_max),
            Cell(units.percent(column.min_max, files.num_files), column.min_max),
            Cell(units.percent(column.null_count, files.num_files), column.null_count),
        )
        for column in files.columns
    ]
    return [
        tag("p", caption, class_="soft"),
        table(
            "Files that have statistics of a column",
            ("Column", "Type", "Minimum and maximum", "Of files", "Null count"),
            rows,
            numbers=(3, 4),
            name="coverage",
            budget=24_000,
        ),
        source("add.stats"),
    ]


def log_content(facts: Facts) -> list[Content]:
    """Return the content of the section on the cost of the log, and its expired files."""
    costs: list[tuple[str, str]] = []
    errors: list[Content] = []
    if isinstance(facts.log, DeltaReplayError):
        errors.append(failed("The cost of the log could not be measured", facts.log))
    else:
        costs += _cost(facts.log)
    costs += _removed_files(facts)
    if isinstance(facts.cleanup, DeltaReplayError):
        errors.append(failed("Expired files of the log could not be listed", facts.cleanup))
    else:
        costs.append(("Expired files of the log", _expired(facts.cleanup)))
    if isinstance(facts.orphans, DeltaReplayError):
        errors.append(failed("Orphaned files could not be listed", facts.orphans))
        orphans = None
    elif facts.orphans is None:
        costs.append(
            ("Orphans", "not looked for: report(orphans=True) lists the table's directory")
        )
        orphans = None
    else:
        costs.append(("Orphans and expired files", _orphaned(facts.orphans)))
        orphans = _orphaned_files(facts.orphans)
    return [
        pairs((name, clip(value, 500)) for name, value in costs),
        *errors,
        orphans,
        source(
            "optimize_log()",
            "tombstones()",
            f"remove in {commit_range(facts.history.read_commits)}",
            "cleanup_log()",
        ),
    ]


def _cost(advice: LogAdvice) -> Iterator[tuple[str, str]]:
    checkpoint = advice.checkpoint_version
    yield (
        "Newest checkpoint",
        "none"
        if checkpoint is None
        else f"version {checkpoint}, {advice.version - checkpoint} behind the latest",
    )
    yield (
        "Read after it",
        f"{units.plural(advice.num_commits, 'commit')} in "
        f"{units.plural(advice.num_tail_files, 'file')}, {units.size(advice.tail_bytes)}",
    )
    yield (
        "Opening",
        f"{units.seconds(advice.seconds)} to open the latest version and list "
        f"{units.plural(advice.num_files, 'file')}, measured on this machine",
    )
    for operation, gain in (
        ("With a checkpoint", advice.with_checkpoint),
        ("With compacted commits", advice.with_compaction),
    ):
        if gain is not None:
            yield (
                operation,
                f"{units.seconds(gain['seconds'])}; it takes "
                f"{units.seconds(gain['seconds_to_make'])} and "
                f"{units.size(gain['size_in_bytes'])} to make",
            )


def _removed_files(facts: Facts) -> Iterator[tuple[str, str]]:
    number, size = facts.tombstones
    yield (
        "Removed files, kept",
        f"{units.plural(number, 'file')} of {units.size(size)} whose retention has not passed",
    )
    number, size = facts.history.tombstones
    yield (
        "Removed files, expired",
        f"{units.plural(number, 'file')} of {units.size(size)} in the commits of the log; vacuum "
        "deletes them if it has not yet",
    )


def _expired(cleanup: LogCleanup) -> str:
    notes = f" ({'; '.join(cleanup.notes)})" if cleanup.notes else ""
    files = units.plural(len(cleanup.files), "file")
    return f"{files} of {units.size(cleanup.size_in_bytes)}{notes}"


def _orphaned(vacuum: Vacuumed) -> str:
    return (
        f"{units.plural(len(vacuum.files), 'file')} of {units.size(vacuum.size_in_bytes)} in the "
        "directory that no version inside the retention period names"
    )


def _orphaned_files(vacuum: Vacuumed) -> Html | None:
    if not vacuum.files:
        return None
    rows: list[Row] = [(tag("code", clip(path, 200)),) for path in vacuum.files[:100]]
    return table(
        "Files that vacuum would delete",
        ("File",),
        rows,
        name="orphans",
        total=len(vacuum.files),
    )


def definition_content(facts: Facts) -> list[Content]:
    """Return the content of the section on schema and properties, and their changes."""
    snapshot, history = facts.snapshot, facts.history
    fields = Struct.parse(snapshot.schema_json).fields
    partitioned = set(snapshot.partition_columns)
    schema: list[Row] = [
        (
            clip(path, 120),
            tag("code", clip(type_text(field.type), 80)),
            "partition" if path in partitioned else "" if field.nullable else "not null",
            clip(field.comment or "", 160),
        )
        for path, field in columns_of(fields)
    ]
    properties: list[Row] = [
        (tag("code", clip(key, 100)), clip(value, 200))
        for key, value in sorted(snapshot.properties.items())
    ]
    timestamps = {commit.version: commit.timestamp for commit in history.commits}
    changes: list[Row] = [
        (
            Cell(change.version, change.version),
            f"{timestamps[change.version]:%Y-%m-%d %H:%M}" if change.version in timestamps else "",
            clip(f"{change.kind} {change.name}".strip(), 120),
            clip(change.before or "", 120) or tag("span", "none", class_="soft"),
            clip(change.after or "", 120) or tag("span", "none", class_="soft"),
        )
        for change in reversed(history.changes)
    ]
    return [
        table(
            f"{units.plural(len(schema), 'column')}",
            ("Column", "Type", "", "Comment"),
            schema,
            name="schema",
            budget=24_000,
        ),
        source("metaData.schemaString"),
        table("Properties", ("Property", "Value"), properties, name="properties")
        if properties
        else tag("p", "No table properties are set.", class_="soft"),
        source("metaData.configuration"),
        tag("h3", "Changes over time"),
        table(
            "Changes of schema, properties and protocol, the newest first",
            ("Version", "When", "What", "Before", "After"),
            changes,
            numbers=(0,),
            name="changes",
            total=len(changes) + history.more_changes,
        )
        if changes
        else tag("p", "None in the commits that were read.", class_="soft"),
        source("metaData", "protocol", commit_range(history.read_commits)),
    ]
