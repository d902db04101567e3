"""What a release is made of: one version everywhere, and a workflow whose actions are pinned."""

from __future__ import annotations

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
    actions = re.findall(r"uses: (\S+)", text)
    assert len(actions) > 5
    assert [one for one in actions if not re.search(r"@v\d", one)] == []
    for platform in ("manylinux", "musllinux", "aarch64", "apple-darwin", "windows-msvc", "sdist"):
        assert platform in text
    for recipe in re.findall(r"run: make ([a-z-]+)", text):
        assert re.search(rf"^{recipe}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_changelog_says_what_was_added_changed_and_fixed() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    newest = text.split("\n## ")[1]
    assert re.findall(r"^### (\w+)$", newest, re.MULTILINE) == ["Added", "Changed", "Fixed"]
