"""Arrow rows as Spark takes them from Python workers: types plain and exact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa


def as_spark_takes(batches: Iterable[pa.RecordBatch], schema: Any) -> Iterator[pa.RecordBatch]:
    """The columns of a schema of Spark's, found by name whatever the case."""
    from pyspark.sql.pandas.types import to_arrow_schema

    wanted = to_arrow_schema(schema)
    for batch in batches:
        yield _cast(batch, wanted)


def _cast(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    places = {name.lower(): place for place, name in enumerate(batch.schema.names)}
    found = [batch.column(places[one.name.lower()]) for one in wanted]
    columns = [
        column if column.type == one.type else column.cast(one.type)
        for column, one in zip(found, wanted, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)
