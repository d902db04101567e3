"""``convert``: converts a directory of Parquet files to a table; the executors read the footers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay._protocol.schema import schema_json
from deltareplay._support.arguments import checked
from deltareplay._table.convert import NO_COLUMNS
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog import lookup, registration
from deltareplay.spark.catalog.table_argument import TableLike, table_of
from deltareplay.spark.executors import run
from deltareplay.spark.executors.worker import Batches, results
from deltareplay.spark.session import capabilities, internals, settings
from deltareplay.spark.syntax import names
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


def convert_identifier(
    spark: SparkSession,
    parts: Sequence[str],
    partition_schema: StructType | str | None = None,
    statistics: bool = True,
) -> Table:
    """Convert what SQL names: ``parquet.`/path```, or a Parquet table of the catalog.

    Also returns what is a table already, as delta-spark.

    Raises:
        InvalidArgumentError: ``name.parquet``: it is something else; ``convert.partition_schema``:
            the partition columns are not those of the catalog.
    """
    path = names.path_of(parts, "parquet")
    if path is not None:
        table = lookup.at_path(path)
        return convert(spark, table, partition_schema=partition_schema, statistics=statistics)
    entry = lookup.find(spark, parts)
    if entry.is_delta and entry.table().native.exists():
        return entry.table()
    is_here = len(entry.qualified_parts) < 3 or entry.qualified_parts[0] == "spark_catalog"
    is_parquet = str(entry.provider).lower() == "parquet" and is_here
    if entry.name is None or entry.location is None or not is_parquet:
        raise InvalidArgumentError(
            f"{names.dotted(parts)} is neither a directory of Parquet files, such as "
            "parquet.`/path`, nor a Parquet table in the catalog",
            code="name.parquet",
        )
    if not capabilities.is_classic(spark):
        raise InvalidArgumentError(
            f"Spark Connect cannot change the format of {entry.name} in the catalog: convert "
            f"parquet.`{entry.location}`",
            code="name.parquet",
        )
    columns = _partition_columns(spark, entry.name, partition_schema)
    table = lookup.at_path(entry.location)
    if columns.fields:
        _check_partitions(spark, entry.name, entry.location)
    convert(spark, table, partition_schema=columns, statistics=statistics)
    registration.set_format(spark, entry.name, "delta")
    return table


def _partition_columns(
    spark: SparkSession, name: str, expected: StructType | str | None
) -> StructType:
    """Return the partition columns of a table in the catalog; check those of the call."""
    from pyspark.sql.types import StructType

    partitioning = {column.name for column in spark.catalog.listColumns(name) if column.isPartition}
    fields = spark.table(name).schema.fields
    columns = StructType([field for field in fields if field.name in partitioning])
    described = columns.simpleString()
    if expected is not None and _parsed(expected).simpleString() != described:
        raise InvalidArgumentError(
            f"the partition columns of {name} are {described} in the catalog: leave them out",
            code="convert.partition_schema",
        )
    return columns


def _check_partitions(spark: SparkSession, name: str, location: str) -> None:
    """Check that the partitions that the catalog has of a table are in its directory."""
    for path in registration.partition_locations(spark, name):
        if not path.startswith(location.rstrip("/") + "/"):
            raise InvalidArgumentError(
                f"{name} has a partition at {path}, outside its directory {location}: copy the "
                "rows by CREATE TABLE ... USING delta AS SELECT",
                code="name.parquet",
            )


def _partition_schema(schema: StructType | str | None) -> str:
    if schema is None:
        return NO_COLUMNS
    columns = [column_of(field) for field in _parsed(schema).fields]
    return schema_json([replace(new_field(field), nullable=field.nullable) for field in columns])


def _parsed(schema: StructType | str) -> StructType:
    """Return a partition schema, parsed if it is text."""
    from pyspark.sql.types import StructType

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
    return schema
