"""Net changes by a shuffle, for ranges with more changed rows than one task should compare."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from deltareplay.spark.executors import run
from deltareplay.spark.schema.fields import field, struct_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._native import ChangeShuffle
    from deltareplay._table.table import Table

#: Events of rows, and the outcome of each row: the columns of ``ChangeShuffle``.
_NUMBERS = ("who", "who_low", "what", "what_low", "values", "values_low")
_ROW_EVENTS = [
    *(field(name, "long") for name in _NUMBERS),
    field("commit", "integer"),
    field("piece", "integer"),
    field("row", "long"),
    field("change", "byte"),
]
_OUTCOMES = [
    field("piece", "integer"),
    field("row", "long"),
    field("change", "byte"),
    field("commit", "integer"),
]


def frame(
    spark: SparkSession, table: Table, shuffle: ChangeShuffle, schema: Any, split_size: int
) -> DataFrame:
    """Return the rows of net changes.

    Args:
        spark: The session.
        table: The table.
        shuffle: The plan that ``Changes.shuffle`` returns.
        schema: Spark's schema of the rows.
        split_size: Approximate bytes of files per task that identifies changed rows.
    """
    parts = shuffle.parts(split_size)
    sent = pickle.dumps((table, shuffle.to_json(), parts, schema))
    row_events = run.rows(spark, "row_events", sent, len(parts), struct_type(_ROW_EVENTS))
    # all events of a row go to the same task, then all outcomes of a file to the task that reads it
    together = row_events.repartition("who").sortWithinPartitions("who", "who_low")
    outcomes = run.over(together, "row_outcomes", sent, struct_type(_OUTCOMES))
    by_file = outcomes.repartition("piece").sortWithinPartitions("piece")
    return run.over(by_file, "outcome_rows", sent, schema)
