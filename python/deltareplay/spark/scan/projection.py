"""Projection of data file columns to the table's columns, as Spark expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.schema.fields import FIELD_ID, Column, spark_type
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn


@dataclass(frozen=True)
class ExtraColumns:
    """The columns to add to those of the table.

    Attributes:
        row_id: The id and the commit version of each row.
        file_path: The path of the file, as in the log.
        row_index: The position of the row in its file.
        origin: For statements, under names that no table has: the file and the position of each
            row, and with ``row_id`` its id and commit version.
        metadata: Spark's ``_metadata``, as a visible column.
        metadata_ids: Whether ``_metadata`` has the ids of rows.
    """

    row_id: bool = False
    file_path: bool = False
    row_index: bool = False
    origin: bool = False
    metadata: bool = False
    metadata_ids: bool = False

    @property
    def has_ids(self) -> bool:
        """Whether row ids are needed."""
        return self.row_id or self.metadata_ids

    @property
    def numbered(self) -> bool:
        """Whether positions of rows in their files are needed."""
        return self.has_ids or self.row_index or self.origin

    @property
    def names(self) -> list[str]:
        """The names of the added columns, in the order of ``Snapshot.scan``."""
        names = []
        if self.file_path:
            names.append(hidden_columns.FILE_PATH)
        if self.row_index:
            names.append(hidden_columns.ROW_INDEX)
        if self.row_id:
            names += [hidden_columns.ROW_ID, hidden_columns.ROW_COMMIT_VERSION]
        return names


def columns(
    table_columns: list[Column], extra: ExtraColumns, materialized: tuple[str, str] | None
) -> list[SparkColumn]:
    """Return the columns of the table in order, then the additional ones.

    ``materialized`` names the columns of data files with row ids and row commit versions.
    """
    return [*map(_logical, table_columns), *_extra(extra, materialized)]


def _logical(column: Column) -> SparkColumn:
    from pyspark.sql import functions as sf

    if column.is_void:
        return sf.lit(None).alias(column.name, metadata=column.metadata_without_id)
    stored = sf.col(names.quoted(column.physical))
    if column.is_renamed_inside:
        # by position: values do not change, fields get the names of the table
        stored = stored.cast(spark_type(column.logical_type))
    if column.is_renamed_inside or column.name != column.physical or _has_other_metadata(column):
        return stored.alias(column.name, metadata=column.metadata_without_id)
    return stored


def _has_other_metadata(column: Column) -> bool:
    """Return whether the column's metadata differs from that of the relation's column."""
    return FIELD_ID in column.metadata or bool(column.is_partition and column.metadata)


def _extra(extra: ExtraColumns, materialized: tuple[str, str] | None) -> list[SparkColumn]:
    from pyspark.sql import functions as sf

    columns = []
    row_index = sf.col(hidden_columns.ROW_NUMBER)
    if extra.file_path:
        columns.append(sf.col(hidden_columns.LOG_PATH).alias(hidden_columns.FILE_PATH))
    if extra.row_index:
        columns.append(row_index.alias(hidden_columns.ROW_INDEX))
    ids = hidden_columns.ROW_ID, hidden_columns.ROW_COMMIT_VERSION
    if extra.origin:
        columns += [sf.col(hidden_columns.FILE), row_index]
        ids = hidden_columns.OLD_ROW_ID, hidden_columns.OLD_VERSION
    if extra.row_id and materialized is not None:
        columns += [
            value.alias(name) for value, name in zip(row_ids(materialized), ids, strict=True)
        ]
    return columns


def row_ids(materialized: tuple[str, str]) -> tuple[SparkColumn, SparkColumn]:
    """Return the id and the commit version of rows: those in the file, or else from the log."""
    from pyspark.sql import functions as sf

    row_id, version = (sf.col(names.quoted(name)) for name in materialized)
    default = sf.col(hidden_columns.BASE_ROW_ID) + sf.col(hidden_columns.ROW_NUMBER)
    return sf.coalesce(row_id, default), sf.coalesce(
        version, sf.col(hidden_columns.DEFAULT_VERSION)
    )
