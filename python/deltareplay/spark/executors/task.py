"""Functions that run on an executor, in a Python worker."""

from __future__ import annotations

import itertools
import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay._snapshot.replay_piece import ReplayPiece
from deltareplay._snapshot.replay_tail import ReplayTail
from deltareplay._support.readers import reader
from deltareplay.exceptions import DeltaReplayError
from deltareplay.spark.schema.arrow import as_spark_takes

if TYPE_CHECKING:
    from deltareplay._table.table import Table

#: Characters that are not encoded in the paths of the log.
SAFE = "/=:@!$&'()*+,;~-._"

#: The columns that describe a sidecar.
_SIDECAR = pa.schema(
    [pa.field("path", pa.string())]
    + [
        pa.field(name, pa.int64())
        for name in ("size", "modificationTime", "numFiles", "numRemoves")
    ]
)

#: The columns of ``on_executors.ANSWER``.
_ANSWER_FIELDS: list[Any] = [
    pa.field("part", pa.int64()),
    pa.field("answer", pa.string()),
    pa.field("error", pa.binary()),
]
_ANSWER = pa.schema(_ANSWER_FIELDS)

_Batches = Iterable[pa.RecordBatch]

#: The last plan of this worker: the next task probably has the same plan, and keys take time.
_last: tuple[bytes, ReplayTail, list[ReplayPiece]] | None = None


def read_pieces(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Yield the rows of pieces of a plan.

    Args:
        payload: The pickle of the plan's tail and of its pieces.
        numbers: The numbers of the pieces, as integers in the first column.
    """
    global _last
    if _last is None or _last[0] != payload:
        _last = (payload, *pickle.loads(payload))
    _, tail, pieces = _last
    for number in _numbers(numbers):
        yield from pieces[number].to_batches(tail, threads=_cores())


def read_changes(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Yield the rows of splits of changes.

    Args:
        payload: The pickle of ``SentChanges`` and of Spark's schema.
        numbers: The numbers of the splits, as integers in the first column.
    """
    sent, schema = pickle.loads(payload)
    for number in _numbers(numbers):
        yield from as_spark_takes(sent.split(number).to_batches(), schema)


def nothing(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:  # noqa: ARG001
    """Yield no rows; running it shows that the package can be imported."""
    yield from ()


def row_events(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Yield the row events of parts: the first step of a ``ChangeShuffle``.

    Args:
        payload: The pickle of the table, of the steps as JSON, of the parts, and of Spark's schema
            of the result.
        numbers: The numbers of the parts, as integers in the first column.
    """
    table, shuffle, parts, _ = _shuffle(payload)
    for number in _numbers(numbers):
        yield from reader(shuffle.row_events(table._native, parts[number]))


def row_outcomes(payload: bytes, row_events: _Batches) -> Iterator[pa.RecordBatch]:
    """Yield the outcome of each row: the second step.

    Args:
        payload: As in ``row_events``.
        row_events: The output of ``row_events``, sorted by ``who`` and ``who_low``, with all events
            of each row.
    """
    _, shuffle, _, _ = _shuffle(payload)
    if coming := _stream(row_events):
        yield from reader(shuffle.outcomes(coming))


def outcome_rows(payload: bytes, outcomes: _Batches) -> Iterator[pa.RecordBatch]:
    """Yield the changed rows: the third step.

    Args:
        payload: As in ``row_events``.
        outcomes: The output of ``row_outcomes``, sorted by ``piece``, with all outcomes of each
            file.
    """
    table, shuffle, _, schema = _shuffle(payload)
    if coming := _stream(outcomes):
        yield from as_spark_takes(reader(shuffle.rows(table._native, coming)), schema)


def _shuffle(payload: bytes) -> tuple[Table, _native.ChangeShuffle, list[tuple[int, int]], Any]:
    table, steps, parts, schema = pickle.loads(payload)
    return table, _native.ChangeShuffle(steps), parts, schema


def _stream(batches: _Batches) -> pa.RecordBatchReader | None:
    """Return the batches as a stream for the core; None if there are no batches."""
    coming = iter(batches)
    first = next(coming, None)
    if first is None:
        return None
    return pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], coming))


def _numbers(batches: _Batches) -> Iterator[int]:
    """Yield the integers in the first column."""
    columns = (batch.column(0) for batch in batches)
    return (int(number.as_py()) for column in columns for number in column)


def footer_schemas(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Yield the merged schema of the footers of files.

    Args:
        payload: The pickle of the table and of the parts, each a list of files.
        numbers: The numbers of the parts, as integers in the first column.
    """
    table, parts = pickle.loads(payload)
    yield from _answers(
        numbers, lambda part: _native.Conversion.schema_of(table._native, parts[part])
    )


def footer_adds(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Yield the ``add`` actions of files, with statistics from their footers.

    Args:
        payload: The pickle of the table, of the parts, of the arguments of ``_native.Conversion``,
            and of the definition that it returned.
        numbers: The numbers of the parts, as integers in the first column.
    """
    table, parts, facts, definition = pickle.loads(payload)
    conversion = _native.Conversion(*facts)
    yield from _answers(
        numbers, lambda part: conversion.adds(table._native, definition, parts[part])
    )


def copied_files(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Copy files of one table into another.

    Args:
        payload: The pickle of both tables and of the parts, each a list of files.
        numbers: The numbers of the parts, as integers in the first column.
    """
    source, target, parts = pickle.loads(payload)
    yield from _answers(
        numbers,
        lambda part: str(_native.copy_files(source._native, target._native, parts[part])),
    )


def old_files(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Yield the files of directories that are older than a cutoff.

    Args:
        payload: The pickle of the table, of the names that a vacuum sees, of the cutoff, and of the
            directories.
        numbers: The numbers of the directories, as integers in the first column.

    Returns:
        A row for each file: ``path``, relative to the table and not encoded, and ``size``.
    """
    table, visible, cutoff, directories = pickle.loads(payload)
    for number in _numbers(numbers):
        files = _native.old_files(table._native, visible, directories[number], cutoff)
        yield pa.RecordBatch.from_pydict(
            {
                "path": pa.array([path for path, _ in files], pa.string()),
                "size": pa.array([size for _, size in files], pa.int64()),
            }
        )


def named_files(payload: bytes, files: _Batches) -> Iterator[pa.RecordBatch]:
    """Yield the paths of files that the log names: data files and deletion vectors.

    Args:
        payload: The pickle of the table.
        files: ``path`` and ``deletionVector`` of file actions.
    """
    table = pickle.loads(payload)
    if coming := _stream(files):
        paths = _native.named_files(table._native, coming)
        yield pa.RecordBatch.from_pydict({"path": pa.array(paths, pa.string())})


def deleted_files(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Delete files.

    Args:
        payload: The pickle of the table and of the parts, each a list of paths.
        numbers: The numbers of the parts, as integers in the first column.
    """
    table, parts = pickle.loads(payload)

    def delete(part: int) -> str:
        _native.delete_files(table._native, parts[part])
        return ""

    yield from _answers(numbers, delete)


def verified_files(payload: bytes, files: _Batches) -> Iterator[pa.RecordBatch]:
    """Yield the findings on live files and their deletion vectors.

    Args:
        payload: The pickle of the table and of the version.
        files: ``path``, ``size``, ``numRecords`` and ``deletionVector`` of them.
    """
    table, version = pickle.loads(payload)
    if coming := _stream(files):
        findings = _native.verify_files(table._native, version, coming)
        yield pa.RecordBatch.from_pydict({"answer": pa.array([findings], pa.string())})


def verified_rows(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Yield the findings on the rows of splits.

    Args:
        payload: The pickle of the table, of the version, and of the splits.
        numbers: The numbers of the splits, as integers in the first column.
    """
    table, version, splits = pickle.loads(payload)
    yield from _answers(
        numbers,
        lambda part: _native.verify_split(table._native, version, splits[part]._native),
    )


def _answers(numbers: _Batches, answer: Callable[[int], str]) -> Iterator[pa.RecordBatch]:
    """Yield a row for each part; an error with a code is sent too, and raised by the driver."""
    for number in _numbers(numbers):
        row: dict[str, Any] = {"part": number, "answer": None, "error": None}
        try:
            row["answer"] = answer(number)
        except DeltaReplayError as error:
            row["error"] = pickle.dumps(error)
        yield pa.RecordBatch.from_pylist([row], _ANSWER)


def write_sidecars(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Write pieces of a plan as sidecars of a checkpoint.

    Args:
        payload: The pickle of the plan's tail, of its pieces, and of the codec.
        numbers: The numbers of the pieces, as integers in the first column.

    Returns:
        A row for each sidecar: ``path``, ``size``, ``modificationTime``, ``numFiles`` and
        ``numRemoves``.
    """
    tail, pieces, codec = pickle.loads(payload)
    for number in _numbers(numbers):
        piece = pieces[number]._native
        written = piece.write_sidecars(tail._table._native, tail._native, codec, _cores())
        rows = [dict(zip(_SIDECAR.names, row, strict=True)) for row in written]
        yield pa.RecordBatch.from_pylist(rows, _SIDECAR)


def pack_files(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Compact each bin of a plan into one file.

    Args:
        payload: The pickle of the table, of ``TargetTable.facts``, and of the bins.
        numbers: The numbers of the bins, as integers in the first column.

    Returns:
        Answers: the ``add`` bodies of a bin as a JSON array.
    """
    table, facts, bins = pickle.loads(payload)
    yield from _answers(
        numbers, lambda number: _native.pack_files(table._native, facts, bins[number], _cores())
    )


def spill_piece(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Write pieces of bins into temporary files, each sorted in the order of its bin.

    Args:
        payload: The pickle of the table, of the directory of the files, of the orders, and of the
            pieces with the number of their order.
        numbers: The numbers of the pieces, as integers in the first column.

    Returns:
        Answers: the argument of ``write_ordered``.
    """
    table, directory, orders, pieces = pickle.loads(payload)

    def spilled_piece(number: int) -> str:
        order, piece = pieces[number]
        path = f"{directory}/{uuid.uuid4()}"  # an attempt that is repeated has its own
        return _native.spill_piece(table._native, orders[order], piece, path)

    yield from _answers(numbers, spilled_piece)


def write_ordered(payload: bytes, numbers: _Batches) -> Iterator[pa.RecordBatch]:
    """Write data files from the temporary files of their bins.

    Args:
        payload: The pickle of the table, of ``TargetTable.facts``, of the orders, of the
            temporary files of each order, and of the files: number of their order, and number.
        numbers: The numbers of the files, as integers in the first column.

    Returns:
        Answers: the ``add`` bodies of a file as a JSON array.
    """
    table, facts, orders, spilled, files = pickle.loads(payload)

    def added(number: int) -> str:
        order, file = files[number]
        return _native.write_ordered(table._native, facts, orders[order], file, spilled[order])

    yield from _answers(numbers, added)


def _cores() -> int:
    """Return the number of cores of this task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 1 if context is None else max(1, context.cpus())
