"""From what the files hold to what the table shows, as Spark expressions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltareplay.spark import names
from deltareplay.spark.schema import Column, field

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

    from deltareplay.spark.rows import Wanted


def columns(
    every: list[Column], wanted: Wanted, materialized: tuple[str, str] | None
) -> list[SparkColumn]:
    """The columns of the table in order, then the extra ones."""
    return [*(_shown(one) for one in every), *_extra(wanted, materialized)]


def _shown(column: Column) -> SparkColumn:
    from pyspark.sql import functions as sf

    if column.is_void:
        return sf.lit(None).alias(column.name)
    found = sf.col(names.quoted(column.physical))
    if column.is_renamed_inside:
        # by position: values stay as they are, fields get the names of the table
        found = found.cast(_type(column.logical_type))
    if column.is_renamed_inside or column.name != column.physical or _has_own(column):
        own = {key: value for key, value in column.metadata.items() if key != "parquet.field.id"}
        return found.alias(column.name, metadata=own)
    return found


def _has_own(column: Column) -> bool:
    return "parquet.field.id" in column.metadata


def _type(type_: Any) -> Any:
    from pyspark.sql.types import StructType

    text = json.dumps({"type": "struct", "fields": [field("x", type_)]})
    return StructType.fromJson(json.loads(text))[0].dataType


def _extra(wanted: Wanted, materialized: tuple[str, str] | None) -> list[SparkColumn]:
    from pyspark.sql import functions as sf

    found = []
    row_index = sf.col(names.ROW_NUMBER)
    if wanted.file_path:
        found.append(sf.col(names.LOG_PATH).alias(names.FILE_PATH))
    if wanted.row_index:
        found.append(row_index.alias(names.ROW_INDEX))
    if materialized is not None:
        row_id, version = (sf.col(names.quoted(name)) for name in materialized)
        fresh = sf.col(names.BASE_ROW_ID) + row_index
        found.append(sf.coalesce(row_id, fresh).alias(names.ROW_ID))
        default = sf.col(names.DEFAULT_VERSION)
        found.append(sf.coalesce(version, default).alias(names.ROW_COMMIT_VERSION))
    return found
