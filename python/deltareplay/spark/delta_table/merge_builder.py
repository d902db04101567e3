"""``DeltaMergeBuilder``: the clauses of a merge, with delta-spark's methods."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from deltareplay._table.merge import Clause, Then, When
from deltareplay._table.table import Table
from deltareplay.spark.delta_table import results
from deltareplay.spark.delta_table.expressions import Expressions
from deltareplay.spark.dml.merge.execution import MergeArguments, execute
from deltareplay.spark.dml.merge.repeatability import MergeSource
from deltareplay.spark.session.errors import methods_raise_analysis_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.dml.statement import Expression


@methods_raise_analysis_errors
class DeltaMergeBuilder:
    """The clauses of a merge; returned by ``DeltaTable.merge``.

    Each method returns a new builder with one more clause. Among the clauses of one kind, the first
    whose condition is true applies; only the last may lack a condition. It is an error if several
    source rows match one row of the table, unless the merge only inserts, or its only clause for
    matched rows deletes without a condition.

    >>> merge = orders.alias("o").merge(new.alias("n"), "o.id = n.id")  # doctest: +SKIP
    >>> merge = merge.whenMatchedUpdate(set={"total": "n.total + o.total"})  # doctest: +SKIP
    >>> merge.whenNotMatchedInsertAll().execute().show()  # doctest: +SKIP
    """

    def __init__(
        self,
        spark: SparkSession,
        table: Table,
        expressions: Expressions,
        source: DataFrame,
        on: Expression,
    ) -> None:
        """Use ``DeltaTable.merge`` instead."""
        self._spark = spark
        self._table = table
        self._expressions = expressions
        self._source = source
        self._on = expressions.condition(on)
        self._evolves = False
        self._clauses: tuple[Clause[Expression, Expression], ...] = ()

    def whenMatchedUpdate(
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,
    ) -> DeltaMergeBuilder:
        """Set columns of the rows of the table that match a row of the source.

        Args:
            condition: The condition under which the clause applies; None applies always.
            set: Columns and their values; required.

        Raises:
            TypeError: An expression is neither SQL text nor a column.
            InvalidArgumentError: ``set`` is missing (``argument.type``).
        """
        values = self._values(set, "'set' in whenMatchedUpdate")
        return self._add("matched", "update", condition, values)

    def whenMatchedUpdateAll(self, condition: Expression | None = None) -> DeltaMergeBuilder:
        """Set all columns of matched rows to those of the source.

        Args:
            condition: As for ``whenMatchedUpdate``.
        """
        return self._add("matched", "update", condition)

    def whenMatchedDelete(self, condition: Expression | None = None) -> DeltaMergeBuilder:
        """Delete the rows of the table that match a row of the source.

        Args:
            condition: As for ``whenMatchedUpdate``.
        """
        return self._add("matched", "delete", condition)

    def whenNotMatchedInsert(
        self,
        condition: Expression | None = None,
        values: Mapping[str, Expression] | None = None,
    ) -> DeltaMergeBuilder:
        """Insert the rows of the source that match no row of the table.

        Args:
            condition: As for ``whenMatchedUpdate``; it may refer only to the source.
            values: Columns and their values; required. Other columns are null, computed, or get
                their default.

        Raises:
            TypeError: As by ``whenMatchedUpdate``.
            InvalidArgumentError: As by ``whenMatchedUpdate``.
        """
        assignments = self._values(values, "'values' in whenNotMatchedInsert")
        return self._add("not_matched", "insert", condition, assignments)

    def whenNotMatchedInsertAll(self, condition: Expression | None = None) -> DeltaMergeBuilder:
        """Insert the unmatched rows of the source with all their columns.

        Args:
            condition: As for ``whenNotMatchedInsert``.
        """
        return self._add("not_matched", "insert", condition)

    def whenNotMatchedBySourceUpdate(
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,
    ) -> DeltaMergeBuilder:
        """Set columns of the rows of the table that match no row of the source.

        Args:
            condition: As for ``whenMatchedUpdate``; it may refer only to the table.
            set: As for ``whenMatchedUpdate``.

        Raises:
            TypeError: As by ``whenMatchedUpdate``.
            InvalidArgumentError: As by ``whenMatchedUpdate``.
        """
        values = self._values(set, "'set' in whenNotMatchedBySourceUpdate")
        return self._add("not_matched_by_source", "update", condition, values)

    def whenNotMatchedBySourceDelete(
        self, condition: Expression | None = None
    ) -> DeltaMergeBuilder:
        """Delete the rows of the table that match no row of the source.

        Args:
            condition: As for ``whenNotMatchedBySourceUpdate``.
        """
        return self._add("not_matched_by_source", "delete", condition)

    def withSchemaEvolution(self) -> DeltaMergeBuilder:
        """Allow the merge to add columns that only the source has."""
        builder = copy(self)
        builder._evolves = True
        return builder

    def execute(self) -> DataFrame:
        """Execute the merge on the executors, in one commit.

        Returns:
            One row: ``num_affected_rows``, ``num_updated_rows``, ``num_deleted_rows`` and
            ``num_inserted_rows``.

        Raises:
            InvalidArgumentError: The source is a stream (``merge.stream``), or has two columns of
                the same name (``write.columns``); there is no clause, or one without a condition is
                not the last of its kind (``rows.merge``); a condition is not deterministic
                (``statement.unrepeatable``); several source rows match one target row
                (``rows.ambiguous``); or as by ``deltareplay.spark.update``, but a table that is
                append-only allows inserts.
            DeltaReplayError: As by ``deltareplay.spark.update``.
        """
        arguments = MergeArguments(
            self._spark,
            self._table,
            MergeSource.of(self._source, None),
            self._on,
            self._expressions.qualifier,
            evolves=self._evolves,
        )
        return results.merged(self._spark, execute(arguments, self._clauses).metrics)

    def _values(self, values: Any, argument: str) -> dict[str, Expression]:
        return self._expressions.assignments(values, argument)

    def _add(
        self,
        when: When,
        then: Then,
        condition: Expression | None,
        values: Mapping[str, Expression] | None = None,
    ) -> DeltaMergeBuilder:
        """Return a builder with one more clause."""
        builder = copy(self)
        clause = Clause(when, then, self._expressions.condition(condition), values)
        builder._clauses = (*self._clauses, clause)
        return builder
