"""``TRUNCATE TABLE``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.spark.dml import overwrite
from deltareplay.spark.dml.statement import DmlStatement
from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.statements.statement import SharedStatement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class Truncate(SharedStatement):
    """A ``TRUNCATE TABLE`` statement; as in delta-spark, partitions are not supported."""

    WORDS = (("TRUNCATE", "TABLE"),)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        overwrite.truncate(DmlStatement.of(spark, entry.table(), None))
        return empty_frame(spark)
