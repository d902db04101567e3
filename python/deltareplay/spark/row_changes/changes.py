"""``changes``: the changed rows of a table as a DataFrame."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from deltareplay._changes.change_split import ChangeSplit
from deltareplay._snapshot.scan import TARGET_SIZE
from deltareplay._snapshot.snapshot import Snapshot
from deltareplay._support.arguments import checked
from deltareplay.spark.catalog.table_argument import TableLike, resolved, table_of
from deltareplay.spark.executors import run
from deltareplay.spark.row_changes import native_files
from deltareplay.spark.row_changes import shuffle as net_changes
from deltareplay.spark.row_changes.splits import PackedSplits, ReadChanges
from deltareplay.spark.scan.frame import check_types
from deltareplay.spark.schema.fields import (
    CHANGE_FIELDS,
    Column,
    columns_of,
    plain_fields,
    struct_type,
)
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._changes.change_split import WholeFile
    from deltareplay._changes.changes import Changes
    from deltareplay._expressions.filters import Filter
    from deltareplay._native import ChangeShuffle
    from deltareplay._table.table import Kind

#: The maximum number of tasks that each read the hashes of all rows; for more, a shuffle is faster.
_MAX_SHARES = 8

#: A size of splits that no commit exceeds.
_UNLIMITED = (1 << 63) - 1


@checked
def changes(
    spark: SparkSession,
    table: TableLike,
    start: int | datetime.datetime | str,
    end: int | datetime.datetime | str | None = None,
    *,
    kind: Kind = "full-delta",
    deleted: Literal["include", "exclude"] | None = None,
    columns: Sequence[str] | None = None,
    filter: Filter | None = None,
    key: Sequence[str] | None = None,
    most_rows: int | None = None,
    require_feed: bool = False,
    allow_out_of_range: bool = False,
    split_size: int = TARGET_SIZE,
    shuffle: bool | None = None,
    native: bool = True,
    root: str | None = None,
) -> DataFrame:
    """Return the rows changed from ``start`` to ``end``, both included; needs no feed.

    The driver reads the commits when this is called. For full changes, Spark's own Parquet reader
    reads change data files, and those files without a deletion vector whose rows all changed, if
    the log has their sizes. The rest is divided into splits, which executors read in Python
    workers, one task for each split. If rows of a commit that is larger than a split must be
    compared, each task reads the hashes of all of them and keeps a share; a commit has at most 64
    shares. The same is done, for the whole range, with net kinds of small ranges, and if row
    tracking allows comparing only the ends of the range. For other net kinds, Spark shuffles the
    hashes: each row is hashed once, and all of its changes meet in one task.

    Args:
        spark: As in ``read``.
        table: As in ``read``; with a ``Snapshot`` the range ends with its version by default.
        start: As in ``Table.changes``.
        end: As in ``Table.changes``.
        kind: As in ``Table.changes``.
        deleted: As in ``Table.changes``.
        columns: As in ``Table.changes``. Name only those that you need: others are not decoded.
        filter: As in ``Table.changes``: timestamps without a zone are in UTC. Filters on the
            DataFrame are not pushed down.
        key: As in ``Table.changes``.
        most_rows: As in ``Table.changes``, for each task.
        require_feed: As in ``Table.changes``.
        allow_out_of_range: As in ``Table.changes``.
        split_size: Approximate bytes per task of the files that Spark does not read.
        shuffle: Whether hashes of rows are shuffled for net kinds. By default they are if rows
            must be followed through all commits and the files make more than eight splits.
        native: False lets Rust read all files in Python workers, with the table's storage options,
            even if Spark could. This is always so with a filter, and on Spark Connect.
        root: As in ``read``.

    Returns:
        Rows in no order: the columns as at the end of the range, ``_change_type`` (string),
        ``_commit_version`` (bigint), ``_commit_timestamp`` (timestamp). The range is fixed when
        this is called.

    Raises:
        TableNotFoundError: As in ``read``.
        VersionNotFoundError: As in ``Table.changes``.
        InvalidArgumentError: As in ``Table.changes``, and as in ``Changes.splits``: if nothing
            identifies the rows, the error comes before a job starts. If rows have the same key, a
            task fails, and the job raises a ``PythonException`` with the cause.
        UnsupportedFeatureError: This version of Spark does not support a type (``spark.too_old``,
            ``spark.type``); or, with ``require_feed``, the feed was off at a version
            (``changes.feed_disabled``).
        CorruptTableError: The log is damaged. If a data file is damaged, the task fails and names
            it.

    >>> changes(spark, rows, 1, columns=["id"]).show()  # doctest: +SKIP
    +---+------------+---------------+-------------------+
    | id|_change_type|_commit_version|  _commit_timestamp|
    +---+------------+---------------+-------------------+
    |  2|      delete|              1|2026-01-02 00:00:00|
    +---+------------+---------------+-------------------+
    """
    capabilities.check(spark)
    table = resolved(spark, table)
    if isinstance(table, Snapshot) and end is None:
        end = table.version
    delta_table = table_of(table)
    row_changes = delta_table.changes(
        start,
        end,
        kind=kind,
        deleted=deleted,
        columns=columns,
        filter=filter,
        key=key,
        most_rows=most_rows,
        require_feed=require_feed,
        allow_out_of_range=allow_out_of_range,
    )
    at_end = delta_table.snapshot(row_changes.versions[1] if row_changes.versions else None)
    selected = _selected(spark, at_end, row_changes, columns)
    schema = struct_type([*plain_fields(selected), *CHANGE_FIELDS])
    steps = row_changes.shuffle()
    if steps and (shuffle or (shuffle is None and _is_better_shuffled(steps, split_size))):
        return net_changes.frame(spark, delta_table, steps, schema, split_size)
    frames: list[DataFrame] = []
    if native and kind == "full-delta" and filter is None and capabilities.is_classic(spark):
        splits, whole_files = _without_whole_files(row_changes, split_size)
        frames = native_files.frames(spark, delta_table, whole_files, selected, root)
    elif steps:
        splits = [ChangeSplit.from_native(delta_table, split) for split in steps.splits(split_size)]
    else:
        splits = row_changes.splits(split_size)
    if splits or not frames:
        task = ReadChanges(PackedSplits.of(delta_table, splits), schema)
        frames.append(run.rows(spark, task, len(splits), schema))
    return functools.reduce(lambda left, right: left.union(right), frames)


def _is_better_shuffled(steps: ChangeShuffle, split_size: int) -> bool:
    """Return whether a comparison without a shuffle would need too many shares."""
    return steps.follows_commits and len(steps.parts(split_size)) > _MAX_SHARES


def _without_whole_files(
    row_changes: Changes, split_size: int
) -> tuple[list[ChangeSplit], list[WholeFile]]:
    """Return the splits that only the core can read, and the files that Spark reads."""
    splits, whole_files = [], []
    for split in row_changes.splits(_UNLIMITED):
        files, rest = split.without_whole_files()
        whole_files += files
        if rest is not None:
            splits += rest.cut(split_size)
    return splits, whole_files


def _selected(
    spark: SparkSession, at_end: Snapshot, row_changes: Changes, columns: Sequence[str] | None
) -> list[Column]:
    """Return the columns of the result; void ones as in ``read``."""
    with_void = capabilities.reads_void(spark)
    by_name = {column.name: column for column in columns_of(at_end, with_void_fields=with_void)}
    if columns is None:
        selected = [column for column in by_name.values() if with_void or not column.is_void]
    else:
        selected = [by_name[name] for name in row_changes.schema.names[: -len(CHANGE_FIELDS)]]
    check_types(spark, selected)
    return selected
