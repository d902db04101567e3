"""``changes``: what happened to the rows of a table, told by the executors."""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from deltareplay.scan import TARGET_SIZE
from deltareplay.snapshot import Snapshot
from deltareplay.spark import on_executors, session
from deltareplay.spark.relation import struct_type
from deltareplay.spark.schema import CHANGE_FIELDS, columns_of, plain_fields
from deltareplay.spark.sent_changes import SentChanges
from deltareplay.spark.source import TableLike, table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._filters import Filter
    from deltareplay.changes import Changes
    from deltareplay.table import Kind, Table


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
) -> DataFrame:
    """Tell what happened to rows from ``start`` to ``end``, both included; needs no feed.

    The driver reads the commits, now, and cuts the changes into splits; the executors read the
    files, a task for each split, in Python workers. Nothing is shuffled. A commit whose rows must
    be compared is one task's work. Of a net kind each task reads the row numbers of the whole
    range and keeps a share of them, so that there are 64 tasks at most.

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
        split_size: About how many bytes of files make a task.

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
    schema = _schema(spark, of, found, columns)
    sent = SentChanges.of(of, found.splits(split_size))
    payload = pickle.dumps((sent, schema))
    return on_executors.rows(spark, "read_changes", payload, len(sent.between), schema)


def _schema(
    spark: SparkSession, table: Table, found: Changes, columns: Sequence[str] | None
) -> Any:
    """Spark's schema; void columns are shown to those who name them, as ``read`` does."""
    at_end = table.snapshot(found.versions[1] if found.versions else None)
    named = None if columns is None else found.schema.names[: -len(CHANGE_FIELDS)]
    fields = plain_fields(at_end, named)
    shown = {one["name"] for one in fields}
    session.check_types(spark, [one for one in columns_of(at_end) if one.name in shown])
    return struct_type([*fields, *CHANGE_FIELDS])
