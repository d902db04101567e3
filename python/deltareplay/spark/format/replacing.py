"""The options ``replaceUsing`` and ``replaceOn`` of ``df.write``, by the function ``write``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml.write import write
from deltareplay.spark.format import sink_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Options that say which rows are replaced, in lower case.
_OWN = ("replaceusing", "replaceon", "targetalias")

#: Options that say it in another way.
_OTHERS = ("replacewhere", "partitionoverwritemode", "overwriteschema")


def save(df: DataFrame, options: Mapping[str, str], mode: str | None) -> None:
    """Replace the rows of the table that match a new row.

    Args:
        df: The rows.
        options: The options of the writer.
        mode: The mode of the writer.

    Raises:
        InvalidArgumentError: ``option.write``: the options contradict each other, or the mode is
            not ``overwrite``; or as by ``write``.
    """
    own = {name.lower(): text for name, text in options.items() if name.lower() in _OWN}
    others = [name for name in options if name.lower() in _OTHERS]
    others = [name for name in others if options[name].lower() != "false"]
    overwrites = mode is not None and mode.lower() == "overwrite"  # as Spark reads it
    if others or len({"replaceusing", "replaceon"} & set(own)) > 1 or not overwrites:
        raise InvalidArgumentError(
            "replaceUsing and replaceOn require .mode('overwrite'): pass one of the two options, "
            f"without {', '.join(others) or 'the other'}",
            code="option.write",
        )
    using, on = own.get("replaceusing"), own.get("replaceon")
    columns = None if using is None else [name.strip() for name in using.split(",")]
    if columns is not None and not all(columns):
        raise InvalidArgumentError(
            f"replaceUsing is {using!r}: pass the names of columns, with commas between them",
            code="option.write",
        )
    rest = {name: text for name, text in options.items() if name.lower() not in _OWN}
    parsed = sink_options.parse(rest, overwrite=True)
    write(
        df,
        parsed.table(),
        mode="overwrite",
        replace_using=columns,
        replace_on=on,
        target_alias=own.get("targetalias", "target"),
        schema_mode="merge" if parsed.merge_schema else None,
        txn=parsed.txn,
        user_metadata=parsed.user_metadata,
    )
