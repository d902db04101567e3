"""``CREATE TABLE ... AS SELECT``: a definition and the rows of a query, in one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay._transaction.transaction import Transaction
from deltareplay.spark.query import queries
from deltareplay.spark.session import settings
from deltareplay.spark.writing.staged_write import FileRows, commit_rows
from deltareplay.spark.writing.target_table import (
    TargetTable,
    check_writable,
    new_columns,
    partitions_among,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._table.create import WriteLocation


def create(
    spark: SparkSession,
    location: WriteLocation,
    query: str | DataFrame,
    *,
    partition_by: Sequence[str],
    cluster_by: Sequence[str],
    properties: Mapping[str, str],
    comment: str | None,
    mode: str,
    user_metadata: str | None,
) -> None:
    """Create or replace a table with the rows of a query; all columns are nullable.

    ``mode`` is the core's: ``new``, ``if_not_exists``, ``replace`` or ``or_replace``. The
    definition is checked before Spark runs the query. ``query`` is a text, or its rows.
    """
    rows = queries.run(spark, query) if isinstance(query, str) else query
    partition_by = partitions_among(rows.columns, partition_by)
    columns = new_columns(rows.schema)
    native = location.table.native.define(
        columns,
        partition_by,
        cluster_by,
        location.properties(columns, partition_by, properties),
        comment,
        mode,
    )
    if native is None:
        return
    metadata, protocol, parameters = native.definition()
    # read after the transaction began, so that a commit in between is a conflict
    old = location.table.snapshot() if location.table.native.exists() else None
    if user_metadata is None:
        user_metadata = settings.user_metadata(spark)
    transaction = Transaction.from_native(location.table, old, native, user_metadata=user_metadata)
    transaction.set_parameters(parameters)
    txn = settings.transaction(spark)
    if txn is not None and transaction.set_transaction(*txn):
        return
    target = TargetTable(location.table, None, metadata, protocol)
    check_writable(protocol)
    target.refuse_void()
    removed = {}
    if mode in ("replace", "or_replace"):
        native.read(None)  # all files of the replaced version, even if there are none
        removed = {
            "numRemovedFiles": 0 if old is None else old.num_files,
            "numRemovedBytes": 0 if old is None else old.size_in_bytes,
        }
    file_rows = FileRows.of(rows, target, None)
    commit_rows(spark, file_rows, location, target, transaction, lambda _: removed)
