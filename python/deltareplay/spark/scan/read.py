"""``read``, ``count`` and ``create_view``: the rows of a version of a table."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deltareplay._support.arguments import checked
from deltareplay.exceptions import DeltaReplayWarning
from deltareplay.spark.catalog.table_argument import TableLike, snapshot_at
from deltareplay.spark.scan import filters
from deltareplay.spark.scan.frame import check_types, frame, listed_columns
from deltareplay.spark.scan.projection import ExtraColumns
from deltareplay.spark.schema.fields import Column, columns_of
from deltareplay.spark.session import capabilities
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._snapshot.snapshot import Snapshot


@checked
def read(
    spark: SparkSession,
    table: TableLike,
    *,
    version: int | None = None,
    timestamp: datetime.datetime | str | None = None,
    filter: Filter | None = None,
    columns: Sequence[str] | None = None,
    with_row_id: bool = False,
    with_file_path: bool = False,
    with_row_index: bool = False,
    root: str | None = None,
) -> DataFrame:
    """Read a version of a table: files are selected now; Spark reads them when the query runs.

    The plan is that of ``spark.read.parquet`` over exactly the selected files: vectorised, with
    pushed filters, without Python. Files with deleted rows have a separate branch, in which a
    broadcast join leaves these rows out.

    Args:
        spark: A session of PySpark 3.5 or later, classic or Connect.
        table: A ``Table``, a ``Snapshot``, or the table's path, URI or name. In functions that take
            a ``version``, a path may end with ``@v7``, or with ``@`` and a time in the session's
            zone, as ``yyyyMMddHHmmssSSS``.
        version: A version; by default, without ``timestamp``, the latest.
        timestamp: Selects the latest version committed at or before this time.
        filter: Rows to keep, as in ``Snapshot.scan``. Prunes partitions, skips files by statistics,
            and is evaluated by Spark. Filters on the DataFrame are pushed to the scan too, but only
            this filter skips files by statistics.
        columns: Logical names to keep, in this order.
        with_row_id: Adds ``_row_id`` and ``_row_commit_version`` (bigint), for tables with row
            tracking.
        with_file_path: Adds ``_file_path`` (string): the path as in the log.
        with_row_index: Adds ``_row_index`` (bigint): the position in the file, deleted rows
            counted.
        root: The table's Hadoop path, if it is not the table's own URI (``s3://`` becomes
            ``s3a://`` automatically). Spark then reads with its own credentials; otherwise with
            those that the table's catalog vends, for as long as they last.

    Raises:
        InvalidArgumentError: As in ``Snapshot.scan``; ``version`` or ``timestamp`` is passed with
            a ``Snapshot``, or with a path that ends with one (``argument.version``); or Spark does
            not support the storage (``spark.root``).
        UnsupportedFeatureError: The table needs features that this release lacks
            (``protocol.reader_features``); this version of Spark does not support a type
            (``spark.too_old``, ``spark.type``); its public reader would ignore a file
            (``spark.hidden_file``); the deletion vectors are too large to broadcast
            (``spark.vectors``); or Spark cannot use the credentials that the catalog vends
            (``spark.credentials``), or would log them (``spark.redaction``).
        TableNotFoundError: There is no table at the path (``table.not_found``), or of the name
            (``name.not_delta``).
        VersionNotFoundError: The table does not have the version (``version.not_found``), or has
            none at or before the timestamp (``version.timestamp``).
        CorruptTableError: The log or a deletion vector is damaged.

    >>> read(spark, rows, filter="id > 1", columns=["name"]).show()  # doctest: +SKIP
    +-----+
    | name|
    +-----+
    |three|
    +-----+
    """
    capabilities.check(spark)
    snapshot = snapshot_at(spark, table, version, timestamp)
    extra = ExtraColumns(with_row_id, with_file_path, with_row_index)
    skipping = filters.pruning(spark, filter, snapshot)
    # checks the filter, too, even if it does not skip files
    if filter is not None and filters.needs_collation(filter, snapshot):
        skipping = None
    rows = rows_of(spark, snapshot, skipping, columns, extra, root)
    if filter is not None:
        rows = rows.filter(filters.condition(filter))
    if columns is None:
        return rows
    table_columns = columns_of(snapshot)
    return rows.select(*(_quoted(table_columns, name) for name in columns), *extra.names)


@checked
def count(
    spark: SparkSession,
    table: TableLike,
    *,
    version: int | None = None,
    timestamp: datetime.datetime | str | None = None,
    filter: Filter | None = None,
    root: str | None = None,
) -> int:
    """Count the rows: from the log alone if every file has a row count, otherwise by Spark.

    Args:
        spark: As in ``read``.
        table: As in ``read``.
        version: As in ``read``.
        timestamp: As in ``read``.
        filter: As in ``read``; with a filter, Spark counts.
        root: As in ``read``.

    Raises:
        DeltaReplayError: As in ``read``.

    >>> count(spark, rows)  # doctest: +SKIP
    2
    """
    capabilities.check(spark)
    snapshot = snapshot_at(spark, table, version, timestamp)
    if filter is None:
        with warnings.catch_warnings():
            # no warning about a missing row count, because Spark counts the rows then
            warnings.simplefilter("ignore", DeltaReplayWarning)
            num_rows = snapshot.num_rows
        if num_rows is not None:
            return num_rows
    return int(read(spark, snapshot, filter=filter, root=root).count())


@checked
def create_view(spark: SparkSession, name: str, table: TableLike, **options: Any) -> None:
    """Create or replace a temporary view of a table; it stays at one version.

    Args:
        spark: As in ``read``.
        name: The name of the view.
        table: As in ``read``.
        options: The keywords of ``read``.

    Raises:
        DeltaReplayError: As in ``read``.

    >>> create_view(spark, "people", rows)  # doctest: +SKIP
    >>> spark.sql("SELECT max(id) AS id FROM people").collect()  # doctest: +SKIP
    [Row(id=3)]
    """
    read(spark, table, **options).createOrReplaceTempView(name)


def rows_of(
    spark: SparkSession,
    snapshot: Snapshot,
    filter: Filter | None,
    columns: Sequence[str] | None,
    extra: ExtraColumns,
    root: str | None,
) -> DataFrame:
    """Return the rows of the files that remain after a filter of ``filters.pruning``.

    Args:
        spark: The session.
        snapshot: The version.
        filter: A filter that selects files, not rows.
        columns: The columns whose types this Spark must support; the frame may have more.
        extra: The additional columns.
        root: As in ``read``.
    """
    scan = snapshot.scan(
        columns,
        filter,
        with_row_id=extra.row_id,
        with_file_path=extra.file_path,
        with_row_index=extra.row_index,
    )
    reads_void = capabilities.reads_void(spark)
    read_columns = columns_of(snapshot, as_defined=True, with_void_fields=reads_void)
    if not reads_void:
        requested = {name.lower() for name in columns or ()}
        read_columns = [
            column
            for column in read_columns
            if not column.is_void or column.name.lower() in requested
        ]
    check_types(spark, read_columns)
    listed = scan.files(listed_columns(read_columns, extra))
    return frame(spark, snapshot, listed, read_columns, extra, root)


def _quoted(columns: list[Column], name: str) -> str:
    """Return the quoted name of a column, in its own spelling if that of the caller differs."""
    exact = {column.name: column for column in columns}
    folded = {column.name.lower(): column for column in columns}
    return names.quoted((exact.get(name) or folded[name.lower()]).name)
