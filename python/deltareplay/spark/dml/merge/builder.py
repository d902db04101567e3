"""``merge``: merges the rows of a DataFrame into a table, with Spark's joins."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from deltareplay._support.arguments import checked
from deltareplay._table.merge import Clause, Merge, Then, When
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog.table_argument import TableLike
from deltareplay.spark.dml.merge.execution import MergeArguments, execute
from deltareplay.spark.dml.merge.repeatability import MergeSource

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@checked
def merge(
    spark: SparkSession,
    table: TableLike,
    source: DataFrame,
    on: str | Column,
    *,
    source_alias: str | None = None,
    target_alias: str = "target",
    schema_mode: Literal["merge"] | None = None,
    txn: tuple[str, int] | None = None,
    user_metadata: str | None = None,
    root: str | None = None,
) -> Merge[str | Column, str | Column]:
    """Create a merge of rows into a table; its method ``execute`` runs it.

    To find the rows that change, Spark joins the source with the files that partition values and
    statistics do not exclude; a second join reads all columns, but only of the rows that match. A
    source that may not return the same rows twice is first written to the table's storage.

    Args:
        spark: A session of PySpark 4.0 or later, classic or Connect.
        table: A ``Table``, a ``Snapshot``, or the table's path, URI or name.
        source: The rows to merge.
        on: The condition of matching rows: SQL text or a column.
        source_alias: The name of the source in conditions and values; by default its own alias,
            or ``source``.
        target_alias: The name of the table in conditions and values.
        schema_mode: ``"merge"`` adds columns that only the source has; so does the setting
            ``spark.databricks.delta.schema.autoMerge.enabled``.
        txn: As in ``write``.
        user_metadata: Any text for the commit.
        root: As in ``read``.

    Returns:
        A merge without clauses: add them by its methods, then call ``execute``.

    Raises:
        InvalidArgumentError: The source is a stream (``merge.stream``), or has two columns of the
            same name (``write.columns``); ``schema_mode`` is another value
            (``rows.schema_mode``). ``execute`` raises as ``DeltaMergeBuilder.execute``.

    >>> merge(  # doctest: +SKIP
    ...     spark, "demo/events", updates, "target.id = source.id"
    ... ).when_matched_update_all().when_not_matched_insert_all().execute()
    Written(version=5, metrics={'numTargetRowsInserted': 10, ...})
    """
    if schema_mode not in (None, "merge"):
        raise InvalidArgumentError(
            f"schema_mode is {schema_mode!r}: pass 'merge', or leave it out",
            code="rows.schema_mode",
        )
    arguments = MergeArguments(
        spark,
        table,
        MergeSource.of(source, source_alias),
        on,
        target_alias,
        evolves=schema_mode == "merge",
        txn=txn,
        user_metadata=user_metadata,
        root=root,
    )
    return Merge.of(functools.partial(execute, arguments), _clause)


@checked
def _clause(
    when: When,
    then: Then,
    condition: str | Column | None,
    values: Mapping[str, str | Column] | None,
) -> Clause[str | Column, str | Column]:
    """Return a clause; check that its condition and values are expressions."""
    return Clause(when, then, condition, values)
