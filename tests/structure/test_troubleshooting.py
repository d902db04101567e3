"""Every code has a section in docs/troubleshooting, and the error names it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from structure.test_error_codes import codes_in_sources

from deltareplay import exceptions
from deltareplay.exceptions import DeltaReplayError

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "troubleshooting"
SECTION = re.compile(r"^## (\S+\.\S+)\n\n((?:.+\n)+)", re.MULTILINE)
#: The page of each section, its code, and the text below the heading.
ALL_SECTIONS = [
    (page.stem, code, text)
    for page in sorted(FOLDER.glob("*.md"))
    for code, text in SECTION.findall(page.read_text(encoding="utf-8"))
]
SECTIONS = {code: (page, text) for page, code, text in ALL_SECTIONS}
#: Codes in the sources; names such as `s.a` in docstrings have the same form.
CODES = {code for code in codes_in_sources() if len(code.partition(".")[0]) > 1}


def test_every_code_has_one_section_and_every_section_a_code() -> None:
    assert len(CODES) > 300, "the pattern no longer finds codes"
    assert len(SECTIONS) == len(ALL_SECTIONS), "a code has two sections"
    assert sorted(CODES - {*SECTIONS}) == [], "write a section in docs/troubleshooting"
    assert sorted({*SECTIONS} - CODES) == [], "these codes are raised nowhere"


@pytest.mark.parametrize("page", sorted({page for page, _ in SECTIONS.values()}))
def test_each_section_has_cause_diagnosis_and_remedy(page: str) -> None:
    for code, (where, text) in SECTIONS.items():
        if where == page:
            labels = re.findall(r"^- \*\*(.+?):\*\* \S", text, re.MULTILINE)
            assert labels == ["Cause", "Look at", "Remedy"], code


def test_an_error_names_its_section() -> None:
    for code, (page, _) in SECTIONS.items():
        error = DeltaReplayError("wrong", code=code)
        assert error.docs == f"docs/troubleshooting/{page}.md#{code.replace('.', '')}"
        assert error.__notes__ == [f"[{code}] cause and remedy: {error.docs}"]
    assert DeltaReplayError("wrong").docs is None


def test_sections_are_sorted_and_the_index_lists_all_pages() -> None:
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+`) \| \[.+\]\((\w+)\.md\) \|$", index, re.MULTILINE)
    listed = {page: " ".join(re.findall(r"`(\w+)`", words)) for words, page in rows}
    assert listed == exceptions._PAGES
    for page in listed:
        codes = [code for code, (where, _) in SECTIONS.items() if where == page]
        assert codes == sorted(codes)
