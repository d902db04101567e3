"""Executors that are lost in the middle of a write, and executors without deltareplay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spark.support import java_classes

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # sessions of its own

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


@pytest.fixture(scope="module")
def told(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What came of writes and statements on real executors."""
    import pyspark

    root = tmp_path_factory.mktemp("losing")
    home = spark._jvm.System.getProperty("java.home")
    jar = java_classes.jar("LosingCommitter", root, home)
    spark_home = str(Path(pyspark.__file__).parent)
    return run("-m", "spark.support.losing", jar, str(root), SPARK_HOME=spark_home)


def test_files_of_a_lost_attempt_do_not_enter_the_log(told: list[dict[str, Any]]) -> None:
    every = {one["case"]: one for one in told if "raised" in one}
    told = list(every.values())
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


def test_statements_survive_what_happens_to_their_tasks(told: list[dict[str, Any]]) -> None:
    found = {one.pop("case"): one for one in told if "right" in one}
    assert len(found) >= 2
    for case, one in found.items():
        print(case, one)
        assert one["met"], f"{case}: no task met the fault"
        del one["met"], one["seconds"]
    expected = {"right": True, "changes": True, "wrong": [], "left": [], "version": 1}
    assert found == dict.fromkeys(found, expected)


#: Packages that executors lack, and what the error says to do.
LACKING = {
    "deltareplay": "install the same release on every executor",
    "pyarrow": "Set PYSPARK_PYTHON",
}


def test_executors_without_the_package_run_what_spark_runs(tmp_path: Path) -> None:
    """One driver, whose workers are new each time, lacks one package after the other."""
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    code = f"""
import json, pathlib, shutil
from pyspark.sql import SparkSession
import deltareplay as dr
from deltareplay import spark as dr_spark

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.python.worker.reuse", "false")
spark = builder.config("spark.executorEnv.PYTHONPATH", {str(lacking)!r}).getOrCreate()
for package in {list(LACKING)}:
    module = pathlib.Path({str(lacking)!r}) / package
    module.mkdir()
    raised = f"No module named '{{package}}'"
    (module / "__init__.py").write_text(f"raise ModuleNotFoundError({{raised!r}})")
    path = {str(tmp_path)!r} + "/t-" + package
    dr_spark.write(spark.range(6).selectExpr("id", "id * 2 AS n"), path)
    dr_spark.delete(spark, path, "id = 1")
    dr_spark.update(spark, path, "id = 2", {{"n": "n + 100"}})
    source = spark.range(5, 8).selectExpr("id", "id * 10 AS n")
    merge = dr_spark.merge(spark, path, source, "target.id = source.id")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    rows = sorted(map(tuple, dr_spark.read(spark, path).collect()))
    try:
        dr_spark.verify(spark, path)
        error = None
    except dr.UnsupportedFeatureError as raised:
        error = [raised.code, str(raised)]
    print("TOLD" + json.dumps([package, rows, error]))
    shutil.rmtree(module)
"""
    found = run("-c", code)
    assert [package for package, *_ in found] == list(LACKING)
    for package, rows, [code, message] in found:  # type: ignore[misc]
        assert rows == [[0, 0], [2, 104], [3, 6], [4, 8], [5, 50], [6, 60], [7, 70]]
        assert code == "spark.executors"
        assert LACKING[package] in message  # type: ignore[index]
        assert package in message
