"""``write``: the rows of a DataFrame into a table, by Spark's own Parquet writer."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from deltareplay.exceptions import (
    CommitStateUnknownError,
    DeltaReplayError,
    InvalidArgumentError,
    UnsupportedFeatureError,
)
from deltareplay.snapshot import Snapshot
from deltareplay.spark import replaced, session, target_table
from deltareplay.spark.outgoing import Outgoing
from deltareplay.spark.source import TableLike, table_of
from deltareplay.spark.staged import Staged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
            created first, in a version without rows. Other writers who commit behind a ``Snapshot``
            that is given are judged as if they had come meanwhile.
        mode: ``append``, or ``overwrite``: the rows that are there go.
        partition_by: The columns that a new table is partitioned by; of one that is there, its own.
        replace_where: With ``overwrite``, SQL of Spark's on partition columns: only these
            partitions are replaced, and all rows that are written must be of them.
        partition_overwrite: With ``overwrite``, ``dynamic`` replaces those partitions that rows are
            written to.
        txn: Application and version of an idempotent write: where the table has this version of the
            application, or a later one, nothing is written.
        merge_schema: Adds columns that the table lacks, in a version of their own.
        properties: Table properties of a new table.
        user_metadata: Any text for the commit.
        root: As in ``read``.

    Returns:
        The new version; None where ``txn`` tells that it was written before.

    Raises:
        InvalidArgumentError: Rows do not fit the table (``write.columns``), or break a constraint
            (``write.constraint``; the message has the first such row that a task met).
        UnsupportedFeatureError: The table has a feature that cannot be written, and nothing was; or
            Spark is older than 4.0.
        CommitConflictError: Another writer was in the way; nothing was committed.
        StorageError: The storage failed.

    >>> write(df, "demo/new", partition_by=["day"], txn=("nightly", 20260101))  # doctest: +SKIP
    1
    """
    spark = df.sparkSession
    session.check(spark)
    if session.version(spark) < (4, 0):
        raise UnsupportedFeatureError(
            f"this is Spark {spark.version}: writing takes 4.0", code="spark.too_old"
        )
    _check(mode, replace_where, partition_overwrite)
    of = table_of(table)
    if not of._native.exists():
        target_table.create(of, df.schema, partition_by or (), properties or {})
    elif merge_schema:
        target_table.widen(of, df.schema)
    snapshot = table if isinstance(table, Snapshot) and not merge_schema else of.snapshot()
    target_table.check(snapshot, partition_by)
    parameters = {"mode": mode.capitalize(), "partitionBy": list(snapshot.partition_columns)}
    if replace_where is not None:
        parameters["predicate"] = replace_where
    transaction = of.transaction(
        "WRITE", parameters=parameters, snapshot=snapshot, user_metadata=user_metadata
    )
    if txn is not None and transaction.set_transaction(*txn):
        return transaction.commit()
    gone = replaced.files(spark, snapshot, replace_where) if mode == "overwrite" else None
    outgoing = Outgoing.of(df, snapshot, replace_where)
    staged = Staged(spark, of, snapshot, uuid.uuid4().hex, root)
    try:
        written = staged.write(outgoing)
        transaction.add_files(written)
        if gone is not None:
            if partition_overwrite == "dynamic":
                gone = replaced.same_partitions(gone, written)
            replaced.note_read(transaction, replace_where)
            transaction.remove_files(gone)
        transaction.set_metrics(staged.metrics(written))
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
