"""``deltareplay.spark.optimize`` and delta-spark's OPTIMIZE and REORG on copies of one table."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spark.support.comparison import texts_by_delta_spark
from spark.support.delta_spark_logs import properties
from spark.support.settings import conf
from spark.support.tiers import NIGHTLY, pairs

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

TESTS = Path(__file__).resolve().parents[1]

ROWS = """SELECT id, id % 3 AS p, id * 7919 % 4096 AS x, concat('t', id * 31 % 512) AS y,
  IF(id % 10 = 0, NULL, id / 4) AS v, named_struct('a', id, 'b', array(id)) AS s
FROM range({start}, {end})"""


def filled(
    spark: Any, path: Path, clauses: str = "", files: int = 4, rows: int = 2000, **options: str
) -> None:
    """Write a table by delta-spark, with one insert for each file."""
    columns = "id LONG, p LONG, x LONG, y STRING, v DOUBLE, s STRUCT<a: LONG, b: ARRAY<LONG>>"
    more = properties(**options) if options else ""
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta {clauses} {more}")
    for file in range(files):
        start, end = file * rows, file * rows + rows
        frame = spark.sql(ROWS.format(start=start, end=end)).coalesce(1)
        frame.write.format("delta").mode("append").save(str(path))


def both(spark: Any, tmp_path: Path, *given: Any, **more: Any) -> tuple[Path, Path]:
    """Create two copies of one table: for delta-spark, and for us."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    filled(spark, theirs, *given, **more)
    shutil.copytree(theirs, ours)
    return theirs, ours


def last(path: Path) -> dict[str, Any]:
    """Return the ``commitInfo`` of the newest version."""
    table = dr.Table(path)
    log = path / "_delta_log" / f"{table.snapshot().version:020}.json"
    lines = map(json.loads, log.read_text().splitlines())
    return next(line["commitInfo"] for line in lines if "commitInfo" in line)


def files_of(path: Path) -> list[tuple[Any, ...]]:
    """Return partition and rows of each live file, from the log."""
    files = dr.Table(path).snapshot().files().to_pylist()
    return sorted(
        (str(file["partitionValues"]), json.loads(file["stats"])["numRecords"]) for file in files
    )


def alike(spark: Any, theirs: Path, ours: Path) -> None:
    """Check that rows, operation, parameter and metric names, and metrics of files are equal."""
    assert texts_by_delta_spark(spark, ours) == texts_by_delta_spark(spark, theirs)
    commit, expected = last(ours), last(theirs)
    assert commit["operation"] == expected["operation"]
    assert set(commit["operationMetrics"]) == set(expected["operationMetrics"])
    assert commit["operationParameters"].keys() == expected["operationParameters"].keys()
    same = ("numRemovedFiles", "numAddedFiles", "numRemovedBytes", "numDeletionVectorsRemoved")
    for name in same:
        assert commit["operationMetrics"][name] == expected["operationMetrics"][name], name
    displayed = spark.sql(f"DESCRIBE HISTORY delta.`{ours}`").orderBy("version", ascending=False)
    assert displayed.first().operationMetrics == commit["operationMetrics"]


@pytest.mark.slow  # many small files, twice
@pytest.mark.parametrize(("partitioned", "vectors"), pairs([False, True], ["true", "false"]))
def test_packing_as_delta_spark_does(
    spark: Any, partitioned: bool, vectors: str, tmp_path: Path
) -> None:
    clauses = "PARTITIONED BY (p)" if partitioned else ""
    options = {"enableRowTracking": "true", "enableDeletionVectors": vectors}
    theirs, ours = both(spark, tmp_path, clauses, rows=500, **options)
    for path in (theirs, ours):
        spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 50 = 7")
    ids = ["_metadata.row_id", "_metadata.row_commit_version"]
    before = texts_by_delta_spark(spark, ours, *ids)
    where = " WHERE p = 1" if partitioned else ""
    spark.sql(f"OPTIMIZE delta.`{theirs}`{where}")
    done = dr_spark.optimize(spark, ours, where="p = 1" if partitioned else None)
    assert done.version == dr.Table(ours).snapshot().version
    alike(spark, theirs, ours)
    assert files_of(ours) == files_of(theirs)
    assert texts_by_delta_spark(spark, ours, *ids) == before
    parameters = last(ours)["operationParameters"]
    if not partitioned:
        assert parameters == last(theirs)["operationParameters"]
    again = dr_spark.optimize(spark, ours, where="p = 1" if partitioned else None)
    assert again.version is None
    assert spark.sql(f"OPTIMIZE delta.`{ours}`{where}").first().metrics.numFilesRemoved == 0


@pytest.mark.slow
def test_bins_are_those_of_delta_spark(spark: Any, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    filled(spark, theirs, files=0)
    for number, rows in enumerate((9000, 100, 3000, 500, 5000, 200, 7000, 50)):
        frame = spark.sql(ROWS.format(start=number * 10_000, end=number * 10_000 + rows))
        frame.coalesce(1).write.format("delta").mode("append").save(str(theirs))
    shutil.copytree(theirs, ours)
    sizes = dr.Table(ours).snapshot().files()["size"].to_pylist()
    target = max(sizes) - 1
    limits = {
        "spark__databricks__delta__optimize__minFileSize": str(target),
        "spark__databricks__delta__optimize__maxFileSize": str(target),
    }
    with conf(spark, **limits):
        spark.sql(f"OPTIMIZE delta.`{theirs}`")
    dr_spark.optimize(spark, ours, target_file_size=target)
    alike(spark, theirs, ours)
    assert files_of(ours) == files_of(theirs)


@pytest.mark.slow
def test_purging_as_delta_spark_does(spark: Any, tmp_path: Path) -> None:
    options = {"enableDeletionVectors": "true", "columnMapping__mode": "name"}
    theirs, ours = both(spark, tmp_path, **options)
    for path in (theirs, ours):
        spark.sql(f"DELETE FROM delta.`{path}` WHERE id IN (1, 5000)")
    spark.sql(f"REORG TABLE delta.`{theirs}` APPLY (PURGE)")
    done = dr_spark.optimize(spark, ours, purge=True)
    assert done.metrics["numDeletionVectorsRemoved"] == 2
    alike(spark, theirs, ours)
    assert last(ours)["operationParameters"] == last(theirs)["operationParameters"]
    assert dr.Table(ours).snapshot().files()["deletionVector"].to_pylist() == [None] * 3
    for path in (theirs, ours):
        spark.sql(f"ALTER TABLE delta.`{path}` DROP COLUMN v")
    spark.sql(f"REORG TABLE delta.`{theirs}` APPLY (PURGE)")
    dr_spark.optimize(spark, ours, purge=True)
    assert texts_by_delta_spark(spark, ours) == texts_by_delta_spark(spark, theirs)
    for name in ("numRemovedFiles", "numAddedFiles", "numDeletionVectorsRemoved"):
        assert last(ours)["operationMetrics"][name] == last(theirs)["operationMetrics"][name]


ORDERS = [["x", "y"], ["x"], ["s.a", "v", "y"]]


@pytest.mark.parametrize("columns", ORDERS, ids="-".join)
def test_z_order_as_delta_spark_does(spark: Any, columns: list[str], tmp_path: Path) -> None:
    theirs, ours = both(spark, tmp_path, enableRowTracking="true")
    ids = ["_metadata.row_id", "_metadata.row_commit_version"]
    before = texts_by_delta_spark(spark, ours, *ids)
    size = dr.Table(ours).snapshot().size_in_bytes
    with conf(spark, spark__databricks__delta__optimize__maxFileSize=str(size // 8 + 1)):
        spark.sql(f"OPTIMIZE delta.`{theirs}` ZORDER BY ({', '.join(columns)})")
    dr_spark.optimize(spark, ours, z_order_by=columns, target_file_size=size // 8 + 1)
    alike(spark, theirs, ours)
    assert last(ours)["operationParameters"] == last(theirs)["operationParameters"]
    assert texts_by_delta_spark(spark, ours, *ids) == before
    assert sorted(path.name for path in ours.iterdir() if path.is_dir()) == ["_delta_log"]

    def width(path: Path) -> int:
        stats = map(json.loads, dr.Table(path).snapshot().files()["stats"].to_pylist())
        return sum(entry["maxValues"]["x"] - entry["minValues"]["x"] for entry in stats)

    if "x" in columns:
        assert width(ours) <= width(theirs) * 1.1


def test_clustering_as_delta_spark_does(spark: Any, tmp_path: Path) -> None:
    theirs, ours = both(spark, tmp_path, "CLUSTER BY (x, y)", rows=500)
    spark.sql(f"OPTIMIZE delta.`{theirs}`")
    dr_spark.optimize(spark, ours)
    alike(spark, theirs, ours)
    assert last(ours)["operationParameters"] == last(theirs)["operationParameters"]
    for path in (theirs, ours):
        [file] = dr.Table(path).snapshot().files().to_pylist()
        assert file["clusteringProvider"] == "liquid"
        assert {name for name, _ in file["tags"]} == {"ZCUBE_ID", "ZCUBE_ZORDER_BY"}
        detail = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").first()
        assert detail.clusteringColumns == ["x", "y"]
        # files that one has clustered are not rewritten by the other
        version = dr.Table(path).snapshot().version
        assert dr_spark.optimize(spark, path).version is None
        spark.sql(f"OPTIMIZE delta.`{path}`")
        assert dr.Table(path).snapshot().version == version
        frame = spark.sql(ROWS.format(start=90_000, end=90_100)).coalesce(1)
        frame.write.format("delta").mode("append").save(str(path))
    spark.sql(f"OPTIMIZE delta.`{ours}`")
    dr_spark.optimize(spark, theirs)
    assert texts_by_delta_spark(spark, ours) == texts_by_delta_spark(spark, theirs)
    assert dr.Table(theirs).snapshot().num_files == dr.Table(ours).snapshot().num_files == 1


def test_full_clusters_files_of_other_columns_again(spark: Any, tmp_path: Path) -> None:
    theirs, ours = both(spark, tmp_path, "CLUSTER BY (x)", rows=500)
    stats: dict[Path, list[tuple[int, ...]]] = {theirs: [], ours: []}
    for path, sql in (theirs, spark.sql), (ours, lambda text: dr_spark.sql(spark, text)):

        def optimize(full: str = "", path: Path = path, sql: Any = sql) -> None:
            [row] = sql(f"OPTIMIZE delta.`{path}` {full}").collect()
            cubes = row.metrics.clusteringStats
            files = cubes.inputZCubeFiles, cubes.inputOtherFiles, cubes.mergedFiles
            numbers = cubes.inputNumZCubes, cubes.numOutputZCubes
            stats[path].append((*(part.numFiles for part in files), *numbers))

        optimize()
        spark.sql(f"ALTER TABLE delta.`{path}` CLUSTER BY (y)")
        version = dr.Table(path).snapshot().version
        optimize()
        assert dr.Table(path).snapshot().version == version
        optimize("FULL")
        assert dr.Table(path).snapshot().version == version + 1
        [file] = dr.Table(path).snapshot().files().to_pylist()
        assert dict(file["tags"])["ZCUBE_ZORDER_BY"] == '["y"]'
        optimize("FULL")
        assert dr.Table(path).snapshot().version == version + 1
        frame = spark.sql(ROWS.format(start=90_000, end=90_100)).coalesce(1)
        frame.write.format("delta").mode("append").save(str(path))
        optimize()
    assert stats[ours] == stats[theirs]
    assert texts_by_delta_spark(spark, ours) == texts_by_delta_spark(spark, theirs)
    assert last(ours)["operationParameters"] == last(theirs)["operationParameters"]


def test_one_machine_and_executors_do_the_same(spark: Any, tmp_path: Path) -> None:
    first, other = both(spark, tmp_path, "PARTITIONED BY (p)", rows=500)
    dr.Table(first).optimize()
    dr_spark.optimize(spark, other)
    alike(spark, first, other)
    assert files_of(first) == files_of(other)


def test_concurrent_commits(spark: Any, tmp_path: Path) -> None:
    filled(spark, tmp_path, "", enableDeletionVectors="true")
    read = dr.Table(tmp_path).snapshot()
    more = spark.sql(ROWS.format(start=90_000, end=90_100)).coalesce(1)
    more.write.format("delta").mode("append").save(str(tmp_path))
    expected = texts_by_delta_spark(spark, tmp_path)
    done = dr_spark.optimize(spark, read)
    assert done.version == read.version + 2
    assert texts_by_delta_spark(spark, tmp_path) == expected
    assert dr.Table(tmp_path).snapshot().num_files == 2

    read = dr.Table(tmp_path).snapshot()
    spark.sql(f"DELETE FROM delta.`{tmp_path}` WHERE id = 7")
    before = set(tmp_path.glob("*.parquet"))
    with pytest.raises(dr.CommitConflictError) as caught:
        dr_spark.optimize(spark, read)
    assert caught.value.code == "conflict.delete_read"
    assert set(tmp_path.glob("*.parquet")) == before
    assert len(texts_by_delta_spark(spark, tmp_path)) == len(expected) - 1


@pytest.mark.parametrize("z_order_by", [None, ["x"]], ids=["packed", "ordered"])
def test_a_failed_task_commits_nothing(
    spark: Any, z_order_by: list[str] | None, tmp_path: Path
) -> None:
    filled(spark, tmp_path)
    version = dr.Table(tmp_path).snapshot().version
    path = tmp_path / dr.Table(tmp_path).snapshot().files()["path"].to_pylist()[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) - 300) + whole[-296:])
    with pytest.raises(dr.CorruptTableError, match="parquet"):
        dr_spark.optimize(spark, tmp_path, z_order_by=z_order_by)
    path.write_bytes(whole)
    assert dr.Table(tmp_path).snapshot().version == version
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["_delta_log"]
    assert len(texts_by_delta_spark(spark, tmp_path)) == 8000


def test_rejects_invalid_arguments(spark: Any, tmp_path: Path) -> None:
    filled(spark, tmp_path, "PARTITIONED BY (p)", files=1)
    for code, requested in [
        ("optimize.where", {"where": "id = 3"}),
        ("optimize.z_order", {"z_order_by": ["p"]}),
        ("argument.range", {"target_file_size": 0}),
    ]:
        with pytest.raises(dr.InvalidArgumentError) as caught:
            dr_spark.optimize(spark, tmp_path, **requested)
        assert caught.value.code == code


def test_auto_compaction_after_a_write(spark: Any, tmp_path: Path) -> None:
    filled(spark, tmp_path, "", files=1, rows=10, autoOptimize__autoCompact="true")
    with conf(spark, spark__databricks__delta__autoCompact__enabled="false"):
        for _ in range(2):
            rows = spark.sql(ROWS.format(start=0, end=240)).repartition(24)
            rows.write.format("delta").mode("append").save(str(tmp_path))
    assert dr.Table(tmp_path).snapshot().num_files == 49
    version = dr_spark.write(spark.sql(ROWS.format(start=0, end=1)).coalesce(1), tmp_path).version
    table = dr.Table(tmp_path).snapshot()
    assert (table.version, table.num_files) == (version + 1, 1)
    assert last(tmp_path)["operationParameters"]["auto"] is True
    assert len(texts_by_delta_spark(spark, tmp_path)) == 491


def test_the_session_enables_auto_compaction(spark: Any, tmp_path: Path) -> None:
    filled(spark, tmp_path, "", files=1, rows=10, autoOptimize__autoCompact="false")
    for _ in range(2):
        rows = spark.sql(ROWS.format(start=0, end=240)).repartition(24)
        rows.write.format("delta").mode("append").save(str(tmp_path))
    assert dr.Table(tmp_path).snapshot().num_files == 49
    one = spark.sql(ROWS.format(start=0, end=1)).coalesce(1)
    with conf(spark, spark__databricks__delta__autoCompact__enabled="true"):
        version = dr_spark.write(one, tmp_path).version
    table = dr.Table(tmp_path).snapshot()
    assert (table.version, table.num_files) == (version + 1, 1)
    assert last(tmp_path)["operationParameters"]["auto"] is True


def test_optimized_writes_bring_rows_of_a_partition_together(spark: Any, tmp_path: Path) -> None:
    rows = spark.sql(ROWS.format(start=0, end=3000)).repartition(8)
    settings = dict(spark.conf.getAll)
    for name, value, files in [("off", "false", 24), ("on", "true", 3)]:
        setting = {"delta.autoOptimize.optimizeWrite": value}
        path = tmp_path / name
        # Spark ignores REBALANCE in a session without adaptive execution
        with conf(spark, spark__sql__adaptive__enabled="false"):
            dr_spark.write(rows, path, partition_columns=["p"], properties=setting)
        assert dr.Table(path).snapshot().num_files == files
        assert len(texts_by_delta_spark(spark, path)) == 3000
    assert dict(spark.conf.getAll) == settings


SCRIPT = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
import deltareplay as dr
from deltareplay import spark as dr_spark

kind, packed, ordered = sys.argv[1:]
builder = SparkSession.builder
if kind == "connect":
    import socket
    from pyspark.sql.connect.session import SparkSession as Connected
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    Connected._start_connect_server("local[2]", {"spark.connect.grpc.binding.port": str(port)})
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    builder = Connected.builder.remote(f"sc://localhost:{port}")
else:
    builder = builder.master("local-cluster[2,1,1024]")
spark = builder.config("spark.ui.enabled", "false").getOrCreate()
done = [
    dr_spark.optimize(spark, packed),
    dr_spark.optimize(spark, ordered, z_order_by=["x", "y"], target_file_size=20_000),
]
print("RESULT" + json.dumps([one.metrics for one in done]))
"""


# during the day, ``test_without_jar_on_connect`` optimizes on Connect
@pytest.mark.parametrize("kind", ["local-cluster", "connect"][: 2 if NIGHTLY else 1])
def test_on_a_cluster_and_on_connect(spark: Any, kind: str, tmp_path: Path) -> None:
    import pyspark

    packed, ordered = both(spark, tmp_path)
    before = texts_by_delta_spark(spark, packed)
    paths = [str(TESTS.parent / "python"), os.environ.get("PYTHONPATH", "")]
    settings = {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(paths),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, str(packed), str(ordered)],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    [line] = [line for line in done.stdout.splitlines() if "RESULT" in line]
    first, other = json.loads(line.split("RESULT", 1)[1])
    assert (first["numRemovedFiles"], first["numAddedFiles"]) == (4, 1)
    assert other["numAddedFiles"] > 1
    assert texts_by_delta_spark(spark, packed) == texts_by_delta_spark(spark, ordered) == before
