"""A session without keys, and a store that takes those that a catalog vends, and no others.

``python vended.py classic|connect|renewing DIRECTORY`` prints what it saw as JSON, after ``TOLD``.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark.conftest import connected
from stores import servers
from support.unity_server import UnityServer

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable
from deltareplay.spark.storage.credentials import REDACTION, REDACTS

NAME = "uc://main.sales.orders"
KEY, SECRET, TOKEN = "vended-key", "vended-hush-secret", "vended-session-token"
OF_CATALOG = "catalog-hush-token"

#: By the Hadoop of a PySpark, an SDK that its S3A works with.
SDKS = {"3.4.1": "2.29.52", "3.4.2": "2.29.52", "3.5.0": "2.35.4"}
#: The parts of the SDK that S3A needs for this, 14 MB; all of them are 690 MB.
PARTS = ("s3", "s3-transfer-manager", "sts", "apache-client")


def jars(*more: str) -> dict[str, str]:
    """What makes Spark fetch S3A, and more."""
    import pyspark

    found = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    hadoop = next(found).stem.rpartition("-")[2]
    packages = [f"org.apache.hadoop:hadoop-aws:{hadoop}"]
    packages += [f"software.amazon.awssdk:{part}:{SDKS[hadoop]}" for part in PARTS]
    excludes = [f"software.amazon.awssdk:{one}" for one in ("bundle", "netty-nio-client")]
    excludes += [f"com.fasterxml.jackson.core:jackson-{one}" for one in _JACKSON]
    excludes += ["org.wildfly.openssl:wildfly-openssl"]
    excludes += ["org.apache.logging.log4j:log4j-slf4j2-impl", "org.apache.logging.log4j:log4j-api"]
    return {
        "spark.jars.packages": ",".join([*packages, *more]),
        "spark.jars.excludes": ",".join(excludes),
    }


#: Parts that Spark brings.
_JACKSON = ("annotations", "core", "databind")
#: Unity Catalog's own classes, which renew credentials.
RENEWING = "io.unitycatalog:unitycatalog-hadoop:0.6.0"


def session(kind: str, directory: Path, endpoint: str) -> Any:
    """A session that logs all it can, and knows where the store is."""
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
        # of another user of the bucket: not to be used
        f"spark.hadoop.fs.s3a.bucket.{servers.BUCKET}.access.key": "own",
        f"spark.hadoop.fs.s3a.bucket.{servers.BUCKET}.secret.key": "own",
    }
    with Path(tempfile.gettempdir(), "deltareplay-spark-start").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if kind == "connect":
            return connected(settings)
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def told(spark: Any, kind: str, server: UnityServer) -> dict[str, Any]:
    """What the session saw, step by step."""
    before = dict(spark.conf.getAll)
    found: dict[str, Any] = {}
    properties = {"delta.enableChangeDataFeed": "true"}
    if kind == "connect":
        found["refused"] = failure(lambda: dr_spark.write(spark.range(10), NAME))
        spark.conf.set(REDACTION, REDACTS)
        before[REDACTION] = REDACTS
    dr_spark.write(spark.range(10), NAME, properties=properties)
    dr_spark.write(spark.range(10, 12), NAME)
    found["written"] = ids(dr_spark.read(spark, NAME))
    dr_spark.delete(spark, NAME, "id < 3")
    orders = DeltaTable.forPath(spark, NAME)
    orders.update("id = 3", {"id": "id + 100"})
    source = spark.range(4, 10).where(
        "rand() < 2"
    )  # has other rows each time, for all that is known
    merge = orders.alias("t").merge(source.alias("s"), "t.id = s.id + 4")
    merge.whenMatchedDelete().whenNotMatchedInsertAll().execute()
    found["changed"] = ids(orders.toDF())
    changes = dr_spark.changes(spark, NAME, 2)
    found["changes"] = sorted(row._change_type for row in changes.collect())
    found["old"] = ids(dr_spark.read(spark, NAME, version=0))
    dr_spark.register(spark)
    found["format"] = ids(spark.read.format("deltareplay").load(NAME))
    found["verified"] = str(dr_spark.verify(spark, NAME, rows=True))
    frame = dr_spark.read(spark, NAME)
    found["plans"] = explained(frame)
    root = dr.Table(NAME).uri.replace("s3:", "s3a:")
    found["own"] = failure(lambda: dr_spark.read(spark, NAME, root=root).count())
    server.lifetime = 2.0
    frame = dr_spark.read(spark, NAME)
    time.sleep(2.1)
    found["expired"] = failure(frame.count)
    found["settings"] = dict(spark.conf.getAll) == before
    return found


def renewed(spark: Any, server: UnityServer, accepted: Path) -> dict[str, Any]:
    """Frames outlive the keys with which they were made."""
    dr_spark.write(spark.range(10), NAME)
    dr_spark.write(spark.range(10, 12), NAME)  # a table that is there, by the classes, too
    frame = dr_spark.read(spark, NAME)
    found: dict[str, Any] = {"first": ids(frame), "file": frame.inputFiles()[0]}
    server.vended = {**(server.vended or {}), "s3.session-token": f"{TOKEN}-2"}
    accepted.write_text(f"{KEY} {TOKEN}-2\n")
    time.sleep(3.1)
    found["later"] = ids(frame)
    dr_spark.update(spark, NAME, "id = 3", {"id": "id + 100"})
    found["changed"] = ids(dr_spark.read(spark, NAME))
    found["plans"] = explained(frame)
    server.lifetime = 3600.0
    snapshot = dr.Table(NAME).snapshot()
    server.faults.append(("GET .*/credentials", "PermissionDeniedException", "before"))
    found["denied"] = failure(lambda: dr_spark.read(spark, snapshot))
    return found


def failure(call: Callable[[], object]) -> str:
    """How a call fails; nothing if it does not."""
    try:
        call()
    except Exception as error:
        code = getattr(error, "code", "") or ""
        return f"{type(error).__name__} {code}: {error}"[:5000]
    return ""


def explained(frame: Any) -> str:
    """All that Spark shows of a plan."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        for mode in ("extended", "formatted", "codegen"):
            frame.explain(mode=mode)
    if hasattr(frame, "_jdf"):
        execution = frame._jdf.queryExecution()
        shown.write(execution.toString() + execution.analyzed().toJSON())
    return shown.getvalue() + repr(frame) + repr(getattr(frame, "_plan", ""))


def main(kind: str, directory: Path) -> None:
    warnings.simplefilter("ignore")
    accepted = directory / "accepted"
    accepted.write_text(f"maker\n{KEY} {TOKEN}\n")
    server = UnityServer(directory)
    server.tokens = {OF_CATALOG}
    server.vended = {
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.session-token": TOKEN,
    }
    with servers.moto(accepted) as store:
        server.location = f"{store.root}/orders"
        os.environ |= {
            "UNITY_CATALOG_URI": server.uri,
            "UNITY_CATALOG_TOKEN": OF_CATALOG,
            "AWS_ENDPOINT_URL": store.options["aws_endpoint"],
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        spark = session(kind, directory, store.options["aws_endpoint"])
        if kind == "renewing":
            server.lifetime = 3.0
            found = renewed(spark, server, accepted)
        else:
            found = told(spark, kind, server)
        print("TOLD" + json.dumps(found))
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
