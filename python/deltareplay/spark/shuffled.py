"""Net changes by a shuffle: for ranges in which more rows changed than one task should number."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from deltareplay.spark import on_executors
from deltareplay.spark.schema import field, struct_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._native import ChangeShuffle
    from deltareplay._table import Table

#: What tasks note of each row, and what came of it: the columns of ``ChangeShuffle``.
_NUMBERS = ("who", "who_low", "what", "what_low", "values", "values_low")
_NOTES = [
    *(field(name, "long") for name in _NUMBERS),
    field("commit", "integer"),
    field("piece", "integer"),
    field("row", "long"),
    field("change", "byte"),
]
_FATES = [
    field("piece", "integer"),
    field("row", "long"),
    field("change", "byte"),
    field("commit", "integer"),
]


def frame(
    spark: SparkSession, table: Table, shuffle: ChangeShuffle, schema: Any, split_size: int
) -> DataFrame:
    """The rows of net changes.

    Args:
        spark: The session.
        table: The table.
        shuffle: What ``Changes.shuffle`` plans.
        schema: Spark's schema of the rows.
        split_size: About how many bytes of files make a task that notes rows.
    """
    parts = shuffle.parts(split_size)
    sent = pickle.dumps((table, shuffle.to_json(), parts, schema))
    notes = on_executors.rows(spark, "note_rows", sent, len(parts), struct_type(_NOTES))
    # all notes on a row go where the row is judged, all fates of a file where it is read again
    together = notes.repartition("who").sortWithinPartitions("who", "who_low")
    fates = on_executors.over(together, "judge_rows", sent, struct_type(_FATES))
    by_file = fates.repartition("piece").sortWithinPartitions("piece")
    return on_executors.over(by_file, "give_rows", sent, schema)
