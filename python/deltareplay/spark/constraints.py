"""What rows must satisfy, checked by Spark where it evaluates them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark import names
from deltareplay.spark.schema import Json, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from deltareplay.spark.target_table import TargetTable

#: The start of the message of a broken constraint, inside of Spark's own message.
MARK = "deltareplay cannot write this row: "

_END = " /deltareplay"


def checked(
    rows: DataFrame,
    target: TargetTable,
    computed: Sequence[str],
    replace_where: str | None,
    only: str | None = None,
) -> DataFrame:
    """The same rows; a task fails if one breaks a constraint.

    Args:
        rows: With the table's columns.
        target: The table.
        computed: Generated columns that need no check.
        replace_where: A condition of the write.
        only: The column that tells which rows are checked; None for all.
    """
    from pyspark.sql import functions as sf

    fields = target.written_fields
    for what, holds in _conditions(target, fields, computed, replace_where):
        shown = sf.struct(
            *[sf.col(names.quoted(one["name"])) for one in fields if _shows(one["type"])]
        )
        message = sf.concat(sf.lit(f"{what}; it is "), shown.cast("string"))
        # Spark moves conditions below joins, where they would meet rows that are not written; one
        # that is not deterministic stays. Of ``rand() < 0`` Spark knows the result, and drops it.
        never = sf.monotonically_increasing_id() < 0
        fails = failure(message).cast("boolean") | never
        # a result of null breaks it, too
        passes = sf.expr(holds) if only is None else ~sf.col(only) | sf.expr(holds)
        rows = rows.where(sf.when(passes, sf.lit(True)).otherwise(fails))
    return rows


def failure(message: Column) -> Column:
    """Fails the task with a message that ``broken`` finds."""
    from pyspark.sql import functions as sf

    return sf.raise_error(sf.concat(sf.lit(MARK), message, sf.lit(_END)))


def broken(error: BaseException) -> InvalidArgumentError | None:
    """The broken constraint in the error of a failed job."""
    text = str(error)
    if MARK not in text:
        return None
    message = text[text.index(MARK) :].split(_END)[0]
    return InvalidArgumentError(message, code="write.constraint")


def _conditions(
    target: TargetTable, fields: list[Json], computed: Sequence[str], replace_where: str | None
) -> Iterator[tuple[str, str]]:
    """Each condition with its description."""
    for one in fields:
        yield from _not_null([one], "")
        metadata = one.get("metadata") or {}
        if "delta.invariants" in metadata:
            rule = json.loads(metadata["delta.invariants"])["expression"]["expression"]
            yield f"it breaks the invariant {rule} of the column {one['name']}", rule
        generated = metadata.get("delta.generationExpression")
        if generated is not None and one["name"] not in computed:
            name = names.quoted(one["name"])
            what = f"the generated column {one['name']} is not {generated}"
            yield what, f"{name} <=> CAST(({generated}) AS {_sql(one['type'])})"
        limit = metadata.get("__CHAR_VARCHAR_TYPE_STRING", "")
        if limit.startswith(("varchar(", "char(")):
            name = names.quoted(one["name"])
            length = int(limit[limit.index("(") + 1 : -1])
            holds = f"{name} IS NULL OR char_length({name}) <= {length}"
            yield f"{one['name']} is longer than {limit}", holds
    for key, rule in sorted(target.properties.items()):
        if key.startswith("delta.constraints."):
            yield f"it breaks the CHECK constraint {key[18:]} ({rule})", rule
    if replace_where is not None:
        yield f"it is not among the rows to replace ({replace_where})", replace_where


def _not_null(fields: list[Json], above: str) -> Iterator[tuple[str, str]]:
    """The conditions of columns, and of fields in their structs."""
    for one in fields:
        path = above + names.quoted(one["name"])
        if not one.get("nullable", True):
            holds = f"{path} IS NOT NULL"
            if above:
                holds = f"{above[:-1]} IS NULL OR {holds}"
            yield f"{path.replace('`', '')} is null, which the table does not allow", holds
        if isinstance(one["type"], dict) and one["type"]["type"] == "struct":
            yield from _not_null(one["type"]["fields"], f"{path}.")


def _shows(type_: Any) -> bool:
    """Whether Spark shows values of a type as text."""
    return "variant" not in json.dumps(type_)


def _sql(type_: Any) -> str:
    return str(spark_type(type_).simpleString())
