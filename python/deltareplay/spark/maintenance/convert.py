"""``convert``: converts a directory of Parquet files to a table; the executors read the footers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay._protocol.schema import schema_json
from deltareplay._support.arguments import checked
from deltareplay._table.convert import NO_COLUMNS
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog.table_argument import TableLike, table_of
from deltareplay.spark.executors import run
from deltareplay.spark.executors.worker import Batches, results
from deltareplay.spark.session import capabilities, internals, settings
from deltareplay.spark.writing import default_properties
from deltareplay.spark.writing.target_table import column_of, new_field

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from deltareplay._table.table import Table

#: The maximum number of footers that a task reads.
FILES_PER_TASK = 500


@dataclass(frozen=True)
class ReadSchemas:
    """Reads the footers of some files, and merges their schemas.

    Attributes:
        parts: The files of each part.
    """

    table: Table
    parts: list[Any]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the schemas of the numbered parts."""
        table = self.table.native
        return results(batches, lambda part: _native.Conversion.schema_of(table, self.parts[part]))


@dataclass(frozen=True)
class ReadStatistics:
    """Reads the footers of some files for their ``add`` actions.

    Attributes:
        parts: The files of each part.
        arguments: The arguments of ``_native.Conversion``.
        definition: The definition that it returned.
    """

    table: Table
    parts: list[Any]
    arguments: tuple[str, dict[str, str], bool]
    definition: Any

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the actions of the numbered parts."""
        table, conversion = self.table.native, _native.Conversion(*self.arguments)
        return results(
            batches, lambda part: conversion.adds(table, self.definition, self.parts[part])
        )


@checked
def convert(
    spark: SparkSession,
    table: TableLike,
    *,
    partition_schema: StructType | str | None = None,
    properties: Mapping[str, str] | None = None,
    statistics: bool = True,
) -> Table:
    """Convert a directory of Parquet files to a Delta table; the executors read the footers.

    The driver lists the directory and commits; two jobs read the footers: the first for the
    columns, the second for the statistics. Rules and results are those of ``deltareplay.convert``.

    Args:
        spark: As in ``read``.
        table: The directory: its path or URI, or a ``Table`` with storage options.
        partition_schema: The partition columns with their types, as a ``StructType`` or as DDL
            (``"day DATE, hour INT"``), in the order of the directories.
        properties: Table properties.
        statistics: Whether files get statistics. Without statistics, there is no second job.

    Returns:
        The table; if there was one already, unchanged.

    Raises:
        InvalidArgumentError: ``partition_schema`` does not parse (``convert.partition_schema``).
        UnsupportedFeatureError: Spark is older than 4.0 (``spark.too_old``); or the executors lack
            deltareplay (``spark.executors``).
        DeltaReplayError: As for ``deltareplay.convert``.

    >>> convert(spark, "s3://lake/events", partition_schema="day DATE")  # doctest: +SKIP
    Table('s3://lake/events')
    """
    capabilities.require_spark_4(spark, "converting")
    delta_table = table_of(table)
    if delta_table.native.exists():
        return delta_table
    table_properties = default_properties.with_defaults(
        settings.default_properties(spark), properties or {}
    )
    arguments = (_partition_schema(partition_schema), table_properties, statistics)
    conversion = _native.Conversion(*arguments)
    files = conversion.files(delta_table.native)
    parts = [
        files[start : start + FILES_PER_TASK] for start in range(0, len(files), FILES_PER_TASK)
    ]
    run.check(spark)
    schemas = run.results(spark, ReadSchemas(delta_table, parts), len(parts))
    first_paths = [part[0][0] for part in parts]
    definition = conversion.definition(list(zip(first_paths, schemas, strict=True)))
    if statistics:
        task = ReadStatistics(delta_table, parts, arguments, definition)
        adds = run.results(spark, task, len(parts))
    else:
        adds = [conversion.adds(delta_table.native, definition, part) for part in parts]
    conversion.commit(delta_table.native, definition, adds, True)
    return delta_table


def _partition_schema(schema: StructType | str | None) -> str:
    from pyspark.sql.types import StructType

    if schema is None:
        return NO_COLUMNS
    if isinstance(schema, str):
        try:
            schema = StructType.fromDDL(schema)
        except Exception as error:
            raise InvalidArgumentError(
                f"partition_schema is {schema!r}, which is not a list of columns such as "
                f"'day DATE, hour INT': {internals.first_line(error)}",
                code="convert.partition_schema",
            ) from error
    if not isinstance(schema, StructType):
        raise InvalidArgumentError(
            f"partition_schema takes a StructType or DDL text, not {type(schema).__name__}",
            code="convert.partition_schema",
        )
    columns = [column_of(field) for field in schema.fields]
    return schema_json([replace(new_field(field), nullable=field.nullable) for field in columns])
