"""``delete``: deletes the rows that satisfy a condition, which Spark evaluates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay._support.arguments import checked
from deltareplay._transaction.written import Written
from deltareplay.spark.catalog.table_argument import TableLike
from deltareplay.spark.dml.rewrite import Rewrite, with_change
from deltareplay.spark.dml.statement import DmlStatement, as_column, predicate_parameter
from deltareplay.spark.dml.target_rows import RowSets
from deltareplay.spark.query import subqueries
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.scan.skipping import negated_target_filter
from deltareplay.spark.scan.table_alias import aliased

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from deltareplay._transaction.transaction import Transaction


@checked
def delete(
    spark: SparkSession,
    table: TableLike,
    where: str | Column | None = None,
    *,
    target_alias: str = "target",
    txn: tuple[str, int] | None = None,
    user_metadata: str | None = None,
    root: str | None = None,
) -> Written:
    """Delete the rows that satisfy a condition, or all, in one commit.

    Files are selected by partition values and statistics. Spark evaluates the condition on their
    rows, so everything that Spark can compute is allowed. With deletion vectors the rows are
    marked; otherwise the executors copy the remaining rows, with their row ids. Files that are
    removed as a whole, according to their statistics, are not read.

    Args:
        spark: A session of PySpark 4.0 or later, classic or Connect.
        table: A ``Table``, a ``Snapshot``, or the table's path, URI or name.
        where: SQL text or a column; None deletes all rows.
        target_alias: A name of the table in the condition.
        txn: As in ``write``.
        user_metadata: Any text for the commit.
        root: As in ``read``.

    Returns:
        The version, None if no row satisfies the condition and ``txn`` is not passed, or if ``txn``
        is already in the table; the metrics of ``Table.delete``.

    Raises:
        InvalidArgumentError: The condition does not fit the table (``statement.expression``); the
            table is append-only (``transaction.append_only``); or Spark does not support the
            storage (``spark.root``).
        UnsupportedFeatureError: Spark is older than 4.0 (``spark.too_old``); the table has a
            feature that cannot be written (``write.feature``, ``protocol.writer_features``); or as
            by ``read``.
        TableNotFoundError: As by ``read``.
        CommitConflictError: Another writer changed the files that were read.

    Source: Delta protocol, "Deletion Vectors", "Row Tracking", "Add CDC File".

    >>> delete(spark, "demo/events", "id % 10 = 3").metrics["numDeletedRows"]  # doctest: +SKIP
    100
    """
    statement = DmlStatement.of(spark, table, root, txn, user_metadata)
    statement.refuse_append_only()
    transaction = statement.begin("DELETE", {"predicate": predicate_parameter(where)})
    if statement.is_repeated(transaction):
        return Written(transaction.commit(), {})
    with subqueries.views(spark) as views:
        return _run(statement, transaction, views.substitute(where), target_alias)


def _run(
    statement: DmlStatement,
    transaction: Transaction,
    where: str | Column | None,
    target_alias: str,
) -> Written:
    candidates, frame = statement.matching_files(transaction, where, target_alias)
    covered = candidates.numbers()
    if where is not None:
        negation = negated_target_filter(where, statement.snapshot, target_alias, frame)
        covered -= candidates.numbers(negation)
    rewrite = Rewrite(candidates, statement.target, transaction)
    matches = candidates.rows(candidates.numbers() - covered)
    if where is not None:
        matches = aliased(matches, target_alias).where(as_column(where))
    marked = RowSets.of(matches)
    covered_rows = candidates.live_rows(covered).values()
    deleted = None
    if None not in covered_rows:
        deleted = len(marked) + sum(rows or 0 for rows in covered_rows)
    # as in delta-spark, the session's application version is not recorded without rows
    if not marked and not covered and statement.txn is None:
        return Written(None, _metrics(rewrite, 0))
    changes = None
    row_counts = candidates.live_rows(marked.counts).values()
    # vectors record the deleted rows, unless a file without a row count is copied
    has_vectors = statement.target.uses_vectors and None not in row_counts
    if marked and statement.target.has_feed and not has_vectors:
        # a commit with change data files needs all of its changes in them
        removed = marked.only(candidates.rows(marked.counts)).unionByName(candidates.rows(covered))
        changes = with_change(
            removed.drop(hidden_columns.FILE, hidden_columns.ROW_NUMBER), "delete"
        )
    with rewrite.discarded_on_error():
        rewrite.remove_whole(covered)
        rewrite.stage(marked, changes)
        metrics = _metrics(rewrite, deleted)
        transaction.set_metrics(metrics | statement.times(rewrite.staged_from))
    return Written(rewrite.commit(), metrics)


def _metrics(rewrite: Rewrite, deleted: int | None) -> dict[str, int]:
    """Return the metrics of DELETE, by delta-spark's names; deleted rows only if they are known."""
    counts = {} if deleted is None else {"numDeletedRows": deleted}
    return rewrite.commit_metrics(**counts)
