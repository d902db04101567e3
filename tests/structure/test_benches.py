"""The benches run and refuse wrong results; their page and the picture of the docs are valid."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.html import Page

pytest.importorskip("psutil")

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benches" / "results" / "sizes.json"


def sizes(results: Path, *options: str) -> dict[str, Any]:
    """Run the harness, and return its results."""
    command = [sys.executable, str(ROOT / "benches/python/sizes.py"), "--results", str(results)]
    subprocess.run([*command, *options], check=True, capture_output=True, timeout=300)
    return json.loads((results / "sizes.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_engines_run_and_wrong_answers_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "empty"))  # bare_decode is missing
    options = ["--data", str(tmp_path), "--sizes", "50", "--runs", "1", "--engines"]
    result = sizes(tmp_path / "a", *options, "deltareplay,bare_decode")
    tasks = {entry["task"]: entry for entry in result["figures"]}
    assert {*tasks} == {"open", "files", "stats", "streamed", "update"}
    for entry in tasks.values():
        assert entry["engine"] == "deltareplay"
        assert entry["size"] == 50
        assert 0 < entry["cpu"] < 100
        assert 0 <= entry["beyond"] < entry["peak"]
    assert result["left_out"] == []
    assert "make bench" in result["missing"]["bare_decode"]
    assert result["machine"]["cores"] > 0
    assert "--sizes 50" in result["command"]

    page = Page((tmp_path / "a" / "index.html").read_text(encoding="utf-8"))
    assert {"open", "files", "stats", "streamed", "update", "how"} <= {*page.ids}
    assert page.values("src") == []
    assert all(target.startswith("#") for target in page.values("href"))
    assert page.tables["List: figures"].rows[1][:2] == ["50", "deltareplay"]
    assert any("make bench" in text for text in page.text)

    expected = tmp_path / "files-50" / "_expected.json"
    stored = json.loads(expected.read_text())
    assert stored["live_files"] == 250  # and 10 commits, each of which adds 60 and removes 40
    expected.write_text(json.dumps({**stored, "live_files": 249}))
    result = sizes(tmp_path / "b", *options, "deltareplay,duckdb,polars")
    assert [(entry["task"], entry["engine"]) for entry in result["figures"]] == [
        ("open", "deltareplay")
    ]
    wrong = {(entry["engine"], entry["task"]): entry["why"] for entry in result["left_out"]}
    for engine in ("deltareplay", "duckdb", "polars"):
        assert wrong[engine, "files"].endswith("found 250, expected 249")
        assert wrong[engine, "stats"].endswith("found 250, expected 249")
    assert wrong["deltareplay", "update"].endswith("found 270, expected 269")
    page = Page((tmp_path / "b" / "index.html").read_text(encoding="utf-8"))
    assert sum("found 250, expected 249" in text for text in page.text) == 7


def test_the_page_of_a_remote_store_compares_engines(tmp_path: Path) -> None:
    figures = [
        ("deltareplay", "open", 3.1, 4),
        ("deltareplay", "verify", 2.1, 5),
        ("polars", "open", 12.6, 1108),
    ]
    results = {
        "begun": "2026-11-27T10:00:00+00:00",
        "latency": 0.25,
        "load": 0.1,
        "cores": 2,
        "versions": {"deltareplay": "1.0.0", "polars": "2.1.0"},
        "figures": [
            dict(zip(["engine", "operation", "steps", "requests"], figure, strict=True))
            for figure in figures
        ],
    }
    (tmp_path / "remote.json").write_text(json.dumps(results), encoding="utf-8")
    command = [sys.executable, str(ROOT / "benches/python/remote.py"), "--draw", "--results"]
    subprocess.run([*command, str(tmp_path)], check=True, capture_output=True, timeout=300)
    page = Page((tmp_path / "remote.html").read_text(encoding="utf-8"))
    assert {"steps", "requests", "figures"} <= {*page.ids}
    assert page.values("src") == []
    rows = page.tables["Figures"].rows
    assert rows[1] == ["open", "3.1", "4", "12.6", "1,108"]
    assert rows[2] == ["verify", "2.1", "5", "-", "-"]
    titles = {text for text in page.text if text.startswith(("deltareplay, ", "polars, "))}
    assert titles >= {"deltareplay, open: 3.1", "polars, open: 1,108"}, "a bar for each"


def test_the_picture_of_the_docs_is_that_of_the_results(tmp_path: Path) -> None:
    shutil.copy(RESULTS, tmp_path)
    sizes(tmp_path, "--draw")
    drawn = (tmp_path / "files.svg").read_text(encoding="utf-8")
    stored = (ROOT / "docs" / "charts" / "files.svg").read_text(encoding="utf-8")
    assert drawn == stored, "run benches/python/sizes.py --draw"
    ElementTree.fromstring(drawn)
    assert "prefers-color-scheme:dark" in drawn
    Page((tmp_path / "index.html").read_text(encoding="utf-8"))


def test_the_readme_shows_engines_that_ran_side_by_side() -> None:
    assert "](docs/charts/files.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    listed = {entry["engine"] for entry in results["figures"] if entry["task"] == "files"}
    assert {"deltareplay", "deltalake"} < listed
    command = r"python benches/python/sizes.py( --(sizes|runs|seconds) [\d,]+)*"
    assert re.fullmatch(command, results["command"])
