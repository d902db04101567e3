"""Native schemas and batches as pyarrow has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pyarrow as pa

from deltareplay import _native
from deltareplay.exceptions import UnsupportedFeatureError


def to_schema(native: _native.ArrowSchema) -> pa.Schema:
    """A native schema as pyarrow's own."""
    try:
        return pa.schema(cast("Any", native))  # by its capsule, which the stubs do not know
    except pa.ArrowInvalid as error:
        message = (
            f"pyarrow does not take the schema ({error}): the snapshot's `schema_json` has it "
            "as text, and scans of other columns work"
        )
        raise UnsupportedFeatureError(message, code="schema.pyarrow") from error


def to_table(native: _native.ArrowTable) -> pa.Table:
    """Native columns as a pyarrow table, without a copy.

    Not by ``pa.table``, which imports pandas to see whether it was given one of its frames.
    """
    return pa.RecordBatchReader.from_stream(native).read_all()


def reader(
    batches: _native.BatchIterator, after_each: Callable[[], None] | None = None
) -> pa.RecordBatchReader:
    """A reader whose errors keep their class, and that hears Ctrl-C between and within batches.

    Args:
        batches: Read as the reader is pulled.
        after_each: Called after each batch and at the end.
    """
    schema = to_schema(batches.schema)

    def pulled() -> Iterator[pa.RecordBatch]:
        while (batch := batches.next_batch()) is not None:
            if after_each is not None:
                after_each()
            yield pa.record_batch(batch)
        if after_each is not None:
            after_each()

    return pa.RecordBatchReader.from_batches(schema, pulled())
