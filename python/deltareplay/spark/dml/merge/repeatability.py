"""Sources and conditions of a merge, made repeatable.

A merge finds rows in one query, and writes them in another; each query has its own current time and
random numbers.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay._names import parts_of
from deltareplay._protocol.schema import Field
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml.statement import analyzed, as_column, condition_text
from deltareplay.spark.scan import connect_sql, hidden_columns
from deltareplay.spark.schema.fields import fields_of
from deltareplay.spark.session import capabilities, internals, settings, strings
from deltareplay.spark.storage.hadoop_path import glob_escaped
from deltareplay.spark.storage.staging_directory import StagingDirectory
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.tokens import Token, tokens

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.dml.statement import Expression
    from deltareplay.spark.writing.target_table import TargetTable

#: Nodes of a plan that return the same rows for the same input. Others, such as limits, windows and
#: aggregates of floating-point numbers, depend on the order of rows.
_STABLE = (
    "Filter",
    "Join",
    "LocalRelation",
    "OneRowRelation",
    "Project",
    "Range",
    "SubqueryAlias",
    "Union",
    "View",
)

#: Patterns of expressions whose values may change, even if Spark regards them as deterministic.
_UNSTABLE = ("CURRENT_LIKE", "PYTHON_UDF", "SCALA_UDF")

#: Settings under which every date and timestamp is stored unchanged.
_EXACT = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}


@dataclass(frozen=True)
class MergeSource:
    """The source of a merge.

    Attributes:
        frame: The rows, under the alias.
        alias: The alias; None if the columns have several.
        fields: The columns.
    """

    frame: DataFrame
    alias: str | None
    fields: list[Field]

    @classmethod
    def of(cls, frame: DataFrame, alias: str | None) -> MergeSource:
        """Determine the alias of the source, and check its columns.

        Raises:
            InvalidArgumentError: ``argument.type``: the source is not a DataFrame.
                ``merge.stream``: it is a stream. ``write.columns``: two of its columns have the
                same name.
        """
        if not hasattr(frame, "isStreaming"):
            raise InvalidArgumentError(
                f"source needs to be a Spark DataFrame but got {type(frame).__name__}",
                code="argument.type",
            )
        if frame.isStreaming:
            raise InvalidArgumentError(
                "the source is a stream: merge each of its batches, by df.writeStream.foreachBatch",
                code="merge.stream",
            )
        fields = fields_of(frame.schema)
        key = settings.name_key(frame.sparkSession)
        keys: set[str] = set()
        for field in fields:
            if key(field.name) in keys:
                raise InvalidArgumentError(
                    f"the source has two columns {field.name}: rename one of them",
                    code="write.columns",
                )
            keys.add(key(field.name))
        if alias is None:
            aliases = _aliases(frame)
            alias = next(iter(aliases)) if len(aliases) == 1 else None
            if aliases and _is_stable(frame):
                return cls(frame, alias, fields)
            alias = alias or "source"  # a stored copy needs an alias
        return cls(frame.alias(alias), alias, fields)

    @property
    def columns(self) -> list[tuple[Field, str]]:
        """The columns, each with the name of its copy in joined rows."""
        return [(field, f"{_COLUMN}{index}") for index, field in enumerate(self.fields)]

    @property
    def rows(self) -> DataFrame:
        """The source with ``hidden_columns.FROM_SOURCE`` and copies of its columns."""
        return self._with_hidden_columns(self.frame)

    def _with_hidden_columns(self, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as sf

        copies = {copy: sf.col(names.quoted(field.name)) for field, copy in self.columns}
        return frame.withColumns({**copies, hidden_columns.FROM_SOURCE: sf.lit(True)})

    @contextmanager
    def stable(self, target: TargetTable, root: str | None) -> Iterator[DataFrame]:
        """Provide ``rows`` that are the same each time they are read.

        A source that is not repeatable is written into a directory of the table until the merge
        ends.
        """
        if _is_stable(self.frame):
            yield self.rows
            return
        spark = self.frame.sparkSession
        directory = StagingDirectory(spark, target.table, uuid.uuid4().hex, root)
        try:
            frame = self.frame
            if capabilities.is_classic(spark) or hasattr(spark, "cloneSession"):
                frame = capabilities.in_own_session(frame, _EXACT)
            writer = frame.write.mode("append")
            # VACUUM would not delete ``_SUCCESS``
            writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
            options = directory.credentials.options_for(spark)
            try:
                writer.options(**options).parquet(directory.path)
            finally:
                capabilities.release(frame, spark)
            reader = spark.read.options(**options).schema(self.frame.schema)
            stored = reader.parquet(glob_escaped(directory.path))
            yield self._with_hidden_columns(stored.alias(self.alias or "source"))
        finally:
            directory.discard()


_COLUMN = f"{hidden_columns.PREFIX}source_"


def _aliases(frame: DataFrame) -> set[str]:
    """Return the qualifiers of a frame's columns."""
    if capabilities.is_classic(frame.sparkSession):
        output = _items(internals.analyzed_plan(frame).output())
        qualifiers = [attribute.qualifier() for attribute in output]
        return {str(qualifier.last()) for qualifier in qualifiers if qualifier.size()}
    return _aliases_in(internals.connect_plan(frame))


def _aliases_in(plan: Any) -> set[str]:
    """Return the qualifiers of a Connect plan's columns; projections keep those of their input."""
    while plan is not None:
        kind = type(plan).__name__
        if kind == "SubqueryAlias":
            return {internals.alias(plan)}
        if kind == "Read":
            return {*parts_of(str(plan.table_name))[-1:]}
        if kind == "Join":
            return _aliases_in(plan.left) | _aliases_in(plan.right)
        plan = internals.child(plan)
    return set()


def _is_stable(frame: DataFrame) -> bool:
    """Return whether the plan of a frame is repeatable; False on Connect, which hides the plan."""
    if not capabilities.is_classic(frame.sparkSession):
        return False
    plan = internals.analyzed_plan(frame)
    trees = internals.jvm(frame.sparkSession).org.apache.spark.sql.catalyst.trees
    # each query has its own current time; only its author knows whether a UDF is deterministic
    unstable = [getattr(trees.TreePattern, pattern)() for pattern in _UNSTABLE]
    return not any(map(plan.containsPattern, unstable)) and _is_repeatable(plan)


def _is_repeatable(plan: Any) -> bool:
    """Return whether a plan, with its subqueries, returns the same rows each time."""
    name = plan.nodeName()
    if name not in _STABLE or not plan.deterministic():
        return name == "LogicalRelation" and _is_of_snapshot(plan)
    plans = [*_items(plan.children()), *_items(plan.subqueries())]
    return all(map(_is_repeatable, plans))


def _items(sequence: Any) -> list[Any]:
    """Return the items of a Scala sequence."""
    return [sequence.apply(index) for index in range(sequence.size())]


def _is_of_snapshot(leaf: Any) -> bool:
    """Return whether a relation reads the files of a version, which do not change."""
    try:
        return "SnapshotFiles" in leaf.relation().location().getClass().getName()
    except Exception:  # other kinds of relations have no location
        return False


#: Functions that return the current time, and the expressions that replace them.
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

#: Types of literals such as ``TIMESTAMP 'now'``, whose value is the time at which they are parsed.
_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")

#: The texts of such literals, and the expressions that replace them.
_TIMES = {
    "NOW": "{}",
    "TODAY": "CAST({} AS DATE)",
    "TOMORROW": "date_add(CAST({} AS DATE), 1)",
    "YESTERDAY": "date_add(CAST({} AS DATE), -1)",
}


def repeatable(
    condition: Expression | None, rows: DataFrame, now: datetime.datetime
) -> Expression | None:
    """Return a condition with a fixed current time; check that it is deterministic.

    ``rows`` has the columns that the condition may refer to; its rows are not read. ``now`` is in
    UTC. Without a condition, the result is None.

    Raises:
        InvalidArgumentError: ``statement.unrepeatable``: the condition is not deterministic, or
            uses the current time in a way that cannot be replaced.
    """
    if condition is None:
        return None
    frame = analyzed(lambda: rows.where(as_column(condition)))
    text = condition if isinstance(condition, str) else _text(condition, frame)
    if text is not None:
        fixed = freeze_current_time(text, now, rows.sparkSession, rows.columns)
        condition = condition if fixed == text else fixed
    _check_deterministic(condition, rows)
    return condition


def uses_current_time(text: str, columns: Collection[str]) -> bool:
    """Return whether SQL text calls a function, or has a literal, that is the current time.

    A name without parentheses is no call if it is among the columns.

    >>> uses_current_time("at < current_time(3)", ["at"]), uses_current_time("now = 'now()'", [])
    (True, False)
    """
    parsed, column_names = tokens(text), {column.upper() for column in columns}
    return any(
        _is_call(parsed, index, column_names) or _literal_time(parsed, index)
        for index in range(len(parsed))
    )


def freeze_current_time(
    text: str, now: datetime.datetime, spark: SparkSession, columns: Collection[str] = ()
) -> str:
    """Replace functions and literals that are the current time in SQL text by ``now``, in UTC.

    Raises:
        InvalidArgumentError: ``statement.unrepeatable``: ``current_time`` has another precision
            than microseconds, for which there is no literal.

    >>> noon = datetime.datetime(2026, 1, 31, 12)
    >>> freeze_current_time("at < now() AND now = 'now()'", noon, None)
    "at < TIMESTAMP '2026-01-31T12:00:00.000000Z' AND now = 'now()'"
    >>> freeze_current_time("day < DATE 'today'", noon, None)
    "day < CAST(CAST(TIMESTAMP '2026-01-31T12:00:00.000000Z' AS DATE) AS DATE)"
    """
    literal = f"TIMESTAMP '{now.strftime('%Y-%m-%dT%H:%M:%S.%f')}Z'"
    column_names = {column.upper() for column in columns}
    result, position = "", 0
    parsed = tokens(text)
    for index, token in enumerate(parsed):
        if _is_call(parsed, index, column_names):
            name, end = token.text.upper(), _end_of_call(parsed, index)
            time = _time_of_day(literal, spark) if name == "CURRENT_TIME" else None
            result += text[position : token.start] + _CLOCK[name].format(literal, time=time)
            position = end
        elif moment := _literal_time(parsed, index):
            value = f"CAST({moment.format(literal)} AS {token.text})"
            result += text[position : token.start] + value
            position = parsed[index + 1].end
    return result + text[position:]


def _time_of_day(literal: str, spark: SparkSession) -> str:
    """Return the time of day of a timestamp literal, in the session's time zone."""
    [row] = spark.sql(f"SELECT date_format({literal}, 'HH:mm:ss.SSSSSS')").collect()
    return str(row[0])


def _is_call(parsed: list[Token], index: int, column_names: Collection[str]) -> bool:
    """Return whether a token begins a call of a function that returns the current time."""
    token = parsed[index]
    if not token.is_word(*_CLOCK) or (index and parsed[index - 1].text == "."):
        return False
    following = [token.text for token in parsed[index + 1 : index + 3]]
    if following[0] == "(":
        return token.is_word("CURRENT_TIME") or following[1:] == [")"]
    is_bare = token.is_word(*_BARE) and token.text.upper() not in column_names
    return is_bare and following[0] != "."


def _literal_time(parsed: list[Token], index: int) -> str | None:
    """Return the item of ``_TIMES`` for a literal that begins at a token; None for other tokens."""
    if not parsed[index].is_word(*_TYPES) or parsed[index + 1].kind != "string":
        return None
    return _TIMES.get(parsed[index + 1].value.strip().upper())


def _end_of_call(parsed: list[Token], index: int) -> int:
    """Return the end of a call that begins at a token."""
    following = [token.text for token in parsed[index + 1 : index + 4]]
    if following[0] != "(":
        return parsed[index].end
    if following[1] == ")":
        return parsed[index + 2].end
    if following[1:] == ["6", ")"]:  # microseconds, the default
        return parsed[index + 3].end
    raise _unrepeatable("current_time(...)", "has a precision")


def _text(condition: Any, frame: DataFrame) -> str | None:
    """Return the SQL text of a column that uses the current time; None for other columns.

    The topmost node of the frame is the condition's filter.
    """
    spark = frame.sparkSession
    if capabilities.is_classic(spark):
        expression = internals.analyzed_plan(frame).condition()
        patterns = internals.jvm(spark).org.apache.spark.sql.catalyst.trees.TreePattern
        uses_time = expression.containsPattern(patterns.CURRENT_LIKE())
        udfs = patterns.PYTHON_UDF(), patterns.SCALA_UDF()
        text = None if any(map(expression.containsPattern, udfs)) else str(expression.sql())
    else:
        text = connect_sql.sql(condition, spark)
        printed = condition_text(condition) if text is None else text
        uses_time = uses_current_time(printed, ())
    if uses_time and text is None:
        raise _unrepeatable(condition, "calls a UDF and uses the current time")
    return strings.for_session(spark, text) if uses_time and text is not None else None


def _check_deterministic(condition: Expression, rows: DataFrame) -> None:
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as sf

    other = rows.sparkSession.range(1).select(sf.lit(1).alias(f"{hidden_columns.PREFIX}other"))
    try:
        _ = rows.join(other, as_column(condition)).schema  # Spark rejects it here
    except AnalysisException as cause:
        if cause.getCondition() == "INVALID_NON_DETERMINISTIC_EXPRESSIONS":
            raise _unrepeatable(condition, "is not deterministic") from cause
        # other errors are reported when the statement is analyzed, or occur in joins only


def _unrepeatable(condition: Expression, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"a merge evaluates its conditions twice, and {condition_text(condition)} {why}: compute "
        "it as a column of the source",
        code="statement.unrepeatable",
    )
