"""Runs a plan on executors, one task for each part."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import StorageError, UnsupportedFeatureError
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.executors.worker import Batches, Task


def rows(spark: SparkSession, task: Task, parts: int, schema: Any) -> DataFrame:
    """Return the rows of all parts of a plan, one task for each part.

    Args:
        spark: The session.
        task: Gets the numbers of the parts.
        parts: The number of parts.
        schema: Spark's schema of the rows.
    """
    return over(spark.range(0, parts, 1, max(1, parts)), task, schema)


def over(rows: DataFrame, task: Task, schema: Any) -> DataFrame:
    """Apply a task to rows, on the executors.

    Args:
        rows: Rows for the tasks.
        task: Gets the rows of a partition.
        schema: Spark's schema of the results.
    """
    spark = rows.sparkSession
    classic = capabilities.is_classic(spark)
    pickled = pickle.dumps(task)
    # a broadcast is sent once to each executor; Connect has none, so each task gets the pickle
    shared = spark.sparkContext.broadcast(pickled) if classic else None
    return rows.mapInArrow(task_function(shared, None if classic else pickled), schema)


#: The columns of a task that returns results: the number of a part, and its result or its error.
RESULT = "part long, result string, error binary"


def results(spark: SparkSession, task: Task, parts: int) -> list[str]:
    """Return the results of all parts of a plan, in order, one task for each part.

    Args:
        spark: The session.
        task: Gets the numbers of the parts; returns the columns of ``RESULT``.
        parts: The number of parts.

    Raises:
        DeltaReplayError: The error of the first part that has one, as its task raised it.
        StorageError: ``spark.results``: Spark has not returned one result for each part.
    """
    if parts == 0:
        return []
    returned = sorted(rows(spark, task, parts, RESULT).collect(), key=lambda row: int(row[0]))
    for _, _, error in returned:
        if error is not None:
            raise pickle.loads(error)
    if [part for part, _, _ in returned] != list(range(parts)):
        raise StorageError(
            f"Spark returned {len(returned)} results of {parts} tasks, and some are missing or "
            "repeated: nothing was committed; run it again",
            code="spark.results",
        )
    return [str(result) for _, result, _ in returned]


@dataclass(frozen=True)
class ImportCheck:
    """A task without rows, which only checks that the package can be imported."""

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Return no rows."""
        yield from ()


#: Applications, and sessions of Connect, whose executors have the package, as a task checked.
_checked: set[str] = set()

_IMPORT_ERROR = "deltareplay cannot be imported where Spark runs its tasks: "
#: The error of PySpark's worker before it reads a task.
_NO_ARROW = "No module named 'pyarrow'"


def check(spark: SparkSession) -> None:
    """Run one task that imports the package, to fail before any work if it is missing.

    Raises:
        UnsupportedFeatureError: ``spark.executors``: the executors do not have the package.
    """
    classic = capabilities.is_classic(spark)
    session = str(spark.sparkContext.applicationId if classic else spark.session_id)
    if session in _checked:
        return
    try:
        rows(spark, ImportCheck(), 1, "nothing boolean").collect()
    except Exception as error:
        text = str(error)
        if _IMPORT_ERROR in text:
            message = text[text.index(_IMPORT_ERROR) :].splitlines()[0]
        elif _NO_ARROW in text:
            message = (
                f"{_IMPORT_ERROR}the Python there has no pyarrow. Set PYSPARK_PYTHON to one that "
                "has deltareplay, such as sys.executable, before Spark starts"
            )
        else:
            raise
        raise UnsupportedFeatureError(message, code="spark.executors") from error
    _checked.add(session)


def task_function(shared: Any, pickled: bytes | None) -> Task:
    """Return the function of a task, pickled by value, so that it can report a missing package.

    Args:
        shared: A broadcast of the pickled task; None on Spark Connect.
        pickled: The pickled task itself, if there is no broadcast.
    """
    import_error = _IMPORT_ERROR  # the executor cannot look it up in this module

    def run_task(batches: Batches) -> Iterator[pa.RecordBatch]:
        try:
            from deltareplay.spark.executors.worker import loaded
        except ImportError as cause:
            raise RuntimeError(
                f"{import_error}install the same release on every executor, or send the "
                f"environment as an archive; {cause}"
            ) from cause
        yield from loaded(shared.value if pickled is None else pickled)(batches)

    return run_task
