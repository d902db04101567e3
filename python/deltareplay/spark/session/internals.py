"""Private attributes of PySpark and Py4J: the JVM, its errors, writers, and plans of Connect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession


def jvm(spark: SparkSession) -> Any:
    """Return the JVM of a classic session."""
    return spark._jvm


def java_session(spark: SparkSession) -> Any:
    """Return the Java object of a classic session."""
    return spark._jsparkSession


def has_jvm(spark: SparkSession) -> bool:
    """Return whether the driver's JVM is accessible."""
    return getattr(spark, "_jsparkSession", None) is not None and spark._jvm is not None


def gateway(spark: SparkSession) -> Any:
    """Return Py4J's gateway of a classic session."""
    return spark.sparkContext._gateway


def format_sql(
    spark: SparkSession, text: str, values: Mapping[str, Any], *, is_classic: bool
) -> tuple[str, list[str]]:
    """Format SQL text as PySpark does: ``{name}`` becomes a value, or a view of a frame.

    On Spark Connect, PySpark's formatter only names the views, so this creates them.

    Returns:
        The text, and the names of the views.
    """
    if is_classic:
        from pyspark.sql.sql_formatter import SQLStringFormatter
    else:
        from pyspark.sql.connect.sql_formatter import SQLStringFormatter
    formatter = SQLStringFormatter(spark)
    text = formatter.format(text, **values)
    if not is_classic:
        for frame, name in formatter._temp_views:
            frame.createOrReplaceTempView(name)
    return text, [name for _, name in formatter._temp_views]


def logical_plan(frame: DataFrame) -> Any:
    """Return the logical plan of a classic frame."""
    return frame._jdf.logicalPlan()


def analyzed_plan(frame: DataFrame) -> Any:
    """Return the analyzed plan of a classic frame."""
    return frame._jdf.queryExecution().analyzed()


def frame_of_plan(spark: SparkSession, plan: Any, java: Any = None) -> DataFrame:
    """Return a classic frame of a logical plan; ``java`` overrides the Java session."""
    from pyspark.sql import DataFrame

    dataset = jvm(spark).org.apache.spark.sql.classic.Dataset
    return DataFrame(dataset.ofRows(java or java_session(spark), plan), spark)


def connect_plan(frame: DataFrame) -> Any:
    """Return the plan of a frame of Spark Connect; None if there is none."""
    return getattr(frame, "_plan", None)


#: Relations of Spark Connect whose rows the server keeps for one session: those of a batch of
#: ``foreachBatch``, of ``checkpoint``, and large local ones.
_KEPT_BY_SESSION = ("CachedRemoteRelation", "CachedLocalRelation", "ChunkedCachedLocalRelation")


def belongs_to_session(plan: Any) -> bool:
    """Return whether a plan of Spark Connect has rows that the server keeps for its session."""
    from pyspark.sql.connect.plan import LogicalPlan

    nodes, seen = [plan], set()
    while nodes:
        node = nodes.pop()
        if type(node).__name__ in _KEPT_BY_SESSION:
            return True
        if id(node) in seen:
            continue
        seen.add(id(node))
        for value in vars(node).values():
            parts = value if isinstance(value, (list, tuple)) else [value]
            nodes += [part for part in parts if isinstance(part, LogicalPlan)]
    return False


def child(plan: Any) -> Any:
    """Return the input of a plan of Spark Connect; None if there is none."""
    return getattr(plan, "_child", None)


def alias(plan: Any) -> str:
    """Return the name of a ``SubqueryAlias`` of Spark Connect."""
    return str(plan._alias)


def connect_expression(column: Column) -> Any:
    """Return the expression of a column of Spark Connect; None if there is none."""
    return getattr(column, "_expr", None)


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without Py4J's own text."""
    lines = str(getattr(error, "java_exception", error)).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def arrow_of(frame: DataFrame) -> pa.Table:
    """Return the rows of a frame.

    Raises:
        InvalidArgumentError: ``statement.expression``: a subquery for a value returns several rows.
    """
    try:
        rows: pa.Table = frame.toArrow()
    except Exception as error:
        explained = subquery_error(error)
        if explained is None:
            raise
        raise explained from error
    return rows


def subquery_error(error: Exception) -> InvalidArgumentError | None:
    """Return the error for a subquery with several rows, if that made a job fail.

    The exception is Py4J's, not PySpark's, and has a stack trace instead of a message.
    """
    if "SCALAR_SUBQUERY_TOO_MANY_ROWS" not in str(error):
        return None
    return InvalidArgumentError(
        "a subquery that stands for a value returns several rows: compare with IN, or let it "
        "return one row, such as by max(...) or LIMIT 1",
        code="statement.expression",
    )


def session_of(writer: Any) -> SparkSession:
    """Return the session of a writer, of batches or of a stream."""
    spark: SparkSession = getattr(writer, "_spark", None) or writer._session
    return spark


def session_of_reader(reader: Any) -> SparkSession:
    """Return the session of a reader, of batches or of a stream."""
    spark: SparkSession = getattr(reader, "_spark", None) or reader._client
    return spark


def streamed_schema(writer: Any) -> Any:
    """Return the schema of the rows that a writer of streams writes."""
    frame = getattr(writer, "_df", None)
    if frame is not None:
        return frame.schema
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame

    return ConnectFrame(child(writer._write_stream), writer._session).schema


def frame_of(writer: Any) -> DataFrame:
    """Return the frame of a writer of batches."""
    frame: DataFrame = writer._df
    if hasattr(frame, "sparkSession"):
        return frame
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame

    connected: DataFrame = ConnectFrame(writer._df, writer._spark)  # _df is a plan
    return connected
