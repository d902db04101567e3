"""The commit of a DataFrame's rows, shared by ``write`` and CREATE TABLE AS SELECT."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from deltareplay._table.renamed import WrittenVersion
from deltareplay.spark.writing import identity_columns
from deltareplay.spark.writing.compaction import after_write
from deltareplay.spark.writing.staged_files import Staged, commit_or_discard

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from deltareplay._table.table import Place
    from deltareplay._transaction.transaction import Transaction
    from deltareplay.spark.writing.table_rows import Outgoing
    from deltareplay.spark.writing.target_table import TargetTable


def commit(
    spark: SparkSession,
    rows: Outgoing,
    location: Place,
    target: TargetTable,
    transaction: Transaction,
    also: Callable[[pa.Table], Mapping[str, int]],
    root: str | None = None,
) -> WrittenVersion:
    """Write the rows and commit them with the staged actions; no files remain if that fails.

    Args:
        spark: The session.
        rows: The rows.
        location: The location of the table.
        target: The table.
        transaction: The transaction.
        also: Receives the columns of ``add`` of the written files, stages actions that depend on
            them, and returns additional metrics.
        root: The table's Hadoop path, if it is not its URI.

    Returns:
        The version, None if there was nothing to commit; and the metrics.

    Raises:
        InvalidArgumentError: A row breaks a constraint.
        CommitConflictError: Another writer's commit conflicts.
    """
    staged = Staged(spark, target, uuid.uuid4().hex, root)
    try:
        files = staged.write(rows)
        identity_columns.set_marks(transaction, target, files.marks)
        files.stage(transaction)
        metrics = {**staged.metrics(files.adds), **also(files.adds)}
        transaction.set_metrics(metrics)
    except BaseException:
        staged.discard()
        raise
    if transaction.is_empty:
        staged.discard()
        return WrittenVersion(None, metrics)
    version = commit_or_discard(transaction, staged.discard)
    location.registered()
    if version is not None:
        after_write(spark, target, version, files.adds)
    return WrittenVersion(version, metrics if version is not None else {})
