"""``DeltaOptimizeBuilder``: compaction or Z-ordering of a table, or of some partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay._table.table import Table
from deltareplay.spark.delta_table import optimize_result
from deltareplay.spark.session.errors import methods_raise_analysis_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@methods_raise_analysis_errors
class DeltaOptimizeBuilder:
    """Rewrites data files without changing rows; returned by ``DeltaTable.optimize``.

    >>> orders.optimize().where("day > '2026-01-01'").executeCompaction()  # doctest: +SKIP
    >>> orders.optimize().executeZOrderBy("country", "status").show()  # doctest: +SKIP
    """

    def __init__(self, spark: SparkSession, table: Table, where: str | None = None) -> None:
        """Use ``DeltaTable.optimize`` instead."""
        self._spark = spark
        self._table = table
        self._where = where

    def where(self, partitionFilter: str) -> DeltaOptimizeBuilder:
        """Restrict the operation to partitions; several conditions are combined by ``AND``.

        Args:
            partitionFilter: An SQL condition on partition columns.
        """
        # without the line breaks, a comment at the end of a condition would hide the rest
        both = f"({self._where}\n) AND ({partitionFilter}\n)"
        self._where = partitionFilter if self._where is None else both
        return self

    def executeCompaction(self) -> DataFrame:
        """Compact small files.

        Returns:
            One row: ``path`` and ``metrics``, as from delta-spark.

        Raises:
            DeltaReplayError: As by ``deltareplay.spark.optimize``.
        """
        return optimize_result.run(self._spark, self._table, self._where)

    def executeZOrderBy(self, *cols: str | list[str] | tuple[str, ...]) -> DataFrame:
        """Rewrite files in a Z-order of columns.

        Args:
            cols: Columns, or one list of them.

        Returns:
            One row: ``path`` and ``metrics``, as from delta-spark.

        Raises:
            TypeError: A column is not a string.
            InvalidArgumentError: A column does not exist (``alter.column``).
            DeltaReplayError: As by ``deltareplay.spark.optimize``.
        """
        names = cols[0] if len(cols) == 1 and isinstance(cols[0], (list, tuple)) else cols
        for name in names:
            if not isinstance(name, str):
                raise TypeError(
                    f"Z-order columns must be str, not {name!r} of type {type(name).__name__}"
                )
        return optimize_result.run(self._spark, self._table, self._where, list(map(str, names)))
