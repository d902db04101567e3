"""Rows of the change data feed that statements write beside the rows of the table.

One job writes both, so that values that are not deterministic are the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltareplay._protocol.schema import Field
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: The kinds of changed rows.
INSERT, UPDATE, DELETE = "insert", "update", "delete"


def before(fields: Sequence[Field], alias: str) -> Column:
    """Return the columns of a row before its change, as the struct ``names.BEFORE``.

    Args:
        fields: The columns of the table.
        alias: The table's name in the rows.
    """
    from pyspark.sql import functions as sf

    columns = [(field.name, sf.col(of(alias, field.name))) for field in fields]
    return sf.struct(*[column.alias(name) for name, column in columns]).alias(hidden_columns.BEFORE)


def of(alias: str, name: str) -> str:
    """Qualify a column by the alias of its frame, for ``sf.col``."""
    return f"{names.quoted(alias)}.{names.quoted(name)}"


def with_images(rows: DataFrame, fields: Sequence[Field]) -> DataFrame:
    """Return changed rows together with their images, as ``Rewrite.stage`` takes them.

    Args:
        rows: The table's columns after the change, those before it as ``names.BEFORE``, the kind
            as ``names.KIND``, and ids of rows if the table tracks them.
        fields: The columns of the table.
    """
    from pyspark.sql import functions as sf

    ids = [
        column
        for column in (hidden_columns.OLD_ROW_ID, hidden_columns.OLD_VERSION)
        if column in rows.columns
    ]

    def row(change: str | None, *, old: bool) -> Column:
        columns = []
        for field in fields:
            new = sf.col(names.quoted(field.name))
            column = sf.col(hidden_columns.BEFORE).getField(field.name) if old else new
            columns.append(column.alias(field.name))
        columns.append(sf.lit(change).cast("string").alias(hidden_columns.CHANGE))
        none = sf.lit(None).cast("bigint")
        columns += [(sf.col(name) if change is None else none).alias(name) for name in ids]
        return sf.struct(*columns)

    data = row(None, old=False)
    update = sf.array(data, row("update_preimage", old=True), row("update_postimage", old=False))
    insert = sf.array(data, row("insert", old=False))
    kind = sf.col(hidden_columns.KIND)
    written = sf.when(kind == UPDATE, update).when(kind == INSERT, insert)
    return rows.select(sf.inline(written.otherwise(sf.array(row("delete", old=True)))))


def inserted(rows: DataFrame, fields: Sequence[Field], *, tracked: bool) -> DataFrame:
    """Return new rows in the form that ``with_images`` takes.

    Args:
        rows: The table's columns.
        fields: The columns of the table.
        tracked: Whether the table has row tracking.
    """
    from pyspark.sql import functions as sf

    none = sf.lit(None).cast("bigint")
    ids = (
        [none.alias(hidden_columns.OLD_ROW_ID), none.alias(hidden_columns.OLD_VERSION)]
        if tracked
        else []
    )
    columns = [sf.col(names.quoted(field.name)).alias(field.name) for field in fields]
    before = sf.struct(*columns).alias(hidden_columns.BEFORE)  # of the same type; it is not read
    return rows.select(*columns, *ids, before, sf.lit(INSERT).alias(hidden_columns.KIND))
