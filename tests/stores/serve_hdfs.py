"""HDFS as Hadoop's own test cluster: a name node and two data nodes in one JVM.

Usage: serve_hdfs.py PORT DETAILS. The cluster writes the file DETAILS when it is ready.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import locks

CLUSTER = (
    "org.apache.hadoop:hadoop-client-minicluster:3.5.0",
    "org.junit.jupiter:junit-jupiter-api:5.13.4",  # required by the cluster, but not declared
)


def main() -> None:
    port, details = sys.argv[1:]
    command = ["java", "-cp", ":".join(jars())]
    command += ["org.apache.hadoop.test.MiniDFSClusterManager", "-format", "-nnport", port]
    command += ["-datanodes", "2", "-writeDetails", details, "-D", "dfs.permissions.enabled=false"]
    os.execvp("java", command)


def jars() -> list[str]:
    """Return the jars of the cluster and its dependencies; Spark downloads and caches them."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    with locks.exclusive(locks.SPARK_START):
        spark = builder.config("spark.jars.packages", ",".join(CLUSTER)).getOrCreate()
    urls = spark.sparkContext.getConf().get("spark.jars", "").split(",")
    spark.stop()
    return [urlsplit(url).path for url in urls]


main()
