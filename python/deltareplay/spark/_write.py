"""``write``: the rows of a DataFrame into a table, by Spark's own Parquet writer."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from deltareplay._arguments import checked
from deltareplay._snapshot import Snapshot
from deltareplay.exceptions import (
    CommitStateUnknownError,
    DeltaReplayError,
    InvalidArgumentError,
    UnsupportedFeatureError,
)
from deltareplay.spark import on_executors, replaced, session
from deltareplay.spark.outgoing import Outgoing
from deltareplay.spark.source import TableLike, table_of
from deltareplay.spark.staged import Staged
from deltareplay.spark.target_table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@checked
def write(
    df: DataFrame,
    table: TableLike,
    *,
    mode: Literal["append", "overwrite"] = "append",
    partition_by: Sequence[str] | None = None,
    replace_where: str | None = None,
    partition_overwrite: Literal["static", "dynamic"] = "static",
    txn: tuple[str, int] | None = None,
    merge_schema: bool = False,
    properties: Mapping[str, str] | None = None,
    user_metadata: str | None = None,
    root: str | None = None,
) -> int | None:
    """Write rows into a table, as one commit.

    Spark's executors write the Parquet files into a directory of their own in the table, with its
    Parquet writer and no Python; then they read the statistics of the footers, in Rust; the driver
    commits once. Where anything fails before that, nothing of it is visible, and the files are
    taken away, or left for ``VACUUM``.

    NOT NULL, CHECK constraints and invariants are checked by Spark as the rows are written, and so
    are generated columns that the rows bring; those that they lack are computed, and columns with
    a default get it.

    Args:
        df: The rows. Columns are found by name, whatever the case; they have the table's types, or
            narrower ones. Columns that are not there are null.
        table: A ``Table``, a ``Snapshot``, or where the table lies. One that is not there is
            created, by the same commit as its first rows. Other writers who commit after a
            ``Snapshot`` that is given are judged as if they had come meanwhile.
        mode: ``append``, or ``overwrite``: the rows that are there go.
        partition_by: The columns that a new table is partitioned by; of one that is there, its own.
        replace_where: With ``overwrite``, SQL of Spark's on partition columns: only these
            partitions are replaced, and all rows that are written must be of them.
        partition_overwrite: With ``overwrite``, ``dynamic`` replaces those partitions that rows are
            written to.
        txn: Application and version of an idempotent write: where the table has this version of the
            application, or a later one, nothing is written.
        merge_schema: Adds columns that the table lacks, by the same commit.
        properties: Table properties of a new table.
        user_metadata: Any text for the commit.
        root: As in ``read``.

    Returns:
        The new version; None where ``txn`` tells that it was written before.

    Raises:
        InvalidArgumentError: Rows do not fit the table (``write.columns``), or break a constraint
            (``write.constraint``; the message has the first such row that a task met); the
            DataFrame is a stream (``write.stream``).
        UnsupportedFeatureError: The table has a feature that cannot be written; Spark is older than
            4.0; or the executors lack deltareplay (``spark.executors``). Nothing was written.
        CommitConflictError: Another writer was in the way; nothing was committed.
        StorageError: The storage failed; or files are there that no committed task of Spark's
            wrote (``write.uncommitted_files``). Nothing was committed.

    >>> write(df, "demo/new", partition_by=["day"], txn=("nightly", 20260101))  # doctest: +SKIP
    0
    """
    spark = df.sparkSession
    session.check(spark)
    if session.version(spark) < (4, 0):
        raise UnsupportedFeatureError(
            f"this is Spark {spark.version}: writing takes 4.0", code="spark.too_old"
        )
    if df.isStreaming:
        raise InvalidArgumentError(
            "the DataFrame is a stream: write each of its batches, by df.writeStream.foreachBatch, "
            "or the stream by df.writeStream.format('deltareplay')",
            code="write.stream",
        )
    _check(mode, replace_where, partition_overwrite)
    of = table_of(table)
    if not of._native.exists():
        snapshot = None
        target = TargetTable.new(of, df.schema, partition_by or (), properties or {})
    else:
        snapshot = table if isinstance(table, Snapshot) else of.snapshot()
        target = TargetTable.of(snapshot)
    if merge_schema:
        target = target.with_columns(df.schema)
    target.check(partition_by)
    parameters = {"mode": mode.capitalize(), "partitionBy": list(target.partition_columns)}
    if replace_where is not None:
        parameters["predicate"] = replace_where
    transaction = target.begin(snapshot, "WRITE", parameters, user_metadata)
    if txn is not None and transaction.set_transaction(*txn):
        return transaction.commit()
    gone = None
    if mode == "overwrite" and snapshot is not None:
        gone = replaced.files(spark, snapshot, replace_where)
    outgoing = Outgoing.of(df, target, replace_where)
    on_executors.check(spark)
    staged = Staged(spark, target, uuid.uuid4().hex, root)
    try:
        written = staged.write(outgoing)
        transaction.add_files(written)
        if gone is not None:
            if partition_overwrite == "dynamic":
                gone = replaced.same_partitions(gone, written)
            replaced.note_read(transaction, replace_where)
            transaction.remove_files(gone)
        transaction.set_metrics(staged.metrics(written) | replaced.metrics(gone))
    except BaseException:
        staged.discard()
        raise
    try:
        return transaction.commit()
    except CommitStateUnknownError:
        raise
    except DeltaReplayError:  # after anything else, such as Ctrl-C, the commit may be there
        staged.discard()
        raise


def _check(mode: str, replace_where: str | None, partition_overwrite: str) -> None:
    if mode not in ("append", "overwrite"):
        raise InvalidArgumentError(
            f"mode is {mode!r}: pass 'append' or 'overwrite'", code="write.mode"
        )
    if partition_overwrite not in ("static", "dynamic"):
        raise InvalidArgumentError(
            f"partition_overwrite is {partition_overwrite!r}: pass 'static' or 'dynamic'",
            code="write.mode",
        )
    narrowed = replace_where is not None or partition_overwrite == "dynamic"
    if narrowed and mode != "overwrite":
        raise InvalidArgumentError(
            "replace_where and partition_overwrite say what mode='overwrite' replaces: pass it",
            code="write.mode",
        )
    if replace_where is not None and partition_overwrite == "dynamic":
        raise InvalidArgumentError(
            "replace_where and partition_overwrite='dynamic' are two ways to say what is replaced: "
            "pass one of them",
            code="write.mode",
        )
