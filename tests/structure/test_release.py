"""A release has one version everywhere, a workflow with pinned actions, and its notices."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import deltareplay as dr

ROOT = Path(__file__).resolve().parents[2]


def test_the_citation_has_the_version_of_the_package() -> None:
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == dr.__version__


def test_the_workflow_pins_its_actions_and_covers_the_platforms() -> None:
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    actions = re.findall(r"uses: (.+)", text)
    assert len(actions) > 5
    pinned = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [action for action in actions if not pinned.fullmatch(action)] == []
    for platform in ("manylinux", "musllinux", "aarch64", "apple-darwin", "windows-msvc", "sdist"):
        assert platform in text
    for recipe in re.findall(r"run: make ([a-z-]+)", text):
        assert re.search(rf"^{recipe}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_changelog_of_the_first_release_is_short() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    newest = text.split("\n## ")[1]
    assert re.findall(r"^### (\w+)$", newest, re.MULTILINE) == ["Added"]
    assert len(text.splitlines()) < 70


def test_the_notices_are_those_of_the_crates_in_the_lock_file() -> None:
    spec = importlib.util.spec_from_file_location("notices", ROOT / "rust/third_party_notices.py")
    assert spec is not None
    assert spec.loader is not None
    notices = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notices)

    crates = notices.linked_crates()

    assert {"arrow-array", "parquet", "rustls", "zstd-sys"} <= {crate["name"] for crate in crates}
    assert notices.NOTICES.read_text("utf-8") == notices.render(crates), "run `make notices`"
