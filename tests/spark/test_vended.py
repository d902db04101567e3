"""Spark opens a table's storage with what the catalog vends: it has no keys of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spark.support.tiers import half
from spark.support.vended import KEY, OF_CATALOG, SECRET, TOKEN

pytest.importorskip("pyspark", reason="pip install deltareplay[spark-tests]")
pytestmark = [pytest.mark.spark, pytest.mark.slow]
HERE = Path(__file__).parent


def run(kind: str, directory: Path) -> tuple[dict[str, Any], list[str]]:
    """What a session saw, and all that it has shown."""
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
    logged, _, told = done.stdout.partition("TOLD")
    found = json.loads(told.splitlines()[0])
    events = [one.read_text(errors="replace") for one in (directory / "events").rglob("events_*")]
    assert sum(text.count("SparkListenerJobEnd") for text in events) > 4
    assert "INFO" in done.stderr
    assert "FileScan parquet" in found["plans"]
    return found, [logged, done.stderr, found["plans"], *events]


def secrets_in(texts: list[str]) -> list[str]:
    return [one for one in (KEY, SECRET, TOKEN, OF_CATALOG) if any(one in text for text in texts)]


@pytest.mark.parametrize("kind", half(["classic", "connect"], 1))  # the third is classic
def test_spark_works_with_vended_credentials_and_shows_none(tmp_path: Path, kind: str) -> None:
    found, shown = run(kind, tmp_path)

    assert found["written"] == list(range(12))
    assert found["changed"] == found["format"] == [4, 5, 6, 7, 8, 9, 103]
    assert found["changes"] == [
        *["delete"] * 7,
        *["insert"] * 2,
        "update_postimage",
        "update_preimage",
    ]
    assert found["old"] == list(range(10))
    assert "nothing is wrong" in found["verified"]
    assert found["settings"], "the session is as it was"
    assert "AccessDenied" in found["own"]
    if kind == "classic":
        assert "have expired at 20" in found["expired"]
    else:
        assert found["expired"] == ""  # the store decides
        assert "spark.conf.set" in found["refused"]
    assert secrets_in(shown) == []


def test_classes_of_unity_catalog_renew_them(tmp_path: Path) -> None:
    found, shown = run("renewing", tmp_path)

    assert found["first"] == found["later"] == list(range(12))
    assert found["file"].startswith("s3://")
    assert found["changed"] == [0, 1, 2, *range(4, 12), 103]
    assert "spark.unity_catalog" in found["denied"].split()[1]
    assert "as the test wants it" in found["denied"]
    assert secrets_in(shown) == []
