"""Helpers of tasks, for the Python worker of an executor."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from deltareplay.exceptions import DeltaReplayError

Batches = Iterable[pa.RecordBatch]

#: A frozen dataclass that pickles. It is called with the rows of a partition of Spark.
Task = Callable[[Batches], Iterator[pa.RecordBatch]]

#: The columns of ``run.RESULT``.
_RESULT_TYPES: dict[str, Any] = {"part": pa.int64(), "result": pa.string(), "error": pa.binary()}
_RESULT = pa.schema(_RESULT_TYPES)

#: The last task of this worker: the next one is probably the same, and unpickling takes time.
_last: tuple[bytes, Task] | None = None


def loaded(pickled: bytes) -> Task:
    """Return the task of a pickle."""
    global _last
    if _last is None or _last[0] != pickled:
        _last = (pickled, pickle.loads(pickled))
    return _last[1]


def part_numbers(batches: Batches) -> Iterator[int]:
    """Return the integers in the first column: the numbers of parts of a plan."""
    columns = (batch.column(0) for batch in batches)
    return (int(number.as_py()) for column in columns for number in column)


def stream_of(batches: Batches) -> pa.RecordBatchReader | None:
    """Return the batches as a stream that Rust reads; None if there is none."""
    iterator = iter(batches)
    first = next(iterator, None)
    if first is None:
        return None
    return pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], iterator))


def results(batches: Batches, compute: Callable[[int], str]) -> Iterator[pa.RecordBatch]:
    """Return a row for each part, with the columns of ``run.RESULT``.

    A ``DeltaReplayError`` is returned, too: the driver raises it.

    Args:
        batches: The numbers of the parts.
        compute: Computes the result of a part.
    """
    for number in part_numbers(batches):
        row: dict[str, Any] = {"part": number, "result": None, "error": None}
        try:
            row["result"] = compute(number)
        except DeltaReplayError as error:
            row["error"] = pickle.dumps(error)
        yield pa.RecordBatch.from_pylist([row], _RESULT)


def cores() -> int:
    """Return the number of cores that Spark has given to this task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 1 if context is None else max(1, context.cpus())
