"""Runs a plan on executors, one task for each part."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.executors.worker import Batches, Task


def rows(spark: SparkSession, task: Task, parts: int, schema: Any) -> DataFrame:
    """Return the rows of all parts of a plan, one task for each part.

    Args:
        spark: The session.
        task: Its argument is the numbers of the parts.
        parts: The number of parts.
        schema: Spark's schema of the rows.
    """
    return over(spark.range(0, parts, 1, max(1, parts)), task, schema)


def over(rows: DataFrame, task: Task, schema: Any) -> DataFrame:
    """Apply a task to rows, on the executors.

    Args:
        rows: Rows for the tasks.
        task: Its argument is the rows.
        schema: Spark's schema of the results.
    """
    spark = rows.sparkSession
    classic = capabilities.is_classic(spark)
    pickled = pickle.dumps(task)
    # sent once to each executor; Connect has no broadcast, and sends it with each task
    shared = spark.sparkContext.broadcast(pickled) if classic else None
    return rows.mapInArrow(function(shared, None if classic else pickled), schema)


#: The columns of tasks that answer once for each part: its number, and the answer or the error.
ANSWER = "part long, answer string, error binary"


def answers(spark: SparkSession, task: Task, parts: int) -> list[str]:
    """Return the answers of all parts of a plan, in order, one task for each part.

    Args:
        spark: The session.
        task: Its argument is the numbers of the parts; it returns the columns of ``ANSWER``.
        parts: The number of parts.

    Raises:
        DeltaReplayError: The error of the first part that has one, as its task raised it.
    """
    if parts == 0:
        return []
    results = rows(spark, task, parts, ANSWER).toArrow().sort_by("part")
    for error in results.column("error"):
        if error.is_valid:
            raise pickle.loads(error.as_py())
    return [str(answer) for answer in results.column("answer").to_pylist()]


@dataclass(frozen=True)
class Nothing:
    """A task without rows, which only checks that the package can be imported."""

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Return no rows."""
        yield from ()


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
    session = str(spark.sparkContext.applicationId if classic else spark.session_id)
    if session in _checked:
        return
    try:
        rows(spark, Nothing(), 1, "nothing boolean").collect()
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
    _checked.add(session)


def function(shared: Any, pickled: bytes | None) -> Task:
    """Return the function of a task, pickled by value, so it can report a missing package.

    Args:
        shared: A broadcast of the pickle of a task.
        pickled: The pickle itself, where there is no broadcast.
    """
    lacking = _LACKING  # the executor cannot look it up in this module

    def read(batches: Batches) -> Iterator[pa.RecordBatch]:
        try:
            from deltareplay.spark.executors.worker import loaded
        except ImportError as cause:
            raise RuntimeError(
                f"{lacking}install the same release on every executor, or send the environment as "
                f"an archive; {cause}"
            ) from cause
        yield from loaded(shared.value if pickled is None else pickled)(batches)

    return read
