"""The part of a statement's condition that refers only to the target, used to skip files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay._protocol.schema import Field, Struct, schema_json
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.scan import connect_sql, filters
from deltareplay.spark.scan.table_alias import TableAlias
from deltareplay.spark.session import capabilities, internals
from deltareplay.spark.syntax import qualifiers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._snapshot.snapshot import Snapshot


def target_filter(
    condition: str | Column | None,
    snapshot: Snapshot,
    alias: str,
    frame: DataFrame,
    *,
    joined: bool = False,
) -> Filter | None:
    """Return a filter that is true wherever the condition is; None selects all files.

    Conditions that only Spark understands select all files.

    Args:
        condition: SQL text, or a column.
        snapshot: The version of the target.
        alias: The table's name in the condition.
        frame: Any frame; for a column, its topmost node has the condition.
        joined: Whether the condition may refer to a source, too.
    """
    if condition is None:
        return None
    text = _sql(condition, frame, alias)
    return skipping_filter(text, frame.sparkSession, snapshot, alias, joined=joined)


def negated_partition_filter(
    condition: str, spark: SparkSession, snapshot: Snapshot
) -> Filter | None:
    """Return a filter that is true in partitions where a condition is false or null.

    The result is None if the condition uses other columns, if only Spark understands it, or if
    the table has no partitions.
    """
    partitions = set(snapshot.partition_columns)
    schema = Struct.parse(snapshot.schema_json)
    fields = [field for field in schema.fields if field.name in partitions]
    if not fields:
        return None
    return skipping_filter(_negated(condition), spark, snapshot, None, joined=False, fields=fields)


def negated_target_filter(
    condition: str | Column,
    snapshot: Snapshot,
    alias: str,
    frame: DataFrame,
) -> Filter | None:
    """Return a filter that is true wherever a condition is false or null; None selects all."""
    text = _sql(condition, frame, alias)
    text = None if text is None else _negated(text)
    return skipping_filter(text, frame.sparkSession, snapshot, alias, joined=False)


def _negated(condition: str) -> str:
    """Return SQL that is true wherever a condition is false or null."""
    # without the line break, a comment at the end of the condition would hide the rest
    return f"NOT (({condition}\n) IS TRUE)"


def skipping_filter(
    text: str | None,
    spark: SparkSession,
    snapshot: Snapshot,
    alias: str | None,
    *,
    joined: bool,
    fields: list[Field] | None = None,
) -> Filter | None:
    """Return a filter that is true wherever a condition is; None selects all files.

    Args:
        text: The condition; None if there is none, or if it cannot be written as SQL.
        spark: The session.
        snapshot: The version of the table.
        alias: The table's name in the condition.
        joined: Whether the condition may refer to other tables.
        fields: The columns that the filter may use; None for all.
    """
    if text is None or filters.may_parse_differently(spark, text):
        return None
    try:
        schema = snapshot.schema_json if fields is None else schema_json(fields)
        filter = _native.target_filter(text, schema, alias, joined)
        return None if filter is None else filters.pruning(spark, filter, snapshot)
    except (InvalidArgumentError, UnsupportedFeatureError):
        return None  # Spark has more functions than the core


def _sql(condition: str | Column, frame: DataFrame, alias: str) -> str | None:
    """Return a condition as SQL, in which only the alias qualifies columns of the table."""
    if isinstance(condition, str):
        return condition
    text = column_sql(condition, frame)
    if isinstance(alias, TableAlias):
        table = (*alias.namespace, alias)
        return qualifiers.with_aliases(text, qualifiers.aliases(table, alias))
    return text


def column_sql(condition: Column, frame: DataFrame) -> str | None:
    """Return a column as SQL, on classic Spark from the topmost node of the frame.

    The result is None if Connect's column has a part that is not translated.
    """
    if not capabilities.is_classic(frame.sparkSession):
        return connect_sql.sql(condition, frame.sparkSession)
    rules = internals.jvm(frame.sparkSession).org.apache.spark.sql.catalyst.optimizer
    plan = internals.analyzed_plan(frame)
    # IN adds a cast of a column to its own type, which the core does not remove
    plan = rules.SimplifyCasts.apply(rules.ConstantFolding.apply(plan))
    expression: Any = plan.condition()
    if plan.nodeName() == "Join":
        expression = expression.get()
    return str(expression.sql())
