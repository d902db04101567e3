"""Overwrites that replace rows instead of whole partitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml.merge.repeatability import MergeSource
from deltareplay.spark.dml.rewrite import Rewrite, inserted, with_change, with_images
from deltareplay.spark.dml.statement import (
    Statement,
    analyzed,
    as_column,
    condition_text,
    note_read,
    qualified,
)
from deltareplay.spark.dml.target_rows import RowSets
from deltareplay.spark.query import subqueries
from deltareplay.spark.scan import hidden_columns as names
from deltareplay.spark.scan.skipping import target_filter
from deltareplay.spark.schema.alignment import evolved
from deltareplay.spark.writing import identity_columns
from deltareplay.spark.writing.table_rows import table_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from deltareplay._transaction.transaction import Transaction
    from deltareplay.spark.dml.statement import Expression
    from deltareplay.spark.dml.target_rows import Candidates

_ALIAS = "target"


@dataclass(frozen=True)
class Matching:
    """The condition by which new rows replace rows of the table.

    Attributes:
        using: Columns that are equal in both rows; null equals nothing. Empty with ``on``.
        on: A condition on both rows; None with ``using``.
        alias: The name of the table in the condition.
        source: The new rows, with the columns that the condition may refer to.
        shape: Converts these rows to the columns of the table.
    """

    using: tuple[str, ...]
    on: Expression | None
    alias: str
    source: DataFrame
    shape: Callable[[DataFrame], DataFrame]

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the commit, by delta-spark's names."""
        if self.on is None:
            return {"replaceUsingCols": f"({', '.join(self.using)})"}
        return {"replaceOnCond": condition_text(self.on)}


def replace(
    statement: Statement, df: DataFrame, condition: str, transaction: Transaction
) -> tuple[int | None, dict[str, int]]:
    """Delete the rows that satisfy a condition, as ``delete`` does, and add rows, in one commit.

    Args:
        statement: The table.
        df: The new rows, all of which must satisfy the condition.
        condition: The condition.
        transaction: The transaction of the write.

    Returns:
        The version and the metrics of the commit.
    """
    statement.refuse_append_only()
    candidates, _ = statement.matched(transaction, condition, _ALIAS)
    identity_columns.refuse_assigned(df, statement.target)
    rows = table_rows(df, statement.target, replace_where=condition)
    marked = RowSets.of(candidates.rows().alias(_ALIAS).where(as_column(condition)))
    return _committed(statement, candidates, marked, rows, df.columns, transaction)


def replace_matching(
    statement: Statement, matching: Matching, transaction: Transaction
) -> tuple[int | None, dict[str, int]]:
    """Replace the rows that match a new row, in one commit.

    Args:
        statement: The table.
        matching: The new rows, and the condition of the rows that they replace.
        transaction: The transaction of the write.

    Returns:
        The version and the metrics of the commit.

    Raises:
        InvalidArgumentError: ``write.columns``: the new rows do not fit the table, or a column of
            ``using`` is missing. ``statement.expression``: Spark cannot resolve the condition.
    """
    statement.refuse_append_only()
    target, alias = statement.target, matching.alias
    source = MergeSource.of(matching.source, None)
    with subqueries.of(statement.spark) as opened_queries:
        on = opened_queries.opened(matching.on)
        written = matching.shape(source.frame)
        identity_columns.refuse_assigned(written, target)
        table_rows(written, target)
        none = statement.empty(alias)

        def pairs() -> Column:
            return _equal(matching, source, statement) if on is None else as_column(on)

        joined = analyzed(lambda: none.join(source.rows, pairs()))
        filter = None
        if on is not None:
            filter = target_filter(on, statement.snapshot, alias, lambda: joined, joined=True)
        note_read(transaction, filter)
        candidates = statement.candidates(filter)
        with source.stable(target, statement.root) as stable:
            rows = candidates.rows().alias(alias)
            marked = RowSets.of(rows.join(stable, pairs(), "left_semi"))
            added = [copy for _, copy in source.columns]
            written = matching.shape(stable.drop(*added, names.FROM_SOURCE))
            rows = table_rows(written, target)
            return _committed(statement, candidates, marked, rows, written.columns, transaction)


def _equal(matching: Matching, source: MergeSource, statement: Statement) -> Column:
    """Return the condition that all columns of ``using`` are equal."""
    from pyspark.sql import functions as sf

    own = {field.key: field.name for field in statement.known_fields}
    copies = {field.key: copy for field, copy in source.columns}
    condition = sf.lit(True)
    for name in dict.fromkeys(matching.using):
        for columns, side_has in ((own, "the table has"), (copies, "the new rows have")):
            if name.lower() not in columns:
                raise InvalidArgumentError(
                    f"{side_has} no column {name}, by which rows are replaced: name columns that "
                    "the table and the new rows have",
                    code="write.columns",
                )
        column = sf.col(qualified(matching.alias, own[name.lower()]))
        condition = condition & (column == sf.col(copies[name.lower()]))
    return condition


def _committed(
    statement: Statement,
    candidates: Candidates,
    marked: RowSets,
    rows: DataFrame,
    columns: Collection[str],
    transaction: Transaction,
) -> tuple[int | None, dict[str, int]]:
    """Replace the marked rows by others, in one commit.

    Args:
        statement: The table.
        candidates: The files that have the marked rows.
        marked: The rows to delete.
        rows: The rows to add, with the columns of the table.
        columns: The columns whose values come from the user.
        transaction: The transaction.

    Returns:
        The version and the metrics of the commit.
    """
    target = statement.target
    rows = inserted(rows, target.written_fields, tracked=candidates.tracks_rows)
    if target.has_feed and marked:
        deleted = marked.only(candidates.rows(marked.counts)).drop(names.FILE, names.ROW_NUMBER)
        deleted = evolved(deleted, target.written_fields)
        rows = with_images(rows, target.written_fields)
        rows = rows.unionByName(with_change(deleted, "delete"), allowMissingColumns=True)
    else:
        rows = rows.drop(names.KIND, names.BEFORE)
    rewrite = Rewrite(candidates, target, transaction, columns=columns)
    with rewrite.discarded_on_error():
        rewrite.stage(marked, rows)
        metrics = rewrite.commit_metrics(numDeletedRows=len(marked)) | _output(rewrite.metrics)
        transaction.set_metrics(metrics)
    return rewrite.commit(), metrics


def _output(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the metrics of the output of the write.

    As in delta-spark, a file that gets a vector counts as output, and its other rows as copied.
    """
    return {
        "numFiles": counts["added"] + counts["vectors_added"] + counts["vectors_updated"],
        "numOutputRows": counts["output_rows"] + counts["vectors_rows"],
        "numOutputBytes": counts["added_bytes"] + counts["vectors_bytes"],
        "numCopiedRows": counts["copied"] + counts["vectors_rows"],
    }
