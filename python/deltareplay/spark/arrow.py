"""Arrow rows as Spark takes them from Python workers: types plain and exact."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

#: Rows that become one batch.
_AT_A_TIME = 8192


def as_spark_takes(batches: Iterable[pa.RecordBatch], schema: Any) -> Iterator[pa.RecordBatch]:
    """The columns of a schema of Spark's, found by name whatever the case."""
    from pyspark.sql.pandas.types import to_arrow_schema

    wanted = to_arrow_schema(schema)
    for batch in batches:
        yield _cast(batch, wanted)


def batches_of_rows(rows: Iterable[Any], schema: Any) -> Iterator[pa.RecordBatch]:
    """Rows of Spark's as Arrow, some thousands at a time.

    Args:
        rows: ``Row`` objects.
        schema: Spark's schema of them.
    """
    from pyspark.sql.conversion import LocalDataToArrowConversion

    coming = iter(rows)
    while some := list(itertools.islice(coming, _AT_A_TIME)):
        yield from LocalDataToArrowConversion.convert(some, schema, False).to_batches()


def _cast(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    places = {name.lower(): place for place, name in enumerate(batch.schema.names)}
    found = [batch.column(places[one.name.lower()]) for one in wanted]
    columns = [
        column if column.type == one.type else column.cast(one.type)
        for column, one in zip(found, wanted, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)
