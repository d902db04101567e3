"""Every supported PySpark, classic and Connect, each in its own process."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.support.tiers import NIGHTLY
from support import samples

import deltareplay as dr

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # separate sessions

ROWS = [{"id": 1, "name": "one"}, {"id": 3, "name": "three"}]

SCHEMA = pa.schema({"id": pa.int64()})

ROOT = Path(__file__).resolve().parents[2]

#: The Pythons with PySpark, pandas and pyarrow that ``make test-spark`` creates, by version.
PYTHONS = dict(item.split("=") for item in os.environ.get("DELTAREPLAY_SPARKS", "").split())

SCRIPT = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
import deltareplay as dr
from deltareplay import spark as dr_spark

kind, events, v2, rows_of = sys.argv[1:]
builder = SparkSession.builder
if kind == "connect":  # remote("local[2]") always takes the port 15002, which others may have
    import socket
    from pyspark.sql.connect.session import SparkSession as Connected
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    Connected._start_connect_server("local[2]", {"spark.connect.grpc.binding.port": str(port)})
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    builder = Connected.builder.remote(f"sc://localhost:{port}")
else:
    builder = builder.master("local[2]")
builder = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()

def as_dicts(value):
    if hasattr(value, "asDict"):
        return {key: as_dicts(item) for key, item in value.asDict().items()}
    return dict(value) if isinstance(value, dict) else value

results = {"version": spark.version}
for way in ("driver", "executors"):
    frame = dr_spark.files(spark, events, reconcile=way)
    results[way] = sorted(json.dumps(as_dicts(row), default=str) for row in frame.collect())
columns = ["path", "stats_parsed", "partitionValues_parsed"]
results["typed"] = dr_spark.files(spark, events, columns=columns).count()

def collected(frame, *order):
    return [as_dicts(row) for row in frame.orderBy(*order).collect()]

frame = dr_spark.read(spark, rows_of)
results["read"] = collected(frame, "id")
some = dr_spark.read(spark, rows_of, filter="id > 1", columns=["name"])
results["filtered"] = collected(some, "name")
query = "SELECT a.name FROM {0} a JOIN {0} VERSION AS OF 0 b USING (id) WHERE a.id > 1"
results["queried"] = collected(dr_spark.sql(spark, query.format(f"delta.`{rows_of}`")), "name")
results["old"] = collected(dr_spark.read(spark, rows_of, version=0, with_row_index=True), "id")
results["counts"] = [dr_spark.count(spark, rows_of), frame.count()]
history = collected(dr_spark.history(spark, rows_of), "version")
results["history"] = [row["version"] for row in history]
results["detail"] = dr_spark.detail(spark, rows_of).select("format", "numFiles").first().asDict()
results["files"] = [row["path"] for row in dr_spark.files(spark, rows_of).collect()]
for way in ("full-delta", "min-delta"):
    key = None if way == "full-delta" else ["id"]
    changes = dr_spark.changes(spark, rows_of, 0, kind=way, key=key)
    changes = changes.select("id", "_change_type", "_commit_version")
    results[way] = collected(changes, "_commit_version", "id")
shuffled = dr_spark.changes(spark, rows_of, 0, kind="min-delta", key=["id"], shuffle=True)
shuffled = shuffled.select("id", "_change_type", "_commit_version")
results["shuffled"] = collected(shuffled, "_commit_version", "id")
dr_spark.create_view(spark, "some_view", rows_of)
view = spark.sql("SELECT count(*) AS rows, max(id) AS id FROM some_view")
results["view"] = as_dicts(view.first())

results["checkpoint"] = list(vars(dr_spark.write_checkpoint(spark, v2)).values())
results["plan"] = "" if kind == "connect" else frame._jdf.queryExecution().toString()

if spark.version >= "4":
    dr_spark.register(spark)
    results["format"] = collected(spark.read.format("deltareplay").load(rows_of), "id")
    rows = spark.range(3)
    rows.write.format("deltareplay").mode("append").save(v2)
    before = dict(spark.conf.getAll)
    more = spark.sql("SELECT id, timestamp_micros(id) AS at, array(id) AS a FROM range(3, 6)")
    # Connect copies sessions, for settings of the files, from 4.1 on
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    try:
        dr_spark.write(more.select("id"), v2)
        results["created"] = dr_spark.write(more, v2 + "-new", partition_columns=["at"]).version
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    copies = kind == "classic" or hasattr(spark, "cloneSession")
    results["copies"] = copies
    try:
        dr_spark.write(more, v2 + "-new")
    except dr.UnsupportedFeatureError as error:
        results["required"] = str(error)
    results["settings"] = dict(spark.conf.getAll) == before
    results["new"] = collected(dr_spark.read(spark, v2 + "-new").select("id"), "id")
    stream = spark.readStream.format("deltareplay").option("maxFilesPerTrigger", 1).load(v2)
    writer = stream.writeStream.format("deltareplay").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", v2 + "-checkpoint")
    for _ in range(2 if spark.version >= "4.2" else dr.Table(v2).snapshot().num_files + 1):
        writer.start(v2 + "-copy").awaitTermination()
    results["copied"] = dr.Table(v2 + "-copy").snapshot().scan().to_arrow()["id"].to_pylist()
    results["batches"] = dr.Table(v2 + "-copy").history().num_rows
    results["files_of_v2"] = dr.Table(v2).snapshot().num_files
    deep = dr_spark.clone(spark, rows_of, v2 + "-deep", shallow=False)
    results["deep"] = sorted(deep.snapshot().scan().to_arrow()["id"].to_pylist())
    results["vacuumed"] = list(dr_spark.vacuum(spark, deep).files)
    results["verified"] = str(dr_spark.verify(spark, deep, rows=True))
    spark.range(5).write.parquet(v2 + "-parquet/plain")
    os.makedirs(v2 + "-parquet/bad/p=1")
    with open(v2 + "-parquet/bad/p=1/x.parquet", "wb") as bad:
        bad.write(b"nonsense that is long enough")
    results["converted"] = dr_spark.convert(spark, v2 + "-parquet/plain").snapshot().num_rows
    for names in ("q LONG", "p LONG"):
        try:
            dr_spark.convert(spark, v2 + "-parquet/bad", partition_schema=names)
        except dr.DeltaReplayError as error:
            results.setdefault("codes", []).append(error.code)
else:
    for refused in (
        lambda: dr_spark.register(spark),
        lambda: dr_spark.write(spark.range(3), v2),
        lambda: dr_spark.verify(spark, rows_of, rows=True),
    ):
        try:
            refused()
        except dr.UnsupportedFeatureError as error:
            results.setdefault("refused", []).append(str(error))
print("RESULT" + json.dumps(results))
"""


def results_of(python: str, kind: str, tmp_path: Path) -> dict[str, Any]:
    log = samples.events(tmp_path / "events")
    log.checkpoint(1)
    table = dr.create_table(tmp_path / "v2", SCHEMA, (), {"delta.checkpointPolicy": "v2"})
    rows = samples.rows(tmp_path / "rows")
    command = [python, "-c", SCRIPT, kind, log.uri, str(tmp_path / "v2"), rows.uri]
    paths = [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYSPARK_PYTHON": python, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]
    assert done.returncode == 0, "\n".join(lines)
    results: dict[str, Any] = json.loads(done.stdout.split("RESULT")[1])
    files = dr.Table(log.uri).snapshot().files().to_pylist()
    expected = [dict(file, partitionValues=dict(file["partitionValues"])) for file in files]
    assert results["driver"] == results["executors"] == sorted(map(json.dumps, expected))
    assert results["typed"] == 2
    assert results["checkpoint"][0] == 0
    assert (tmp_path / "v2" / results["checkpoint"][1]).is_file()
    assert results["read"] == ROWS
    assert results["filtered"] == results["queried"] == [{"name": "three"}]
    assert [(row["name"], row["_row_index"]) for row in results["old"]] == [
        ("one", 0),
        ("two", 1),
        ("three", 2),
    ]
    assert results["counts"] == [2, 2]
    assert results["history"] == [0, 1]
    assert results["detail"] == {"format": "delta", "numFiles": 1}
    assert results["files"] == ["part-0.parquet"]
    assert [tuple(row.values()) for row in results["full-delta"]] == [
        (1, "insert", 0),
        (2, "insert", 0),
        (3, "insert", 0),
        (2, "delete", 1),
    ]
    assert results["shuffled"] == results["min-delta"]
    assert [tuple(row.values()) for row in results["min-delta"]] == [
        (1, "insert", 0),
        (3, "insert", 0),
    ]
    assert results["view"] == {"rows": 2, "id": 3}
    results["rows"] = table.snapshot().scan().to_arrow()["id"].to_pylist()
    return results


# during the day, only PySpark 3.5 runs in a classic session
@pytest.mark.parametrize("kind", ["classic", "connect"] if NIGHTLY else ["connect"])
@pytest.mark.parametrize("version", ["4.0", "4.1", "4.2", "4.3"])
def test_pyspark_4(tmp_path: Path, version: str, kind: str) -> None:
    results = results_of(python(version), kind, tmp_path)
    assert results["version"].startswith(f"{version}.")
    assert sorted(results["rows"]) == [0, 1, 2, 3, 4, 5]
    assert results["format"] == ROWS
    assert "Python" not in results["plan"]
    assert results["settings"], "settings of the session have changed"
    assert results["created"] == 0
    once = [{"id": number} for number in range(3, 6)]
    if results["copies"]:
        assert results["new"] == sorted(once * 2, key=lambda row: row["id"])
    else:
        assert results["new"] == once
        assert "spark.sql.parquet.outputTimestampType = TIMESTAMP_MICROS" in results["required"]
    assert sorted(results["copied"]) == [0, 1, 2, 3, 4, 5]
    assert results["batches"] == results["files_of_v2"] > 1
    assert (results["deep"], results["vacuumed"], results["converted"]) == ([1, 3], [], 5)
    assert "nothing is wrong" in results["verified"]
    assert results["codes"] == ["convert.partition", "data.footer"]  # of the driver, of a task


def test_pyspark_3_5(tmp_path: Path) -> None:
    results = results_of(python("3.5"), "classic", tmp_path)
    assert results["version"].startswith("3.5.")
    assert len(results["refused"]) == 3
    assert all("needs" in item or "4.0" in item for item in results["refused"])
    assert results["rows"] == []


def python(version: str) -> str:
    if version not in PYTHONS:
        pytest.skip(f"DELTAREPLAY_SPARKS names no Python with PySpark {version}")
    return PYTHONS[version]
