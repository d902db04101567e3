"""Write the sample table ``demo/orders`` with Spark and delta-spark.

Run it only to write the table again: ``python demo/make_table.py demo/orders``. It needs the
dependency group ``spark-tests``. Rows are the same every time; file names, commit times and ids
are not.

The table has eight versions: created and filled by appends, one ``DELETE`` that marks rows in a
deletion vector, a classic checkpoint at version 5, then an ``UPDATE`` and one more append after it.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from delta import DeltaTable, configure_spark_with_delta_pip
from pyspark.sql import SparkSession

SCHEMA = "id BIGINT, customer STRING, amount DECIMAL(10,2), placed_at TIMESTAMP, country STRING"
COUNTRIES = ("DE", "FR", "PT")


def rows(spark: SparkSession, first: int, count: int):
    """Return ``count`` orders from number ``first`` on, spread over the countries."""
    countries = ", ".join(f"'{name}'" for name in COUNTRIES)
    return spark.range(first, first + count).selectExpr(
        "id",
        "concat('customer ', id % 7) AS customer",
        "CAST(id * 3.25 AS DECIMAL(10,2)) AS amount",
        "timestamp_seconds(1767225600 + id * 3600) AS placed_at",
        f"element_at(array({countries}), CAST(id % {len(COUNTRIES)} AS INT) + 1) AS country",
    )


def main(target: Path) -> None:
    """Write the table at ``target``, replacing what exists there."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("deltareplay sample table")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
    )
    spark = configure_spark_with_delta_pip(builder).getOrCreate()
    shutil.rmtree(target, ignore_errors=True)
    uri = str(target.resolve())

    spark.sql(
        f"CREATE TABLE delta.`{uri}` ({SCHEMA}) USING delta PARTITIONED BY (country) "
        "COMMENT 'Orders of a small shop' TBLPROPERTIES "
        "('delta.enableDeletionVectors' = 'true', 'delta.enableInCommitTimestamps' = 'true', "
        "'delta.checkpointInterval' = '5')"
    )  # version 0
    for first in (0, 60, 120):  # versions 1 to 3
        rows(spark, first, 60).coalesce(1).write.format("delta").mode("append").save(uri)
    table = DeltaTable.forPath(spark, uri)
    table.delete("country = 'DE' AND id < 30")  # version 4: a deletion vector
    rows(spark, 180, 60).coalesce(1).write.format("delta").mode("append").save(uri)  # 5: checkpoint
    table.update("id = 100", {"amount": "0"})  # version 6: a second deletion vector, one new file
    rows(spark, 240, 30).coalesce(1).write.format("delta").mode("append").save(uri)  # version 7
    spark.stop()

    for path in target.rglob(".*.crc"):  # checksums of the local file system, not of Delta
        path.unlink()
    (target / "_delta_log" / "_staged_commits").rmdir()  # an empty directory for catalogs


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_table.py TARGET_DIRECTORY (it is replaced)")
    main(Path(sys.argv[1]))
