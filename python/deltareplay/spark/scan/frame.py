"""The rows of a scan as a DataFrame: one branch for files with deletion vectors, one for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay._protocol.properties import property_of
from deltareplay._protocol.schema import Field, nested
from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.scan import (
    deletion_vectors,
    file_metadata,
    hidden_columns,
    partition_values,
    projection,
)
from deltareplay.spark.scan.files import Constant, located
from deltareplay.spark.scan.projection import ExtraColumns
from deltareplay.spark.scan.relation import relation
from deltareplay.spark.schema.fields import Column
from deltareplay.spark.session import capabilities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._snapshot.snapshot import Snapshot

#: The properties that name the columns of data files with row ids and row commit versions.
_MATERIALIZED = (
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
)


def frame(
    spark: SparkSession,
    snapshot: Snapshot,
    listed: pa.Table,
    columns: list[Column],
    extra: ExtraColumns,
    root: str | None,
) -> DataFrame:
    """Return all logical columns, and additional ones, of the rows of files.

    Args:
        spark: The session.
        snapshot: The version of the files.
        listed: The files, with the columns that ``listed_columns`` names; with
            ``hidden_columns.FILE``, too, if ``extra.origin``.
        columns: The columns of the table.
        extra: The additional columns.
        root: As in ``read``.
    """
    files = located(spark, snapshot.table, listed, root)
    files = files.with_constants(*_constants(spark, listed, columns, extra))
    fields = [column.physical_field() for column in columns if column.is_stored]
    materialized = materialized_columns(snapshot) if extra.has_ids else None
    if materialized is not None:
        fields += [Field(name, "long") for name in materialized]
    projected = projection.columns(columns, extra, materialized)
    has_vector = deletion_vectors.has_vector(listed)
    descriptors: list[Any] = listed.column("deletionVector").filter(has_vector).to_pylist()

    def selected(rows: DataFrame) -> DataFrame:
        if not extra.metadata:
            return rows.select(*projected)
        ids = projection.row_ids(materialized) if materialized is not None else None
        return rows.select(*projected, file_metadata.of_rows(rows, ids))

    if not descriptors:
        return selected(relation(spark, files, fields, numbered=extra.numbered))
    numbers = pa.array(range(len(descriptors)), pa.int64())
    with_vector = files.filter(has_vector).with_constants(
        Constant.of(hidden_columns.VECTOR, "long", numbers)
    )
    rows = relation(spark, with_vector, fields, numbered=True)
    remaining = deletion_vectors.without_deleted(spark, rows, snapshot, descriptors)
    without_vector = files.filter(pc.invert(has_vector))
    if len(without_vector) == 0:
        return selected(remaining)
    unchanged = relation(spark, without_vector, fields, numbered=extra.numbered)
    if extra.metadata or extra.origin:
        return selected(unchanged).union(selected(remaining))
    return file_metadata.union(spark, unchanged, remaining, projected)


def listed_columns(columns: list[Column], extra: ExtraColumns) -> list[str]:
    """Return the columns of the file listing that ``frame`` needs."""
    listed = ["path", "size", "modificationTime", "deletionVector"]
    if any(column.is_partition for column in columns):
        listed += ["partitionValues", "partitionValues_parsed"]
    if extra.has_ids:
        listed += ["baseRowId", "defaultRowCommitVersion"]
    return listed


def _constants(
    spark: SparkSession, listed: pa.Table, columns: list[Column], extra: ExtraColumns
) -> list[Constant]:
    partitions = [column for column in columns if column.is_partition]
    constants = partition_values.constants(listed, partitions, capabilities.time_zone(spark))
    added: list[tuple[str, str, str]] = []
    if extra.has_ids:
        added.append((hidden_columns.BASE_ROW_ID, "long", "baseRowId"))
        added.append((hidden_columns.DEFAULT_VERSION, "long", "defaultRowCommitVersion"))
    if extra.file_path:
        added.append((hidden_columns.LOG_PATH, "string", "path"))
    if extra.origin:
        added.append((hidden_columns.FILE, "integer", hidden_columns.FILE))
    return constants + [
        Constant.of(name, type_, listed.column(source)) for name, type_, source in added
    ]


def materialized_columns(snapshot: Snapshot) -> tuple[str, str]:
    """Return the columns of data files that hold row ids and row commit versions."""
    row_id, version = (_required(snapshot, key) for key in _MATERIALIZED)
    return row_id, version


def _required(snapshot: Snapshot, key: str) -> str:
    value = property_of(snapshot.properties, key)
    if value is None:
        raise UnsupportedFeatureError(
            f"the table tracks rows, but lacks the property '{key}'",
            code="spark.row_tracking",
            version=snapshot.version,
        )
    return value


def check_types(spark: SparkSession, columns: list[Column]) -> None:
    """Check that this version of Spark can read the types of the columns.

    Raises:
        UnsupportedFeatureError: ``spark.too_old``: variants, or types that were widened, on an
            older Spark.
    """
    if capabilities.version(spark) >= (4, 0):
        return
    for column in columns:
        if any(part.type == "variant" for part in nested([column.physical_field()])):
            reason = "is of type variant"
        elif column.is_widened:
            reason = "had a narrower type in older files (type widening)"
        else:
            continue
        raise UnsupportedFeatureError(
            f"the column {column.name} {reason}, which requires Spark 4.0 or later, and this is "
            f"{spark.version}: leave it out with columns=, or use Snapshot.scan",
            code="spark.too_old",
        )
