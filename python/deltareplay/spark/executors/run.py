"""Runs a plan on executors, one task for each part."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_Batches = Iterable["pa.RecordBatch"]

#: A function of ``deltareplay.spark.executors.task``.
Reader = Literal[
    "copied_files",
    "deleted_files",
    "footer_adds",
    "footer_schemas",
    "named_files",
    "old_files",
    "outcome_rows",
    "pack_files",
    "row_outcomes",
    "row_events",
    "nothing",
    "read_changes",
    "read_pieces",
    "spill_piece",
    "verified_files",
    "verified_rows",
    "write_ordered",
    "write_sidecars",
]


def rows(spark: SparkSession, reader: Reader, sent: bytes, tasks: int, schema: Any) -> DataFrame:
    """Return the rows of all parts of a plan, one task for each part.

    Args:
        spark: The session.
        reader: The name of the function in ``task`` that returns the rows.
        sent: The plan, pickled for that function.
        tasks: The number of parts.
        schema: Spark's schema of the rows.
    """
    numbers = spark.range(0, tasks, 1, max(1, tasks))
    return over(numbers, reader, sent, schema)


def over(rows: DataFrame, reader: Reader, sent: bytes, schema: Any) -> DataFrame:
    """Apply a function to rows, in tasks.

    Args:
        rows: Rows for the function.
        reader: The name of the function in ``task``.
        sent: Its other arguments, pickled.
        schema: Spark's schema of its results.
    """
    spark = rows.sparkSession
    classic = capabilities.is_classic(spark)
    # sent once to each executor; Connect has no broadcast, and sends it with each task
    held = spark.sparkContext.broadcast(sent) if classic else None
    return rows.mapInArrow(task(reader, held, None if classic else sent), schema)


#: The columns of tasks that answer once for each part: its number, and the answer or the error.
ANSWER = "part long, answer string, error binary"


def answers(spark: SparkSession, reader: Reader, sent: Any, tasks: int) -> list[str]:
    """Return the answers of all parts of a plan, in order, one task for each part.

    Args:
        spark: The session.
        reader: The name of the function in ``task``, which returns the columns of ``ANSWER``.
        sent: The plan; pickles.
        tasks: The number of parts.

    Raises:
        DeltaReplayError: The error of the first part that has one, as its task raised it.
    """
    if tasks == 0:
        return []
    answers_of_tasks = (
        rows(spark, reader, pickle.dumps(sent), tasks, ANSWER).toArrow().sort_by("part")
    )
    for error in answers_of_tasks.column("error"):
        if error.is_valid:
            raise pickle.loads(error.as_py())
    return [str(answer) for answer in answers_of_tasks.column("answer").to_pylist()]


#: The sessions whose executors have the package, as checked by a task.
_checked: set[str] = set()

_LACKING = "deltareplay cannot be imported where Spark runs its tasks: "
#: The error of PySpark's worker before it reads a task.
_NO_ARROW = "No module named 'pyarrow'"


def check(spark: SparkSession) -> None:
    """Run one task that imports the package, to fail before any work if it is missing.

    Raises:
        UnsupportedFeatureError: The executors do not have the package.
    """
    classic = capabilities.is_classic(spark)
    which = str(spark.sparkContext.applicationId if classic else spark.session_id)
    if which in _checked:
        return
    try:
        rows(spark, "nothing", b"", 1, "nothing boolean").collect()
    except Exception as error:
        text = str(error)
        if _LACKING in text:
            message = text[text.index(_LACKING) :].splitlines()[0]
        elif _NO_ARROW in text:
            message = (
                f"{_LACKING}the Python there has no pyarrow. Set PYSPARK_PYTHON to one that has "
                "deltareplay, such as sys.executable, before Spark starts"
            )
        else:
            raise
        raise UnsupportedFeatureError(message, code="spark.executors") from error
    _checked.add(which)


def task(
    reader: Reader, held: Any, sent: bytes | None
) -> Callable[[_Batches], Iterator[pa.RecordBatch]]:
    """Return the function of a task, pickled by value, so it can report a missing package."""
    lacking = _LACKING  # the executor cannot look it up in this module

    def read(numbers: _Batches) -> Iterator[pa.RecordBatch]:
        try:
            from deltareplay.spark.executors import task
        except ImportError as cause:
            raise RuntimeError(
                f"{lacking}install the same release on every executor, or send the environment as "
                f"an archive; {cause}"
            ) from cause
        payload = held.value if sent is None else sent
        yield from getattr(task, reader)(payload, numbers)

    return read
