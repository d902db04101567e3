"""The options ``replaceUsing`` and ``replaceOn`` of ``df.write``, by the function ``write``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml.write import write
from deltareplay.spark.format.options import Use, WriteOptions, parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Other options that select the rows to replace.
_OTHERS = ("replaceWhere", "partitionOverwriteMode", "overwriteSchema")


def save(df: DataFrame, options: Mapping[str, str], mode: str | None) -> None:
    """Replace the rows of the table that match a new row.

    Raises:
        InvalidArgumentError: ``option.write``: the options contradict each other, or the mode is
            not ``overwrite``; or as by ``write``.
    """
    values = parse(options, Use.WRITE | Use.REPLACE)
    columns, condition = values.get("replaceUsing"), values.get("replaceOn")
    others = [name for name in _OTHERS if values.get(name)]
    overwrites = mode is not None and mode.lower() == "overwrite"  # as Spark reads it
    if others or (columns is not None and condition is not None) or not overwrites:
        raise InvalidArgumentError(
            "replaceUsing and replaceOn require .mode('overwrite'): pass one of the two options, "
            f"without {', '.join(others) or 'the other'}",
            code="option.write",
        )
    if columns is not None and not all(columns):
        raise InvalidArgumentError(
            f"replaceUsing is {', '.join(columns)!r}: pass the names of columns, with commas "
            "between them",
            code="option.write",
        )
    parsed = WriteOptions.of(values, overwrite=True)
    write(
        df,
        parsed.table,
        mode="overwrite",
        replace_using=columns,
        replace_on=condition,
        target_alias=values.get("targetAlias", "target"),
        schema_mode="merge" if parsed.merge_schema else None,
        txn=parsed.txn,
        user_metadata=parsed.user_metadata,
    )
