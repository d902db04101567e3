"""Overwrites of rows by a condition: ``replaceWhere``, ``replaceUsing`` and ``replaceOn``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml.merge.repeatability import MergeSource
from deltareplay.spark.dml.rewrite import Rewrite, inserted, with_change, with_images
from deltareplay.spark.dml.statement import (
    DmlStatement,
    analyzed,
    as_column,
    condition_text,
    qualified,
    record_read,
)
from deltareplay.spark.dml.target_rows import RowSets
from deltareplay.spark.query import subqueries
from deltareplay.spark.scan import hidden_columns
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
    """The condition on which a new row replaces a row of the table.

    Attributes:
        using: Columns whose values are equal in both rows; null equals nothing. Empty with ``on``.
        on: A condition on both rows; None with ``using``.
        alias: The name of the table in the condition.
        source: The new rows, with the columns that the condition may refer to.
        convert: Converts these rows to the columns of the table.
    """

    using: tuple[str, ...]
    on: Expression | None
    alias: str
    source: DataFrame
    convert: Callable[[DataFrame], DataFrame]

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the commit, by delta-spark's names."""
        if self.on is None:
            return {"replaceUsingCols": f"({', '.join(self.using)})"}
        return {"replaceOnCond": condition_text(self.on)}


def replace(
    statement: DmlStatement, df: DataFrame, condition: str, transaction: Transaction
) -> tuple[int | None, dict[str, int]]:
    """Delete the rows that satisfy a condition, as ``delete`` does, and add rows, in one commit.

    All new rows must satisfy the condition. Return the version and the metrics of the commit.
    """
    statement.refuse_append_only()
    candidates, _ = statement.matching_files(transaction, condition, _ALIAS)
    identity_columns.refuse_assigned(df, statement.target)
    rows = table_rows(df, statement.target, replace_where=condition)
    marked = RowSets.of(candidates.rows().alias(_ALIAS).where(as_column(condition)))
    return _commit(statement, candidates, marked, rows, df.columns, transaction)


def replace_matching(
    statement: DmlStatement, matching: Matching, transaction: Transaction
) -> tuple[int | None, dict[str, int]]:
    """Replace the rows that match a new row, in one commit; return its version and metrics."""
    statement.refuse_append_only()
    target, alias = statement.target, matching.alias
    source = MergeSource.of(matching.source, None)
    with subqueries.views(statement.spark) as views:
        on = views.substitute(matching.on)
        written = matching.convert(source.frame)
        identity_columns.refuse_assigned(written, target)
        # before a copy of the rows is stored: refuses those that do not fit
        table_rows(written, target)
        empty = statement.empty(alias)

        def matches() -> Column:
            return _equal(matching, source, statement) if on is None else as_column(on)

        joined = analyzed(lambda: empty.join(source.rows, matches()))
        filter = None
        if on is not None:
            filter = target_filter(on, statement.snapshot, alias, joined, joined=True)
        record_read(transaction, filter)
        candidates = statement.candidates(filter)
        with source.stable(target, statement.root) as stable:
            rows = candidates.rows().alias(alias)
            marked = RowSets.of(rows.join(stable, matches(), "left_semi"))
            copies = [copy for _, copy in source.columns]
            written = matching.convert(stable.drop(*copies, hidden_columns.FROM_SOURCE))
            rows = table_rows(written, target)
            return _commit(statement, candidates, marked, rows, written.columns, transaction)


def _equal(matching: Matching, source: MergeSource, statement: DmlStatement) -> Column:
    """Return the condition that all columns of ``using`` are equal."""
    from pyspark.sql import functions as sf

    table_columns = {field.key: field.name for field in statement.fields_before}
    copies = {field.key: copy for field, copy in source.columns}
    condition = sf.lit(True)
    for name in dict.fromkeys(matching.using):
        for columns, side_has in ((table_columns, "the table has"), (copies, "the new rows have")):
            if name.lower() not in columns:
                raise InvalidArgumentError(
                    f"{side_has} no column {name}, by which rows are replaced: name columns that "
                    "both the table and the new rows have",
                    code="write.columns",
                )
        column = sf.col(qualified(matching.alias, table_columns[name.lower()]))
        condition = condition & (column == sf.col(copies[name.lower()]))
    return condition


def _commit(
    statement: DmlStatement,
    candidates: Candidates,
    marked: RowSets,
    rows: DataFrame,
    columns: Collection[str],
    transaction: Transaction,
) -> tuple[int | None, dict[str, int]]:
    """Replace the marked rows by others, in one commit; return its version and metrics.

    Args:
        statement: The statement, with its table.
        candidates: The files that have the marked rows.
        marked: The rows to delete.
        rows: The rows to add, with the columns of the table.
        columns: The columns whose values the user supplies.
        transaction: The transaction.
    """
    target = statement.target
    rows = inserted(rows, target.written_fields, tracks_rows=candidates.tracks_rows)
    if target.has_feed and marked:
        deleted = marked.only(candidates.rows(marked.counts)).drop(
            hidden_columns.FILE, hidden_columns.ROW_NUMBER
        )
        deleted = evolved(deleted, target.written_fields)
        rows = with_images(rows, target.written_fields)
        rows = rows.unionByName(with_change(deleted, "delete"), allowMissingColumns=True)
    else:
        rows = rows.drop(hidden_columns.KIND, hidden_columns.BEFORE)
    rewrite = Rewrite(candidates, target, transaction, columns=columns)
    with rewrite.discarded_on_error():
        rewrite.stage(marked, rows)
        metrics = rewrite.commit_metrics(numDeletedRows=len(marked))
        metrics |= _output_metrics(rewrite.metrics)
        transaction.set_metrics(metrics)
    return rewrite.commit(), metrics


def _output_metrics(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the metrics of the files that the write adds.

    As in delta-spark, a file that gets a vector counts as added, and its remaining rows as copied.
    """
    return {
        "numFiles": counts["added_files"] + counts["vectors_added"] + counts["vectors_updated"],
        "numOutputRows": counts["output_rows"] + counts["kept_rows"],
        "numOutputBytes": counts["added_bytes"] + counts["kept_bytes"],
        "numCopiedRows": counts["copied_rows"] + counts["kept_rows"],
    }
