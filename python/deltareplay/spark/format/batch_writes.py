"""Batch writes that call the function ``write`` with the options of the format.

These are writes by the name of a table, and those that run Spark jobs before they commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from deltareplay._snapshot.snapshot import Snapshot
from deltareplay._table.table import Table
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog import table_argument
from deltareplay.spark.dml.replace_where import Matching
from deltareplay.spark.dml.write import write_rows
from deltareplay.spark.format import options
from deltareplay.spark.format.options import Use, WriteOptions
from deltareplay.spark.session import settings
from deltareplay.spark.writing.by_position import aligned_rows, cast_by_name, check_positions
from deltareplay.spark.writing.target_table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: How rows are matched with the columns of an existing table, to whose types they are cast.
Align = Literal["name", "position"]

#: Options that cannot be combined with ``replaceUsing`` and ``replaceOn``.
_INCOMPATIBLE = ("replaceWhere", "partitionOverwriteMode", "overwriteSchema")


def parsed(texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the typed values of the options of a batch write."""
    return options.parse(texts, Use.WRITE | Use.REPLACE)


def save(
    df: DataFrame, texts: Mapping[str, str], mode: str, partition_by: Sequence[str] | None
) -> None:
    """Write rows to the path of the options."""
    values = parsed(texts)
    run(df, options.table(values), values, mode, partition_by)


def run(
    df: DataFrame,
    table: Table | Snapshot | str,
    values: Mapping[str, Any],
    mode: str,
    partition_by: Sequence[str] | None = None,
    *,
    align: Align | None = None,
) -> None:
    """Write rows with typed options.

    Args:
        df: The rows.
        table: The table, its latest version, or its name.
        values: The options.
        mode: The mode, as of ``write``.
        partition_by: The partition columns of the writer.
        align: How the rows are matched with the columns of an existing table, to whose types they
            are then cast; None to match them by name, without casts.

    Raises:
        InvalidArgumentError: ``option.write``: the options contradict each other or the mode.
    """
    spark = df.sparkSession
    overwrites = mode == "overwrite"
    write_options = WriteOptions.of(values, overwrite=overwrites)
    evolves = values.get("mergeSchema", settings.merges_schemas(spark))
    written = table_argument.resolved(spark, table)
    source = df
    convert: Callable[[DataFrame], DataFrame] = _unchanged
    if align is not None and isinstance(written, Table) and written.native.exists():
        written = written.snapshot()
    if align is not None and isinstance(written, Snapshot):
        target = TargetTable.of(written)
        convert = _conversion(target, align, evolves=evolves)
        if align == "position" and "replaceUsing" in values:
            names = [field.name for field in target.fields]
            check_positions(values["replaceUsing"], df, names)
            source = df.toDF(*names[: len(df.columns)], *df.columns[len(names) :])
    matching = _matching(source, values, convert, overwrites=overwrites)
    partition_by = partition_by or write_options.partition_by
    if write_options.overwrite_schema:
        # as in delta-spark, a table stays partitioned only if the write is partitioned
        partition_by = partition_by or ()
    schema_mode = "merge" if evolves else None
    write_rows(
        convert(df),
        written,
        mode=mode,
        where=write_options.replace_where,
        matching=matching,
        partition_overwrite=values.get("partitionOverwriteMode", "").lower() or None,
        partition_columns=partition_by,
        schema_mode="overwrite" if write_options.overwrite_schema else schema_mode,
        txn=write_options.txn,
        properties=write_options.properties,
        user_metadata=write_options.user_metadata,
    )


def _unchanged(rows: DataFrame) -> DataFrame:
    return rows


def _conversion(
    target: TargetTable, align: Align, *, evolves: bool
) -> Callable[[DataFrame], DataFrame]:
    """Return the function that matches rows with the columns of a table, and casts them."""
    if align == "name":
        return lambda rows: cast_by_name(
            rows, target.with_columns(rows.schema) if evolves else target
        )
    names = [field.name for field in target.fields]
    return lambda rows: aligned_rows(rows, names, target, evolves=evolves)


def _matching(
    df: DataFrame,
    values: Mapping[str, Any],
    convert: Callable[[DataFrame], DataFrame],
    *,
    overwrites: bool,
) -> Matching | None:
    """Return the condition of the rows to replace, by ``replaceUsing`` or ``replaceOn``."""
    columns, condition = values.get("replaceUsing"), values.get("replaceOn")
    if columns is None and condition is None:
        return None
    others = [name for name in _INCOMPATIBLE if values.get(name)]
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
    alias = values.get("targetAlias", "target")
    return Matching(columns or (), condition, alias, df, convert)
