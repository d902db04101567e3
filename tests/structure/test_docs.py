"""What the documentation says of the repository is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = re.search(r"/\.spark: EXTRAS := (\S+)", (ROOT / "Makefile").read_text())
#: What `make demo` installs beside pyarrow, as pip is told.
DEMO = [
    requirement
    for extra in (EXTRAS[1].split(",") if EXTRAS else ())
    for line in re.findall(rf"(?m)^{extra} = \[(.+)\]", (ROOT / "pyproject.toml").read_text())
    for requirement in re.findall('"(.+?)"', line)
]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_every_path_of_the_spec_map_exists() -> None:
    text = (ROOT / "docs" / "spec-map.md").read_text()
    paths = re.findall(r"`([\w/.-]+\.(?:rs|py))`", text)
    missing = [
        path
        for path in paths
        if not (
            ROOT / path if path.startswith("tests/") else ROOT / "rust/core/src" / path
        ).is_file()
    ]
    assert len(paths) > 20
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_links_of_the_readme_are_found() -> None:
    assert "](docs/" in (ROOT / "README.md").read_text()


def test_the_example_of_the_readme_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    example = blocks[0]
    script = "\n".join(block for block in blocks if "spark" not in block)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("7 "), "the sample table has eight versions"
    assert len(example.strip().splitlines()) <= 10
    assert "delete" in done.stdout, "what the second example shows of its changes"


def test_the_quickstart_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "guide" / "quickstart.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    script = "\n".join(block for block in blocks if "spark." not in block)
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}

    exec(compile(script, "quickstart.md", "exec"), names)

    assert names["files"].num_rows == names["snapshot"].num_files > 0  # type: ignore[attr-defined]


def test_the_guide_to_rows_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("polars", "duckdb", "pandas"):
        pytest.importorskip(library)
    text = (ROOT / "docs" / "guide" / "rows.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    script = "\n".join(block for block in blocks if "spark." not in block)
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}

    exec(compile(script, "rows.md", "exec"), names)

    assert names["orders"].num_rows == names["snapshot"].scan().count() > 0
    assert names["lean"].column_names == ["country", "id"]
    assert names["rescue"].skipped == []


def test_the_guide_to_changes_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "guide" / "changes.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}

    exec(compile("\n".join(blocks), "changes.md", "exec"), names)

    assert names["happened"].num_rows > 0
    assert names["net"].num_rows > 0
    assert names["batch"].data.num_rows > 0


def test_the_demo_names_one_version_of_pyspark() -> None:
    """PySpark is a source distribution: to learn what one needs, pip fetches all of it."""
    wanted = [name for name in DEMO if re.match(r"pyspark\b", name)]
    assert wanted
    assert [name for name in wanted if "==" not in name] == []


def test_the_recipes_that_the_readme_names_exist() -> None:
    recipes = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`?make ([a-z-]+)", (ROOT / "README.md").read_text()))
    assert {"demo", "test", "bench", "wheel"} <= named
    assert named <= recipes
