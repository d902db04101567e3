"""Net changes by a shuffle, for ranges with more changed rows than one task should compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay._protocol.schema import Field
from deltareplay._support.readers import reader
from deltareplay.spark.executors import run
from deltareplay.spark.executors.worker import Batches, part_numbers, stream_of
from deltareplay.spark.schema.arrow import cast_for_spark
from deltareplay.spark.schema.fields import struct_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._native import ChangeShuffle
    from deltareplay._table.table import Table

#: The columns of events of rows, and of the outcome of each row, as ``ChangeShuffle`` has them.
_HASHES = ("identity", "identity_low", "value_hash", "value_hash_low", "values", "values_low")
_ROW_EVENTS = [
    *(Field(name, "long") for name in _HASHES),
    Field("commit", "integer"),
    Field("piece", "integer"),
    Field("row", "long"),
    Field("change", "byte"),
]
_OUTCOMES = [
    Field("piece", "integer"),
    Field("row", "long"),
    Field("change", "byte"),
    Field("commit", "integer"),
]


@dataclass(frozen=True)
class RowEvents:
    """Hashes the rows of some files to identify them: the first step of a ``ChangeShuffle``.

    Attributes:
        parts: The files of each part.
    """

    table: Table
    shuffle_json: str
    parts: list[tuple[int, int]]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the row events of the numbered parts."""
        shuffle = _native.ChangeShuffle(self.shuffle_json)
        for number in part_numbers(batches):
            yield from reader(shuffle.row_events(self.table.native, self.parts[number]))


@dataclass(frozen=True)
class RowOutcomes:
    """Finds the outcome of each row: the second step."""

    shuffle_json: str

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the outcomes of events, which are sorted by ``identity`` and ``identity_low``."""
        if (events := stream_of(batches)) is not None:
            yield from reader(_native.ChangeShuffle(self.shuffle_json).outcomes(events))


@dataclass(frozen=True)
class OutcomeRows:
    """Reads the rows of the result: the third step.

    Attributes:
        schema: Spark's schema of the rows.
    """

    table: Table
    shuffle_json: str
    schema: Any

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the rows of outcomes, sorted by ``piece``; one task has all those of a file."""
        if (outcomes := stream_of(batches)) is not None:
            shuffle = _native.ChangeShuffle(self.shuffle_json)
            rows = reader(shuffle.rows(self.table.native, outcomes))
            yield from cast_for_spark(rows, self.schema)


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
    shuffle_json = shuffle.to_json()
    events = RowEvents(table, shuffle_json, parts)
    row_events = run.rows(spark, events, len(parts), struct_type(_ROW_EVENTS))
    # all events of a row go to one task, then all outcomes of a file to the task that reads it
    by_row = row_events.repartition("identity").sortWithinPartitions("identity", "identity_low")
    outcomes = run.over(by_row, RowOutcomes(shuffle_json), struct_type(_OUTCOMES))
    by_file = outcomes.repartition("piece").sortWithinPartitions("piece")
    return run.over(by_file, OutcomeRows(table, shuffle_json, schema), schema)
