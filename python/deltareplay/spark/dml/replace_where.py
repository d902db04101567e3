"""An overwriting write whose condition speaks of rows, not of whole partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deltareplay.spark.dml import change_data as feed
from deltareplay.spark.dml.rewrite import Rewrite, with_change
from deltareplay.spark.dml.row_sets import Marked
from deltareplay.spark.dml.statement import Statement, as_column
from deltareplay.spark.scan import hidden_columns as names
from deltareplay.spark.writing import identity_columns as identities
from deltareplay.spark.writing.table_rows import table_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deltareplay._transaction import Transaction

_ALIAS = "target"


def replace(
    statement: Statement, df: DataFrame, condition: str, transaction: Transaction
) -> tuple[int | None, dict[str, int]]:
    """Rows that satisfy the condition go, as by ``delete``, and the new ones come, in one commit.

    Args:
        statement: The table.
        df: The new rows, all of which have to satisfy the condition.
        condition: The condition.
        transaction: The transaction of the write.

    Returns:
        The version and the metrics of the commit.
    """
    statement.refuse_append_only()
    candidates, _ = statement.matched(transaction, condition, _ALIAS)
    target = statement.target
    identities.refuse_given(df, target)
    rows = table_rows(df, target, replace_where=condition)
    marked = Marked.of(candidates.rows().alias(_ALIAS).where(as_column(condition)))
    rows = feed.inserted(rows, target.written_fields, tracked=candidates.tracks_rows)
    if target.has_feed:
        deleted = marked.only(candidates.rows(marked.counts)).drop(names.FILE, names.ROW_NUMBER)
        rows = feed.with_images(rows, target.written_fields)
        rows = rows.unionByName(with_change(deleted, feed.DELETE), allowMissingColumns=True)
    else:
        rows = rows.drop(names.KIND, names.BEFORE)
    rewrite = Rewrite(candidates, target, transaction, given=df.columns)
    try:
        rewrite.stage(marked, rows)
        metrics = rewrite.shown(numDeletedRows=len(marked)) | _output(rewrite.metrics)
        transaction.set_metrics(metrics)
    except BaseException:
        rewrite.discard()
        raise
    return rewrite.commit(), metrics


def _output(counts: Mapping[str, int]) -> dict[str, int]:
    """The metrics of what is there afterwards.

    As in delta-spark, a file that gets a vector is one of them, and its other rows are copied.
    """
    return {
        "numFiles": counts["added"] + counts["vectors_added"] + counts["vectors_updated"],
        "numOutputRows": counts["output_rows"] + counts["vectors_rows"],
        "numOutputBytes": counts["added_bytes"] + counts["vectors_bytes"],
        "numCopiedRows": counts["copied"] + counts["vectors_rows"],
    }
