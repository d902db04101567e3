"""A session without keys, and a store that only accepts keys that a catalog vends.

``python vended.py classic|connect|renewing DIRECTORY`` prints its results as JSON after ``RESULT``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark.conftest import connected
from stores import servers
from support import locks
from support.unity_server import UnityServer

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable
from deltareplay.spark.storage.credentials import REDACTION_PATTERN, REDACTION_SETTING

NAME = "uc://main.sales.orders"
KEY, SECRET, TOKEN = "vended-key", "vended-hush-secret", "vended-session-token"
CATALOG_TOKEN = "catalog-hush-token"

#: The version of the SDK that S3A needs, by the version of Hadoop.
SDKS = {"3.4.1": "2.29.52", "3.4.2": "2.29.52", "3.5.0": "2.35.4"}
#: The parts of the SDK that S3A needs for this, 14 MB; all of them are 690 MB.
PARTS = ("s3", "s3-transfer-manager", "sts", "apache-client")


def jars(*more: str) -> dict[str, str]:
    """Return the options that make Spark download S3A, and other packages."""
    import pyspark

    found = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    hadoop = next(found).stem.rpartition("-")[2]
    packages = [f"org.apache.hadoop:hadoop-aws:{hadoop}"]
    packages += [f"software.amazon.awssdk:{part}:{SDKS[hadoop]}" for part in PARTS]
    excludes = [f"software.amazon.awssdk:{item}" for item in ("bundle", "netty-nio-client")]
    excludes += [f"com.fasterxml.jackson.core:jackson-{item}" for item in _JACKSON]
    excludes += ["org.wildfly.openssl:wildfly-openssl"]
    excludes += ["org.apache.logging.log4j:log4j-slf4j2-impl", "org.apache.logging.log4j:log4j-api"]
    return {
        "spark.jars.packages": ",".join([*packages, *more]),
        "spark.jars.excludes": ",".join(excludes),
    }


#: Modules of Jackson, which Spark has.
_JACKSON = ("annotations", "core", "databind")
#: Unity Catalog's own classes, which renew credentials.
RENEWING = "io.unitycatalog:unitycatalog-hadoop:0.6.0"


def session(kind: str, directory: Path, endpoint: str) -> Any:
    """Start a session with full logging and the address of the store."""
    events = directory / "events"
    events.mkdir()
    settings = {
        **jars(*([RENEWING] if kind == "renewing" else [])),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.log.level": "INFO",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.maxPlanStringLength": "1000000",
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        # keys of another user of the bucket, which must not be used
        f"spark.hadoop.fs.s3a.bucket.{servers.BUCKET}.access.key": "own",
        f"spark.hadoop.fs.s3a.bucket.{servers.BUCKET}.secret.key": "own",
    }
    with locks.exclusive(locks.SPARK_START):
        if kind == "connect":
            return connected(settings)
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def results_of(spark: Any, kind: str, server: UnityServer) -> dict[str, Any]:
    """Return the results of the session, step by step."""
    before = dict(spark.conf.getAll)
    result: dict[str, Any] = {}
    properties = {"delta.enableChangeDataFeed": "true"}
    if kind == "connect":
        result["refused"] = failure(lambda: dr_spark.write(spark.range(10), NAME))
        spark.conf.set(REDACTION_SETTING, REDACTION_PATTERN)
        before[REDACTION_SETTING] = REDACTION_PATTERN
    dr_spark.write(spark.range(10), NAME, properties=properties)
    dr_spark.write(spark.range(10, 12), NAME)
    result["written"] = ids(dr_spark.read(spark, NAME))
    dr_spark.delete(spark, NAME, "id < 3")
    orders = DeltaTable.forPath(spark, NAME)
    orders.update("id = 3", {"id": "id + 100"})
    source = spark.range(4, 10).where("rand() < 2")  # nondeterministic, as far as Spark knows
    merge = orders.alias("t").merge(source.alias("s"), "t.id = s.id + 4")
    merge.whenMatchedDelete().whenNotMatchedInsertAll().execute()
    result["changed"] = ids(orders.toDF())
    changes = dr_spark.changes(spark, NAME, 2)
    result["changes"] = sorted(row._change_type for row in changes.collect())
    result["old"] = ids(dr_spark.read(spark, NAME, version=0))
    dr_spark.register(spark)
    result["format"] = ids(spark.read.format("deltareplay").load(NAME))
    result["verified"] = str(dr_spark.verify(spark, NAME, rows=True))
    frame = dr_spark.read(spark, NAME)
    result["plans"] = explained(frame)
    root = dr.Table(NAME).uri.replace("s3:", "s3a:")
    result["own"] = failure(lambda: dr_spark.read(spark, NAME, root=root).count())
    server.lifetime = 2.0
    frame = dr_spark.read(spark, NAME)
    time.sleep(2.1)
    result["expired"] = failure(frame.count)
    result["settings"] = dict(spark.conf.getAll) == before
    return result


def renewed(spark: Any, server: UnityServer, accepted: Path) -> dict[str, Any]:
    """Return the results of a session whose DataFrames outlive the keys of their creation."""
    dr_spark.write(spark.range(10), NAME)
    dr_spark.write(spark.range(10, 12), NAME)  # an existing table
    frame = dr_spark.read(spark, NAME)
    result: dict[str, Any] = {"first": ids(frame), "file": frame.inputFiles()[0]}
    server.vended = {**(server.vended or {}), "s3.session-token": f"{TOKEN}-2"}
    accepted.write_text(f"{KEY} {TOKEN}-2\n")
    time.sleep(3.1)
    result["later"] = ids(frame)
    dr_spark.update(spark, NAME, "id = 3", {"id": "id + 100"})
    result["changed"] = ids(dr_spark.read(spark, NAME))
    result["plans"] = explained(frame)
    server.lifetime = 3600.0
    snapshot = dr.Table(NAME).snapshot()
    server.faults.append(("GET .*/credentials", "PermissionDeniedException", "before"))
    result["denied"] = failure(lambda: dr_spark.read(spark, snapshot))
    return result


def failure(call: Callable[[], object]) -> str:
    """Return the error of a call; empty if there is none."""
    try:
        call()
    except Exception as error:
        code = getattr(error, "code", "") or ""
        return f"{type(error).__name__} {code}: {error}"[:5000]
    return ""


def explained(frame: Any) -> str:
    """Return everything that Spark displays of a plan."""
    displayed = io.StringIO()
    with contextlib.redirect_stdout(displayed):
        for mode in ("extended", "formatted", "codegen"):
            frame.explain(mode=mode)
    if hasattr(frame, "_jdf"):
        execution = frame._jdf.queryExecution()
        displayed.write(execution.toString() + execution.analyzed().toJSON())
    return displayed.getvalue() + repr(frame) + repr(getattr(frame, "_plan", ""))


def main(kind: str, directory: Path) -> None:
    warnings.simplefilter("ignore")
    accepted = directory / "accepted"
    accepted.write_text(f"maker\n{KEY} {TOKEN}\n")
    server = UnityServer(directory)
    server.tokens = {CATALOG_TOKEN}
    server.vended = {
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.session-token": TOKEN,
    }
    with servers.moto(accepted) as store:
        server.location = f"{store.root}/orders"
        os.environ |= {
            "UNITY_CATALOG_URI": server.uri,
            "UNITY_CATALOG_TOKEN": CATALOG_TOKEN,
            "AWS_ENDPOINT_URL": store.options["aws_endpoint"],
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        spark = session(kind, directory, store.options["aws_endpoint"])
        if kind == "renewing":
            server.lifetime = 3.0
            result = renewed(spark, server, accepted)
        else:
            result = results_of(spark, kind, server)
        print("RESULT" + json.dumps(result))
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
