"""``changes``: what happened to the rows of a table, told by the executors."""

from __future__ import annotations

import datetime
import functools
import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from deltareplay._arguments import checked
from deltareplay._change_split import ChangeSplit
from deltareplay._scan import TARGET_SIZE
from deltareplay._snapshot import Snapshot
from deltareplay.spark import on_executors, session, shuffled, whole_files
from deltareplay.spark.relation import struct_type
from deltareplay.spark.schema import CHANGE_FIELDS, Column, columns_of, plain_fields
from deltareplay.spark.sent_changes import SentChanges
from deltareplay.spark.source import TableLike, table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._changes import Changes
    from deltareplay._filters import Filter
    from deltareplay._native import ChangeShuffle
    from deltareplay._table import Kind, Table

#: So many tasks may read the numbers of all rows before it is better to shuffle them.
_MOST_SHARES = 8

#: More bytes than any table has.
_ALL = (1 << 63) - 1


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
    """Tell what happened to rows from ``start`` to ``end``, both included; needs no feed.

    The driver reads the commits, now. Of full changes, files without a deletion vector all of whose
    rows were changed, and change data files, are read by Spark's own Parquet reader. What is left
    is cut into splits, which executors read, a task for each, in Python workers: of a range of many
    commits each has its own. Where rows of a commit that is larger than a split must be compared,
    each task reads the numbers of all of them and keeps a share; there are 64 shares of a commit at
    most. So it is, for the range as a whole, with net kinds of small ranges, and where row tracking
    lets both ends of the range tell everything. Of others Spark shuffles the numbers: each row is
    numbered once, and judged where all that happened to it is together.

    Args:
        spark: As in ``read``.
        table: As in ``read``; of a ``Snapshot`` the range ends with its version, if nowhere else.
        start: As in ``Table.changes``.
        end: As in ``Table.changes``.
        kind: As in ``Table.changes``.
        deleted: As in ``Table.changes``.
        columns: As in ``Table.changes``. Name those that you need: others are not decoded.
        filter: As in ``Table.changes``. Filters on the DataFrame are not pushed down.
        key: As in ``Table.changes``.
        most_rows: As in ``Table.changes``, for each task.
        require_feed: As in ``Table.changes``.
        allow_out_of_range: As in ``Table.changes``.
        split_size: About how many bytes of files make a task, of those that Spark does not read.
        shuffle: Of net kinds, whether numbers of rows are shuffled; if nothing is said, where rows
            have to be followed through all commits, and files make more than eight splits.
        native: False has Rust read all files in Python workers, by the table's storage options,
            also where Spark could. So it is with a filter, and with Connect.
        root: As in ``read``.

    Returns:
        Rows in no order: the columns as the table has them at the end, ``_change_type`` (string),
        ``_commit_version`` (bigint), ``_commit_timestamp`` (timestamp). The range is decided when
        this is called, and stays so for the life of the DataFrame.

    Raises:
        VersionNotFoundError: As in ``Table.changes``.
        InvalidArgumentError: As in ``Table.changes``, and as in ``Changes.splits``: rows that
            nothing tells apart are known before a job starts. Rows of the same key are found by a
            task: then the job fails with a ``PythonException`` that says so.
        UnsupportedFeatureError: A type that this Spark cannot hold; or the feed was off at a
            version, where ``require_feed`` was asked for.
        CorruptTableError: The log is damaged. Where a file is, the task fails, and names it.

    >>> changes(spark, rows, 1, columns=["id"]).show()  # doctest: +SKIP
    +---+------------+---------------+-------------------+
    | id|_change_type|_commit_version|  _commit_timestamp|
    +---+------------+---------------+-------------------+
    |  2|      delete|              1|2026-01-02 00:00:00|
    +---+------------+---------------+-------------------+
    """
    session.check(spark)
    if isinstance(table, Snapshot) and end is None:
        end = table.version
    of = table_of(table)
    found = of.changes(
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
    at_end = of.snapshot(found.versions[1] if found.versions else None)
    shown = _shown(spark, at_end, found, columns)
    schema = struct_type([*plain_fields(at_end, [one.name for one in shown]), *CHANGE_FIELDS])
    steps = found._native.shuffle()
    if steps and (shuffle or (shuffle is None and _is_better_shuffled(steps, split_size))):
        return shuffled.frame(spark, of, steps, schema, split_size)
    frames: list[DataFrame] = []
    if native and kind == "full-delta" and filter is None and session.is_classic(spark):
        splits, whole = _apart(of, found, split_size)
        frames = whole_files.frame(spark, of, whole, shown, root)
    elif steps:
        splits = [ChangeSplit._made(of, split) for split in steps.splits(split_size)]
    else:
        splits = found.splits(split_size)
    if splits or not frames:
        sent = SentChanges.of(of, splits)
        payload = pickle.dumps((sent, schema))
        frames.append(on_executors.rows(spark, "read_changes", payload, len(sent.between), schema))
    return functools.reduce(lambda one, other: one.union(other), frames)


def _is_better_shuffled(steps: ChangeShuffle, split_size: int) -> bool:
    """Whether shares of the rows, each of which reads the numbers of all, would take more."""
    return steps.follows_commits and len(steps.parts(split_size)) > _MOST_SHARES


def _apart(
    table: Table, found: Changes, split_size: int
) -> tuple[list[ChangeSplit], list[whole_files.WholeFile]]:
    """The splits of what only Rust reads, and the files that Spark reads."""
    splits, whole = [], []
    for split in found.splits(_ALL):
        files, rest = split._native.without_whole_files()
        whole += files
        if rest is not None:
            splits += ChangeSplit._made(table, rest)._cut(split_size)
    return splits, whole


def _shown(
    spark: SparkSession, at_end: Snapshot, found: Changes, columns: Sequence[str] | None
) -> list[Column]:
    """The table's columns; void ones are shown to those who name them, as ``read`` does."""
    every = {one.name: one for one in columns_of(at_end)}
    if columns is None:
        shown = [one for one in every.values() if not one.is_void]
    else:
        shown = [every[name] for name in found.schema.names[: -len(CHANGE_FIELDS)]]
    session.check_types(spark, shown)
    return shown
