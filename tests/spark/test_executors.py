"""Executors that are lost in the middle of a write, and executors without deltareplay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spark import java_classes

pytestmark = pytest.mark.spark

TESTS = Path(__file__).resolve().parents[1]


def run(*command: str, **env: str) -> list[dict[str, Any]]:
    """The lines of JSON that a driver of its own prints."""
    paths = [str(TESTS.parent / "python"), str(TESTS), os.environ.get("PYTHONPATH", "")]
    settings = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **settings, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    # Spark's own launchers print, too
    parts = [line.split("TOLD", 1)[1] for line in done.stdout.splitlines() if "TOLD" in line]
    return [json.loads(part) for part in parts]


def test_files_of_a_lost_attempt_do_not_enter_the_log(spark: Any, tmp_path: Path) -> None:
    import pyspark

    home = spark._jvm.System.getProperty("java.home")
    jar = java_classes.jar("LosingCommitter", tmp_path, home)
    spark_home = str(Path(pyspark.__file__).parent)
    told = run("-m", "spark.losing", jar, str(tmp_path), SPARK_HOME=spark_home)
    every = {one["case"]: one for one in told}
    assert all(one["lost"] for one in told), "no executor was lost"
    expected = list(range(40))
    # tasks whose files move when the job commits: those of the lost attempt never do
    assert (every["v1"]["raised"], every["v1"]["rows"]) == (None, expected)
    # tasks that move their files themselves: those of the lost attempt are there
    assert every["v2"]["raised"] == "write.uncommitted_files"
    assert every["v2"]["rows"] is None
    assert "committed 40 rows" in every["v2"]["message"]
    # the same with rows that do not differ from one attempt to the next
    assert (every["v2, same rows"]["raised"], every["v2, same rows"]["rows"]) == (None, expected)


def test_the_lack_of_the_package_shows_before_the_job(tmp_path: Path) -> None:
    lacking = tmp_path / "lacking" / "deltareplay"
    lacking.mkdir(parents=True)
    (lacking / "__init__.py").write_text("raise ImportError('not on this machine')")
    code = f"""
import json
from pathlib import Path
from pyspark.sql import SparkSession
import deltareplay as dr
from deltareplay import spark as dr_spark

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.executorEnv.PYTHONPATH", {str(lacking.parent)!r}).getOrCreate()
ran = spark.sparkContext.accumulator(0)

def count(batches):
    for batch in batches:
        ran.add(len(batch))
        yield batch

rows = spark.range(3).mapInPandas(count, "id LONG")
path = {str(tmp_path / "t")!r}
try:
    dr_spark.write(rows, path)
except dr.UnsupportedFeatureError as error:
    print("TOLD" + json.dumps(
        [error.code, str(error), ran.value, dr.is_table(path), Path(path).exists()]
    ))
"""
    [[code, message, ran, is_table, exists]] = run("-c", code)  # type: ignore[misc]
    assert code == "spark.executors"
    assert "install the same release on every executor" in message
    assert "not on this machine" in message
    assert (ran, is_table, exists) == (0, False, False)
