"""The documentation agrees with the repository."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.pages import FENCE, HOLDS, OTHERS, PAGES, ROOT, needs_spark, paste, script

GROUPS = re.search(r"/\.spark: GROUPS := ([\w -]+)", (ROOT / "Makefile").read_text())
#: The arguments of pip in `make demo`, in addition to pyarrow.
DEMO = [
    requirement
    for group in (GROUPS[1].split() if GROUPS else ())
    for line in re.findall(rf"(?m)^{group} = \[(.+)\]", (ROOT / "pyproject.toml").read_text())
    for requirement in re.findall('"(.+?)"', line)
]


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


@pytest.mark.parametrize("page", PAGES)
def test_every_relative_link_exists(page: str) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", PAGES[page])
    assert [
        target for target in targets if not (ROOT / page).parent.joinpath(target).exists()
    ] == []


def test_the_links_of_the_readme_are_found() -> None:
    assert "](docs/" in (ROOT / "README.md").read_text()


def test_every_code_block_is_run_or_counted() -> None:
    others = Counter()
    for page, text in PAGES.items():
        fences = re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)
        blocks = [kind for kind, _ in FENCE.findall(text)]
        assert len(fences) == 2 * len(blocks), f"{page}: a fence outside of a block"
        assert set(blocks) <= {"python", "sh", "text"}, page
        others[page] += sum(kind != "python" for kind in blocks)
    assert +others == OTHERS
    assert {page for page in PAGES if script(page)} == set(HOLDS)


@pytest.mark.parametrize("page", [page for page in HOLDS if not needs_spark(page)])
def test_the_code_of_a_page_runs(page: str, tmp_path: Path) -> None:
    done = paste(page, tmp_path, "-W", "error")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", HOLDS)
def test_a_page_needs_only_the_packages_of_the_demo(page: str) -> None:
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(script(page)))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    installed = {re.split(r"\W", requirement)[0] for requirement in DEMO}
    assert imported
    assert imported <= {*installed, "deltareplay", "pyarrow", *sys.stdlib_module_names}


def test_the_first_example_is_short() -> None:
    first = next(code for kind, code in FENCE.findall(PAGES["README.md"]) if kind == "python")
    assert len(first.strip().splitlines()) <= 10


def test_the_demo_names_one_version_of_pyspark() -> None:
    """PySpark is a source distribution: to determine its dependencies, pip downloads all of it."""
    expected = [name for name in DEMO if re.match(r"pyspark\b", name)]
    assert expected
    assert [name for name in expected if "==" not in name] == []


def test_the_recipes_that_the_readme_names_exist() -> None:
    recipes = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`?make ([a-z-]+)", (ROOT / "README.md").read_text()))
    assert {"demo", "test", "bench", "wheel"} <= named
    assert named <= recipes
