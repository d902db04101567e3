"""Tables in a Hive Metastore, as Spark, Hive and others leave them.

``python hive_tables.py URI DIRECTORY``: a Spark session with delta-spark and this metastore writes
them; entries that Spark cannot write are written by Hive's own client.
"""

from __future__ import annotations

import sys
from typing import Any

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def main(uri: str, directory: str) -> None:
    settings = {
        **DELTA,
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={directory}",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{directory}/warehouse",
        "spark.hadoop.hive.metastore.uris": uri,
    }
    builder = configure_spark_with_delta_pip(SparkSession.builder.master("local[1]"))
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    external = f"{directory}/a b%20c"
    for statement in (
        "CREATE DATABASE sales",
        "CREATE TABLE sales.managed USING delta AS SELECT 1L AS id",
        f"CREATE TABLE sales.external USING delta LOCATION 'file:{external}' AS SELECT 2L AS id",
        "CREATE TABLE sales.partitioned (id LONG, day STRING) USING delta PARTITIONED BY (day)",
        "INSERT INTO sales.partitioned VALUES (3, 'a'), (4, 'b')",
        f"CREATE TABLE sales.`Big` USING delta LOCATION '{directory}/big' AS SELECT 5L AS id",
        "ALTER TABLE sales.big RENAME TO sales.renamed",
        # the statement for Presto
        "CREATE EXTERNAL TABLE sales.symlinks (id BIGINT) STORED AS INPUTFORMAT "
        "'org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat' OUTPUTFORMAT "
        "'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat' "
        f"LOCATION '{directory}/big/_symlink_format_manifest'",
        "CREATE TABLE sales.parquet USING parquet AS SELECT 1 AS id",
        "CREATE TABLE sales.orc (id INT) STORED AS ORC",
        "CREATE VIEW sales.seen AS SELECT * FROM sales.managed",
    ):
        spark.sql(statement)
    api = spark._jvm.org.apache.hadoop.hive
    configuration = api.conf.HiveConf()
    configuration.set("hive.metastore.uris", uri)
    client = api.metastore.HiveMetaStoreClient(configuration)
    path = f"file:{external}"
    register(client, "athena", path, {"EXTERNAL": "TRUE", "table_type": "DELTA"}, {})
    provider = {"EXTERNAL": "TRUE", "spark.sql.sources.provider": "DELTA"}
    register(client, "trino", path, provider, {"path": path, "serialization.format": "1"})
    client.close()
    spark.stop()


def register(
    client: Any, name: str, path: str, parameters: dict[str, str], serde: dict[str, str]
) -> None:
    """Create an entry as another writer does, by Hive's own client."""
    table = client.getTable("sales", "orc")
    table.setTableName(name)
    table.setTableType("EXTERNAL_TABLE")
    table.setParameters(parameters)
    table.getSd().setLocation(path)
    table.getSd().getSerdeInfo().setParameters(serde)
    client.createTable(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
