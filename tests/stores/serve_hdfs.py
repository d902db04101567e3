"""HDFS as Hadoop's own test cluster: a name node and two data nodes in one JVM.

Usage: serve_hdfs.py PORT DETAILS. The cluster writes the file DETAILS when it is ready.
"""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

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
    """Return the packages and their dependencies as files: Spark downloads and caches them.

    One start at a time, as in ``tests/spark/conftest.py``: concurrent downloads corrupt the files.
    """
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    with Path(tempfile.gettempdir(), "deltareplay-spark-start").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        spark = builder.config("spark.jars.packages", ",".join(CLUSTER)).getOrCreate()
    urls = spark.sparkContext.getConf().get("spark.jars", "").split(",")
    spark.stop()
    return [urlsplit(url).path for url in urls]


main()
