"""What runs on an executor, in a Python worker."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from deltareplay.replay_piece import ReplayPiece
from deltareplay.replay_tail import ReplayTail
from deltareplay.spark.arrow import as_spark_takes
from deltareplay.spark.sent_changes import SentChanges

#: The plan that this worker read last: its tasks are likely to be of one plan, and keys take time.
_last: tuple[bytes, ReplayTail, list[ReplayPiece]] | None = None


def read_pieces(payload: bytes, numbers: pa.Array[Any]) -> Iterator[pa.RecordBatch]:
    """The rows of some pieces of a plan.

    Args:
        payload: The pickle of the plan's tail and of its pieces.
        numbers: Which pieces, as integers.
    """
    global _last
    if _last is None or _last[0] != payload:
        _last = (payload, *pickle.loads(payload))
    _, tail, pieces = _last
    for number in numbers:
        yield from pieces[number.as_py()].to_batches(tail, threads=_cores())


def read_changes(payload: bytes, numbers: pa.Array[Any]) -> Iterator[pa.RecordBatch]:
    """The rows of some splits of changes.

    Args:
        payload: The pickle of ``SentChanges`` and of Spark's schema.
        numbers: Which splits, as integers.
    """
    sent: SentChanges
    sent, schema = pickle.loads(payload)
    for number in numbers:
        yield from as_spark_takes(sent.split(number.as_py()).to_batches(), schema)


def _cores() -> int:
    """How many cores Spark has given to this task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 1 if context is None else max(1, context.cpus())
