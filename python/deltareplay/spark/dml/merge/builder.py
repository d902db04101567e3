"""``merge``: merges the rows of a DataFrame into a table, with Spark's joins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from deltareplay._support.arguments import checked, checked_methods
from deltareplay._transaction.written import Written
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog.table_argument import TableLike
from deltareplay.spark.dml import change_data
from deltareplay.spark.dml.merge.clauses import Clause, When
from deltareplay.spark.dml.merge.execution import Merging
from deltareplay.spark.dml.merge.source import MergeSource

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@checked_methods
class Merge:
    """The clauses of a merge; created by ``merge``.

    Each method adds a clause and returns the merge. Among the clauses of one kind, the first whose
    condition is true applies; only the last may lack a condition. Conditions and values are SQL
    text or columns.
    """

    __slots__ = ("_clauses", "_merging")

    _clauses: list[Clause]
    _merging: Merging

    def __init__(self) -> None:
        raise TypeError("create a merge with deltareplay.spark.merge()")

    @classmethod
    def _of(cls, merging: Merging) -> Merge:
        merge = object.__new__(cls)
        merge._merging = merging
        merge._clauses = []
        return merge

    def _add(
        self,
        when: When,
        then: str,
        condition: str | Column | None,
        values: Mapping[str, Any] | None = None,
    ) -> Merge:
        self._clauses.append(Clause(when, then, condition, values))
        return self

    def when_matched_update(
        self,
        set: Mapping[str, str | Column],  # noqa: A002
        condition: str | Column | None = None,
    ) -> Merge:
        """Set columns of the rows of the table that match a row of the source.

        Args:
            set: Columns and their values, as in ``update``; ``DEFAULT``, too, unless the clause
                sees a column of that name.
            condition: The clause applies if it is true.
        """
        return self._add("matched", change_data.UPDATE, condition, set)

    def when_matched_update_all(self, condition: str | Column | None = None) -> Merge:
        """Set all columns to the source's columns of the same name.

        Args:
            condition: The clause applies if it is true.
        """
        return self._add("matched", change_data.UPDATE, condition)

    def when_matched_delete(self, condition: str | Column | None = None) -> Merge:
        """Delete the rows of the table that match a row of the source.

        Args:
            condition: The clause applies if it is true.
        """
        return self._add("matched", change_data.DELETE, condition)

    def when_not_matched_insert(
        self, values: Mapping[str, str | Column], condition: str | Column | None = None
    ) -> Merge:
        """Insert a row for each row of the source that matches no row of the table.

        Args:
            values: Columns and their values, as for ``when_matched_update``; the others are null,
                computed, or have their default.
            condition: The clause applies if it is true.
        """
        return self._add("not_matched", change_data.INSERT, condition, values)

    def when_not_matched_insert_all(self, condition: str | Column | None = None) -> Merge:
        """Insert the rows of the source that match no row of the table.

        Args:
            condition: The clause applies if it is true.
        """
        return self._add("not_matched", change_data.INSERT, condition)

    def when_not_matched_by_source_update(
        self,
        set: Mapping[str, str | Column],  # noqa: A002
        condition: str | Column | None = None,
    ) -> Merge:
        """Set columns of the rows of the table that match no row of the source.

        Args:
            set: Columns and their values, as in ``update``.
            condition: The clause applies if it is true.
        """
        return self._add("not_matched_by_source", change_data.UPDATE, condition, set)

    def when_not_matched_by_source_delete(self, condition: str | Column | None = None) -> Merge:
        """Delete the rows of the table that match no row of the source.

        Args:
            condition: The clause applies if it is true.
        """
        return self._add("not_matched_by_source", change_data.DELETE, condition)

    def execute(self) -> Written:
        """Execute the merge in one commit.

        Returns:
            The version, None if there was nothing to do; the metrics of ``Table.merge``.

        Raises:
            InvalidArgumentError: Several rows of the source match one of the table, unless the
                merge only inserts, or deletes every match; a clause or an expression that does not
                fit; a row that breaks a rule of the table.
            UnsupportedFeatureError: As in ``delete``.
            CommitConflictError: Another writer changed the files that were read.
        """
        return self._merging.run(self._clauses)

    def __repr__(self) -> str:
        count = len(self._clauses)
        return f"<Merge of {count} clause{'' if count == 1 else 's'}>"


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
) -> Merge:
    """Create a merge of rows into a table, which ``execute`` runs.

    Spark joins the source with the rows of the files that partition values and statistics cannot
    exclude, to find the rows that change; only those are joined again, with all of their columns. A
    source that may not return the same rows twice is first written to the table's storage.

    Args:
        spark: A session of PySpark 4.0 or later, classic or Connect.
        table: A ``Table``, a ``Snapshot``, or the table's path, URI or name.
        source: The rows to merge.
        on: The condition of matching rows: SQL text or a column.
        source_alias: The name of the source in conditions and values; by default the alias that it
            has, or ``source``.
        target_alias: The name of the table in conditions and values.
        schema_mode: ``"merge"`` adds columns that only the source has.
        txn: As in ``write``.
        user_metadata: Any text for the commit.
        root: As in ``read``.

    Returns:
        The merge, to which clauses are added.

    Raises:
        InvalidArgumentError: The source is a stream, or has two columns of one name.

    >>> merge(  # doctest: +SKIP
    ...     spark, "demo/events", updates, "target.id = source.id"
    ... ).when_matched_update_all().when_not_matched_insert_all().execute()
    Written(version=5, metrics={'numTargetRowsInserted': 10, ...})
    """
    if source.isStreaming:
        raise InvalidArgumentError(
            "the source is a stream: merge each of its batches, by df.writeStream.foreachBatch",
            code="merge.stream",
        )
    options = {"txn": txn, "user_metadata": user_metadata, "evolves": schema_mode == "merge"}
    rows = MergeSource.of(source, source_alias)
    return Merge._of(Merging(spark, table, rows, on, target_alias, root, options))
