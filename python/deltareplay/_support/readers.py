"""Native schemas and batches as pyarrow objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import pyarrow as pa

from deltareplay import _native
from deltareplay.exceptions import UnsupportedFeatureError

T = TypeVar("T")


def to_schema(native: _native.ArrowSchema) -> pa.Schema:
    """Convert a native schema to pyarrow."""
    return _convert(pa.schema, cast("Any", native))  # by its capsule, which the stubs lack


def _convert(convert: Callable[[Any], T], native: Any) -> T:
    """Convert a native object; it may have a type that pyarrow does not support."""
    try:
        return convert(native)
    except pa.ArrowInvalid as error:
        message = (
            f"pyarrow does not support the schema ({error}): the snapshot's `schema_json` has it "
            "as text, and scans of other columns work"
        )
        raise UnsupportedFeatureError(message, code="schema.pyarrow") from error


def to_table(native: _native.ArrowTable) -> pa.Table:
    """Convert native columns to a pyarrow table, without a copy.

    ``pa.table`` is not used, because it imports pandas to check for its frames.
    """
    return _convert(pa.RecordBatchReader.from_stream, native).read_all()


def reader(
    batches: _native.BatchIterator, after_each: Callable[[], None] | None = None
) -> pa.RecordBatchReader:
    """Return a reader whose errors keep their class, and that Ctrl-C interrupts at any time.

    ``after_each`` is called after each batch and at the end.
    """
    schema = to_schema(batches.schema)

    def read() -> Iterator[pa.RecordBatch]:
        while (batch := batches.next_batch()) is not None:
            if after_each is not None:
                after_each()
            yield pa.record_batch(batch)
        if after_each is not None:
            after_each()

    return pa.RecordBatchReader.from_batches(schema, read())
