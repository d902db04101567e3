"""Conditions of a merge that give the same result each time they are evaluated.

A merge evaluates its conditions in one query to find rows, and in another to write them. Each query
has its own current time and its own random numbers.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml.statement import analyzed, as_column, condition_text
from deltareplay.spark.scan import connect_sql
from deltareplay.spark.scan import hidden_columns as names
from deltareplay.spark.session import capabilities, internals, strings
from deltareplay.spark.syntax.tokens import Token, tokens

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.dml.expressions import Expression

#: Functions that ask for the current time, and what they are at a moment.
_CLOCK = {
    "CURRENT_TIMESTAMP": "{}",
    "NOW": "{}",
    "CURRENT_TIME": "TIME '{time}'",
    "CURRENT_DATE": "CAST({} AS DATE)",
    "CURDATE": "CAST({} AS DATE)",
    "LOCALTIMESTAMP": "CAST({} AS TIMESTAMP_NTZ)",
    "UNIX_TIMESTAMP": "unix_timestamp({})",
}

#: Functions that may be written without parentheses, unless a column has that name.
_BARE = ("CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIMESTAMP")


def repeatable(
    condition: Expression | None, rows: DataFrame, moment: datetime.datetime
) -> Expression | None:
    """Return a condition with a fixed current time; check that it is deterministic.

    None is returned as it is.

    Args:
        condition: SQL text or a column.
        rows: A frame with the columns that the condition may refer to; its rows are not read.
        moment: The current time.

    Raises:
        InvalidArgumentError: ``statement.unrepeatable``: the condition is not deterministic, or
            uses the current time in a way that cannot be replaced.
    """
    if condition is None:
        return None
    text = condition if isinstance(condition, str) else _text(condition, rows, moment)
    if text is not None:
        fixed = at(text, moment, rows.sparkSession, rows.columns)
        condition = condition if fixed == text else fixed
    _check_deterministic(condition, rows)
    return condition


def at(
    text: str, moment: datetime.datetime, spark: SparkSession, columns: Collection[str] = ()
) -> str:
    """Replace ``current_timestamp()`` and the like in SQL text by a literal.

    Raises:
        InvalidArgumentError: ``statement.unrepeatable``: ``current_time`` has a precision, for
            which there is no literal.

    >>> at("at < now() AND now = 'now()'", datetime.datetime(2026, 1, 31, 12), None)
    "at < TIMESTAMP '2026-01-31T12:00:00.000000Z' AND now = 'now()'"
    """
    literal = f"TIMESTAMP '{moment.strftime('%Y-%m-%dT%H:%M:%S.%f')}Z'"
    named = {column.upper() for column in columns}
    result, position = "", 0
    every = tokens(text)
    for number, token in enumerate(every):
        end = _end_of_call(every, number, named)
        if end is not None:
            name = token.text.upper()
            time = _time_of_day(literal, spark) if name == "CURRENT_TIME" else None
            result += text[position : token.start] + _CLOCK[name].format(literal, time=time)
            position = end
    return result + text[position:]


def _time_of_day(literal: str, spark: SparkSession) -> str:
    """Return the time of day of a timestamp literal, in the session's time zone."""
    [row] = spark.sql(f"SELECT date_format({literal}, 'HH:mm:ss.SSSSSS')").collect()
    return str(row[0])


def _end_of_call(every: list[Token], number: int, named: Collection[str]) -> int | None:
    """Return the end of a call for the current time at a token; None if there is none."""
    token = every[number]
    if not token.is_word(*_CLOCK) or (number and every[number - 1].text == "."):
        return None
    following = [token.text for token in every[number + 1 : number + 4]]
    if following[:2] == ["(", ")"]:
        return every[number + 2].end
    if token.is_word("CURRENT_TIME") and following[0] == "(":
        if following == ["(", "6", ")"]:  # microseconds, as without
            return every[number + 3].end
        raise _unrepeatable("current_time(...)", "has a precision")
    is_bare = token.is_word(*_BARE) and token.text.upper() not in named
    return token.end if is_bare and following[0] not in (".", "(") else None


def _text(condition: Any, rows: DataFrame, moment: datetime.datetime) -> str | None:
    """Return a column that uses the current time as SQL text; None if it does not."""
    spark = rows.sparkSession
    if capabilities.is_classic(spark):
        frame = analyzed(lambda: rows.where(condition))
        expression = internals.analyzed_plan(frame).condition()
        patterns = internals.jvm(spark).org.apache.spark.sql.catalyst.trees.TreePattern
        uses_time = expression.containsPattern(patterns.CURRENT_LIKE())
        udfs = patterns.PYTHON_UDF(), patterns.SCALA_UDF()
        text = None if any(map(expression.containsPattern, udfs)) else str(expression.sql())
    else:
        text = connect_sql.sql(condition, spark)
        known = condition_text(condition) if text is None else text
        uses_time = at(known, moment, spark) != known
    if uses_time and text is None:
        raise _unrepeatable(condition, "calls a UDF and uses the current time")
    return strings.printed(spark, text) if uses_time and text is not None else None


def _check_deterministic(condition: Expression, rows: DataFrame) -> None:
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as sf

    other = rows.sparkSession.range(1).select(sf.lit(1).alias(f"{names.OWN}other"))
    try:
        _ = rows.join(other, as_column(condition)).schema  # where Spark refuses it
    except AnalysisException as cause:
        if cause.getCondition() == "INVALID_NON_DETERMINISTIC_EXPRESSIONS":
            raise _unrepeatable(condition, "is not deterministic") from cause
        # other errors are those of the statement, or of joins alone


def _unrepeatable(condition: Expression, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"a merge evaluates its conditions twice, and {condition_text(condition)} {why}: compute "
        "it as a column of the source",
        code="statement.unrepeatable",
    )
