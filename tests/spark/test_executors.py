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

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # separate sessions

TESTS = Path(__file__).resolve().parents[1]


def run(*command: str, **env: str) -> list[dict[str, Any]]:
    """Return the lines of JSON that a separate driver prints."""
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
    parts = [line.split("RESULT", 1)[1] for line in done.stdout.splitlines() if "RESULT" in line]
    return [json.loads(part) for part in parts]


@pytest.fixture(scope="module")
def results(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The results of writes and statements on real executors."""
    import pyspark

    root = tmp_path_factory.mktemp("losing")
    home = spark._jvm.System.getProperty("java.home")
    jar = java_classes.jar("LosingCommitter", root, home)
    spark_home = str(Path(pyspark.__file__).parent)
    return run("-m", "spark.support.losing", jar, str(root), SPARK_HOME=spark_home)


def test_files_of_a_lost_attempt_do_not_enter_the_log(results: list[dict[str, Any]]) -> None:
    writes = {result["case"]: result for result in results if "raised" in result}
    assert all(write["lost"] for write in writes.values()), "no executor was lost"
    expected = list(range(40))
    # tasks whose files are moved when the job commits: those of the lost attempt never are
    assert (writes["v1"]["raised"], writes["v1"]["rows"]) == (None, expected)
    # tasks that move their files themselves: those of the lost attempt exist
    assert writes["v2"]["raised"] == "write.uncommitted_files"
    assert writes["v2"]["rows"] is None
    assert "committed 40 rows" in writes["v2"]["message"]
    # the same with rows that are equal in all attempts
    same_rows = writes["v2, same rows"]
    assert (same_rows["raised"], same_rows["rows"]) == (None, expected)


def test_statements_survive_failures_of_their_tasks(results: list[dict[str, Any]]) -> None:
    statements = [result for result in results if "raised" not in result]
    assert len(statements) >= 2
    expected = {
        "fault occurred": True,
        "rows are right": True,
        "number of changes is right": True,
        "findings": [],
        "leftovers": [],
        "version": 1,
    }
    for statement in statements:
        assert statement == {"case": statement["case"], **expected}


#: Packages that executors lack, and the remedy in the error.
LACKING = {
    "deltareplay": "install the same release on every executor",
    "pyarrow": "Set PYSPARK_PYTHON",
}


def test_executors_without_the_package_run_what_spark_runs(tmp_path: Path) -> None:
    """The driver starts new workers for each package, which they lack."""
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
        dr_spark.verify(spark, path, rows=True)
        error = None
    except dr.UnsupportedFeatureError as raised:
        error = [raised.code, str(raised)]
    print("RESULT" + json.dumps([package, rows, error]))
    shutil.rmtree(module)
"""
    result = run("-c", code)
    assert [package for package, *_ in result] == list(LACKING)
    for package, rows, [code, message] in result:  # type: ignore[misc]
        assert rows == [[0, 0], [2, 104], [3, 6], [4, 8], [5, 50], [6, 60], [7, 70]]
        assert code == "spark.executors"
        assert LACKING[package] in message  # type: ignore[index]
        assert package in message
