"""Spark opens a table's storage with vended credentials: it has no keys of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spark.support.tiers import NIGHTLY
from spark.support.vended import CATALOG_TOKEN, KEY, SECRET, TOKEN

pytest.importorskip("pyspark", reason="pip install --group spark-tests")
pytestmark = [pytest.mark.spark, pytest.mark.slow]
HERE = Path(__file__).parent


def run(kind: str, directory: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the results of a session, and all of its output."""
    if importlib.util.find_spec("moto") is None:
        pytest.skip("moto is not installed: make test-stores")
    paths = [str(HERE.parent), str(HERE.parents[1] / "python"), os.environ.get("PYTHONPATH", "")]
    env = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    env |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, str(HERE / "support" / "vended.py"), kind, str(directory)]
    done = subprocess.run(
        command, cwd=directory, env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    logged, _, reported = done.stdout.partition("RESULT")
    result = json.loads(reported.splitlines()[0])
    events = [
        event.read_text(errors="replace") for event in (directory / "events").rglob("events_*")
    ]
    assert sum(text.count("SparkListenerJobEnd") for text in events) > 4
    assert "INFO" in done.stderr
    assert "FileScan parquet" in result["plans"]
    return result, [logged, done.stderr, result["plans"], *events]


def secrets_in(texts: list[str]) -> list[str]:
    return [
        item for item in (KEY, SECRET, TOKEN, CATALOG_TOKEN) if any(item in text for text in texts)
    ]


# the session that renews credentials is classic, too
@pytest.mark.parametrize("kind", ["classic", "connect"] if NIGHTLY else ["connect"])
def test_spark_works_with_vended_credentials_and_shows_none(tmp_path: Path, kind: str) -> None:
    result, displayed = run(kind, tmp_path)

    assert result["written"] == list(range(12))
    assert result["changed"] == result["format"] == [4, 5, 6, 7, 8, 9, 103]
    assert result["changes"] == [
        *["delete"] * 7,
        *["insert"] * 2,
        "update_postimage",
        "update_preimage",
    ]
    assert result["old"] == list(range(10))
    assert "nothing is wrong" in result["verified"]
    assert result["settings"], "the settings of the session have changed"
    assert "AccessDenied" in result["own"]
    if kind == "classic":
        assert "expired at 20" in result["expired"]
    else:
        assert result["expired"] == ""  # the store decides
        assert "spark.conf.set" in result["refused"]
    assert secrets_in(displayed) == []


def test_classes_of_unity_catalog_renew_credentials(tmp_path: Path) -> None:
    result, displayed = run("renewing", tmp_path)

    assert result["first"] == result["later"] == list(range(12))
    assert result["file"].startswith("s3://")
    assert result["changed"] == [0, 1, 2, *range(4, 12), 103]
    assert "spark.unity_catalog" in result["denied"].split()[1]
    assert "refused by the test" in result["denied"]
    assert secrets_in(displayed) == []
