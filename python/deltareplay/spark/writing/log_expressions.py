"""Expressions that a table's log has: constraints, generated columns and defaults.

Whoever wrote the log chose their text. Spark gets none of it, but what the core parses and prints
anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.schema.fields import Json, spark_type
from deltareplay.spark.session import capabilities, strings

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

GENERATED = "delta.generationExpression"
DEFAULT = "CURRENT_DEFAULT"

#: Where Spark has its own functions.
_OWN = "org.apache.spark.sql.catalyst.expressions."


def sql(spark: SparkSession, text: str, what: str, columns: Sequence[str]) -> str:
    """An expression as SQL for Spark: one value, whatever stands around it.

    Args:
        spark: The session.
        text: The expression, as the log has it.
        what: Whose it is, for errors.
        columns: The columns that it may name.

    Raises:
        UnsupportedFeatureError: ``spark.expression``: it calls or names anything but columns,
            operators, and functions that see nothing but their arguments; or the session has a
            function of its own under the name of one of these.
    """
    qualified = capabilities.version(spark) >= (4, 2)
    printed, functions = _native.spark_expression(text, what, list(columns), qualified)
    if not qualified:
        _check_own(spark, functions, what)
    return strings.printed(spark, printed)


def _check_own(spark: SparkSession, functions: Sequence[str], what: str) -> None:
    """Refuses functions of which the session has made others: older Spark takes those."""
    for name in functions:
        known = spark.catalog.getFunction(name).className
        if not str(known).startswith(_OWN):
            raise UnsupportedFeatureError(
                f"{what} calls {name}, which is a function of this session, and not Spark's own: "
                "give yours another name",
                code="spark.expression",
            )


def value(spark: SparkSession, text: str, what: str, columns: Sequence[str]) -> Column:
    """An expression as a column; arguments and errors are those of ``sql``."""
    from pyspark.sql import functions as sf

    return sf.expr(sql(spark, text, what, columns))


def generated(spark: SparkSession, field: Json, columns: Sequence[str]) -> Column:
    """The value of a generated column, in its type.

    Raises:
        UnsupportedFeatureError: As by ``sql``.
    """
    what = f"the expression of the generated column {field['name']} ({GENERATED})"
    computed = value(spark, field["metadata"][GENERATED], what, columns)
    return computed.cast(spark_type(field["type"]))


def default(spark: SparkSession, field: Json) -> str:
    """The default of a column as SQL; ``NULL`` if it has none.

    Raises:
        UnsupportedFeatureError: As by ``sql``.
    """
    text = (field.get("metadata") or {}).get(DEFAULT)
    if text is None:
        return "NULL"
    return sql(spark, text, f"the default of the column {field['name']} ({DEFAULT})", [])
