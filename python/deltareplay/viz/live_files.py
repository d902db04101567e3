"""Aggregates of the live files of a snapshot, in bounded memory: never a list of files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute

from deltareplay import _native
from deltareplay._protocol.schema import Field, Struct, fields_with_paths, type_text
from deltareplay._support.units import FIRST_TIME, LAST_TIME

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot

#: pyarrow's compute functions, without types: its stubs do not have all of them.
pc: Any = pyarrow.compute

_SECOND = 1000
_MINUTE = 60_000
_DAY = 86_400_000
#: Widths of the buckets of time; each divides the next.
WIDTHS = (
    _SECOND,
    10 * _SECOND,
    _MINUTE,
    5 * _MINUTE,
    15 * _MINUTE,
    60 * _MINUTE,
    180 * _MINUTE,
    360 * _MINUTE,
    720 * _MINUTE,
    _DAY,
    7 * _DAY,
    28 * _DAY,
    364 * _DAY,
    3640 * _DAY,
)
MAX_BUCKETS = 4096
#: Buckets of sizes per doubling.
STEPS = 16


class Totals:
    """Sums of several columns by an integer key."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.sums: dict[int, list[float]] = {}

    def add(self, keys: pa.Array[Any], columns: dict[str, pa.Array[Any]]) -> None:
        """Add rows; ``columns`` are float64, one for each name, so that no sum overflows."""
        grouped = (
            pa.table({"key": keys, **columns})
            .group_by("key", use_threads=False)
            .aggregate([(name, "sum") for name in self.names])
        )
        values = [grouped[f"{name}_sum"].to_pylist() for name in self.names]
        for key, *row in zip(grouped["key"].to_pylist(), *values, strict=True):
            totals = self.sums.setdefault(key, [0.0] * len(self.names))
            for index, value in enumerate(row):
                totals[index] += value or 0.0


class Times(Totals):
    """Sums by time. Buckets become wider when there are too many."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self._level = 0

    @property
    def width(self) -> int:
        """The width of a bucket in milliseconds."""
        return WIDTHS[self._level]

    def add(self, keys: pa.Array[Any], columns: dict[str, pa.Array[Any]]) -> None:
        """Add rows by their times in milliseconds."""
        inside = pc.min_element_wise(
            pc.max_element_wise(keys, pa.scalar(FIRST_TIME)), pa.scalar(LAST_TIME)
        )
        super().add(pc.divide(inside, pa.scalar(self.width)), columns)
        while len(self.sums) > MAX_BUCKETS and self._level + 1 < len(WIDTHS):
            self.widen()

    def widen(self) -> None:
        """Widen the buckets to the next width."""
        narrow, before = self.sums, self.width
        self._level += 1
        self.sums = {}
        for key, row in narrow.items():
            totals = self.sums.setdefault(key * before // self.width, [0.0] * len(self.names))
            for index, value in enumerate(row):
                totals[index] += value

    def bars(self, max_bars: int) -> list[tuple[int, list[float]]]:
        """Return the start and the sums of at most ``max_bars`` buckets, in order, gaps included.

        The buckets of this object are widened as needed.
        """
        while self.sums and self._level + 1 < len(WIDTHS) and self._span() > max_bars:
            self.widen()
        if not self.sums:
            return []
        empty = [0.0] * len(self.names)
        return [
            (key * self.width, self.sums.get(key, empty))
            for key in range(min(self.sums), max(self.sums) + 1)
        ]

    def _span(self) -> int:
        return max(self.sums) - min(self.sums) + 1


class Sizes(Totals):
    """Counts and bytes of files by size, with 16 steps per doubling."""

    def __init__(self) -> None:
        super().__init__(("files", "bytes"))

    def add_sizes(self, sizes: pa.Array[Any]) -> None:
        """Add files."""
        logs = pc.log2(pc.max_element_wise(sizes, pa.scalar(1.0)))
        keys = pc.cast(pc.floor(pc.multiply(logs, pa.scalar(float(STEPS)))), pa.int64())
        counts = pc.if_else(pc.is_valid(sizes), pa.scalar(1.0), pa.scalar(0.0))
        self.add(keys, {"files": counts, "bytes": sizes})

    def bars(self, max_bars: int = 28) -> tuple[int, list[tuple[int, float, float]]]:
        """Return the finest histogram with at most this many bars, or with one bar per doubling.

        Returns:
            The number of bars per doubling, and for each bar its number, files and bytes: it begins
            at ``2 ** (number / bars per doubling)``.
        """
        steps = STEPS
        while steps > 1 and self.sums and self._span(steps) > max_bars:
            steps //= 2
        joined: dict[int, list[float]] = {}
        for key, (files, total) in self.sums.items():
            totals = joined.setdefault(key * steps // STEPS, [0.0, 0.0])
            totals[0] += files
            totals[1] += total
        if not joined:
            return steps, []
        return steps, [
            (key, *joined.get(key, (0.0, 0.0))) for key in range(min(joined), max(joined) + 1)
        ]

    def _span(self, steps: int) -> int:
        return max(self.sums) * steps // STEPS - min(self.sums) * steps // STEPS + 1

    def quantile(self, share: float) -> float:
        """Return the size that this share of the files does not exceed, within 3 %."""
        rest = share * sum(row[0] for row in self.sums.values())
        for key in sorted(self.sums):
            rest -= self.sums[key][0]
            if rest <= 0:
                return math.pow(2, (key + 0.5) / STEPS)
        return 0.0


#: A smaller file costs about as much to open as to read.
MAX_SMALL_SIZE = 32 << 20
#: OPTIMIZE rewrites files with a larger share of deleted rows.
MAX_DELETED_SHARE = 0.05
#: Above this number, partitions are grouped by fewer columns.
MAX_PARTITIONS = 100_000
#: With more columns, decoding their statistics takes too much memory.
MAX_COLUMNS = 200
#: The number of files that are summed at once.
_CHUNK_ROWS = 100_000
_SUMMED_COLUMNS = ["size", "modificationTime", "partitionValues", "deletionVector", "numRecords"]
#: The number of files with the most deleted rows that are listed.
MAX_WORST = 15


@dataclass
class Column:
    """Counts of the files that have statistics of a column.

    Attributes:
        path: Its names in the statistics: those of structs, and its own.
    """

    name: str
    type: str
    path: tuple[str, ...]
    min_max: int = 0
    null_count: int = 0


@dataclass
class LiveFiles:
    """Aggregates of live files.

    Attributes:
        without_rows: The number of files without a row count.
        num_rows: The live rows of the other files.
        sizes: Histogram by size.
        ages: Histogram by ``modificationTime``.
        small: The number of files below ``small_limit``, and their bytes.
        small_limit: The limit of small files in bytes.
        target: The size of a file after OPTIMIZE in bytes.
        packed: The approximate number of files that OPTIMIZE writes, and of those that it reads.
        partitions: Sums of each partition, by the first ``levels`` partition columns.
        levels: The number of partition columns by which files are grouped.
        with_vector: The number of files with a deletion vector.
        deleted_rows: The number of rows that the vectors delete.
        to_purge: Files with more than 5 % deleted rows; their bytes and deleted rows.
        shares: Files with a vector by their share of deleted rows, in tenths.
        worst: The files with the most deleted rows: path, deleted rows, rows or None, bytes.
        columns: Statistics by column, without partition columns; None if there are too many.
    """

    num_files: int = 0
    size_in_bytes: int = 0
    without_rows: int = 0
    num_rows: int = 0
    sizes: Sizes = field(default_factory=Sizes)
    ages: Times = field(default_factory=lambda: Times(("files", "bytes")))
    small: tuple[int, int] = (0, 0)
    small_limit: int = MAX_SMALL_SIZE
    target: int = 1 << 30
    packed: tuple[int, int] = (0, 0)
    partitions: pa.Table | None = None
    levels: int = 0
    with_vector: int = 0
    deleted_rows: int = 0
    to_purge: tuple[int, int, int] = (0, 0, 0)
    shares: list[int] = field(default_factory=lambda: [0] * 10)
    worst: list[tuple[str, int, int | None, int]] = field(default_factory=list)
    columns: list[Column] | None = None


def columns_of(fields: Sequence[Field]) -> list[tuple[str, Field]]:
    """Return each leaf column of a schema with its path."""
    columns = fields_with_paths(fields)
    return [(path, field) for path, field in columns if not isinstance(field.type, Struct)]


def _uncounted(
    fields: Sequence[Field], above: str = "", path: tuple[str, ...] = ()
) -> Iterator[Column]:
    """Yield each leaf column of a schema, without counts."""
    for item in fields:
        name, names = f"{above}{item.name}", (*path, item.physical_name("name"))
        if isinstance(item.type, Struct):
            yield from _uncounted(item.type.fields, f"{name}.", names)
        else:
            yield Column(name, type_text(item.type), names)


def live_files(snapshot: Snapshot) -> LiveFiles:
    """Read the live files once, batch by batch."""
    live = LiveFiles()
    fields = Struct.parse(snapshot.schema_json).fields
    partition_columns = snapshot.partition_columns
    keys = partition_keys(fields, partition_columns)
    live.target = _native.target_file_size(snapshot.native)
    live.small_limit = min(MAX_SMALL_SIZE, live.target // 4) or 1
    live.levels = len(keys)
    partitions = _Partitions(len(keys))
    names = ["path", *_SUMMED_COLUMNS]
    partitioned = set(partition_columns)
    columns = list(_uncounted([field for field in fields if field.name not in partitioned]))
    if len(columns) <= MAX_COLUMNS:
        live.columns = columns
    if live.columns:
        names.append("stats_parsed")
    pending: list[pa.RecordBatch] = []
    for batch in snapshot.file_batches(columns=names):
        if live.columns:
            _add_statistics(live.columns, batch)
        _add_deleted(live, batch)
        pending.append(batch.select(_SUMMED_COLUMNS))
        if sum(batch.num_rows for batch in pending) >= _CHUNK_ROWS:
            _add_all(live, partitions, keys, pending)
            pending = []
    _add_all(live, partitions, keys, pending)
    partitions.finish(live)
    return live


def _add_all(
    live: LiveFiles, partitions: _Partitions, keys: list[str], batches: list[pa.RecordBatch]
) -> None:
    """Add batches as one, since each grouping has a fixed cost."""
    if batches:
        for batch in pa.Table.from_batches(batches).combine_chunks().to_batches():
            _add(live, batch)
            partitions.add(batch, keys, live.target)


def partition_keys(fields: Sequence[Field], names: list[str]) -> list[str]:
    """Return the keys of partition values, which are the physical names of the columns."""
    physical = {field.name: field.physical_name("name") for field in fields}
    return [physical.get(name, name) for name in names]


def _add(live: LiveFiles, batch: pa.RecordBatch) -> None:
    sizes = to_floats(batch.column("size"))
    records = batch.column("numRecords")
    deleted = to_floats(pc.struct_field(batch.column("deletionVector"), "cardinality"))
    live.num_files += batch.num_rows
    live.size_in_bytes += total_of(sizes)
    live.without_rows += records.null_count
    live_rows = pc.subtract(to_floats(records), deleted)
    live.num_rows += total_of(pc.if_else(pc.is_valid(records), live_rows, pa.scalar(0.0)))
    live.sizes.add_sizes(sizes)
    counts = pa.repeat(pa.scalar(1.0), batch.num_rows)
    times = pc.fill_null(batch.column("modificationTime"), 0)
    live.ages.add(times, {"files": counts, "bytes": sizes})
    small = pc.less(sizes, pa.scalar(float(live.small_limit)))
    live.small = (
        live.small[0] + total_of(small),
        live.small[1] + total_of(pc.if_else(small, sizes, pa.scalar(0.0))),
    )


def _add_deleted(live: LiveFiles, batch: pa.RecordBatch) -> None:
    vectors = batch.column("deletionVector")
    if vectors.null_count == len(vectors):
        return
    batch = batch.filter(pc.is_valid(vectors))
    deleted = to_floats(pc.struct_field(batch.column("deletionVector"), "cardinality"))
    records = batch.column("numRecords")
    sizes = to_floats(batch.column("size"))
    live.with_vector += batch.num_rows
    live.deleted_rows += total_of(deleted)
    share = pc.divide(deleted, pc.max_element_wise(to_floats(records), pa.scalar(1.0)))
    share = pc.if_else(pc.is_valid(records), share, pa.scalar(0.0))
    is_purged = pc.greater(share, pa.scalar(MAX_DELETED_SHARE))
    zero = pa.scalar(0.0)
    live.to_purge = (
        live.to_purge[0] + total_of(is_purged),
        live.to_purge[1] + total_of(pc.if_else(is_purged, sizes, zero)),
        live.to_purge[2] + total_of(pc.if_else(is_purged, deleted, zero)),
    )
    tenths = pc.min_element_wise(pc.floor(pc.multiply(share, pa.scalar(10.0))), pa.scalar(9.0))
    for count in pc.value_counts(tenths.filter(pc.is_valid(records))).to_pylist():
        live.shares[int(count["values"])] += count["counts"]
    order = pc.sort_indices(deleted, sort_keys=[("", "descending")])[:MAX_WORST]
    live.worst += [
        (row["path"], row["deletionVector"]["cardinality"], row["numRecords"], row["size"])
        for row in batch.select(["path", "deletionVector", "numRecords", "size"])
        .take(order)
        .to_pylist()
    ]
    live.worst = sorted(live.worst, key=lambda row: (-row[1], row[0]))[:MAX_WORST]


def _add_statistics(columns: list[Column], batch: pa.RecordBatch) -> None:
    statistics = batch.column("stats_parsed")
    records = pc.struct_field(statistics, "numRecords")
    for column in columns:
        lows, highs, nulls = (
            _column_statistics(statistics, (part, *column.path))
            for part in ("minValues", "maxValues", "nullCount")
        )
        if nulls is not None:
            column.null_count += len(nulls) - nulls.null_count
        if lows is not None and highs is not None:
            has_bounds = pc.and_(pc.is_valid(lows), pc.is_valid(highs))
            if nulls is not None:  # a file with nothing but nulls has no bounds
                has_bounds = pc.or_(has_bounds, pc.fill_null(pc.equal(nulls, records), False))
            column.min_max += total_of(has_bounds)


def _column_statistics(statistics: pa.Array[Any], path: Sequence[str]) -> pa.Array[Any] | None:
    """Return the statistics at a path of names; None if there are none."""
    kind: Any = statistics.type
    indices = []
    for name in path:
        index = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
        if index < 0:
            return None
        indices.append(index)
        kind = kind.field(index).type
    return None if pa.types.is_struct(kind) else pc.struct_field(statistics, indices)


class _Partitions:
    """Sums by partition, by fewer columns if there are too many partitions."""

    SUMS = ("files", "bytes", "rows", "packed_files", "packed_bytes")

    def __init__(self, levels: int) -> None:
        self.levels = levels
        self._parts: list[pa.Table] = []
        self._rows = 0

    def add(self, batch: pa.RecordBatch, keys: list[str], target: int) -> None:
        sizes = to_floats(batch.column("size"))
        counts = pa.repeat(pa.scalar(1.0), batch.num_rows)
        packed = pc.less(sizes, pa.scalar(float(target)))
        zero = pa.scalar(0.0)
        values = batch.column("partitionValues")
        columns = {
            f"k{level}": pc.map_lookup(values, pa.scalar(key), "first")
            for level, key in enumerate(keys[: self.levels])
        }
        columns |= {
            "files": counts,
            "bytes": sizes,
            "rows": to_floats(batch.column("numRecords")),
            "packed_files": pc.if_else(packed, counts, zero),
            "packed_bytes": pc.if_else(packed, sizes, zero),
        }
        self._parts.append(self._grouped(pa.table(columns)))
        self._rows += self._parts[-1].num_rows
        if self._rows > 2 * MAX_PARTITIONS:
            self._join()

    def _join(self) -> None:
        joined = self._grouped(pa.concat_tables(self._parts))
        while joined.num_rows > MAX_PARTITIONS and self.levels:
            self.levels -= 1
            joined = self._grouped(joined)
        self._parts, self._rows = [joined], joined.num_rows

    def _grouped(self, rows: pa.Table) -> pa.Table:
        keys = [f"k{level}" for level in range(self.levels)]
        grouped = rows.group_by(keys, use_threads=False).aggregate(
            [(name, "sum") for name in self.SUMS]
        )
        return grouped.select([*keys, *(f"{name}_sum" for name in self.SUMS)]).rename_columns(
            [*keys, *self.SUMS]
        )

    def finish(self, live: LiveFiles) -> None:
        if not self._parts:
            return
        self._join()
        live.levels = self.levels
        live.partitions = self._parts[0]
        files = live.partitions["packed_files"]
        needed = pc.ceil(pc.divide(live.partitions["packed_bytes"], pa.scalar(float(live.target))))
        has_several = pc.greater(files, pa.scalar(1.0))
        zero = pa.scalar(0.0)
        live.packed = (
            total_of(pc.if_else(has_several, pc.max_element_wise(needed, pa.scalar(1.0)), zero)),
            total_of(pc.if_else(has_several, files, zero)),
        )


def to_floats(values: pa.Array[Any]) -> pa.Array[Any]:
    """Convert to float64, with 0 for null: sums cannot overflow, and are exact up to 8 PiB."""
    numbers: pa.Array[Any] = pc.fill_null(pc.cast(values, pa.float64(), safe=False), 0.0)
    return numbers


def total_of(values: pa.Array[Any]) -> int:
    """Return the sum of values; 0 without values."""
    return int(pc.sum(values).as_py() or 0)
