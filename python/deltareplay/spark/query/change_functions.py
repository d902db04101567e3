"""The table functions ``table_changes`` and ``table_changes_by_path`` of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog import lookup
from deltareplay.spark.catalog.timestamps import evaluate_timestamp, instant
from deltareplay.spark.row_changes.changes import changes
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    import datetime

    from pyspark.sql import DataFrame, SparkSession

#: The function that takes the name of a table; the other takes a path.
_BY_NAME = "table_changes"
NAMES = (_BY_NAME, "table_changes_by_path")


def rows(spark: SparkSession, function: str, arguments: tuple[str, ...]) -> DataFrame | None:
    """Return the changes that a call selects; None if its table may be in another catalog.

    Args:
        spark: The session.
        function: The name of the function.
        arguments: The table, the start and optionally the end, as SQL without columns.

    Raises:
        InvalidArgumentError: ``sql.changes``: there are too few or too many arguments, or an
            argument has the wrong type.
    """
    if len(arguments) not in (2, 3):
        raise InvalidArgumentError(
            f"{function} takes a table, a start and optionally an end, not "
            f"{len(arguments)} arguments",
            code="sql.changes",
        )
    strings = [f"CAST(({argument}) AS STRING)" for argument in arguments]
    values = ", ".join(
        f"typeof({argument}), {string}, unix_micros(TRY_CAST({string} AS TIMESTAMP_LTZ))"
        for argument, string in zip(arguments, strings, strict=True)
    )
    [row] = spark.sql(f"SELECT {values}").collect()
    name = str(row[1])
    if function.lower() == _BY_NAME:
        parts = names.table_parts(name)
        entry = lookup.find(spark, parts)
        if len(parts) > 2 and not (entry.is_delta or entry.exists):
            return None
        table = entry.table()
    else:
        table = lookup.at_path(name)
    bounds = [_bound(spark, function, *row[index : index + 3]) for index in range(3, len(row), 3)]
    return changes(spark, table, *bounds, allow_out_of_range=len(bounds) > 1)


def _bound(
    spark: SparkSession, function: str, kind: str, text: str | None, micros: int | None
) -> int | datetime.datetime:
    """Convert the value of an argument to a version or a time."""
    if text is not None and kind in ("tinyint", "smallint", "int", "bigint"):
        return int(text)
    if text is not None and kind == "string":
        return evaluate_timestamp(spark, text)
    if micros is None:
        raise InvalidArgumentError(
            f"{function} takes versions and times, not {'NULL' if text is None else text} "
            f"of type {kind}",
            code="sql.changes",
        )
    return instant(micros)
