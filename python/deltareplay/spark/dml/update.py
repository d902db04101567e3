"""``update``: sets columns of the rows that satisfy a condition, which Spark evaluates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deltareplay._protocol.schema import Field
from deltareplay._support.arguments import checked
from deltareplay._transaction.written import Written
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog.table_argument import TableLike
from deltareplay.spark.dml.assignments import Assignments, without_alias
from deltareplay.spark.dml.rewrite import Rewrite, with_images
from deltareplay.spark.dml.statement import (
    DmlStatement,
    analyzed,
    as_column,
    predicate_parameter,
    qualified,
)
from deltareplay.spark.dml.target_rows import RowSets
from deltareplay.spark.query import subqueries
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.scan.table_alias import aliased
from deltareplay.spark.schema.alignment import widened
from deltareplay.spark.schema.string_lengths import declared_type, has_char
from deltareplay.spark.session import capabilities, internals, settings
from deltareplay.spark.writing.table_rows import table_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._transaction.transaction import Transaction


@checked
def update(
    spark: SparkSession,
    table: TableLike,
    where: str | Column | None,
    set: Mapping[str, str | Column],  # noqa: A002
    *,
    target_alias: str = "target",
    txn: tuple[str, int] | None = None,
    user_metadata: str | None = None,
    root: str | None = None,
) -> Written:
    """Set columns in the rows that satisfy a condition, or in all rows, in one commit.

    Spark evaluates the condition and the values, so everything that Spark can compute is allowed.
    Rows keep their ids if the table tracks rows; generated columns are computed again; the table's
    rules are enforced. A change data feed gets the images before and after.

    Args:
        spark: A session of PySpark 4.0 or later, classic or Connect.
        table: A ``Table``, a ``Snapshot``, or the table's path, URI or name.
        where: SQL text or a column; None updates all rows.
        set: Columns and their values: SQL text, or columns. ``"s.a"`` is a field of the struct
            ``s``; its other fields stay. ``DEFAULT`` is the default of the column, null if it has
            none, unless the table has a column of that name.
        target_alias: A name of the table in the condition and in ``set``.
        txn: As in ``write``.
        user_metadata: Any text for the commit.
        root: As in ``read``.

    Returns:
        The version, None if no row satisfies the condition and there is no ``txn``, or if ``txn``
        is already in the table; the metrics of ``Table.update``.

    Raises:
        InvalidArgumentError: As by ``delete``; a value (``statement.expression``) or a column
            (``statement.column``) does not fit the table; an identity column is set
            (``write.identity``); or a row would break a rule of the table (``write.constraint``).
        UnsupportedFeatureError: As by ``delete``; or Spark cannot evaluate an expression of the
            table safely (``spark.expression``).
        TableNotFoundError: As by ``delete``.
        CommitConflictError: As by ``delete``.

    Source: Delta protocol, "Deletion Vectors", "Row Tracking", "Add CDC File".

    >>> update(spark, "demo/events", "id = 1", {"price": "price * 2"})  # doctest: +SKIP
    Written(version=4, metrics={'numUpdatedRows': 1, ...})
    """
    statement = DmlStatement.of(spark, table, root, txn, user_metadata)
    statement.refuse_append_only()
    if not set:
        raise InvalidArgumentError(
            "an update needs columns to set: pass set={'column': 'value'}",
            code="statement.column",
        )
    # as in delta-spark, an update of all rows has no predicate
    parameters = {"predicate": "[]" if where is None else predicate_parameter(where)}
    transaction = statement.begin("UPDATE", parameters)
    with subqueries.views(spark) as views:
        values = views.substitute_values(set)
        return _run(statement, transaction, views.substitute(where), values, target_alias)


def _run(
    statement: DmlStatement,
    transaction: Transaction,
    where: str | Column | None,
    values: Mapping[str, str | Column],
    target_alias: str,
) -> Written:
    fields = statement.target.fields
    columns = [field.name for field in fields]
    values = without_alias(values, target_alias, columns, settings.name_key(statement.spark))
    assignments = Assignments.of(statement.spark, values, fields, columns)
    if statement.is_repeated(transaction):
        return Written(transaction.commit(), {})
    candidates, frame = statement.matching_files(transaction, where, target_alias)
    analyzed(lambda: _updated(frame, statement, assignments, target_alias))
    rewrite = Rewrite(candidates, statement.target, transaction)
    rows = candidates.rows()
    if where is not None:
        rows = aliased(rows, target_alias).where(as_column(where))
    marked = RowSets.of(rows)
    if not marked and not statement.is_idempotent:
        return Written(None, rewrite.commit_metrics(numUpdatedRows=0))
    with rewrite.discarded_on_error():
        if marked:
            rows = candidates.rows(marked.counts)
            in_one_scan = _uses_one_scan(statement, assignments, aliased(rows, target_alias))
            rows = (marked.flagged if in_one_scan else marked.only)(rows)
            rows = aliased(rows, target_alias)
            changed = _updated(rows, statement, assignments, target_alias)
            rewrite.stage(marked, changed, with_remaining=in_one_scan)
        metrics = rewrite.commit_metrics(numUpdatedRows=len(marked))
        transaction.set_metrics(metrics | statement.times(rewrite.staged_from))
    return Written(rewrite.commit(), metrics)


def _updated(
    rows: DataFrame, statement: DmlStatement, assignments: Assignments, alias: str
) -> DataFrame:
    """Return the updated rows, with their images if the table has a change data feed.

    All of ``rows`` are updated; with ``hidden_columns.MARKED``, only the marked ones.
    """
    from pyspark.sql import functions as sf

    target = statement.target
    fields = target.written_fields
    typed = assignments.typed(rows, fields)
    fields_before = {field.name: field for field in statement.fields_before}
    before = {
        field.name: widened(sf.col(qualified(alias, field.name)), fields_before[field.name], field)
        for field in fields
    }
    columns, extra_columns = [], []
    has_unchanged = hidden_columns.MARKED in rows.columns
    for field in fields:
        if typed.sets(field.name) or field.generation_expression is None:
            old = before[field.name]
            value = typed.value(field, old)
            if has_unchanged and typed.sets(field.name):
                value = sf.when(sf.col(hidden_columns.MARKED), value).otherwise(old)
            columns.append(value.alias(field.name))
    if hidden_columns.OLD_ROW_ID in rows.columns:
        version = sf.lit(None).cast("bigint")
        if has_unchanged:
            version = sf.when(sf.col(hidden_columns.MARKED), version).otherwise(
                sf.col(hidden_columns.OLD_VERSION)
            )
        extra_columns += [
            sf.col(hidden_columns.OLD_ROW_ID),
            version.alias(hidden_columns.OLD_VERSION),
        ]
    if has_unchanged:
        extra_columns.append(sf.col(hidden_columns.MARKED))
    if target.has_feed:
        images = sf.struct(*[column.alias(name) for name, column in before.items()])
        extra_columns += [
            images.alias(hidden_columns.BEFORE),
            sf.lit("update").alias(hidden_columns.KIND),
        ]
    changed = rows.select(*columns, *extra_columns)
    hidden = changed.columns[len(columns) :]
    changed = table_rows(
        changed, target, hidden, only=hidden_columns.MARKED if has_unchanged else None
    )
    if has_unchanged:
        return changed.drop(hidden_columns.MARKED)
    return with_images(changed, fields) if target.has_feed else changed


def _uses_one_scan(statement: DmlStatement, assignments: Assignments, rows: DataFrame) -> bool:
    """Return whether updated and unchanged rows of a file are written from one scan.

    They need separate scans if the change data feed turns a row into several, or if columns are
    computed that no assignment sets. Python UDFs need them, too, because Spark evaluates UDFs on
    all rows; plans of Spark Connect do not reveal UDFs.
    """
    target, spark = statement.target, statement.spark
    if target.uses_vectors or target.has_feed or not capabilities.is_classic(spark):
        return False
    if any(_is_computed(field) for field in target.written_fields):
        return False
    values = rows.select(*assignments.values.values())
    plan = internals.analyzed_plan(values)
    patterns = internals.jvm(spark).org.apache.spark.sql.catalyst.trees.TreePattern
    return not plan.containsPattern(patterns.PYTHON_UDF())


def _is_computed(field: Field) -> bool:
    """Return whether a column is generated, or padded to a fixed length."""
    return field.generation_expression is not None or has_char(declared_type(field))
