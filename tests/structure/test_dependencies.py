"""The crates are those that `deny.toml` allows: their licences, their names, their sources.

`cargo deny check` checks the same and more; it takes minutes to compile, and this takes none.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info < (3, 11):
    pytest.skip("tomllib comes with Python 3.11", allow_module_level=True)
import tomllib

ROOT = Path(__file__).resolve().parents[2]
RULES = tomllib.loads((ROOT / "deny.toml").read_text())


@pytest.fixture(scope="module")
def crates() -> list[dict[str, Any]]:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--all-features"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    metadata = json.loads(done.stdout)
    packages: list[dict[str, Any]] = metadata["packages"]
    assert len(packages) > 100
    return packages


def is_allowed(licence: str) -> bool:
    """Evaluate an SPDX expression; in old ones `/` means `OR`."""
    words = re.findall(r"[()]|[^\s()/]+(?: WITH [^\s()]+)?|/", licence)
    operators = {"AND": "and", "OR": "or", "/": "or", "(": "(", ")": ")"}
    allowed = RULES["licenses"]["allow"]
    return bool(eval(" ".join(operators.get(word, str(word in allowed)) for word in words)))


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0 OR MIT", True),
        ("GPL-3.0 AND MIT", False),
        ("(GPL-3.0 OR MIT) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0 WITH Another-exception", False),
    ],
)
def test_expressions_of_licences(licence: str, expected: bool) -> None:
    assert is_allowed(licence) == expected


def test_licences_are_allowed(crates: list[dict[str, Any]]) -> None:
    refused = [
        (crate["name"], crate["license"])
        for crate in crates
        if not is_allowed(crate["license"] or "none")
    ]
    assert refused == []


def test_banned_crates_are_not_used(crates: list[dict[str, Any]]) -> None:
    banned = {rule["crate"] for rule in RULES["bans"]["deny"]}
    assert banned & {crate["name"] for crate in crates} == set()


def test_crates_come_from_one_registry(crates: list[dict[str, Any]]) -> None:
    # a crate of this repository has none
    sources = {crate["source"] for crate in crates} - {None}
    assert all(source.startswith("registry+") for source in sources)
    assert len(sources) == 1
