"""A DataFrame over a list of Parquet files, with constant columns added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay._protocol.schema import Field
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.scan import by_file_index, by_paths, file_metadata, hidden_columns
from deltareplay.spark.scan.files import Files
from deltareplay.spark.session.capabilities import is_classic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def relation(
    spark: SparkSession, files: Files, fields: list[Field], *, numbered: bool = False
) -> DataFrame:
    """Return the columns of the files, and the constants.

    Args:
        spark: The session.
        files: The files, and their constants.
        fields: Columns to read, with the names in the files.
        numbered: Whether to add the position of the row in its file, as
            ``hidden_columns.ROW_NUMBER``.

    Raises:
        InvalidArgumentError: ``columns.reserved``: a column of the table is stored under a name
            that the scan uses for another column.
    """
    _check_names([*(constant.field for constant in files.constants), *fields])
    rows = by_file_index.frame(spark, files, fields) if is_classic(spark) else None
    if rows is None:
        return by_paths.frame(spark, files, fields, numbered)
    if not numbered:
        return rows
    return rows.select("*", file_metadata.field(rows, "row_index").alias(hidden_columns.ROW_NUMBER))


def _check_names(fields: list[Field]) -> None:
    """Check that the columns differ in name, also from those that joins add."""
    taken = set(hidden_columns.OF_JOINS)
    for field in fields:
        if field.key in taken:
            raise InvalidArgumentError(
                f"a column of the table is stored as {field.name}, which this scan needs as the "
                "name of another column: read the table by the format 'deltareplay', or by "
                "Snapshot.scan",
                code="columns.reserved",
            )
        taken.add(field.key)
